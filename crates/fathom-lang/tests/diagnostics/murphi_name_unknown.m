var count: 0..3;
startstate begin cuont := 0; end;
