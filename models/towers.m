-- states: 16
-- transitions: 15
-- depth: 15
-- deadlocks: 1
-- faults: 0
-- property: all_disks_arrive_together: stated all disks arrive together => holds
-- property: stuck: deadlock => violated, length 15
-- The towers of Hanoi, solved by a recursive function: a rule plays the next move of the solution, and the disks arrive. Whether a number is
-- a power of two is asked recursively.

const
  DISKS: 4;
  LAST: (1 << DISKS) - 1;

type
  peg: 0..2;
  disk: 1..DISKS;
  count: 0..LAST;

var
  place: array [disk] of peg;
  moves: count;

function ruler(n: count): disk;
begin
  if n % 2 = 1 then
    return 1;
  end;
  return 1 + ruler(n / 2);
end;

startstate begin
  for d: disk do place[d] := 0; end;
  moves := 0;
end;

rule "next move" moves < LAST ==>
var d: disk;
begin
  moves := moves + 1;
  d := ruler(moves);
  if d % 2 = DISKS % 2 then
    place[d] := (place[d] + 2) % 3;
  else
    place[d] := (place[d] + 1) % 3;
  end;
  for smaller: disk do
    assert smaller >= d | place[smaller] != place[d] "no disk is put on a smaller one";
  end;
end;

invariant "all disks arrive together"
  moves = LAST -> forall d: disk do place[d] = place[1] & place[d] != 0 end;
