type
  node: scalarset(3);
var
  shares: array [node] of boolean;
  last: node;
  count: 0..3;

procedure remember(n: node);
begin
  last := n;
end;

startstate
begin
  for n: node do shares[n] := false; end;
  undefine last;
  count := 0;
end;

rule "the last that shares is remembered"
begin
  for n: node do
    if shares[n] then remember(n); end;
  end;
end;

rule "counting does not mind the order, numbering does"
var place: array [node] of 0..3;
begin
  count := 0;
  for n: node do
    place[n] := count;
    count := count + 1;
  end;
end;

ruleset n: node do
  rule "shares"
  begin
    shares[n] := true;
  end;
end;
