var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
rule begin for i := 0 to 3 by 0 do x := 0; end; end;
