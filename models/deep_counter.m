-- states: 1000
-- transitions: 1000
-- depth: 999
-- deadlocks: 0
-- faults: 0
-- property: half_way: stated half way => holds
-- property: stuck: deadlock => holds
-- A counter of several digits: a thousand layers of one state each, and as many rules that are never enabled together.

const
  DIGITS: 3;
  BASE: 10;

type
  position: 0..DIGITS - 1;
  digit: 0..BASE - 1;

var number: array [position] of digit;

startstate begin
  clear number;
end;

ruleset p: position do
  rule "carry"
    number[p] < BASE - 1 & forall q: position do q >= p | number[q] = BASE - 1 end
  ==> begin
    number[p] := number[p] + 1;
    for q: position do
      if q < p then
        number[q] := 0;
      end;
    end;
  end;
end;

rule "start again" forall p: position do number[p] = BASE - 1 end ==> begin
  clear number;
end;

cover "half way" number[DIGITS - 1] = BASE / 2;
