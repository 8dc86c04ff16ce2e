type c: enum {red, green};
var c1: c;
startstate begin c1 := red; end;
rule c1 < green ==> begin c1 := green; end;
