type c: enum {red, green};
var c1: c; x: 0..3;
startstate begin c1 := red; end;
rule c1 = x ==> begin x := 0; end;
