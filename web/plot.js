// How large was each layer of the search? A curve, with its highest point named.

import { count, h, s } from "fathom/dom";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 180, 64, 24];
const POINTS = 400;

export function layers(sizes) {
  const each = Math.ceil(sizes.length / POINTS);
  const points = [];
  for (let layer = 0; layer < sizes.length; layer += each) points.push(Math.max(...sizes.slice(layer, layer + each)));
  const most = Math.max(...points, 1);
  const x = (point) => LEFT + (points.length > 1 ? (point / (points.length - 1)) * (WIDTH - LEFT - 12) : 0);
  const y = (size) => HEIGHT - BOTTOM - (size / most) * (HEIGHT - BOTTOM - 16);
  const curve = points.map((size, point) => `${x(point).toFixed(1)},${y(size).toFixed(1)}`).join(" L");
  const area = `M${x(0)},${y(0)} L${curve} L${x(points.length - 1)},${y(0)} Z`;
  const widest = sizes.indexOf(Math.max(...points));
  const label = `sizes of ${sizes.length} layers; the widest is layer ${widest} with ${count(most)} states`;
  const drawing = s(
    "svg",
    { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    s("path", { d: area, class: "area" }),
    s("path", { d: `M${curve}`, class: "curve" }),
    s("line", { x1: LEFT, x2: WIDTH - 12, y1: y(0), y2: y(0), class: "axis" }),
    s("text", { x: LEFT - 6, y: y(most) + 4, "text-anchor": "end" }, count(most)),
    s("text", { x: LEFT - 6, y: y(0), "text-anchor": "end" }, "0"),
    s("text", { x: LEFT, y: HEIGHT - 6 }, "layer 0"),
    s("text", { x: WIDTH - 12, y: HEIGHT - 6, "text-anchor": "end" }, `layer ${count(sizes.length - 1)}`),
  );
  return h("section", { class: "panel" }, h("h2", {}, "states by layer"), drawing, h("p", { class: "note" }, label));
}
