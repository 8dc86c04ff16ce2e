type p: scalarset(2);
var a: p;
startstate begin clear a; end;
