var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
rule begin for i := 10 to 0 by 1 do x := 0; end; end;
