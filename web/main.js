// What does the reader see first, and what changes when a step is chosen?

import { beginning, branched, recordOf } from "fathom/branch";
import { count, h } from "fathom/dom";
import { Explorer } from "fathom/explorer";
import { layers, overTime } from "fathom/plot";
import { Run } from "fathom/run";
import { section } from "fathom/section";
import { Source } from "fathom/source";

const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const source = new Source(data.source);

const SENTENCES = {
  holds: "All properties hold.",
  violated: "A property is violated.",
  fault: "There is a fault.",
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
  const top = h("div", { class: "top" }, h("h1", {}, h("bdi", {}, data.source.name)), theme);
  // Of runs of a file it is known what they violate.
  if (!report) return h("header", {}, top, (data.saved ?? []).map((it) => h("p", { class: "banner violated", role: "status" }, h("bdi", {}, it.heading))));
  const vacuous = (report.properties ?? []).filter((it) => it.vacuous).map((it) => h("p", { class: "note" }, h("bdi", {}, it.name), " says nothing: its left side was never true"));
  return h(
    "header",
    {},
    top,
    h("p", { class: `banner ${report.verdict}`, role: "status" }, sentence(),
      report.limit && report.limit !== "violation" ? ` The search ended early: ${report.limit}.` : null),
    verdicts(data.verdicts ?? (report.properties ?? []).map((it) => ({ subject: it.name, word: it.verdict, verdict: it.verdict }))),
    vacuous,
    (report.assumptions ?? []).length ? h("p", { class: "note" }, `assuming: ${report.assumptions.join("; ")}`) : null,
  );
}

// What was decided, in the words of the checker.
function verdicts(lines) {
  return h("ul", { class: "properties", "aria-label": "properties" }, lines.map(({ subject, word, reason, verdict }) => h(
    "li", { class: verdict }, h("span", { class: "verdict" }, word), " ", h("bdi", {}, subject), reason ? h("span", { class: "note" }, ` (${reason})`) : null)));
}

// The verdict in a sentence: what is only looked for is no fault if it is found, and a fault is named.
function sentence() {
  const { verdict, properties } = data.report;
  const broken = (properties ?? []).filter((it) => it.verdict === "violated" || it.verdict === "fault");
  if (verdict === "violated" && broken.every((it) => it.kind === "reach")) return "What was looked for can be reached.";
  const faulty = verdict === "fault" ? data.traces.find((it) => it.verdict === "fault") : null;
  return faulty ? `${faulty.heading}.` : SENTENCES[verdict] ?? verdict;
}

function figures() {
  const { report } = data;
  if (!report) return null;
  const pairs = [
    ["states", report.states], ["visits", report.states === null ? report.visits : null], ["transitions", report.transitions ?? report.edges],
    ["depth", report.depth], ["deadlocks", report.deadlocks], ["faults", report.faults],
  ].filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [name, count(value)]);
  if (report.symmetry) pairs.unshift(["symmetry", "on: one state for each class of symmetric states"]);
  const threads = report.threads === 1 ? "1 thread" : `${report.threads} threads`;
  pairs.push(["engine", report.engine], ["record", `${report.record_bits} bits`], ["memory", `${count(Math.round(report.ram.data_peak / 1024))} KiB for states`], ["time", `${report.seconds} s on ${threads}`]);
  if (report.checksum) pairs.push(["checksum", report.checksum]);
  if (report.run && (report.properties ?? []).some((it) => it.certificate !== "none")) pairs.push(["to check it again", `fathom audit ${report.run}`]);
  return h("section", { class: "panel" }, h("h2", {}, "the search"), h("dl", {}, pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

function coverage() {
  const coverage = data.report?.coverage;
  if (!coverage || data.report.limit === "violation") return null;
  const list = (title, items) => (items.length === 0 ? null : h("div", {}, h("h3", {}, title), h("ul", {}, items.slice(0, 200).map((it) => h("li", {}, h("button", { class: "link", onclick: () => source.light([it.line]) }, `${it.what} (line ${it.line})`))))));
  const both = [list(`${coverage.never_taken.length} of ${coverage.transitions} transitions never taken`, coverage.never_taken), list(`${coverage.never_reached.length} of ${coverage.locations} locations never reached`, coverage.never_reached)];
  return both.some(Boolean) ? h("section", { class: "panel" }, h("h2", {}, "coverage"), both) : null;
}

// How far a search is that has not ended, as its folder tells; or that it has ended.
function underWay({ held, told, report }) {
  const title = report && !held ? SENTENCES[report.verdict] ?? report.verdict : held ? "The search is running." : "The search was interrupted.";
  const lines = report && !held ? [`${count(report.states ?? report.visits)} states, ${report.seconds} s`] : told?.lines ?? [];
  return h("section", { class: "panel under-way" }, h("h2", { role: "status" }, title),
    h("dl", {}, lines.map((line) => {
      const [, name, value] = line.match(/^ *(\S+) {2,}(.*)$/) ?? [null, "search", line];
      return [h("dt", {}, name), h("dd", {}, value)];
    })),
    told && !held ? h("p", {}, "to resume it: ", h("code", {}, told.resume)) : null);
}

// The search in the folder that is watched, drawn anew as long as the page is there.
const WATCHED_EVERY = 1000;

async function watch(explorer, place) {
  for (;;) {
    const seen = await explorer.ask({ ask: "watch" });
    place.replaceChildren(underWay(seen), ...overTime(seen.history ?? []));
    document.documentElement.dataset.watched = seen.held ? "running" : seen.report ? "ended" : "interrupted";
    if (!seen.held) return;
    await new Promise((resolve) => setTimeout(resolve, WATCHED_EVERY));
  }
}

data.runs = data.traces.map((trace, place) => Object.assign(new Run(trace), { place }));
page.append(header());
if (data.under_way) page.append(underWay(data.under_way));
const place = new URLSearchParams(location.hash.slice(1));
const stage = h("div", { class: "stage" });
const chooser = h("p", { class: "runs" });
let current = null;

// A page wants to go on from its states, and the program that made it could not give it what that needs.
const MISSING = "This page was made by a fathom without the explorer: it shows what was found, and cannot go on from there. "
  + "fathom --version says whether a program has it, and its manual how to build one that does.";
const missing = document.getElementById("explorer")?.dataset.missing ? MISSING : null;

// What sections of runs share.
const shared = {
  source,
  language: data.source.language,
  words: data.words ?? null,
  processes: data.processes,
  missing,
  explorer: null,
  show,
  // A run that begins in an initial state of that record.
  begin(record) {
    const number = Math.max(0, shared.explorer.initial.findIndex((it) => it.state.record === record));
    return beginning(shared.explorer, number, data.participants);
  },
  // The way from a run of the reader's own to one that was there.
  back(run) {
    if (!run.origin) return null;
    const before = data.runs[run.origin.run ?? 0];
    if (before && run.origin.run === null) return h("button", { class: "back", onclick: () => show(before, before.length - 1, true) }, "back to the run that was found");
    return before ? h("button", { class: "back", onclick: () => show(before, Math.min(run.origin.at, before.length - 1), true) }, "back to the run that was found") : null;
  },
};

function show(run, state, focus) {
  current = section(run, shared);
  stage.replaceChildren(current.element);
  current.start(state);
  choose();
  if (focus) current.focus();
}

// The choice among runs, where there are several.
function choose() {
  if (data.runs.length < 2) return;
  const options = data.runs.map((run, number) => h("option", { value: number, selected: run === current.run }, run.heading));
  const own = data.runs.includes(current.run) ? null : h("option", { value: "", selected: true }, current.run.heading);
  chooser.replaceChildren(h("select", { "aria-label": "which run", onchange: (event) => { if (event.target.value) show(data.runs[Number(event.target.value)], 0); } }, own, options));
}

// The run that a link leads to, if it is one of the reader's own.
async function linked(explorer) {
  if (!place.has("path")) return;
  const found = data.runs[Number(place.get("run"))];
  const from = place.has("start") ? beginning(explorer, Math.min(Number(place.get("start")) || 0, explorer.initial.length - 1), data.participants) : found;
  if (!from) return;
  const at = Math.min(Number(place.get("step")) || 0, from.length - 1);
  const actions = place.get("path").split(".").filter((it) => /^\d+$/.test(it)).map(Number);
  const states = await explorer.follow(await recordOf(from, at, explorer), actions);
  const run = branched(from, at, states, explorer);
  show(run, Math.min(Number(place.get("at")) || run.length - 1, run.length - 1));
}

// Models of more letters than this take a while to be understood: the reader says when.
const LONG = 200_000;

async function explore() {
  const note = h("p", { class: "note", role: "status" }, "reading the model …");
  stage.after(note);
  try {
    shared.explorer = await Explorer.open(data);
    note.remove();
    if (!shared.explorer) return;
    if (!current && !data.saved?.length && shared.explorer.initial.length > 0) show(beginning(shared.explorer, 0, data.participants), 0);
    await saved(shared.explorer);
    current?.explore();
    starts();
    if (data.served) stage.before(checking(shared.explorer));
    if (data.watches) {
      const place = h("div", { class: "below watched" });
      stage.before(place);
      watch(shared.explorer, place).catch((error) => place.append(h("p", { class: "note" }, `The search cannot be watched: ${error.message}`)));
    }
    await linked(shared.explorer);
  } catch (error) {
    note.replaceChildren(`The model cannot be explored here: ${error.message}`);
  }
  document.documentElement.dataset.explored = "yes";
}

// Runs of a file: their steps are taken again.
async function saved(explorer) {
  for (const { heading, first, actions, cycle, fault, because, note, decisive } of data.saved ?? []) {
    const known = first.map(([name, text]) => [explorer.columns.indexOf(name), text]).filter(([column]) => column >= 0);
    const number = explorer.initial.findIndex(({ state }) => known.every(([column, text]) => state.values[column] === text));
    const start = beginning(explorer, Math.max(0, number), data.participants);
    const states = await explorer.follow(start.records[0], actions);
    const run = branched(start, 0, states, explorer);
    data.runs.push(Object.assign(run, { heading, cycle, stem: run.length - cycle, place: data.runs.length, origin: null, fault, because, note, decisive }));
  }
  if (data.runs.length > 0 && !current) show(data.runs[0], data.runs[0].length - 1);
}

// Everything that the model states about its states, checked by the checker that serves the page; how far it is is drawn as it goes on.
function checking(explorer) {
  const status = h("span", { role: "status" });
  const plots = h("div", { class: "below live" });
  let going = false;
  const button = h("button", { onclick: async () => {
    if (going) { going = false; await explorer.ask({ ask: "stop" }); return; }
    going = true;
    button.textContent = "stop";
    const history = [];
    let answer = await explorer.ask({ ask: "check" });
    while (answer.end === undefined && going) {
      history.push(answer);
      status.textContent = ` layer ${count(answer.depth)}, ${count(answer.states)} states, ${answer.seconds.toFixed(1)} s`;
      plots.replaceChildren(...overTime(history));
      answer = await explorer.ask({ ask: "go_on", states: 0 });
    }
    going = false;
    button.textContent = "check what the model states";
    if (answer.end === undefined) { status.textContent = " stopped"; return; }
    plots.replaceChildren(...overTime([...history, answer]), ...(answer.layers?.length > 1 ? [layers(answer.layers)] : []));
    status.replaceChildren(` ${SENTENCES[answer.verdict] ?? answer.verdict} ${count(answer.states)} states, ${answer.seconds.toFixed(1)} s`, verdicts(answer.verdicts));
    if (answer.actions) await found(answer, explorer);
  } }, "check what the model states");
  return h("div", { class: "checking" }, button, status, plots);
}

// Shows the run that a check found, beside those that are there.
async function found({ start, actions, heading, why }, explorer) {
  const states = await explorer.follow(start.record, actions);
  const run = branched(shared.begin(start.record), 0, states, explorer);
  const known = data.runs.find((it) => it.heading === heading && it.checked);
  if (!known) data.runs.push(Object.assign(run, { heading, ...why, checked: true, place: data.runs.length, origin: null }));
  show(known ?? run, states.length, true);
}

// A choice among initial states, where there are several, and the way back to the beginning.
function starts() {
  const { initial } = shared.explorer;
  const begin = (number) => show(beginning(shared.explorer, number, data.participants), 0, true);
  const options = initial.slice(0, 500).map((it, number) => h("option", { value: number }, initial.length > 1 ? `initial state ${number + 1}: ${it.title}` : it.title));
  const choice = initial.length > 1 ? h("select", { "aria-label": "which initial state" }, options) : null;
  if (initial.length === 0) return;
  stage.before(h("p", { class: "starts" }, choice, h("button", { onclick: () => begin(Number(choice?.value ?? 0)) }, "explore from the beginning")));
  const reduced = data.served ? data.symmetry : data.report?.symmetry;
  if (reduced === null || reduced === undefined || (reduced === false && !data.served)) return;
  const but = data.served && reduced ? "; only “check what the model states” takes them as one" : "";
  stage.before(h("p", { class: "note symmetry" }, `Symmetry is off where you explore: states that are alike are counted one by one${but}.`));
}

page.append(chooser, stage);
if (missing && data.runs.length === 0) stage.append(h("p", { class: "note missing" }, missing));
if (data.runs.length > 0) {
  const run = data.runs[Math.min(Number(place.get("run")) || 0, data.runs.length - 1)];
  show(run, place.has("step") && !place.has("again") ? Number(place.get("step")) || 0 : Math.max(0, run.length - 1));
} else {
  stage.append(source.element);
}
const below = h("div", { class: "below" }, figures(), data.report?.layers.length > 1 ? layers(data.report.layers) : null, overTime(data.history ?? []), coverage());
page.append(below);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(event.target.tagName) && current) {
    event.preventDefault();
    current.filter.focus();
  }
  if (event.key === "Escape" && current && event.target === current.filter) current.table.element.focus();
  current?.key(event);
});
document.documentElement.dataset.ready = "yes";
if (!data.served && !document.getElementById("explorer")?.textContent.trim()) {
  document.documentElement.dataset.explored = "no";
} else if (data.source.text.length > LONG) {
  const button = h("button", { onclick: () => { button.remove(); explore(); } }, "explore the model from here on");
  stage.after(button);
} else {
  explore();
}
