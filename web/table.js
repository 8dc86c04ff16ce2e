// How are ten thousand states shown as a table that stays quick? Only the rows that are in sight exist.

import { clipped, h } from "fathom/dom";
import { titleOf } from "fathom/run";

const ROW = 30;
const MORE = 8;
const COLUMNS_MAX = 120;
const NAME_MAX = 44;
const CELL_MAX = 200;
// Longer texts are lists and records, as messages are: their cells are wide enough to be read.
const LONG = 22;

export class Table {
  // `view` says which columns there are: { name, text(state), changed(state), key, pinned, decisive }.
  constructor(run, view, onselect, onpin) {
    Object.assign(this, { run, view, onselect, onpin, selected: 0 });
    this.head = h("thead");
    this.body = h("tbody");
    this.grid = h("table", { role: "grid", "aria-rowcount": run.length + 1 }, this.head, this.body);
    this.element = h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "steps of the run; arrow keys choose one",
        onscroll: () => this.later() },
      this.grid,
    );
    new ResizeObserver(() => this.later()).observe(this.element);
    this.columns();
  }

  // Draws once per frame, however often it is asked to.
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  columns() {
    this.shown = this.view();
    const cells = this.shown.slice(0, COLUMNS_MAX).map((column) => {
      const label = column.pinned ? `unpin ${column.name}` : `pin ${column.name}`;
      const pin = h("button", { class: "pin", "aria-pressed": String(column.pinned), "aria-label": label, title: label,
        onclick: () => this.onpin(column.key) }, column.pinned ? "◆" : "◇");
      const kind = [column.pinned ? "pinned" : "", column.decisive ? "decisive" : ""].join(" ").trim();
      const title = column.decisive ? `${column.name}: the property reads it` : column.name;
      return h("th", { scope: "col", class: kind || null, title }, breakable(clipped(column.name, NAME_MAX)), pin);
    });
    const hidden = this.shown.length - COLUMNS_MAX;
    if (hidden > 0) cells.push(h("th", { scope: "col" }, `${hidden} more: use the filter`));
    const row = h("tr", {}, h("th", { scope: "col", class: "number" }, "#"), h("th", { scope: "col", class: "step" }, "step"), cells);
    this.head.replaceChildren(row);
    this.draw();
  }

  draw() {
    const { run, element } = this;
    const first = Math.max(0, Math.floor(element.scrollTop / ROW) - MORE);
    const last = Math.min(run.length, first + Math.ceil((element.clientHeight || 600) / ROW) + 2 * MORE);
    const width = 2 + Math.min(this.shown.length, COLUMNS_MAX);
    const space = (rows) => h("tr", { "aria-hidden": "true" }, h("td", { colspan: width, style: `height:${rows * ROW}px;padding:0;border:0` }));
    const rows = [];
    if (first > 0) rows.push(space(first));
    for (let state = first; state < last; state += 1) rows.push(this.row(state));
    if (last < run.length) rows.push(space(run.length - last));
    this.body.replaceChildren(...rows);
    element.setAttribute("aria-activedescendant", `row-${this.selected}`);
  }

  row(state) {
    const { run } = this;
    const { step } = run.states[state];
    const start = run.cycle_start;
    const classes = [];
    if (start !== null && state >= start) classes.push("cycle");
    if (start === state) classes.push("cycle-start");
    if (start !== null && state === run.length - 1) classes.push("cycle-end");
    if (run.gap && state === run.gap.at) classes.push("gap");
    const cells = this.shown.slice(0, COLUMNS_MAX).map((column) => {
      const [text, changed] = [column.text(state), column.changed(state)];
      const brief = short(text);
      const kind = [changed ? "changed" : "", column.pinned ? "pinned" : "", brief.length > LONG ? "long" : ""].filter(Boolean).join(" ");
      return h("td", { class: kind || null, title: brief !== text || text.length > 20 ? text : null }, h("bdi", {}, brief));
    });
    const title = step ? titleOf(step) : run.gap && state > 0 ? "…" : "initial state";
    return h(
      "tr",
      { id: `row-${state}`, "aria-rowindex": state + 2, "aria-selected": String(state === this.selected),
        class: classes.join(" ") || null, onclick: () => this.select(state) },
      h("th", { scope: "row", class: "number" }, run.name(state)),
      h("td", { class: "step", title: title.length > 40 ? title : null }, h("bdi", {}, title)),
      cells,
    );
  }

  select(state, quietly) {
    this.selected = Math.min(Math.max(state, 0), this.run.length - 1);
    const top = this.selected * ROW;
    const room = this.element.clientHeight - this.head.offsetHeight - 2 * ROW;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top > this.element.scrollTop + room) this.element.scrollTop = top - room;
    this.draw();
    if (!quietly) this.onselect(this.selected);
  }

  // Chooses another step, wherever the reader is but in a field, or in a box that the same keys scroll.
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const here = event.target === this.element;
    const box = event.target.closest?.("input, select, textarea, [tabindex]");
    if (box && box !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 3);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
    const moves = here ? { ...steps, PageDown: page, PageUp: -page, Home: -this.run.length, End: this.run.length } : steps;
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    this.select(this.selected + moves[event.key]);
  }
}

// A name that may be broken before an index and before a field.
function breakable(name) {
  const pieces = name.split(/(?=\[)|(?=\.)/);
  return h("bdi", {}, pieces.map((piece, number) => [number > 0 ? h("wbr") : null, piece]));
}

// A value as short as a cell wants it: records without the names of their fields.
function short(text) {
  const values = /^[({[]/.test(text) ? text.replace(/\b[A-Za-z_]\w* = /g, "") : text;
  return clipped(values, CELL_MAX);
}
