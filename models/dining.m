-- states: 82
-- transitions: 265
-- depth: 5
-- deadlocks: 1
-- faults: 0
-- property: neighbours_do_not_eat_together: stated neighbours do not eat together => holds
-- property: stuck: deadlock => violated, length 5
-- property: somebody_can_always_still_eat: liveness somebody can always still eat => violated, length 5
-- Philosophers who all take their left fork first, and in the end wait for ever.

const N: 5;

type
  seat: 0..N - 1;
  mood: enum { thinks, has_left, eats };

var
  philosopher: array [seat] of mood;
  fork: array [seat] of boolean;

function right(s: seat): seat;
begin
  return (s + 1) % N;
end;

startstate begin
  for s: seat do
    philosopher[s] := thinks;
    fork[s] := true;
  end;
end;

ruleset s: seat do
  rule "takes the left fork" philosopher[s] = thinks & fork[s] ==> begin
    fork[s] := false;
    philosopher[s] := has_left;
  end;

  rule "takes the right fork" philosopher[s] = has_left & fork[right(s)] ==> begin
    fork[right(s)] := false;
    philosopher[s] := eats;
  end;

  rule "lays both down" philosopher[s] = eats ==> begin
    fork[s] := true;
    fork[right(s)] := true;
    philosopher[s] := thinks;
  end;
end;

invariant "neighbours do not eat together"
  forall s: seat do philosopher[s] = eats -> philosopher[right(s)] != eats end;

liveness "somebody can always still eat" exists s: seat do philosopher[s] = eats end;
