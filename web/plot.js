// How large was something along the way? A curve, with its highest point named.

import { count, h, s } from "fathom/dom";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 180, 64, 24];
const POINTS = 400;

// A panel with a curve through points { x, y }; `ends` are the words at the ends of the axis, `label` says it all in words.
export function curve(title, points, ends, label, shown = count) {
  const most = points.reduce((most, { y }) => Math.max(most, y), 1);
  const [first, last] = [points[0].x, points.at(-1).x];
  const x = (at) => LEFT + (last > first ? ((at - first) / (last - first)) * (WIDTH - LEFT - 12) : 0);
  const y = (size) => HEIGHT - BOTTOM - (size / most) * (HEIGHT - BOTTOM - 16);
  const line = points.map((point) => `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`).join(" L");
  const drawing = s(
    "svg",
    { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    s("path", { d: `M${x(first)},${y(0)} L${line} L${x(last)},${y(0)} Z`, class: "area" }),
    s("path", { d: `M${line}`, class: "curve" }),
    s("line", { x1: LEFT, x2: WIDTH - 12, y1: y(0), y2: y(0), class: "axis" }),
    s("text", { x: LEFT - 6, y: y(most) + 4, "text-anchor": "end" }, shown(most)),
    s("text", { x: LEFT - 6, y: y(0), "text-anchor": "end" }, "0"),
    s("text", { x: LEFT, y: HEIGHT - 6 }, ends[0]),
    s("text", { x: WIDTH - 12, y: HEIGHT - 6, "text-anchor": "end" }, ends[1]),
  );
  return h("section", { class: "panel" }, h("h2", {}, title), drawing, h("p", { class: "note" }, label));
}

// The sizes of layers. Of many, each point is the largest of some.
export function layers(sizes) {
  const each = Math.ceil(sizes.length / POINTS);
  const points = [];
  for (let layer = 0; layer < sizes.length; layer += each) points.push({ x: layer, y: Math.max(...sizes.slice(layer, layer + each)) });
  const most = points.reduce((most, { y }) => Math.max(most, y), 0);
  const label = `sizes of ${sizes.length} layers; the widest is layer ${sizes.indexOf(most)} with ${count(most)} states`;
  return curve("states by layer", points, ["layer 0", `layer ${count(sizes.length - 1)}`], label);
}

const KIB = 1024;

// Bytes as people read them.
export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 10 * KIB && unit + 1 < units.length) [number, unit] = [number / KIB, unit + 1];
  return `${count(Math.round(number))}\u202f${units[unit]}`;
}

// What a search did over time: points of { seconds, states, memory, disk, ... }. Curves that have nothing to say are left out.
export function overTime(history) {
  if (history.length < 2) return [];
  const end = history.at(-1).seconds;
  const ends = ["0 s", `${end.toFixed(1)} s`];
  const rates = history.slice(1).map((point, number) => {
    const before = history[number];
    return { x: point.seconds, y: (point.states - before.states) / Math.max(point.seconds - before.seconds, 1e-3) };
  });
  const of = (name) => history.map((point) => ({ x: point.seconds, y: point[name] ?? 0 }));
  const has = (points) => points.some(({ y }) => y > 0);
  const top = (points) => points.reduce((most, { y }) => Math.max(most, y), 0);
  const plots = [
    ["states over time", of("states"), (most) => `${count(most)} states after ${end.toFixed(1)} s`, count],
    ["states per second", rates, (most) => `at most ${count(Math.round(most))} new states per second`, (it) => count(Math.round(it))],
    ["memory for states", of("memory"), (most) => `at most ${bytes(most)}`, bytes],
    ["disk", of("disk"), (most) => `at most ${bytes(most)}`, bytes],
    ["bytes read and written", of("io"), (most) => `${bytes(most)} in all`, bytes],
    ["known states met again", of("duplicates"), (most) => `${count(most)} in all`, count],
  ];
  return plots.filter(([, points]) => points.length > 1 && has(points)).map(([title, points, words, shown]) => curve(title, points, ends, words(top(points)), shown));
}
