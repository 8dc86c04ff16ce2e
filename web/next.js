// What can happen from the chosen state on? The steps that are possible there, and a search for states that are not far.

import { count, h } from "fathom/dom";
import { titleOf } from "fathom/run";

const SHOWN = 200;
const BOUNDS = [1000, 10000, 100000, 1000000];

export class Next {
  // `onstep(choice)` is called with a step that the reader takes, `onway(answer)` with the way to a state that was found.
  constructor(explorer, onstep, onway) {
    Object.assign(this, { explorer, onstep, onway, asked: 0 });
    this.list = h("div", { class: "choices" });
    this.result = h("p", { class: "note", role: "status" });
    this.element = h("section", { class: "panel next", "aria-label": "from here on" }, h("h2", {}, "from here on"), this.list, this.form(), this.result);
  }

  form() {
    const bounds = BOUNDS.map((bound) => h("option", { value: bound, selected: bound === 10000 }, `of at most ${count(bound)} states`));
    return h(
      "form",
      { class: "search", onsubmit: (event) => { event.preventDefault(); this.search(event.target.elements); } },
      h("input", { name: "expression", placeholder: "a condition in the model's language", "aria-label": "a condition in the model's language, or a formula" }),
      h("select", { name: "kind", "aria-label": "what is looked for" },
        h("option", { value: "true" }, "can become true"), h("option", { value: "false" }, "can become false"), h("option", { value: "all" }, "how many states?")),
      h("select", { name: "from", "aria-label": "where the search begins" }, h("option", { value: "here" }, "from here"), h("option", { value: "start" }, "from the beginning")),
      h("select", { name: "states", "aria-label": "how far the search goes", hidden: this.explorer.served }, bounds),
      h("button", { name: "go" }, "look"),
    );
  }

  // Shows what is possible in a state of that record; `taken` is the action that the run takes there. Null if the state is too far on to be known.
  async show(record, taken) {
    this.record = record;
    const asked = (this.asked += 1);
    if (record === null) {
      this.list.replaceChildren(h("p", { class: "note" }, "This state stands behind a gap in the page, so where it can go is not known here."));
      return;
    }
    try {
      const { state, choices, faults } = await this.explorer.successors(record);
      if (asked !== this.asked) return;
      this.draw(state, choices, faults, taken);
    } catch (error) {
      if (asked === this.asked) this.list.replaceChildren(h("p", { class: "wrong" }, error.message));
    }
  }

  draw(state, choices, faults, taken) {
    const items = choices.slice(0, SHOWN).map((choice) => this.choice(state, choice, taken));
    const failing = faults.map((it) => h("li", { class: "fault" }, h("bdi", {}, titleOf(it.step)), `: ${it.fault}${it.detail ? `: ${it.detail}` : ""}`));
    const violated = state.violated.map((name) => h("p", { class: "wrong" }, "violates ", h("bdi", {}, name)));
    const none = choices.length + faults.length === 0 ? h("p", { class: "wrong" }, "Nothing can move here: a deadlock.") : null;
    const more = choices.length > SHOWN ? h("p", { class: "note" }, `and ${choices.length - SHOWN} more`) : null;
    this.list.replaceChildren(...[violated, none, h("ol", {}, items, failing), more].flat().filter(Boolean));
  }

  choice(state, choice, taken) {
    const { columns } = this.explorer;
    const changes = [];
    choice.state.values.forEach((value, column) => {
      if (value !== state.values[column]) changes.push(`${columns[column]} = ${value}`);
    });
    const text = changes.length ? changes.join(", ") : "nothing changes";
    const button = h("button", { class: "choice", onclick: () => this.onstep(choice) }, h("bdi", {}, titleOf(choice.step)),
      choice.step.action === taken ? h("span", { class: "note" }, " (the run takes this)") : null);
    return h("li", {}, button, h("div", { class: "note" }, h("bdi", {}, text.length > 300 ? `${text.slice(0, 300)}…` : text)),
      choice.state.violated.map((name) => h("div", { class: "wrong" }, "violates ", h("bdi", {}, name))));
  }

  async search(fields) {
    const { expression, kind, from, states, go } = fields;
    if (this.searching) {
      this.searching = false;
      return;
    }
    const counting = kind.value === "all";
    const question = {
      records: from.value === "here" && this.record ? [this.record] : [],
      expression: counting ? null : expression.value.trim(), value: kind.value === "true", states: Number(states.value),
    };
    this.searching = true;
    go.textContent = "stop";
    const say = (text, wrong) => { this.result.textContent = text; this.result.classList.toggle("wrong", Boolean(wrong)); };
    try {
      const answer = await this.explorer.search(question, (it) => { say(`${count(it.states)} states …`); return this.searching; });
      say(answer === null ? "stopped" : sentence(answer, kind.value, counting));
      if (answer?.actions) this.onway(answer);
    } catch (error) {
      say(error.message, true);
    }
    [this.searching, go.textContent] = [false, "look"];
  }
}

function sentence({ end, states, depth, transitions, deadlocks, faults, actions, because }, value, counting) {
  if (because) return because;
  const beside = [deadlocks ? `${count(deadlocks)} deadlocks` : null, faults ? `${count(faults)} faults` : null].filter(Boolean).join(", ");
  const extent = `${count(states)} states, ${count(transitions)} transitions, ${depth} steps deep${beside ? `, ${beside}` : ""}`;
  if (end === "found") return `It is ${value} after ${actions.length} steps: that run is shown.`;
  if (end === "faulted") return `It has no value after ${actions.length} steps: that run is shown.`;
  if (counting) return end === "all" ? `${extent}: these are all.` : `${extent}: there are more.`;
  return end === "all" ? `Never: it is not ${value} in any of all ${extent}.` : `Not among the first ${extent}; there are more.`;
}
