-- states: 38
-- transitions: 180
-- depth: 5
-- deadlocks: 0
-- faults: 0
-- property: an_owner_is_alone: stated an owner is alone => violated, length 2
-- property: stuck: deadlock => holds
-- A directory that forgets to wait: it hands out the line to own while another cache may still share it.

const CACHES: 3;

type
  cache: scalarset(CACHES);
  mode: enum { invalid, shared, owned };

var
  state: array [cache] of mode;
  told: array [cache] of boolean;

startstate begin
  for c: cache do
    state[c] := invalid;
    told[c] := false;
  end;
end;

ruleset c: cache do
  rule "shares" state[c] = invalid & forall d: cache do state[d] != owned end ==> begin
    state[c] := shared;
  end;

  rule "owns" state[c] != owned & forall d: cache do state[d] != owned end ==> begin
    for d: cache do
      told[d] := d != c & state[d] = shared;
    end;
    state[c] := owned;
  end;

  rule "hears of it" told[c] ==> begin
    told[c] := false;
    state[c] := invalid;
  end;

  rule "gives up" state[c] != invalid & !told[c] ==> begin
    state[c] := invalid;
  end;
end;

invariant "an owner is alone"
  forall c: cache do forall d: cache do c != d & state[c] = owned -> state[d] = invalid end end;
