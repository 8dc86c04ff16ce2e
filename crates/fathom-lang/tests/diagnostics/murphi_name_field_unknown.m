var r: record first: boolean; end;
startstate begin r.frist := true; end;
