// All elements are built here. Words always become text nodes, never HTML.
import { t } from "./words.js";

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

// Shows the page in a theme: light, dark, or without one as the device.
export function wear(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

// A button that first shows a question, and acts only after the answer yes.
export function twice(words, question, act, { yes = t("sure.yes"), ...given } = {}) {
  const place = h("span", { class: "twice" });
  const once = button(words, () => {
    const back = () => {
      place.replaceChildren(once);
      once.focus();
    };
    const go = button(yes, act, { class: "danger" });
    place.replaceChildren(h("span", { role: "alert" }, question), go, button(t("cancel"), back, { class: "quiet" }));
    go.focus();
  }, given);
  place.append(once);
  return place;
}
