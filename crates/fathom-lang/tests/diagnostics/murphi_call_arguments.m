var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
procedure p(a: 0..3); begin x := a; end;
rule begin p(1, 2); end;
