var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
rule begin for i: 0..3 do i := 1; end; end;
