type t: 0..1;
var x: array [t] of t;
startstate begin for i: t do x[i] := 0; end; end;
invariant forall a: t; b: t do x[a] = x[b] end;
