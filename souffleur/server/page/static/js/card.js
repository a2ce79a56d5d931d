// A memory as a card: its words, its strength, and its most frequent actions.
import { forget, pin, restore } from "./changes.js";
import { button, h } from "./dom.js";
import { icon } from "./icons.js";
import { ago, minute, number, t, undated } from "./words.js";

const WEAK = 0.15; // strength of a memory that soon fades
const NEW = 7 * 86400000; // milliseconds

// How long a memory will stay, in words.
function lasts(card) {
  if (card.strength >= 1) return t("strength.kept");
  if (card.strength < WEAK) return t("strength.weak");
  if (card.uses > 0) return t("used", { n: card.uses, count: number(card.uses) });
  return t(Date.now() - new Date(card.created_at) < NEW ? "strength.new" : "strength.unused");
}

function strength(card) {
  const bar = h("span", { class: "meter", "aria-hidden": "true" }, h("span"));
  bar.firstChild.style.width = `${Math.round(card.strength * 100)}%`;
  return h("span", { class: "strength" }, bar, lasts(card));
}

const actions = (card) => {
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
    h("p", { class: "under" }, card.state === "active" && strength(card), actions(card)));
}
