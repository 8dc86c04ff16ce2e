-- states: 3482
-- transitions: 16302
-- depth: 9
-- deadlocks: 0
-- faults: 0
-- property: the_walker_is_in_the_list: stated the walker is in the list => holds
-- property: what_is_in_the_list_is_linked: stated what is in the list is linked => holds
-- property: stuck: deadlock => holds
-- Cells of a list that is changed while others walk it. Removing a cell takes two steps, marking it and taking it out, and a walker that stands
-- on a marked cell can still find its way.

const CELLS: 4;

type
  cell: scalarset(CELLS);
  link: union { cell, enum { head, nil } };

var
  next: array [cell] of link;
  first: link;
  free: array [cell] of boolean;
  marked: array [cell] of boolean;
  walker: link;

startstate begin
  first := nil;
  walker := head;
  for c: cell do
    undefine next[c];
    free[c] := true;
    marked[c] := false;
  end;
end;

ruleset c: cell do
  rule "put in front" free[c] ==> begin
    free[c] := false;
    next[c] := first;
    first := c;
  end;

  rule "mark" !free[c] & !marked[c] ==> begin
    marked[c] := true;
  end;

  rule "take out the first" marked[c] & first = c & walker != c ==> begin
    first := next[c];
    undefine next[c];
    marked[c] := false;
    free[c] := true;
  end;

  ruleset d: cell do
    rule "take out" !free[d] & marked[c] & next[d] = c & walker != c & !free[c] ==> begin
      next[d] := next[c];
      undefine next[c];
      marked[c] := false;
      free[c] := true;
    end;
  end;
end;

rule "walk" begin
  if walker = head then
    walker := first;
  elsif ismember(walker, cell) then
    walker := next[walker];
  else
    walker := head;
  end;
end;

invariant "the walker is in the list" ismember(walker, cell) -> !free[walker];

invariant "what is in the list is linked" forall c: cell do free[c] = isundefined(next[c]) end;
