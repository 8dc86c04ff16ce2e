// How does a run go on that the reader makes? It has the states of another up to some state, and then steps of the reader's choice.

import { Run } from "fathom/run";

// The run that has the states of `run` up to `state`, then these: { step, state: { record, values } }. `origin` says where it came from, for a link.
export function branched(run, state, choices, explorer) {
  const states = run.states.slice(0, state + 1);
  const records = run.records.slice(0, state + 1);
  let values = run.columns.map((_, column) => run.text(column, state));
  for (const choice of choices) {
    const set = [];
    choice.state.values.forEach((text, column) => { if (text !== values[column]) set.push([column, text]); });
    values = choice.state.values;
    states.push({ step: choice.step, set });
    records[states.length - 1] = choice.state.record;
  }
  const origin = run.origin ?? { run: run.place, start: run.start, at: state };
  const at = Math.min(origin.at, state);
  const data = { ...plain(run), states, atoms: [], subformulas: [], cycle: 0, stem: states.length, fault: null, because: null, note: null };
  const made = new Run({ ...data, heading: "a run of your own", columns: explorer.columns.length ? explorer.columns : run.columns });
  return Object.assign(made, { records, origin: { ...origin, at }, place: null, start: run.start });
}

// A run of one initial state.
export function beginning(explorer, number, participants) {
  const { state, title } = explorer.initial[number];
  const set = state.values.map((text, column) => [column, text]);
  const run = new Run({ heading: `from the beginning: ${title}`, note: null, stem: 1, cycle: 0, atoms: [], fault: null, because: null, columns: explorer.columns, participants, gap: null, states: [{ step: null, set }] });
  return Object.assign(run, { records: [state.record], place: null, start: number, origin: { run: null, start: number, at: 0 } });
}

// The record of a state of a run: known, or found by going there. Null if it stands behind a gap.
export async function recordOf(run, state, explorer) {
  if (run.records[state] !== undefined) return run.records[state];
  if (run.gap && state >= run.gap.at) return null;
  let known = state;
  while (run.records[known] === undefined) known -= 1;
  const actions = run.actions(known, state);
  if (actions.length > 0) {
    const last = await explorer.follow(run.records[known], actions, actions.length - 1);
    run.records[state] = last[0].state.record;
  } else {
    run.records[state] = run.records[known];
  }
  return run.records[state];
}

// The part of a link that leads to a state of a run again.
export function fragment(run, state) {
  if (run.place !== null && run.place !== undefined) {
    return run.again(state) ? `#run=${run.place}&step=${run.cycle_start}&again` : `#run=${run.place}&step=${state}`;
  }
  const { run: place, start, at } = run.origin;
  const whole = run.actions(at, run.length - 1).join(".");
  return `#${place === null ? `start=${start}` : `run=${place}`}&step=${at}&path=${whole}&at=${state}`;
}

function plain({ participants, gap, atoms, decisive }) {
  return { participants, gap, atoms, decisive };
}
