var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
function f(): boolean; begin return b; end;
rule f ==> begin b := false; end;
