-- states: 4096
-- transitions: 49152
-- depth: 12
-- deadlocks: 0
-- faults: 0
-- property: two_are_equal: stated two are equal => holds
-- property: stuck: deadlock => holds
-- Every state of a cube is reached: a dense set, wide and flat.

const N: 12;

type corner: 1..N;

var bit: array [corner] of boolean;

startstate begin
  for c: corner do bit[c] := false; end;
end;

ruleset c: corner do
  rule "flip" begin bit[c] := !bit[c]; end;
end;

invariant "two are equal" exists c := 1 to N - 1 do bit[c] = bit[c + 1] end | bit[1] != bit[2];
