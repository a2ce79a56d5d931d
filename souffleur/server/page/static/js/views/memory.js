// A memory: its words, its evidence and its history.
import { get } from "../api.js";
import { confirm, erase, forget, inDoubt, pin, restore, undo, write } from "../changes.js";
import { button, h, twice } from "../dom.js";
import { complain, refusal } from "../notice.js";
import { ago, date, has, minute, number, t } from "../words.js";

const named = (key, otherwise) => (has(key) ? t(key) : otherwise);

// A model writes reasons in the user's language; the program's own reasons are translated here.
const BEGINNINGS = ["expired on", "takes back", "agreed to what", "edited by the", "removed from", "made active in", "written into",
  "not confirmed within"];
const PARTS = new RegExp(`^(${BEGINNINGS.join("|")}) (\\S+)( proposed| by hand| days)?$`);
function because(reason) {
  if (has(`why.${reason}`)) return t(`why.${reason}`);
  const [, what, name] = PARTS.exec(reason) ?? [];
  return what ? t(`why.${what}`, { name: named(`op.${name}`, named(`who.${name}`, name)) }) : reason;
}

export const said = (one, here) => h("div", { class: here ? "turn here" : "turn" },
  h("time", { datetime: one.at }, minute(one.at)),
  one.user && h("p", { class: "user", dir: "auto" }, one.user),
  one.assistant && h("p", { class: "reply", dir: "auto" }, one.assistant));

function source(one) {
  const place = h("div", { class: "talk" });
  const open = async (pressed) => {
    try {
      const found = await get(`/turns/${one.turn_id}`);
      place.replaceChildren(...found.before.map((turn) => said(turn)), said(found.turn, true),
        ...found.after.map((turn) => said(turn)));
      pressed.target.hidden = true;
    } catch (error) {
      if (error.status === 404) pressed.target.replaceWith(t("talk.gone"));
      else complain(error);
    }
  };
  return h("li", {}, h("blockquote", { dir: "auto" }, one.quote),
    h("p", { class: "soft small" }, t(`speaker.${one.speaker}`), one.at && ` · ${minute(one.at)} `,
      button(t("open.talk"), open)), place);
}

function step(entry, id) {
  const change = entry.changes.find((one) => one.after.id === id);
  const before = change?.before?.content;
  const reworded = before && before !== change.after.content;
  const free = entry.changes.length > 0 && !entry.refused && !entry.undone_by && entry.op !== "UNDO";
  return h("li", { class: entry.undone_by ? "taken" : "" },
    h("p", { class: "over" }, h("b", {}, named(`op.${entry.op}`, entry.op)),
      h("span", {}, `· ${t(`who.${entry.by.who}`)}`), h("time", { datetime: entry.at }, minute(entry.at))),
    entry.reason && h("p", { dir: "auto" }, because(entry.reason)),
    entry.quote && h("blockquote", { dir: "auto" }, entry.quote),
    reworded && h("p", { class: "soft", dir: "auto" }, h("del", {}, before)),
    entry.refused && h("p", { class: "soft" }, t("refused"), " ", refusal(entry)),
    free && inDoubt(entry) && h("p", { class: "soft" }, t("forgotten.more")),
    free && button(t("undo"), () => undo(entry.id), { class: "quiet" }));
}

function buttons(memory, words) {
  const used = memory.state === "active" || memory.state === "pending";
  const gone = memory.state === "forgotten" || memory.state === "archived";
  return h("div", { class: "buttons", "data-id": memory.id },
    used && button(t("edit"), ({ target }) => write(memory.id, memory.content, words, target)),
    used && !memory.verified && button(t("confirm"), () => confirm(memory.id), { title: t("confirm.about") }),
    memory.state === "active" && memory.category !== "core" && button(t("pin"), () => pin(memory.id), { title: t("pin.about") }),
    gone && button(t("restore"), () => restore(memory.id), { title: t("restore.about") }),
    !used && twice(t("erase.memory"), t("erase.memory.sure"), (pressed) => erase(memory.id, pressed), { class: "danger" }),
    used && button(t("forget"), () => forget(memory.id), { class: "danger", title: t("forget.about") }));
}

const row = (name, value) => value && [h("dt", {}, t(name)), h("dd", { dir: "auto" }, value)];

export async function show(main, { rest: [id] }) {
  const path = `/memories/${encodeURIComponent(id)}`;
  const [memory, history] = await Promise.all([get(path), get(`${path}/history`)]);
  const words = h("h1", { class: "words", dir: "auto" }, memory.content);
  main.replaceChildren(
    h("p", { class: "overline" }, h("a", { href: "#/memories" }, t("view.memories")), " · ",
      t(`kind.${memory.kind}`)),
    words, buttons(memory, words),
    h("dl", { class: "facts" },
      row("field.category", t(`category.${memory.category}`)),
      row("field.state", t(`state.${memory.state}`)),
      row("field.learned", `${minute(memory.created_at)} (${ago(memory.created_at)})`),
      row("field.uses", number(memory.uses)),
      row("field.verified", memory.verified && t("yes")),
      row("field.due", memory.due_at && `${date(memory.due_at)} · ${t(`due.${memory.due_for}`)}`),
      row("field.expires", memory.expires_at && minute(memory.expires_at)),
      row("field.until", memory.valid_until && minute(memory.valid_until)),
      row("field.entities", memory.entities.join(" · "))),
    memory.evidence.length ? h("section", {}, h("h2", {}, t("source")), h("ul", { class: "plain" }, memory.evidence.map(source))) : "",
    history.length ? h("section", {}, h("h2", {}, t("life")), h("ol", { class: "life" }, history.map((one) => step(one, id)))) : "");
  document.title = `${memory.content.slice(0, 60)} · Souffleur`;
}
