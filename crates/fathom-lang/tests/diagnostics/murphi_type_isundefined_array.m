var a: array [0..1] of boolean;
startstate begin a[0] := isundefined(a); end;
