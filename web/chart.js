// Who sends what to whom? A sequence chart of the steps around the one that is looked at.

import { h, s, visible } from "fathom/dom";
import { titleOf } from "fathom/run";

const AROUND = 15;
const STEP = 34;
const TOP = 46;
// The room for numbers at the left, and how far apart the lanes may stand.
const [LEFT, NEAR, FAR] = [40, 150, 190];
const LETTER = 7.3;

export class Chart {
  constructor(run, onselect) {
    Object.assign(this, { run, onselect, lanes: lanes(run) });
    const said = run.states.map(({ step }) => (step?.message ? words(step.message) : ""));
    this.near = [...this.lanes, ...said].reduce((most, it) => Math.max(most, Math.min(NEAR, it.length * LETTER + 16)), 0);
    this.box = h("div", { class: "chart", tabindex: 0, role: "img", "aria-label": "sequence chart of the steps around the chosen one" });
    this.element = h("section", { class: "panel" }, h("h2", {}, "messages"), this.box);
  }

  // Whether there is anything to draw: messages from one to another.
  static suits(run) {
    return lanes(run).length > 1;
  }

  show(selected) {
    const { run } = this;
    const first = Math.max(1, Math.min(selected - AROUND, run.length - 2 * AROUND));
    const last = Math.min(run.length - 1, first + 2 * AROUND);
    // As wide as there is room, and wider where names would not be read.
    const room = Math.floor(((this.box.clientWidth || 640) - LEFT) / this.lanes.length);
    const gap = Math.min(FAR, Math.max(this.near, room));
    const place = new Map(this.lanes.map((name, number) => [name, LEFT + gap * (number + 0.5)]));
    const [width, height] = [LEFT + gap * this.lanes.length, TOP + (last - first + 1) * STEP + 20];
    const drawing = s("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    drawing.append(s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z", class: "tip" }))));
    for (const [name, x] of place) {
      drawing.append(s("line", { x1: x, x2: x, y1: TOP - 14, y2: height, class: "life" }), text(x, 20, name, "who", gap));
    }
    for (let state = first; state <= last; state += 1) {
      drawing.append(this.step(state, TOP + (state - first) * STEP + 16, { place, gap, width }, state === selected));
    }
    this.box.replaceChildren(drawing);
    const y = (selected - first) * STEP;
    this.box.scrollTop = y - this.box.clientHeight / 2;
  }

  step(state, y, { place, gap, width }, chosen) {
    const { step } = this.run.states[state];
    const group = s("g", { class: chosen ? "chosen" : null, onclick: () => this.onselect(state) });
    group.append(s("title", {}, step ? titleOf(step) : ""), s("rect", { x: 0, y: y - STEP / 2, width, height: STEP, class: "band" }));
    group.append(text(4, y + 4, this.run.name(state), "number", LEFT + gap / 2 - 12, "start"));
    if (!step) return group;
    const { message } = step;
    if (message) {
      const [from, to] = [place.get(message.sender ?? message.channel), place.get(message.receiver ?? message.channel)];
      if (from !== undefined && to !== undefined) {
        group.append(s("line", { x1: from, x2: to, y1: y + 6, y2: y + 6, class: "arrow", "marker-end": "url(#tip)" }), text((from + to) / 2, y, words(message), "said", Math.max(gap, Math.abs(from - to))));
      }
    } else {
      for (const move of step.moves) {
        const x = place.get(move.process);
        if (x !== undefined) group.append(s("circle", { cx: x, cy: y, r: 4, class: "dot" }), text(x + 8, y + 4, move.to, "moved", gap - 8, "start"));
      }
    }
    return group;
  }
}

function words({ channel, values }) {
  return values.length ? `${channel}(${values.join(", ")})` : channel;
}

// Who takes part in this run: those who send or receive, in the model's order; a buffer stands beside the one who reads from it, or else who writes into it.
function lanes({ participants, states }) {
  const messages = states.map((state) => state.step?.message).filter(Boolean);
  const people = new Set(messages.flatMap(({ sender, receiver }) => [sender, receiver]).filter(Boolean));
  const lanes = participants.filter((name) => people.has(name));
  const buffers = new Set(messages.filter(({ sender, receiver }) => !sender || !receiver).map(({ channel }) => channel));
  for (const buffer of participants.filter((name) => buffers.has(name) && !people.has(name))) {
    const users = messages.filter(({ channel }) => channel === buffer);
    const [reader, writer] = [users.find((it) => it.receiver)?.receiver, users.find((it) => it.sender)?.sender];
    const beside = lanes.indexOf(reader ?? writer);
    // On the side that the message comes from.
    const after = !reader || (writer && lanes.indexOf(writer) > lanes.indexOf(reader));
    lanes.splice(after ? beside + 1 : beside, 0, buffer);
  }
  return lanes;
}

// A text that takes no more than so much room.
function text(x, y, content, kind, room, anchor = "middle") {
  const [shown, most] = [visible(content), Math.max(4, Math.floor(room / LETTER))];
  return s("text", { x, y, class: kind, "text-anchor": anchor }, shown.length > most ? `${shown.slice(0, most - 1)}…` : shown);
}
