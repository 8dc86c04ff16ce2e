var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
rule begin x := ; end;
rule begin if then end; end;
rule begin for do end; end;
