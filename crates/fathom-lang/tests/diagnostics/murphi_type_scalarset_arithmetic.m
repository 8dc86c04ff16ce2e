type p: scalarset(3);
var a: p;
ruleset i: p do startstate begin a := i; end; end;
rule begin a := a + 1; end;
