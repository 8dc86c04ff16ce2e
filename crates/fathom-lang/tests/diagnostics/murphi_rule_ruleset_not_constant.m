var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
ruleset i := 0 to x do rule begin x := i; end; end;
