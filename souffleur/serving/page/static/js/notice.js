// Notices at the foot of the page: what has just happened, and what can be done about it.
import { button, h } from "./dom.js";
import { t } from "./words.js";

const SECONDS = 9;

export function notice(text, ...actions) {
  const shown = h("div", { class: "notice" }, h("span", {}, text));
  const close = () => shown.remove();
  for (const [words, act] of actions) {
    shown.append(button(words, () => {
      close();
      act();
    }));
  }
  shown.append(button("×", close, { class: "quiet", "aria-label": t("close") }));
  const place = document.getElementById("notices");
  place.append(shown);
  if (place.children.length > 3) place.firstChild.remove();
  setTimeout(close, SECONDS * 1000);
}

export const complain = (error) => notice(error.message);
