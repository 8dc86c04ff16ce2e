// Who sends what to whom? A sequence chart of the steps around the one that is looked at.

import { h, s, visible } from "fathom/dom";

const AROUND = 15;
const STEP = 34;
const GAP = 150;
const TOP = 46;

export class Chart {
  constructor(run, onselect) {
    Object.assign(this, { run, onselect });
    this.box = h("div", { class: "chart", tabindex: 0, role: "img", "aria-label": "sequence chart of the steps around the chosen one" });
    this.element = h("section", { class: "panel" }, h("h2", {}, "messages"), this.box);
  }

  // Whether there is anything to draw: messages, or moves of more than one process.
  static suits(run) {
    return run.participants.length > 1 && run.states.some((state) => state.step?.message);
  }

  show(selected) {
    const { run } = this;
    const first = Math.max(1, Math.min(selected - AROUND, run.length - 2 * AROUND));
    const last = Math.min(run.length - 1, first + 2 * AROUND);
    const place = new Map(run.participants.map((name, number) => [name, 70 + number * GAP]));
    const [width, height] = [140 + (run.participants.length - 1) * GAP, TOP + (last - first + 1) * STEP + 20];
    const drawing = s("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    drawing.append(s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z", class: "tip" }))));
    for (const [name, x] of place) {
      drawing.append(s("line", { x1: x, x2: x, y1: TOP - 14, y2: height, class: "life" }), text(x, 20, name, "who"));
    }
    for (let state = first; state <= last; state += 1) {
      drawing.append(this.step(state, TOP + (state - first) * STEP + 16, place, width, state === selected));
    }
    this.box.replaceChildren(drawing);
    const y = (selected - first) * STEP;
    this.box.scrollTop = y - this.box.clientHeight / 2;
  }

  step(state, y, place, width, chosen) {
    const { step } = this.run.states[state];
    const group = s("g", { class: chosen ? "chosen" : null, onclick: () => this.onselect(state) });
    group.append(s("title", {}, step ? step.title : ""), s("rect", { x: 0, y: y - STEP / 2, width, height: STEP, class: "band" }));
    group.append(text(4, y + 4, String(this.run.number(state)), "number", "start"));
    if (!step) return group;
    const { message } = step;
    if (message) {
      const [from, to] = [place.get(message.sender ?? message.channel), place.get(message.receiver ?? message.channel)];
      const said = message.values.length ? `${message.channel}(${message.values.join(", ")})` : message.channel;
      if (from !== undefined && to !== undefined) {
        group.append(s("line", { x1: from, x2: to, y1: y + 6, y2: y + 6, class: "arrow", "marker-end": "url(#tip)" }), text((from + to) / 2, y, said, "said"));
      }
    } else {
      for (const move of step.moves) {
        const x = place.get(move.process);
        if (x !== undefined) group.append(s("circle", { cx: x, cy: y, r: 4, class: "dot" }), text(x + 8, y + 4, move.to, "moved", "start"));
      }
    }
    return group;
  }
}

function text(x, y, content, kind, anchor = "middle") {
  const shown = visible(content);
  return s("text", { x, y, class: kind, "text-anchor": anchor }, shown.length > 24 ? `${shown.slice(0, 23)}…` : shown);
}
