-- states: 4413
-- transitions: 13968
-- depth: 28
-- deadlocks: 0
-- faults: 0
-- property: an_owner_is_alone: stated an owner is alone => holds
-- property: copies_are_new: stated copies are new => holds
-- property: memory_is_new_unless_there_is_an_owner: stated memory is new unless there is an owner => holds
-- property: stuck: deadlock => holds
-- A directory protocol with point-to-point channels of one message each way, three kinds of channels as in German's well-known model: requests,
-- grants and invalidations with their acknowledgements. Data is a value that every copy must agree on.

const NODES: 2;

type
  node: scalarset(NODES);
  data: 0..1;
  right: enum { none, share, own };
  request: enum { nothing, to_share, to_own };
  answer: enum { silent, shared_grant, owned_grant };

var
  cache: array [node] of record held: right; value: data; end;
  asks: array [node] of request;
  grants: array [node] of record kind: answer; value: data; end;
  recall: array [node] of boolean;
  returned: array [node] of record done: boolean; value: data; end;
  listed: array [node] of boolean;
  pending: array [node] of boolean;
  serving: request;
  client: node;
  owned: boolean;
  memory: data;
  newest: data;

startstate begin
  for n: node do
    cache[n].held := none;
    asks[n] := nothing;
    grants[n].kind := silent;
    recall[n] := false;
    returned[n].done := false;
    listed[n] := false;
    pending[n] := false;
  end;
  serving := nothing;
  owned := false;
  memory := 0;
  newest := 0;
end;

ruleset n: node do
  rule "asks to share" asks[n] = nothing & cache[n].held = none ==> begin
    asks[n] := to_share;
  end;

  rule "asks to own" asks[n] = nothing & cache[n].held != own ==> begin
    asks[n] := to_own;
  end;

  rule "is heard" serving = nothing & asks[n] != nothing ==> begin
    serving := asks[n];
    asks[n] := nothing;
    client := n;
    pending := listed;
  end;

  rule "is recalled" pending[n] & !recall[n] & !returned[n].done
    & (serving = to_own | serving = to_share & owned)
  ==> begin
    recall[n] := true;
    pending[n] := false;
  end;

  rule "gives back" recall[n] & !returned[n].done & grants[n].kind = silent ==> begin
    recall[n] := false;
    returned[n].done := true;
    if cache[n].held = own then
      returned[n].value := cache[n].value;
    end;
    cache[n].held := none;
    undefine cache[n].value;
  end;

  rule "has given back" returned[n].done & serving != nothing ==> begin
    returned[n].done := false;
    listed[n] := false;
    if owned then
      owned := false;
      memory := returned[n].value;
    end;
    undefine returned[n].value;
  end;

  rule "is granted a share" serving = to_share & client = n & !owned & grants[n].kind = silent ==> begin
    grants[n].kind := shared_grant;
    grants[n].value := memory;
    listed[n] := true;
    serving := nothing;
    undefine client;
  end;

  rule "is granted ownership"
    serving = to_own & client = n & !owned & grants[n].kind = silent & forall m: node do !listed[m] end
  ==> begin
    grants[n].kind := owned_grant;
    grants[n].value := memory;
    listed[n] := true;
    owned := true;
    serving := nothing;
    undefine client;
  end;

  rule "receives" grants[n].kind != silent ==> begin
    cache[n].held := grants[n].kind = shared_grant ? share : own;
    cache[n].value := grants[n].value;
    grants[n].kind := silent;
    undefine grants[n].value;
  end;

  ruleset d: data do
    rule "writes" cache[n].held = own ==> begin
      cache[n].value := d;
      newest := d;
    end;
  end;
end;

invariant "an owner is alone"
  forall n: node do forall m: node do n != m & cache[n].held = own -> cache[m].held = none end end;

invariant "copies are new"
  forall n: node do cache[n].held != none -> cache[n].value = newest end;

invariant "memory is new unless there is an owner" !owned -> memory = newest;
