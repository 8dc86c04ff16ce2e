-- states: 5744
-- transitions: 15848
-- depth: 24
-- deadlocks: 0
-- faults: 0
-- property: one_at_a_time: stated one at a time => holds
-- property: stuck: deadlock => holds
-- Peterson's lock for N processes, as a filter of N - 1 levels: at each level one process waits. The processes are a scalarset, since nothing
-- tells one from another.

const N: 4;

type
  process: scalarset(N);
  level: 0..N - 1;
  place: enum { idle, entering, waiting, critical };

var
  at: array [process] of place;
  reached: array [process] of level;
  last: array [level] of process;

ruleset p: process do
  rule "wants in" at[p] = idle ==> begin
    at[p] := entering;
    reached[p] := 1;
  end;

  rule "is the last at its level" at[p] = entering ==> begin
    last[reached[p]] := p;
    at[p] := waiting;
  end;

  rule "goes on"
    at[p] = waiting
    & (last[reached[p]] != p | forall q: process do q = p | reached[q] < reached[p] end)
  ==> begin
    if reached[p] = N - 1 then
      at[p] := critical;
    else
      reached[p] := reached[p] + 1;
      at[p] := entering;
    end;
  end;

  rule "leaves" at[p] = critical ==> begin
    at[p] := idle;
    reached[p] := 0;
  end;
end;

startstate begin
  for p: process do
    at[p] := idle;
    reached[p] := 0;
  end;
end;

invariant "one at a time"
  forall p: process do forall q: process do p != q -> at[p] != critical | at[q] != critical end end;
