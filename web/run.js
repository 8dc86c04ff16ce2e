// What was the value of a variable in the state of a number? States come with what they changed; here it is found for any of them.

export class Run {
  constructor(data) {
    Object.assign(this, data);
    // The records of states, as far as they are known.
    this.records = data.record ? [data.record] : [];
    // By column: the states in which it changes, and the texts it has from there on.
    this.changes = this.columns.map(() => ({ at: [], text: [] }));
    this.states.forEach((state, number) => {
      for (const [column, text] of state.set) {
        this.changes[column].at.push(number);
        this.changes[column].text.push(text);
      }
    });
  }

  // The actions from one state to another. Where nothing moves there is none.
  actions(from, to) {
    return this.states.slice(from + 1, to + 1).map((state) => state.step?.action).filter((action) => action !== null && action !== undefined);
  }

  get length() {
    return this.states.length;
  }

  // The number of a state in the run, which is not its place on the page where some are left out.
  number(place) {
    return this.gap && place >= this.gap.at ? place + this.gap.states : place;
  }

  // Whether it is the state that a cycle begins with, come again.
  again(place) {
    return this.cycle > 0 && place === this.length - 1;
  }

  // What a state is called, wherever it is spoken of.
  name(place) {
    return this.again(place) ? `${this.stem - 1} again` : String(this.number(place));
  }

  // The columns whose values decide about the property. What is a part of one stands for all of it.
  get decisive_columns() {
    const known = new Set(this.columns);
    const whole = (name) => {
      while (name !== "" && !known.has(name)) name = name.slice(0, Math.max(name.lastIndexOf("."), name.lastIndexOf("["), 0));
      return name;
    };
    return new Set((this.decisive ?? []).map(whole).filter(Boolean));
  }

  // The place in `changes` of a column that a state has its text from.
  #place(column, state) {
    const { at } = this.changes[column];
    let [low, high] = [0, at.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at[middle] <= state) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  text(column, state) {
    const place = this.#place(column, state);
    return place < 0 ? "" : this.changes[column].text[place];
  }

  // Whether a state has another value there than the one before it.
  changed(column, state) {
    const place = this.#place(column, state);
    if (state === 0 || place < 0 || this.changes[column].at[place] !== state) return false;
    return place === 0 || this.changes[column].text[place] !== this.changes[column].text[place - 1];
  }

  // Whether it ever changes.
  changes_ever(column) {
    const { text } = this.changes[column];
    return text.some((it) => it !== text[0]);
  }

  // The place on the page of the state that a cycle begins with; null if the run ends.
  get cycle_start() {
    if (this.cycle === 0) return null;
    const start = this.stem - 1;
    if (!this.gap || start < this.gap.at) return start;
    return Math.max(start - this.gap.states, this.gap.at);
  }
}

// A step in a line: its name, with the elements that it has chosen out of multisets behind the names that stand for them.
export function titleOf(step) {
  const last = step.title.slice(step.title.lastIndexOf(", ") + 2);
  return (step.chosen ?? []).reduce((title, [name, element]) => title + (last.startsWith(`${name}: `) ? ` = ${element}` : `, ${name} = ${element}`), step.title);
}
