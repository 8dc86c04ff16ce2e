var x: 0 + 3;
