const N = 3;
var x: 0..N;
startstate x := 0; end;
rule true ==> x := 1; end;
