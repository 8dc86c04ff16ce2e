// Where in its text is each process? The graph of its locations, with the one that it is in lit.

import { h, s, visible } from "fathom/dom";

const [WIDE, HIGH, HALF, TALL] = [130, 56, 52, 24];
// Of processes with more locations than this a picture helps nobody.
const LOCATIONS_MAX = 60;
const SHOWN = 6;

export class Locations {
  constructor(processes, run) {
    this.run = run;
    this.columns = new Map(run.columns.map((name, number) => [name, number]));
    this.graphs = processes.filter((it) => it.locations.length > 1 && it.locations.length <= LOCATIONS_MAX && this.columns.has(it.name));
    this.drawn = new Map();
    this.box = h("div", { class: "graphs" });
    this.chosen = new Set(this.graphs.slice(0, SHOWN).map((it) => it.name));
    const pick = this.graphs.length > SHOWN ? this.graphs.map((it) => {
      const input = h("input", { type: "checkbox", onchange: (event) => { if (event.target.checked) this.chosen.add(it.name); else this.chosen.delete(it.name); this.show(this.state); } });
      input.checked = this.chosen.has(it.name);
      return h("label", {}, input, " ", h("bdi", {}, it.name));
    }) : null;
    this.element = h("section", { class: "panel locations" }, h("h2", {}, "locations"), pick ? h("div", { class: "controls" }, pick) : null, this.box);
  }

  show(state) {
    this.state = state;
    const moved = new Map((this.run.states[state].step?.moves ?? []).map((move) => [move.process, move]));
    this.box.replaceChildren(...this.graphs.filter((it) => this.chosen.has(it.name)).map((it) => {
      if (!this.drawn.has(it.name)) this.drawn.set(it.name, draw(it));
      const { element, nodes, edges } = this.drawn.get(it.name);
      const current = this.run.text(this.columns.get(it.name), state);
      const move = moved.get(it.name);
      nodes.forEach((node, name) => node.classList.toggle("current", name === current));
      edges.forEach((edge, key) => edge.classList.toggle("taken", Boolean(move) && key === `${move.from}\n${move.to}`));
      element.setAttribute("aria-label", `${it.name} is at ${current}`);
      return element;
    }));
  }
}

// A drawing of a graph: locations in rows by their distance from the first.
function draw({ name, locations, initial, edges }) {
  const rank = new Map([[initial, 0]]);
  const queue = [initial];
  for (const from of queue) for (const [source, target] of edges) if (source === from && !rank.has(target)) { rank.set(target, rank.get(from) + 1); queue.push(target); }
  const last = Math.max(...rank.values()) + 1;
  locations.forEach((_, place) => { if (!rank.has(place)) rank.set(place, last); });
  const rows = [];
  for (const place of [...queue, ...locations.keys()].filter((it, at, all) => all.indexOf(it) === at)) (rows[rank.get(place)] ??= []).push(place);
  const width = Math.max(...rows.filter(Boolean).map((row) => row.length)) * WIDE;
  const spot = new Map();
  rows.forEach((row, level) => row.forEach((place, at) => spot.set(place, { x: (width / row.length) * (at + 0.5) + 30, y: level * HIGH + 40 })));
  const height = rows.length * HIGH + 40;
  const drawing = s("svg", { width: width + 90, height, viewBox: `0 0 ${width + 90} ${height}`, role: "img" });
  drawing.append(s("defs", {}, s("marker", { id: "point", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z", class: "point" }))));
  drawing.append(text(8, 14, name, "who", "start"));
  const [nodes, lines] = [new Map(), new Map()];
  for (const [from, to] of edges) {
    const [a, b] = [spot.get(from), spot.get(to)];
    const line = s("path", { d: path(a, b, from === to, rank.get(to) <= rank.get(from)), class: "edge", "marker-end": "url(#point)" });
    lines.set(`${locations[from]}\n${locations[to]}`, line);
    drawing.append(line);
  }
  locations.forEach((location, place) => {
    const { x, y } = spot.get(place);
    const node = s("g", { class: "location" }, s("title", {}, visible(location)), s("rect", { x: x - HALF, y: y - TALL / 2, width: 2 * HALF, height: TALL, rx: 6 }), text(x, y + 4, location, "name", "middle"));
    nodes.set(location, node);
    drawing.append(node);
  });
  return { element: drawing, nodes, edges: lines };
}

// A way from one spot to another: down in a line, back and across in a bow, to itself in a loop.
function path(a, b, loop, back) {
  if (loop) return `M${a.x + HALF},${a.y - 6} c24,-10 24,22 0,12`;
  if (!back) return `M${a.x},${a.y + TALL / 2} L${b.x},${b.y - TALL / 2}`;
  const side = a.x <= b.x ? 1 : -1;
  if (a.y === b.y) return `M${a.x},${a.y + TALL / 2} Q${(a.x + b.x) / 2},${a.y + HIGH * 0.7} ${b.x},${b.y + TALL / 2}`;
  return `M${a.x - side * HALF},${a.y} C${a.x - side * (HALF + 40)},${a.y} ${b.x - side * (HALF + 40)},${b.y} ${b.x - side * HALF},${b.y}`;
}

function text(x, y, content, kind, anchor) {
  const shown = visible(content);
  return s("text", { x, y, class: kind, "text-anchor": anchor }, shown.length > 14 ? `${shown.slice(0, 13)}…` : shown);
}
