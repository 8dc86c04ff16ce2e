var a: boolean; a: 0..2;
startstate begin end;
