var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
procedure p(); begin x := 1; end;
rule begin x := p(); end;
