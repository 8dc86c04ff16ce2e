type r: record a: boolean; a: 0..2; end;
