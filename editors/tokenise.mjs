// Tokenises models with the grammars as VS Code does, and prints what is wrong: a word that no rule knows, a reserved word that is not coloured as one, a comment or string that never ends.
// node tokenise.mjs GRAMMAR SCOPE WORDS MODEL...   WORDS: reserved words, separated by commas; in upper and lower case alike if `-i` is one of them. Needs vscode-textmate and vscode-oniguruma.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

// Packages are found where NODE_PATH says, as `import` alone does not.
const require = createRequire(import.meta.url);
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const [grammarPath, scope, words, ...models] = process.argv.slice(2);
const listed = new Set(words.split(","));
const isReserved = (word) => listed.has(listed.has("-i") ? word.toLowerCase() : word);
await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")));
const onigLib = Promise.resolve({
  createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
  createOnigString: (text) => new oniguruma.OnigString(text),
});
const loadGrammar = async () => textmate.parseRawGrammar(readFileSync(grammarPath, "utf8"), grammarPath);
const grammar = await new textmate.Registry({ onigLib, loadGrammar }).loadGrammar(scope);

const wrong = [];
let tokens = 0;
let comments = 0;
for (const model of models) {
  let stack = textmate.INITIAL;
  const lines = readFileSync(model, "utf8").split("\n");
  lines.forEach((line, number) => {
    const result = grammar.tokenizeLine(line, stack);
    stack = result.ruleStack;
    for (const token of result.tokens) {
      const text = line.slice(token.startIndex, token.endIndex);
      const scopes = token.scopes.slice(1).join(" ");
      if (text.trim() === "") continue;
      tokens += 1;
      const place = `${model}:${number + 1}: ${JSON.stringify(text)}`;
      const quoted = /comment|string/.test(scopes);
      comments += quoted ? 1 : 0;
      if (scopes === "") wrong.push(`${place} is known to no rule`);
      if (!quoted && isReserved(text.trim()) && !/keyword|storage|support|constant\.language/.test(scopes)) {
        wrong.push(`${place} is reserved, but coloured as ${scopes}`);
      }
      if (!quoted && /^[A-Za-z_]\w*$/.test(text) && !isReserved(text) && /keyword\.control|storage|constant\.language/.test(scopes)) {
        wrong.push(`${place} is a name, but coloured as ${scopes}`);
      }
    }
  });
  if (/comment|string/.test(grammar.tokenizeLine("x", stack).tokens[0].scopes.join(" "))) wrong.push(`${model} ends inside a comment or a string`);
}
wrong.slice(0, 20).forEach((line) => console.log(line));
console.log(`${models.length} models, ${tokens} tokens, ${comments} of them in comments and strings, ${wrong.length} wrong`);
process.exit(wrong.length === 0 && tokens > 0 ? 0 : 1);
