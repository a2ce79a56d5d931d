// "Why did you say that?": the latest replies, and the memories that were whispered before each reply.
import { get } from "../api.js";
import { cardOf } from "../card.js";
import { button, h } from "../dom.js";
import { complain } from "../notice.js";
import { t } from "../words.js";
import { said } from "./memory.js";

const PARTS = ["cosine", "lexical", "cue_cosine", "cue_lexical"];

function parts(line) {
  const near = PARTS.filter((one) => line.parts[one] > 0.05);
  return near.length > 0 && h("p", { class: "soft small" },
    t("why.near", { parts: near.map((one) => `${t(`part.${one}`)} ${Math.round(line.parts[one] * 100)} %`).join(" · ") }));
}

function reply(turn) {
  const place = h("div", { class: "list" });
  const open = async (pressed) => {
    try {
      const found = await get(`/turns/${turn.id}/whispered`);
      place.replaceChildren(...found.lines.map((line) =>
        h("div", { class: "line" }, h("p", { class: "because" }, t(`why.${line.why}`)), parts(line) || "", cardOf(line.card))));
      pressed.target.hidden = true;
    } catch (error) {
      complain(error);
    }
  };
  return h("section", { class: "reply-of" }, said(turn),
    turn.whispered
      ? button(t("why.open", { n: turn.whispered, count: turn.whispered }), open)
      : h("p", { class: "soft small" }, t("why.nothing")), place);
}

export async function show(main) {
  const turns = await get("/turns", { limit: 20 });
  main.replaceChildren(h("h1", {}, t("why.title")), h("p", { class: "soft" }, t("why.about")),
    ...(turns.length ? turns.map(reply) : [h("p", {}, t("why.none"))]));
}
