-- states: 1960
-- transitions: 4040
-- depth: 23
-- deadlocks: 0
-- faults: 0
-- property: one_owner_and_nobody_else_has_a_copy: stated one owner, and nobody else has a copy => holds
-- property: every_copy_is_the_latest_value: stated every copy is the latest value => holds
-- property: stuck: deadlock => holds
-- A directory keeps one line coherent among caches that share it or own it. Messages overtake one another, so the network is a
-- multiset: a cache may be asked to give up a copy before it has it, and then waits. It answers only when the copy is gone, and the directory serves one
-- request at a time.

const
  CACHES: 2;
  VALUES: 2;
  ROOM: CACHES + 2;

type
  cache: scalarset(CACHES);
  value: scalarset(VALUES);
  kind: enum { want_shared, want_owned, shared_copy, owned_copy, invalidate, gone };
  message: record
    what: kind;
    who: cache;
    data: value;
  end;
  mode: enum { invalid, shared, owned, waiting_shared, waiting_owned };

var
  net: multiset [ROOM] of message;
  caches: array [cache] of record
    state: mode;
    data: value;
  end;
  memory: value;
  latest: value;
  sharer: array [cache] of boolean;
  owner: cache;
  busy: boolean;
  asked: record
    what: kind;
    who: cache;
  end;

procedure send(what: kind; who: cache; data: value);
var m: message;
begin
  m.what := what;
  m.who := who;
  m.data := data;
  multisetadd(m, net);
end;

function copies(): boolean;
begin
  return !isundefined(owner) | exists c: cache do sharer[c] & c != asked.who end;
end;

ruleset c: cache do
  rule "asks to share" caches[c].state = invalid ==> begin
    caches[c].state := waiting_shared;
    send(want_shared, c, undefined);
  end;

  rule "asks to own" caches[c].state = invalid ==> begin
    caches[c].state := waiting_owned;
    send(want_owned, c, undefined);
  end;

  ruleset v: value do
    rule "writes" caches[c].state = owned ==> begin
      caches[c].data := v;
      latest := v;
    end;
  end;
end;

choose i: net do
  alias m: net[i] do
    rule "directory takes a request" !busy & (m.what = want_shared | m.what = want_owned) ==> begin
      busy := true;
      asked.what := m.what;
      asked.who := m.who;
      for c: cache do
        if (sharer[c] & m.what = want_owned & c != m.who) | (!isundefined(owner) & owner = c) then
          send(invalidate, c, undefined);
        end;
      end;
      multisetremove(i, net);
    end;

    rule "cache gives up its copy" m.what = invalidate & !isundefined(caches[m.who].data) ==> begin
      send(gone, m.who, caches[m.who].data);
      caches[m.who].state := invalid;
      undefine caches[m.who].data;
      multisetremove(i, net);
    end;

    rule "directory hears that a copy is gone" m.what = gone ==> begin
      if !isundefined(owner) & owner = m.who then
        memory := m.data;
        undefine owner;
      end;
      sharer[m.who] := false;
      multisetremove(i, net);
    end;

    rule "cache gets a copy" m.what = shared_copy | m.what = owned_copy ==> begin
      caches[m.who].data := m.data;
      caches[m.who].state := m.what = shared_copy ? shared : owned;
      multisetremove(i, net);
    end;
  end;
end;

rule "directory takes all copies back" !busy & isundefined(owner) & exists c: cache do sharer[c] end ==> begin
  busy := true;
  asked.what := gone;
  for c: cache do
    if sharer[c] then
      send(invalidate, c, undefined);
    end;
  end;
end;

rule "directory answers"
  busy
  & (asked.what = want_shared -> isundefined(owner))
  & (asked.what = want_owned -> !copies())
  & (asked.what = gone -> forall c: cache do !sharer[c] end)
==> begin
  switch asked.what
  case want_shared:
    sharer[asked.who] := true;
    send(shared_copy, asked.who, memory);
  case want_owned:
    owner := asked.who;
    send(owned_copy, asked.who, memory);
  end;
  busy := false;
  undefine asked;
end;

ruleset v: value do
  startstate begin
    undefine net;
    undefine owner;
    undefine asked;
    for c: cache do
      caches[c].state := invalid;
      undefine caches[c].data;
      sharer[c] := false;
    end;
    memory := v;
    latest := v;
    busy := false;
  end;
end;

invariant "one owner, and nobody else has a copy"
  forall c: cache do forall d: cache do
    c != d & caches[c].state = owned -> caches[d].state != owned & caches[d].state != shared
  end end;

invariant "every copy is the latest value"
  forall c: cache do caches[c].state = shared | caches[c].state = owned -> caches[c].data = latest end;
