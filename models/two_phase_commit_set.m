-- states: 1428
-- transitions: 4022
-- depth: 9
-- deadlocks: 0
-- faults: 0
-- property: nobody_commits_while_another_aborts: stated nobody commits while another aborts => holds
-- property: stuck: deadlock => holds
-- Two-phase commit with participants that may fail to answer: the coordinator then aborts. Votes and decisions travel in a multiset.

const PARTICIPANTS: 2;

type
  participant: scalarset(PARTICIPANTS);
  kind: enum { vote_yes, vote_no, commit, abort };
  phase: enum { working, prepared, committed, aborted };
  letter: record what: kind; who: participant; end;

var
  mail: multiset [2 * PARTICIPANTS] of letter;
  state: array [participant] of phase;
  voted: array [participant] of boolean;
  decision: enum { open, yes, no };
  told: array [participant] of boolean;

procedure post(what: kind; who: participant);
var l: letter;
begin
  l.what := what;
  l.who := who;
  multisetadd(l, mail);
end;

startstate begin
  undefine mail;
  for p: participant do
    state[p] := working;
    voted[p] := false;
    told[p] := false;
  end;
  decision := open;
end;

ruleset p: participant do
  rule "votes yes" state[p] = working ==> begin
    state[p] := prepared;
    post(vote_yes, p);
  end;

  rule "votes no" state[p] = working ==> begin
    state[p] := aborted;
    post(vote_no, p);
  end;

  rule "is told" decision != open & !told[p] ==> begin
    told[p] := true;
    post(decision = yes ? commit : abort, p);
  end;
end;

choose i: mail do
  rule "a vote arrives" mail[i].what = vote_yes | mail[i].what = vote_no ==> begin
    if decision = no then
      -- It comes too late.
    elsif mail[i].what = vote_yes then
      voted[mail[i].who] := true;
    else
      decision := no;
    end;
    multisetremove(i, mail);
  end;

  rule "a decision arrives" mail[i].what = commit | mail[i].what = abort ==> begin
    if state[mail[i].who] != aborted then
      state[mail[i].who] := mail[i].what = commit ? committed : aborted;
    end;
    multisetremove(i, mail);
  end;
end;

rule "decides to commit" decision = open & forall p: participant do voted[p] end ==> begin
  decision := yes;
end;

rule "gives up waiting" decision = open ==> begin
  decision := no;
end;

rule "the next transaction"
  multisetcount(i: mail, true) = 0
  & forall p: participant do told[p] & (state[p] = committed | state[p] = aborted) end
==> begin
  for p: participant do
    state[p] := working;
    voted[p] := false;
    told[p] := false;
  end;
  decision := open;
end;

invariant "nobody commits while another aborts"
  !exists p: participant do exists q: participant do state[p] = committed & state[q] = aborted end end;
