type t: 0..3;
var x: t;
startstate begin x := t; end;
