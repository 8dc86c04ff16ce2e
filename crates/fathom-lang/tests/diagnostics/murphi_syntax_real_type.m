var x: real(3, 2);
