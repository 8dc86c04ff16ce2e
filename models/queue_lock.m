-- states: 271
-- transitions: 549
-- depth: 11
-- deadlocks: 0
-- faults: 0
-- property: one_at_a_time: stated one at a time => holds
-- property: stuck: deadlock => holds
-- property: the_lock_can_always_become_free: liveness the lock can always become free => holds
-- A lock as a queue: each process spins on its own flag, and hands the lock to the one behind it. Swap and compare-and-swap on the tail are
-- atomic, everything else takes steps of its own.

const N: 3;

type
  process: scalarset(N);
  place: enum { outside, swapped, linked, inside, checks, hands_over };

var
  tail: process;
  next: array [process] of process;
  before: array [process] of process;
  waits: array [process] of boolean;
  at: array [process] of place;

startstate begin
  undefine tail;
  for p: process do
    undefine next[p];
    undefine before[p];
    waits[p] := false;
    at[p] := outside;
  end;
end;

ruleset p: process do
  rule "swaps the tail" at[p] = outside ==> begin
    before[p] := tail;
    tail := p;
    undefine next[p];
    waits[p] := true;
    at[p] := isundefined(before[p]) ? inside : swapped;
  end;

  rule "links itself" at[p] = swapped ==> begin
    next[before[p]] := p;
    at[p] := linked;
  end;

  rule "is let in" at[p] = linked & !waits[p] ==> begin
    undefine before[p];
    at[p] := inside;
  end;

  rule "leaves" at[p] = inside ==> begin
    at[p] := isundefined(next[p]) ? checks : hands_over;
  end;

  rule "was the last" at[p] = checks & !isundefined(tail) & tail = p ==> begin
    undefine tail;
    waits[p] := false;
    at[p] := outside;
  end;

  rule "waits for its follower" at[p] = checks & !isundefined(next[p]) ==> begin
    at[p] := hands_over;
  end;

  rule "hands over" at[p] = hands_over ==> begin
    waits[next[p]] := false;
    undefine next[p];
    waits[p] := false;
    at[p] := outside;
  end;
end;

invariant "one at a time"
  forall p: process do forall q: process do
    p != q -> at[p] != inside | at[q] != inside
  end end;

liveness "the lock can always become free" isundefined(tail);
