// What is an expression of the reader worth in a state? Names of variables, numbers, words, and the operators of C.

const TOKEN = /\s*(?:(\d+)|([A-Za-z_][\w]*(?:(?:\.|->)[A-Za-z_]\w*|\[\w+\])*)|(\|\||&&|==|!=|<=|>=|[-+*/%<>!()]))/y;
const LEVELS = [["||"], ["&&"], ["==", "!="], ["<", "<=", ">", ">="], ["+", "-"], ["*", "/", "%"]];

// A function from `lookup` (the text of a variable by its name, or undefined) to a value. Throws what is wrong as text.
export function compile(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`cannot read this from "${text.slice(at).trim()}" on`);
    tokens.push(match[1] ? { number: Number(match[1]) } : match[2] ? { name: match[2] } : { sign: match[3] });
  }
  let next = 0;
  const sign = () => tokens[next]?.sign;
  function operand() {
    const token = tokens[next++];
    if (!token) throw new Error("something is missing at the end");
    if (token.number !== undefined) return () => token.number;
    if (token.name !== undefined) return (lookup) => named(token.name, lookup);
    if (token.sign === "!") { const inner = operand(); return (lookup) => !truth(inner(lookup)); }
    if (token.sign === "-") { const inner = operand(); return (lookup) => -inner(lookup); }
    if (token.sign === "(") {
      const inner = level(0);
      if (sign() !== ")") throw new Error("a closing parenthesis is missing");
      next += 1;
      return inner;
    }
    throw new Error(`"${token.sign}" does not begin a value`);
  }
  function level(depth) {
    if (depth === LEVELS.length) return operand();
    let left = level(depth + 1);
    while (LEVELS[depth].includes(sign())) {
      const [operator, before] = [tokens[next++].sign, left];
      const right = level(depth + 1);
      left = (lookup) => apply(operator, before(lookup), () => right(lookup));
    }
    return left;
  }
  if (tokens.length === 0) throw new Error("there is no expression");
  const whole = level(0);
  if (next < tokens.length) throw new Error(`there is more than one expression`);
  return whole;
}

function named(name, lookup) {
  const text = lookup(name.replaceAll("->", "."));
  if (text !== undefined) return typed(text);
  // `P.critical`: is the process there?
  const dot = name.lastIndexOf(".");
  const process = dot > 0 ? lookup(name.slice(0, dot)) : undefined;
  if (process !== undefined) return process === name.slice(dot + 1);
  return typed(name);
}

function typed(text) {
  if (/^-?\d+$/.test(text)) return Number(text);
  return text === "true" ? true : text === "false" ? false : text;
}

const truth = (value) => value !== false && value !== 0;

function apply(operator, left, right) {
  switch (operator) {
    case "||": return truth(left) || truth(right());
    case "&&": return truth(left) && truth(right());
    case "==": return left === right();
    case "!=": return left !== right();
    case "<": return left < right();
    case "<=": return left <= right();
    case ">": return left > right();
    case ">=": return left >= right();
    case "+": return left + right();
    case "-": return left - right();
    case "*": return left * right();
    case "/": return Math.trunc(left / right());
    default: return left % right();
  }
}
