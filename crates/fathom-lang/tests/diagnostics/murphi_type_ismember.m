type p: scalarset(2); q: scalarset(2); r: scalarset(2);
  u: union {p, q};
var x: u;
startstate begin undefine x; end;
rule ismember(x, r) ==> begin undefine x; end;
