var writer: bool;
startstate begin writer := false; end;
