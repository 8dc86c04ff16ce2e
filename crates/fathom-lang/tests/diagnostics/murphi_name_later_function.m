var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
function f(): boolean; begin return g(); end;
function g(): boolean; begin return true; end;
