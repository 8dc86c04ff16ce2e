rule "never closed begin end;
