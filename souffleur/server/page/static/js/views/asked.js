// The changes that a model proposes and that wait for the user's answer.
import { get, post } from "../api.js";
import { changed, ours, undo, write } from "../changes.js";
import { button, h, twice } from "../dom.js";
import { complain, notice, refusal } from "../notice.js";
import { ago, minute, t } from "../words.js";

async function answer(one, said) {
  try {
    const entry = await post(`/pending/${one.id}/${said}`);
    ours.add(entry.id);
    if (entry.refused && said === "confirm") notice(refusal(entry));
    else notice(t(said === "confirm" ? "asked.done" : "asked.dropped"), ...(entry.refused ? [] : [[t("undo"), () => undo(entry.id)]]));
  } catch (error) {
    complain(error);
  }
  changed();
}

async function answerAll(said) {
  try {
    await post(`/pending/${said}`);
    const left = (await get("/questions")).length;
    notice(left ? t("asked.left", { n: left, count: left }) : t(said === "confirm" ? "asked.done" : "asked.dropped"));
  } catch (error) {
    complain(error);
  }
  changed();
}

function question(one) {
  const words = h("p", { class: "words", dir: "auto" }, one.after);
  const no = () => answer(one, "reject");
  return h("li", { class: "card question", "data-id": one.id },
    h("h2", { class: "over" }, h("span", {}, t(`ask.${one.op}`)), h("time", { datetime: one.at, title: minute(one.at) }, ago(one.at))),
    one.before.map((gone) => h("p", { class: "words", dir: "auto" }, one.op === "DELETE" ? gone : h("del", {}, gone))),
    one.after && words,
    one.quote && h("blockquote", { dir: "auto" }, one.quote),
    one.reason && h("p", { class: "soft small", dir: "auto" }, one.reason),
    h("p", { class: "soft small" }, t("asked.lapses", { when: ago(one.lapses_at) })),
    h("div", { class: "buttons" },
      button(t("asked.yes"), () => answer(one, "confirm"), { class: "chief" }),
      one.memory_id ? button(t("asked.no"), no) : twice(t("asked.no"), t("asked.no.sure"), no),
      one.memory_id && button(t("edit"), ({ target }) => write(one.memory_id, one.after, words, target, 3), { class: "quiet" })));
}

export async function show(main) {
  const found = await get("/questions");
  const all = (said) => twice(t(`asked.all.${said === "confirm" ? "yes" : "no"}`),
    t("asked.all.sure", { count: found.length }), () => answerAll(said));
  main.replaceChildren(h("h1", {}, t("view.asked")), h("p", { class: "soft" }, t("asked.about")),
    found.length > 1 ? h("div", { class: "buttons" }, all("confirm"), all("reject")) : "",
    found.length ? h("ul", { class: "list plain" }, found.map(question)) : h("p", {}, t("asked.none")));
}
