// Where can the model go from here? Asked of the part of the checker that the page carries, or of the checker that serves the page.

// Answers of the WebAssembly module whose text (base64 of gzip) stands in the page. Nothing is fetched.
class Carried {
  #exports;

  static async of(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const module = await WebAssembly.compile(await new Response(plain).arrayBuffer());
    const carried = new Carried();
    carried.#exports = new WebAssembly.Instance(module).exports;
    return carried;
  }

  async ask(question) {
    return JSON.parse(this.raw(JSON.stringify(question)));
  }

  // The answer to a question, both as text.
  raw(text) {
    const { question: room, ask, answer_place, memory } = this.#exports;
    const bytes = new TextEncoder().encode(text);
    const place = room(bytes.length);
    new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
    const length = ask();
    return new TextDecoder().decode(new Uint8Array(memory.buffer, answer_place(), length));
  }
}

// Answers of the checker that serves the page.
class Serving {
  async ask(question) {
    const answer = await fetch("ask", { method: "POST", body: JSON.stringify(question) });
    if (!answer.ok) throw new Error(`the checker does not answer: ${answer.status} ${answer.statusText}`);
    return answer.json();
  }
}

// How many states a search goes on for before the page draws again.
const PORTION = 2000;

export class Explorer {
  // An explorer of the model, or null if the page has none.
  static async open(data) {
    const carried = document.getElementById("explorer")?.textContent.trim();
    if (!data.served && !carried) return null;
    const explorer = new Explorer();
    explorer.served = Boolean(data.served);
    explorer.answers = data.served ? new Serving() : await Carried.of(carried);
    const { name, text, language, options } = data.source;
    Object.assign(explorer, await explorer.ask({ ask: "open", name, text, language, options }));
    return explorer;
  }

  async ask(question) {
    const answer = await this.answers.ask(question);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  successors(record) {
    return this.ask({ ask: "successors", record });
  }

  // The states along some actions from a state, but for the first `skip` of them.
  async follow(record, actions, skip = 0) {
    return (await this.ask({ ask: "follow", record, actions, skip })).states;
  }

  // Looks for a state; `told` hears how far it is, and says whether to go on.
  async search(question, told) {
    let answer = await this.ask({ ask: "search", ...question });
    while (answer.end === undefined) {
      if (!told(answer)) return null;
      answer = await this.ask({ ask: "go_on", states: PORTION });
      await new Promise((resolve) => setTimeout(resolve));
    }
    return answer;
  }
}
