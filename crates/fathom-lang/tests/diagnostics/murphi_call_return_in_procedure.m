var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
procedure p(); begin return 3; end;
