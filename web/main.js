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
  if (!report) return h("header", {}, h("div", { class: "top" }, h("h1", {}, h("bdi", {}, data.source.name)), theme));
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

function figures() {
  const { report } = data;
  if (!report) return null;
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
let current = null;

// What sections of runs share.
const shared = {
  source,
  processes: data.processes,
  explorer: null,
  show,
  // A run that begins in an initial state of that record.
  begin(record) {
    const number = Math.max(0, shared.explorer.initial.findIndex((it) => it.state.record === record));
    return beginning(shared.explorer, number, data.participants);
  },
  // The way from a run of the reader's own to one that was there.
  back(run) {
    const before = run.origin && run.origin.run !== null ? data.runs[run.origin.run] : null;
    return before ? h("button", { class: "back", onclick: () => show(before, Math.min(run.origin.at, before.length - 1), true) }, "back to the run that was found") : null;
  },
};

function show(run, state, focus) {
  current = section(run, shared);
  stage.replaceChildren(current.element);
  current.start(state);
  if (focus) current.focus();
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
  for (const { heading, first, actions, cycle } of data.saved ?? []) {
    const known = first.map(([name, text]) => [explorer.columns.indexOf(name), text]).filter(([column]) => column >= 0);
    const number = explorer.initial.findIndex(({ state }) => known.every(([column, text]) => state.values[column] === text));
    const start = beginning(explorer, Math.max(0, number), data.participants);
    const states = await explorer.follow(start.records[0], actions);
    const run = branched(start, 0, states, explorer);
    data.runs.push(Object.assign(run, { heading, cycle, stem: run.length - cycle, place: data.runs.length, origin: null }));
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
    status.replaceChildren(` ${SENTENCES[answer.verdict] ?? answer.verdict} ${count(answer.states)} states, ${answer.seconds.toFixed(1)} s`,
      h("ul", { class: "properties" }, answer.properties.map((it) => h("li", { class: it.verdict }, h("span", { class: "verdict" }, it.verdict), " ", h("span", { class: "kind" }, it.kind), " ", h("bdi", {}, it.name)))));
    if (answer.actions) {
      const states = await explorer.follow(answer.start.record, answer.actions);
      show(branched(shared.begin(answer.start.record), 0, states, explorer), states.length, true);
    }
  } }, "check what the model states");
  return h("div", { class: "checking" }, button, status, plots);
}

// A choice among initial states, where there are several, and the way back to the beginning.
function starts() {
  const { initial } = shared.explorer;
  const begin = (number) => show(beginning(shared.explorer, number, data.participants), 0, true);
  const options = initial.slice(0, 500).map((it, number) => h("option", { value: number }, initial.length > 1 ? `initial state ${number + 1}: ${it.title}` : it.title));
  const choice = initial.length > 1 ? h("select", { "aria-label": "which initial state" }, options) : null;
  if (initial.length === 0) return;
  stage.before(h("p", { class: "starts" }, choice, h("button", { onclick: () => begin(Number(choice?.value ?? 0)) }, "explore from the beginning")));
}

if (data.runs.length > 1) {
  const choice = h("select", { "aria-label": "which run", onchange: (event) => show(data.runs[Number(event.target.value)], 0) }, data.runs.map((run, number) => h("option", { value: number }, run.heading)));
  page.append(h("p", { class: "runs" }, choice));
}
page.append(stage);
if (data.runs.length > 0) {
  const run = data.runs[Math.min(Number(place.get("run")) || 0, data.runs.length - 1)];
  show(run, place.has("step") ? Number(place.get("step")) || 0 : Math.max(0, run.length - 1));
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
