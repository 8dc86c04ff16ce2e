var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
rule x = undefined ==> begin x := 0; end;
