// The notice at the bottom of the page: the latest change, and buttons for it.
import { button, h } from "./dom.js";
import { has, spoken, t } from "./words.js";

const SECONDS = 9;
const place = document.getElementById("notices");

export function notice(text, ...actions) {
  const shown = h("div", { class: "notice" }, h("span", {}, text));
  const close = () => shown.remove();
  for (const [words, act] of actions) {
    const back = words === t("undo") && { class: "back", title: t("undo.keys"), "aria-keyshortcuts": "Control+Z Meta+Z" };
    shown.append(button(words, () => {
      close();
      act();
    }, back || {}));
  }
  shown.append(button("×", close, { class: "quiet", "aria-label": t("close") }));
  place.replaceChildren(shown);
  const leave = () => (shown.matches(":hover, :focus-within") ? setTimeout(leave, 1000) : close());
  setTimeout(leave, SECONDS * 1000);
}

// The usual keys for undo press the undo button of the notice.
document.addEventListener("keydown", (event) => {
  const undoing = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
  const back = undoing && !event.target.closest("input:not([type=checkbox]), textarea") && place.querySelector(".back");
  if (!back) return;
  event.preventDefault();
  back.click();
});

// The text of an error: frequent errors in the reader's language, others in the server's words.
export function wordsOf(error) {
  const key = error instanceof TypeError ? "error.offline" : [`error.${error.type}`, `error.${error.status}`].find(has);
  return key ? t(key) : error.message;
}

// The reason why a change was refused; in English, the server's longer text.
export const refusal = (entry) =>
  (spoken() === "en" && entry.detail ? entry.detail : t(`refused.${entry.refused}`));

export const complain = (error) => notice(wordsOf(error));
