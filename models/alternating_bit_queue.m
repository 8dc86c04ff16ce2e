-- states: 210
-- transitions: 750
-- depth: 27
-- deadlocks: 0
-- faults: 0
-- property: the_receiver_is_at_most_one_behind: stated the receiver is at most one behind => holds
-- property: stuck: deadlock => holds
-- The alternating-bit protocol over two queues that lose and keep order. A message carries a bit and a value; the receiver must hand out
-- the values in the order they were sent, which a counter modulo three observes.

const
  ROOM: 2;
  VALUES: 3;

type
  bit: 0..1;
  value: 0..VALUES - 1;
  slot: 0..ROOM - 1;
  packet: record flag: bit; content: value; end;
  queue: record length: 0..ROOM; at: array [slot] of packet; end;

var
  data: queue;
  acks: queue;
  sending: packet;
  expected: bit;
  delivered: value;
  awaited: value;

procedure put_last(var q: queue; p: packet);
begin
  if q.length < ROOM then
    q.at[q.length] := p;
    q.length := q.length + 1;
  end;
end;

procedure take_first(var q: queue);
begin
  for i := 1 to q.length - 1 do
    q.at[i - 1] := q.at[i];
  end;
  q.length := q.length - 1;
  undefine q.at[q.length];
end;

function with_flag(flag: bit): packet;
var p: packet;
begin
  p.flag := flag;
  return p;
end;

startstate begin
  undefine data;
  undefine acks;
  data.length := 0;
  acks.length := 0;
  sending.flag := 0;
  sending.content := 0;
  expected := 0;
  delivered := VALUES - 1;
  awaited := 0;
end;

rule "send" data.length < ROOM ==> begin put_last(data, sending); end;
rule "lose data" data.length > 0 ==> begin take_first(data); end;
rule "lose ack" acks.length > 0 ==> begin take_first(acks); end;

rule "receive" data.length > 0 ==>
var p: packet;
begin
  p := data.at[0];
  take_first(data);
  if p.flag = expected then
    assert p.content = awaited "values come in order";
    delivered := p.content;
    awaited := (awaited + 1) % VALUES;
    expected := 1 - expected;
  end;
  put_last(acks, with_flag(p.flag));
end;

rule "acknowledged" acks.length > 0 ==> begin
  if acks.at[0].flag = sending.flag then
    sending.flag := 1 - sending.flag;
    sending.content := (sending.content + 1) % VALUES;
  end;
  take_first(acks);
end;

invariant "the receiver is at most one behind"
  sending.content = awaited | sending.content = delivered;
