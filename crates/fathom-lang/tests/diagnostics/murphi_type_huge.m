var a: array [0..1000] of array [0..1000] of boolean;
startstate begin end;
