// "Why did you say that?": the latest replies, and the memories that were whispered before each reply.
import { get } from "../api.js";
import { cardOf } from "../card.js";
import { button, h } from "../dom.js";
import { complain } from "../notice.js";
import { day, number, t } from "../words.js";
import { said } from "./memory.js";

// The reasons in the order in which they are shown. The last three hold in any talk, so they are folded.
const REASONS = ["said", "linked", "plan", "boundary", "self", "always", "lasting"];
const FOLDED = REASONS.slice(-3);

// The memories with the same reason; for plans, of the same day.
function group(why, lines) {
  return h("details", { class: "because", open: !FOLDED.includes(why) },
    h("summary", {}, t(`why.${why}`, { day: lines[0].day && day(lines[0].day) }), h("span", { class: "soft" }, ` · ${number(lines.length)}`)),
    h("div", { class: "cards" }, lines.map((line) => cardOf(line.card))));
}

const groups = (lines) => REASONS.flatMap((why) =>
  [...Map.groupBy(lines.filter((line) => line.why === why), (line) => line.day).values()].map((alike) => group(why, alike)));

function reply(turn) {
  const place = h("div", { class: "reasons" });
  const open = async (pressed) => {
    try {
      place.replaceChildren(...groups((await get(`/turns/${turn.id}/whispered`)).lines));
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
