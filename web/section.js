// What is shown of one run? Its table, what the chosen step did, what could have happened instead, and the chart.

import { branched, fragment, recordOf } from "fathom/branch";
import { Chart } from "fathom/chart";
import { h } from "fathom/dom";
import { compile, equals } from "fathom/expression";
import { Locations } from "fathom/locations";
import { Next } from "fathom/next";
import { titleOf } from "fathom/run";
import { Table } from "fathom/table";

// Columns are many where states are wide: then those that never change are hidden at first.
const MANY = 14;

// So many values of a state are listed in whole.
const LISTED = 500;

// What the reader chose about the columns stays from run to run: who is pinned or not, whatever the run says; and what else is watched.
const pinned = new Map();
const own = [];
let still = null;
let whole = false;

// Everything about one run: its table, what the chosen step did, and the chart.
// `page` is { source, language, words, processes, missing, explorer, show(run, state, focus) }; the explorer may come later: then `explore` is called with it.
export function section(run, page) {
  const { source } = page;
  let wanted = "";
  still ??= run.columns.length > MANY;
  const names = new Map(run.columns.map((name, number) => [name, number]));
  const decisive = run.decisive_columns;
  const is_pinned = (name) => pinned.get(name) ?? decisive.has(name);

  const columns = () => {
    const fits = (name) => wanted === "" || name.toLowerCase().includes(wanted);
    const of_model = run.columns.map((name, number) => ({
      name, key: name, pinned: is_pinned(name), decisive: decisive.has(name), number,
      text: (state) => run.text(number, state), changed: (state) => run.changed(number, state),
    }));
    const shown = of_model.filter((it) => it.pinned || (fits(it.name) && !(still && !run.changes_ever(it.number))));
    const along = (names, kind) => (names ?? []).map((name) => truth(name, (state) => (run.states[state][kind] ?? []).includes(name)));
    const atoms = [...along(run.subformulas, "subformulas"), ...along(run.atoms, "atoms")];
    const written = own.map(({ text, value }) => {
      const at = (state) => String(value((name) => (names.has(name) ? run.text(names.get(name), state) : "-")));
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
  const processes = new Locations(page.processes ?? [], run);
  const locations = processes.graphs.length > 0 ? processes : null;
  const select = (state) => {
    describe(run, state, details);
    chart?.show(state);
    locations?.show(state);
    const step = run.states[state].step;
    source.light(step ? [...new Set([...step.moves.map((it) => it.line), step.line].filter(Boolean))] : []);
    history.replaceState(null, "", fragment(run, state));
    possible(state);
  };
  const side = h("div", { class: "side" }, details);
  let next = null;
  let chosen = 0;
  const possible = async (state) => {
    chosen = state;
    if (!next) return;
    const record = await recordOf(run, state, page.explorer).catch(() => null);
    const taken = run.states[state + 1]?.step?.action;
    if (chosen === state) await next.show(record, taken);
  };
  const explore = () => {
    const { explorer } = page;
    if (next || !explorer || run.records.length === 0) return;
    const take = (choice) => page.show(branched(run, chosen, [choice], explorer), chosen + 1, true);
    const go = async ({ start, actions }) => {
      const states = await explorer.follow(start.record, actions);
      const here = start.record === run.records[chosen];
      const from = here ? run : page.begin(start.record);
      const at = here ? chosen : 0;
      page.show(branched(from, at, states, explorer), at + states.length, true);
    };
    next = new Next(explorer, take, go);
    details.after(next.element);
    possible(chosen);
  };
  const pin = (key) => {
    if (key.startsWith("=")) own.splice(own.findIndex((it) => `=${it.text}` === key), 1);
    else pinned.set(key, !is_pinned(key));
    table.columns();
  };
  const table = new Table(run, columns, select, pin);

  const filter = h("input", { type: "search", class: "filter", placeholder: "filter variables", "aria-label": "filter variables by name",
    oninput: (event) => { wanted = event.target.value.toLowerCase(); table.columns(); } });
  const hide = h("input", { type: "checkbox", onchange: (event) => { still = event.target.checked; table.columns(); } });
  hide.checked = still;
  const wrong = h("p", { class: "wrong", role: "alert" });
  const known = {
    language: page.language, columns: names, words: page.words && new Set(page.words),
    locations: new Map((page.processes ?? []).map((it) => [it.name, new Set(it.locations)])),
  };
  const words = `an expression${example(run, page.language)}`;
  const watch = h("form", { class: "watch", onsubmit: (event) => {
    event.preventDefault();
    const input = event.target.elements.expression;
    try {
      const text = input.value.trim();
      own.push({ text, value: compile(text, known) });
      [input.value, wrong.textContent] = ["", ""];
      table.columns();
    } catch (error) {
      wrong.textContent = error.message;
    }
  } }, h("input", { name: "expression", placeholder: words, "aria-label": "an expression that is evaluated in every state" }), h("button", {}, "watch"));
  const controls = h("div", { class: "controls" }, filter, h("label", {}, hide, " only what changes"), watch, wrong);

  const element = h(
    "article",
    {},
    h("h2", { class: "heading" }, h("bdi", {}, run.heading), page.back(run)),
    reasons(run),
    run.note ? h("p", { class: "note" }, run.note) : null,
    run.length === 0 ? null : controls,
    run.length === 0 ? null : h("div", { class: "split" }, h("div", { class: "main" }, table.element, chart?.element ?? null, locations?.element ?? null), side),
  );
  if (page.missing) side.append(h("p", { class: "note missing" }, page.missing));
  side.append(source.element);
  explore();
  return { element, table, filter, explore, run, key: (event) => { if (run.length) table.key(event); }, start: (state) => { if (run.length) table.select(state); }, focus: () => (next?.element ?? table.element).querySelector("button, input")?.focus() };
}

// An expression about this run, as its model would write it.
function example(run, language) {
  const simple = (name) => /^[\w.[\]]+$/.test(name) && name.length < 40 && /^\w+$/.test(run.text(run.columns.indexOf(name), run.length - 1));
  const name = [...run.decisive_columns, ...run.columns].find(simple);
  return name ? `, as ${name} ${equals(language)} ${run.text(run.columns.indexOf(name), run.length - 1)}` : "";
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
  const place = `state ${run.name(state)}: ${step ? titleOf(step) : "initial state"}${line}`;
  into.replaceChildren(h("h2", {}, h("bdi", {}, place)), rows.length ? h("dl", {}, rows) : h("p", { class: "note" }, state ? "nothing changes" : "choose a step to see what it does"), values(run, state));
}

// Everything about a state, in whole, if the reader wants it.
function values(run, state) {
  const list = h("dl");
  const fill = () => {
    if (!whole || list.firstChild) return;
    run.columns.slice(0, LISTED).forEach((name, column) => list.append(h("dt", {}, h("bdi", {}, name)), h("dd", {}, h("bdi", {}, run.text(column, state)))));
    if (run.columns.length > LISTED) list.append(h("dt", {}, "…"), h("dd", {}, `and ${run.columns.length - LISTED} more`));
  };
  fill();
  return h("details", { class: "whole", open: whole, ontoggle: (event) => { whole = event.target.open; fill(); } }, h("summary", {}, "all values of this state"), list);
}
