type number: 0..3;
var x: nubmer;
startstate begin x := 0; end;
