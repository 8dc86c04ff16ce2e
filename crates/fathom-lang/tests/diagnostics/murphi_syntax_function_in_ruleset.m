var x: 0..3; b: boolean;
startstate begin x := 0; b := true; end;
ruleset i: boolean do
  function f(): boolean; begin return i; end;
end;
