// Changes of a memory by the user. The notice of each change has a button to undo it.
import { patch, post, remove } from "./api.js";
import { button, h } from "./dom.js";
import { complain, notice, refusal } from "./notice.js";
import { t } from "./words.js";

export const ours = new Set();
export const changed = () => dispatchEvent(new Event("changed"));

// Whether records are hidden only because they may say the same as what was forgotten: no model has answered yet.
export const inDoubt = (entry) => entry.details.resting?.doubtful?.length > 0;

async function make(work, told) {
  try {
    const entry = await work();
    ours.add(entry.id);
    if (entry.refused) notice(refusal(entry));
    else notice(inDoubt(entry) ? `${t(told)} ${t("forgotten.more")}` : t(told), [t("undo"), () => undo(entry.id)]);
    changed();
    return !entry.refused;
  } catch (error) {
    complain(error);
    return false;
  }
}

export async function undo(entryId) {
  try {
    ours.add((await post(`/ledger/${entryId}/undo`)).id);
    notice(t("undone"));
    changed();
  } catch (error) {
    complain(error);
  }
}

export const forget = (id) => make(() => remove(`/memories/${id}`), "forgotten");
export const restore = (id) => make(() => post(`/memories/${id}/restore`), "restored");
export const pin = (id) => make(() => post(`/memories/${id}/pin`), "pinned");
export const confirm = (id) => make(() => post(`/pending/${id}/confirm`), "confirmed");
const edit = (id, content) => make(() => patch(`/memories/${id}`, { content }), "edited");

// Shows a form instead of the words of a memory, until the user saves or cancels.
export function write(id, text, words, pressed, rows = 4) {
  const end = () => {
    form.replaceWith(words);
    pressed.focus();
    changed(); // changes during the editing were not drawn
  };
  const area = h("textarea", { rows, maxlength: 2000, "aria-label": t("edit"), value: text });
  const form = h("form", {
    class: "editing",
    onsubmit: async (event) => {
      event.preventDefault();
      if (await edit(id, area.value)) end();
    },
  }, area, h("div", { class: "buttons" }, h("button", { class: "chief" }, t("save")),
    button(t("cancel"), end, { class: "quiet" })));
  words.replaceWith(form);
  area.focus();
}

// Erases a memory for good: this cannot be undone, so the page returns to the list.
export async function erase(id, { target }) {
  const words = target.textContent;
  target.disabled = true;
  target.textContent = t("erase.going");
  try {
    await post(`/memories/${id}/erase`, { turns: true });
    notice(t("erase.memory.done"));
    location.hash = "#/memories";
  } catch (error) {
    complain(error);
    target.disabled = false;
    target.textContent = words;
  }
}
