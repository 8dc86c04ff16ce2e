type c: enum {red, green};
var a: array [c] of boolean;
startstate begin a[0] := true; end;
