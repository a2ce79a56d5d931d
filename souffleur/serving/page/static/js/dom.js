// Elements are built here and nowhere else. Words only ever become text nodes.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

export const h = (name, given = {}, ...children) => fill(document.createElement(name), given, children);
export const svg = (name, given = {}, ...children) =>
  fill(document.createElementNS(SVG, name), given, children);
export const button = (words, onclick, given = {}) =>
  h("button", { type: "button", onclick, ...given }, words);
