var x: 0..09;
startstate begin x := 0; end;
