// What is an expression of the reader worth in a state? Names of variables, numbers, words, and the operators of the model's language.

const LANGUAGES = {
  dve: {
    token: /\s*(?:(\d+)|([A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*|\[\w+\])*)|(\|\||&&|==|!=|<=|>=|[-+*/%<>!()]))/y,
    words: { and: "&&", or: "||", not: "!", imply: "->" },
    signs: {},
    levels: [["->"], ["||"], ["&&"], ["==", "!="], ["<", "<=", ">", ">="], ["+", "-"], ["*", "/", "%"]],
    // `!a == b` is `(!a) == b`.
    not: 7,
    equals: "==",
  },
  murphi: {
    token: /\s*(?:(\d+)|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\w+\])*)|(->|\|\||&&|==|!=|<=|>=|[-+*/%<>=!&|()]))/y,
    words: {},
    signs: { "=": "==", "&": "&&", "|": "||" },
    levels: [["->"], ["||"], ["&&"], ["==", "!=", "<", "<=", ">", ">="], ["+", "-"], ["*", "/", "%"]],
    // `!a = b` is `!(a = b)`.
    not: 3,
    equals: "=",
  },
};

// What the model's language has and this has not.
const MORE = new Set(["forall", "exists", "multisetcount", "for", "if", "ismember"]);
// A variable without a value, and whatever is made of it.
const NONE = "-";

// How the model's language writes that two values are equal.
export function equals(language) {
  return (LANGUAGES[language] ?? LANGUAGES.dve).equals;
}

// A function from `lookup` (the text of a variable by its name) to a value. Throws what is wrong as text.
// `names` says what there is: { language, columns, words, locations }: names of variables, words for values (null if they are not known), locations by process.
export function compile(text, names) {
  const rules = LANGUAGES[names.language] ?? LANGUAGES.dve;
  const tokens = tokenized(text, rules);
  if (tokens.length === 0) throw new Error("there is no expression");
  let next = 0;
  const sign = () => tokens[next]?.sign;
  function parenthesis(inner) {
    const value = inner();
    if (sign() !== ")") throw new Error("a closing parenthesis is missing");
    next += 1;
    return value;
  }
  function operand() {
    const token = tokens[next++];
    if (!token) throw new Error("something is missing at the end");
    if (token.number !== undefined) return () => token.number;
    if (token.name?.toLowerCase() === "isundefined" && sign() === "(") {
      next += 1;
      const inner = parenthesis(() => level(0));
      return (lookup) => inner(lookup) === NONE;
    }
    if (token.name !== undefined) return named(token.name, names);
    if (token.sign === "!") { const inner = level(rules.not); return (lookup) => negated(inner(lookup)); }
    if (token.sign === "-") { const inner = operand(); return (lookup) => apply("-", 0, () => inner(lookup)); }
    if (token.sign === "(") return parenthesis(() => level(0));
    throw new Error(`\`${token.sign}\` does not begin a value`);
  }
  function level(depth) {
    if (depth >= rules.levels.length) return operand();
    let left = level(depth + 1);
    while (rules.levels[depth].includes(sign())) {
      const [operator, before] = [tokens[next++].sign, left];
      const right = level(depth + 1);
      left = (lookup) => apply(operator, before(lookup), () => right(lookup));
    }
    return left;
  }
  const whole = level(0);
  if (next < tokens.length) throw new Error("there is more than one expression");
  return whole;
}

function tokenized(text, { token, words, signs }) {
  const tokens = [];
  token.lastIndex = 0;
  while (token.lastIndex < text.trimEnd().length) {
    const at = token.lastIndex;
    const match = token.exec(text);
    if (!match) throw new Error(`cannot read this from \`${text.slice(at).trim()}\` on`);
    const [, number, name, sign] = match;
    if (name && MORE.has(name.toLowerCase())) {
      throw new Error(`\`${name}\` is not understood here: name the cases one by one. Conditions that are looked for "from here on" may use all of the model's language.`);
    }
    if (number) tokens.push({ number: Number(number) });
    else if (name && !Object.hasOwn(words, name)) tokens.push({ name });
    else tokens.push({ sign: name ? words[name] : signs[sign] ?? sign });
  }
  return tokens;
}

// What a name stands for: a variable, whether a process is at a location, or a value.
function named(written, { columns, words, locations }) {
  const name = written.replaceAll("->", ".");
  if (columns.has(name)) return (lookup) => typed(lookup(name));
  const dot = name.lastIndexOf(".");
  const process = dot > 0 ? name.slice(0, dot) : null;
  if (locations.get(process)?.has(name.slice(dot + 1))) return (lookup) => lookup(process) === name.slice(dot + 1);
  const place = [...locations.values()].some((it) => it.has(name));
  const plain = /^\w+$/.test(name);
  if (name === "true" || name === "false" || place || (plain && (words === null || words.has(name)))) return () => typed(name);
  const known = [...columns.keys(), ...(words ?? []), ...[...locations].flatMap(([process, all]) => [...all].map((it) => `${process}.${it}`))];
  const near = nearest(name, known);
  throw new Error(`there is no \`${written}\`${near ? `; did you mean \`${near}\`?` : ""}`);
}

// The name that differs least, if it differs little.
function nearest(name, known) {
  let [best, least] = [null, Math.max(2, Math.floor(name.length / 3)) + 1];
  for (const it of known) {
    if (Math.abs(it.length - name.length) >= least || it.length > 200) continue;
    const far = distance(name.toLowerCase(), it.toLowerCase());
    if (far < least) [best, least] = [it, far];
  }
  return best;
}

// How many letters are to be added, left out or changed.
function distance(left, right) {
  let row = [...Array(right.length + 1).keys()];
  for (let at = 1; at <= left.length; at += 1) {
    const below = [at];
    for (let other = 1; other <= right.length; other += 1) {
      below.push(Math.min(row[other] + 1, below[other - 1] + 1, row[other - 1] + (left[at - 1] === right[other - 1] ? 0 : 1)));
    }
    row = below;
  }
  return row[right.length];
}

function typed(text) {
  if (/^-?\d+$/.test(text)) return Number(text);
  return text === "true" ? true : text === "false" ? false : text;
}

const truth = (value) => value !== false && value !== 0;
const negated = (value) => (value === NONE ? NONE : !truth(value));

function apply(operator, left, right) {
  if (operator === "||" && left !== NONE && truth(left)) return true;
  if (operator === "&&" && left !== NONE && !truth(left)) return false;
  if (operator === "->" && left !== NONE && !truth(left)) return true;
  const other = right();
  if (left === NONE || other === NONE) return NONE;
  switch (operator) {
    case "||": case "&&": case "->": return truth(other);
    case "==": return left === other;
    case "!=": return left !== other;
    case "<": return left < other;
    case "<=": return left <= other;
    case ">": return left > other;
    case ">=": return left >= other;
    case "+": return left + other;
    case "-": return left - other;
    case "*": return left * other;
    case "/": return other === 0 ? NONE : Math.trunc(left / other);
    default: return other === 0 ? NONE : left % other;
  }
}
