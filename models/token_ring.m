-- states: 256
-- transitions: 640
-- depth: 0
-- deadlocks: 0
-- faults: 0
-- property: somebody_may_move: stated somebody may move => holds
-- property: stuck: deadlock => holds
-- Dijkstra's self-stabilising ring: whatever the counters are at first, in the end exactly one machine may move.

const
  N: 3;
  STATES: N + 1;

type
  machine: 0..N;
  counter: 0..STATES - 1;

var value: array [machine] of counter;

function privileged(m: machine): boolean;
begin
  if m = 0 then
    return value[0] = value[N];
  end;
  return value[m] != value[m - 1];
end;

ruleset a: counter; b: counter; c: counter; d: counter do
  startstate begin
    value[0] := a;
    value[1] := b;
    value[2] := c;
    value[3] := d;
  end;
end;

rule "the bottom moves" privileged(0) ==> begin
  value[0] := (value[0] + 1) % STATES;
end;

ruleset m := 1 to N do
  rule "copies its neighbour" privileged(m) ==> begin
    value[m] := value[m - 1];
  end;
end;

invariant "somebody may move" exists m: machine do privileged(m) end;
