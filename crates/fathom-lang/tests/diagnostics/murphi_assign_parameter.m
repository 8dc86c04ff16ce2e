var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
procedure p(a: 0..3); begin a := 1; end;
