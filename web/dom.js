// How is an element made without a text ever becoming markup?

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
  return element;
}

// An element of HTML. Texts among the children are shown, never obeyed.
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// An element of SVG.
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

const HIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

// A text with what cannot be seen, or turns others around, in the form of its number.
export function visible(text) {
  return text.replace(HIDDEN, (letter) => (letter === "\t" ? "  " : `\\u{${letter.codePointAt(0).toString(16)}}`));
}

// A long text by its ends.
export function clipped(text, most) {
  const letters = text.length > most ? Array.from(text) : [];
  return letters.length > most ? `${letters.slice(0, most - 12).join("")}…${letters.slice(-11).join("")}` : text;
}

// A number with its thousands apart.
export function count(number) {
  return Number(number).toLocaleString("en").replaceAll(",", "\u202f");
}
