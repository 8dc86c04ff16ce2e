// What does the reader see first, and what changes when a step is chosen?

import { Chart } from "fathom/chart";
import { count, h } from "fathom/dom";
import { compile } from "fathom/expression";
import { layers } from "fathom/plot";
import { Run } from "fathom/run";
import { Source } from "fathom/source";
import { Table } from "fathom/table";

const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const source = new Source(data.source);

// Columns are many where states are wide: then those that never change are hidden at first.
const MANY = 14;

const SENTENCES = {
  holds: "All properties hold.",
  violated: "A property is violated.",
  fault: "The model misbehaves.",
  unknown: "Not decided.",
  finished: "The search is finished.",
};

function header() {
  const { report } = data;
  const theme = h("button", { class: "theme", "aria-label": "switch between light and dark", title: "light or dark",
    onclick: () => {
      const dark = getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1";
      document.documentElement.dataset.theme = dark ? "light" : "dark";
    } }, "◐");
  const properties = (report.properties ?? []).filter((it) => it.kind !== "fault" || it.verdict === "fault");
  const list = properties.map((it) => h(
    "li",
    { class: it.verdict },
    h("span", { class: "verdict" }, it.kind === "reach" && it.verdict === "violated" ? "reachable" : it.verdict), " ",
    h("span", { class: "kind" }, it.kind), " ", h("bdi", {}, it.name),
    it.vacuous ? h("span", { class: "note" }, " — its left side was never true, so it says nothing") : null,
  ));
  return h(
    "header",
    {},
    h("div", { class: "top" }, h("h1", {}, h("bdi", {}, data.source.name)), theme),
    h("p", { class: `banner ${report.verdict}`, role: "status" }, sentence(properties),
      report.limit && report.limit !== "violation" ? ` The search ended early: ${report.limit}.` : null),
    h("ul", { class: "properties", "aria-label": "properties" }, list),
    (report.assumptions ?? []).length ? h("p", { class: "note" }, `assuming: ${report.assumptions.join("; ")}`) : null,
  );
}

// The verdict in a sentence: what is only looked for is no fault if it is found.
function sentence(properties) {
  const { verdict } = data.report;
  const broken = properties.filter((it) => it.verdict === "violated" || it.verdict === "fault");
  if (verdict === "violated" && broken.every((it) => it.kind === "reach")) return "What was looked for can be reached.";
  return SENTENCES[verdict] ?? verdict;
}

// Everything about one run: its table, what the chosen step did, and the chart.
function section(run) {
  const pinned = new Set();
  const own = [];
  let wanted = "";
  let still = run.columns.length > MANY;
  const names = new Map(run.columns.map((name, number) => [name, number]));

  const columns = () => {
    const fits = (name) => wanted === "" || name.toLowerCase().includes(wanted);
    const of_model = run.columns.map((name, number) => ({
      name, key: name, pinned: pinned.has(name), number,
      text: (state) => run.text(number, state), changed: (state) => run.changed(number, state),
    }));
    const shown = of_model.filter((it) => it.pinned || (fits(it.name) && !(still && !run.changes_ever(it.number))));
    const atoms = run.atoms.map((name) => truth(name, (state) => (run.states[state].atoms ?? []).includes(name)));
    const written = own.map(({ text, value }) => {
      const at = (state) => String(value((name) => (names.has(name) ? run.text(names.get(name), state) : undefined)));
      return { name: text, key: `=${text}`, pinned: true, text: at, changed: (state) => state > 0 && at(state) !== at(state - 1) };
    });
    return [...written, ...shown.filter((it) => it.pinned), ...(wanted ? [] : atoms), ...shown.filter((it) => !it.pinned)];
  };
  const truth = (name, holds) => ({
    name: `⊨ ${name}`, key: `|=${name}`, pinned: false,
    text: (state) => (holds(state) ? "true" : "false"), changed: (state) => state > 0 && holds(state) !== holds(state - 1),
  });

  const details = h("section", { class: "panel details", "aria-live": "polite" });
  const chart = Chart.suits(run) ? new Chart(run, (state) => table.select(state)) : null;
  const select = (state) => {
    describe(run, state, details);
    chart?.show(state);
    const step = run.states[state].step;
    source.light(step ? [...new Set([...step.moves.map((it) => it.line), step.line].filter(Boolean))] : []);
    history.replaceState(null, "", `#run=${data.runs.indexOf(run)}&step=${state}`);
  };
  const pin = (key) => {
    if (key.startsWith("=")) own.splice(own.findIndex((it) => `=${it.text}` === key), 1);
    else if (!pinned.delete(key)) pinned.add(key);
    table.columns();
  };
  const table = new Table(run, columns, select, pin);

  const filter = h("input", { type: "search", class: "filter", placeholder: "filter variables", "aria-label": "filter variables by name",
    oninput: (event) => { wanted = event.target.value.toLowerCase(); table.columns(); } });
  const hide = h("input", { type: "checkbox", onchange: (event) => { still = event.target.checked; table.columns(); } });
  hide.checked = still;
  const wrong = h("span", { class: "wrong", role: "alert" });
  const watch = h("form", { class: "watch", onsubmit: (event) => {
    event.preventDefault();
    const input = event.target.elements.expression;
    try {
      const text = input.value.trim();
      own.push({ text, value: compile(text) });
      [input.value, wrong.textContent] = ["", ""];
      table.columns();
    } catch (error) {
      wrong.textContent = error.message;
    }
  } }, h("input", { name: "expression", placeholder: "an expression, as turn == 1 && P_0 == idle", "aria-label": "an expression that is evaluated in every state" }), h("button", {}, "watch"));
  const controls = h("div", { class: "controls" }, filter, h("label", {}, hide, " only what changes"), watch, wrong);

  const element = h(
    "article",
    {},
    h("h2", { class: "heading" }, h("bdi", {}, run.heading)),
    reasons(run),
    run.note ? h("p", { class: "note" }, run.note) : null,
    run.length === 0 ? null : controls,
    run.length === 0 ? null : h("div", { class: "split" }, h("div", { class: "main" }, table.element, chart?.element ?? null), h("div", { class: "side" }, details, source.element)),
  );
  return { element, table, filter, start: (state) => { if (run.length) { table.select(state); } } };
}

// Why the run is shown: the fault at its end, or the values that decide.
function reasons({ fault, because }) {
  const values = (read) => Object.entries(read).map(([name, value]) => `${name} = ${value ?? "-"}`).join(", ");
  if (fault) {
    const place = fault.line ? ` (line ${fault.line})` : "";
    const read = values(fault.values ?? {});
    return h("p", { class: "reason" }, `${fault.during}: ${fault.title}${fault.detail ? `: ${fault.detail}` : ""}${place}`,
      fault.expression ? h("span", {}, " in ", h("code", {}, fault.expression), read ? `, where ${read}` : "") : null);
  }
  if (!because) return null;
  const read = values(because.values);
  return h("p", { class: "reason" }, h("code", {}, because.condition), ` is ${because.holds} at the end${read ? `: ${read}` : ""}`);
}

function describe(run, state, into) {
  const { step, atoms, automaton } = run.states[state];
  const rows = [];
  const row = (name, value) => rows.push(h("dt", {}, h("bdi", {}, name)), h("dd", {}, value));
  for (const move of step?.moves ?? []) row(move.process, `${move.from} → ${move.to}`);
  if (step?.message) {
    const { channel, sender, receiver, values } = step.message;
    row("message", `${channel}${values.length ? `(${values.join(", ")})` : ""} ${sender ? `from ${sender}` : "out of the buffer"} ${receiver ? `to ${receiver}` : "into the buffer"}`);
  }
  const moved = new Set((step?.moves ?? []).map((move) => move.process));
  run.columns.forEach((name, column) => {
    if (!run.changed(column, state) || moved.has(name)) return;
    row(name, h("span", {}, h("del", {}, run.text(column, state - 1)), " ", h("ins", {}, run.text(column, state))));
  });
  if (automaton !== undefined) row("automaton", `${automaton}, reads ${(atoms ?? []).join(", ") || "nothing"}`);
  const line = step?.line ? ` (line ${step.line})` : "";
  const place = `state ${run.number(state)}: ${step ? step.title : "initial state"}${line}`;
  into.replaceChildren(h("h2", {}, h("bdi", {}, place)), rows.length ? h("dl", {}, rows) : h("p", { class: "note" }, state ? "nothing changes" : "choose a step to see what it does"));
}

function figures() {
  const { report } = data;
  const pairs = [
    ["states", report.states], ["visits", report.states === null ? report.visits : null], ["transitions", report.transitions ?? report.edges],
    ["depth", report.depth], ["deadlocks", report.deadlocks], ["faults", report.faults],
  ].filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [name, count(value)]);
  pairs.push(["engine", report.engine], ["record", `${report.record_bits} bits`], ["memory", `${count(Math.round(report.ram.data_peak / 1024))} KiB for states`], ["time", `${report.seconds} s on ${report.threads} threads`]);
  if (report.checksum) pairs.push(["checksum", report.checksum]);
  if (report.run) pairs.push(["to check it again", `fathom audit ${report.run}`]);
  return h("section", { class: "panel" }, h("h2", {}, "the search"), h("dl", {}, pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

function coverage() {
  const { coverage } = data.report;
  if (!coverage || data.report.limit === "violation") return null;
  const list = (title, items) => (items.length === 0 ? null : h("div", {}, h("h3", {}, title), h("ul", {}, items.slice(0, 200).map((it) => h("li", {}, h("button", { class: "link", onclick: () => source.light([it.line]) }, `${it.what} (line ${it.line})`))))));
  const both = [list(`${coverage.never_taken.length} of ${coverage.transitions} transitions never taken`, coverage.never_taken), list(`${coverage.never_reached.length} of ${coverage.locations} locations never reached`, coverage.never_reached)];
  return both.some(Boolean) ? h("section", { class: "panel" }, h("h2", {}, "coverage"), both) : null;
}

data.runs = data.traces.map((trace) => new Run(trace));
page.append(header());
const place = new URLSearchParams(location.hash.slice(1));
const stage = h("div", { class: "stage" });
let current = null;
function show(number, state) {
  current = section(data.runs[number]);
  stage.replaceChildren(current.element);
  current.start(state);
}
if (data.runs.length > 1) {
  const choice = h("select", { "aria-label": "which run", onchange: (event) => show(Number(event.target.value), 0) }, data.runs.map((run, number) => h("option", { value: number }, run.heading)));
  page.append(h("p", { class: "runs" }, choice));
}
page.append(stage);
if (data.runs.length > 0) {
  const number = Math.min(Number(place.get("run")) || 0, data.runs.length - 1);
  const run = data.runs[number];
  show(number, place.has("step") ? Number(place.get("step")) || 0 : Math.max(0, run.length - 1));
} else {
  stage.append(source.element);
}
const below = h("div", { class: "below" }, figures(), data.report.layers.length > 1 ? layers(data.report.layers) : null, coverage());
page.append(below);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(event.target.tagName) && current) {
    event.preventDefault();
    current.filter.focus();
  }
  if (event.key === "Escape" && current && event.target === current.filter) current.table.element.focus();
});
document.documentElement.dataset.ready = "yes";
