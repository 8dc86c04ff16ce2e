var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
rule 0 < x < 3 ==> begin x := 0; end;
