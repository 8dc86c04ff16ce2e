var m: multiset [2] of boolean;
startstate begin undefine m; end;
rule begin multisetremove(1, m); end;
