var x: boolean;
rule begin x := true; end;
