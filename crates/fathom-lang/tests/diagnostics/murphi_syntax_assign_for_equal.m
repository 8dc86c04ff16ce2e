var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
rule b & x := 1 ==> begin x := 2; end;
