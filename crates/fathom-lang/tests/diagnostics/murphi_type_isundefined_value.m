var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
rule isundefined(!b) ==> begin x := 0; end;
