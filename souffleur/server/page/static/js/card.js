// A memory as a card: its words, its strength, and its most frequent actions.
import { forget, pin, restore } from "./changes.js";
import { button, h } from "./dom.js";
import { icon } from "./icons.js";
import { ago, minute, number, t, undated } from "./words.js";

export function meter(strength) {
  const percent = Math.round(strength * 100);
  const bar = h("span", { class: "meter", role: "img", "aria-label": t("strength", { n: percent }) },
    h("span"));
  bar.firstChild.style.width = `${percent}%`;
  return bar;
}

export const actions = (card) => {
  const gone = card.state === "forgotten" || card.state === "archived";
  return h("span", { class: "actions" },
    card.state === "active" && card.category !== "core" && button(t("pin"), () => pin(card.id), { title: t("pin.about") }),
    gone && button(t("restore"), () => restore(card.id), { title: t("restore.about") }),
    !gone && card.state !== "superseded" && button(t("forget"), () => forget(card.id), { title: t("forget.about") }));
};

export function cardOf(card) {
  return h("article", { class: `card ${card.state}`, "data-id": card.id },
    h("p", { class: "over" }, icon(card.category), h("span", {}, t(`kind.${card.kind}`)),
      card.category === "core" && h("span", { class: "badge" }, t("category.core")),
      card.state !== "active" && h("span", { class: "badge" }, t(`state.${card.state}`)),
      h("time", { datetime: card.created_at, title: minute(card.created_at) }, ago(card.created_at))),
    h("a", { class: "words", href: `#/memory/${card.id}`, dir: "auto" }, card.category === "episode" ? undated(card.content) : card.content),
    h("p", { class: "under" }, meter(card.strength),
      card.uses > 0 && h("span", {}, t("used", { n: card.uses, count: number(card.uses) })), actions(card)));
}
