// Where in the model's text does a step stand? The text with its words told apart, and the line of the step lit.

import { h } from "fathom/dom";

const WORDS = {
  dve: "const byte int bool channel process state init commit trans guard sync async effect assert system property accept true false and or not imply",
  murphi: "alias array assert begin boolean by case clear const do else elsif end endalias endexists endfor endforall endfunction endif endprocedure endrecord endrule endruleset endstartstate endswitch endwhile enum error exists false for forall from function if in invariant isundefined liveness cover assume multiset multisetadd multisetcount multisetremove of procedure process program property put record return rule ruleset scalarset startstate switch then to traceuntil true type undefine union var while choose endchoose",
};

const PIECES = /(\/\*[\s\S]*?\*\/|\/\/[^\n]*|--[^\n]*)|("[^"\n]*")|(\d+)|([A-Za-z_]\w*)/g;

function highlighted(text, language) {
  const words = new Set((WORDS[language] ?? "").split(" "));
  const fold = language === "murphi" ? (word) => word.toLowerCase() : (word) => word;
  const pieces = [];
  let done = 0;
  for (const match of text.matchAll(PIECES)) {
    const [all, comment, string, number, word] = match;
    // `--` is a comment of Murphi alone, `//` of DVE alone.
    if (comment?.startsWith("--") && language !== "murphi") continue;
    const kind = comment ? "comment" : string ? "string" : number ? "literal" : words.has(fold(word)) ? "keyword" : null;
    if (!kind) continue;
    pieces.push([text.slice(done, match.index), null], [all, kind]);
    done = match.index + all.length;
  }
  pieces.push([text.slice(done), null]);
  return pieces;
}

export class Source {
  constructor({ name, text, language }) {
    let line = h("code");
    this.lines = [line];
    for (const [piece, kind] of highlighted(text, language)) {
      piece.split("\n").forEach((part, number) => {
        if (number > 0) this.lines.push((line = h("code")));
        if (part) line.append(kind ? h("span", { class: kind }, part) : h("span", {}, part));
      });
    }
    this.list = h("ol", { class: "source", tabindex: 0, "aria-label": "the model's text" }, this.lines.map((code, number) => h("li", { id: `line-${number + 1}` }, code)));
    this.element = h("section", { class: "panel" }, h("h2", {}, h("bdi", {}, name)), this.list);
  }

  // Lights some lines and brings the first of them into sight.
  light(lines) {
    this.list.querySelectorAll(".lit").forEach((line) => line.classList.remove("lit"));
    const found = lines.map((line) => this.lines[line - 1]?.parentElement).filter(Boolean);
    found.forEach((line) => line.classList.add("lit"));
    if (found.length === 0) return;
    const { offsetTop, offsetHeight } = found[0];
    this.list.scrollTop = offsetTop - (this.list.clientHeight - offsetHeight) / 2;
  }
}
