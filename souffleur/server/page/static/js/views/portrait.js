// The first view: the portrait, which says how the companion understands the user.
import { get, patch, post } from "../api.js";
import { cardOf } from "../card.js";
import { button, h, twice } from "../dom.js";
import { isStuck } from "../learning.js";
import { complain } from "../notice.js";
import { ago, called, date, number, t } from "../words.js";

async function write(again, pressed) {
  pressed.target.disabled = true;
  try {
    await post("/profile");
    again();
  } catch (error) {
    complain(error);
    pressed.target.disabled = false;
  }
}

function narrative(home, caller, again, total) {
  const portrait = home.portrait;
  const paragraphs = portrait
    ? portrait.content.split("\n\n").map((one) => h("p", { dir: "auto" }, one))
    : h("p", { class: "soft" }, t(total ? "portrait.none" : isStuck() ? "trouble.kept" : "portrait.hello"));
  const act = (pressed) => write(again, pressed);
  return h("section", { class: "narrative" }, paragraphs,
    h("p", { class: "soft small" }, portrait && t("portrait.at", { when: ago(portrait.created_at) }),
      " ", caller.has_model && (portrait ? twice(t("portrait.anew"), t("portrait.anew.sure"), act) : total > 0 && button(t("portrait.first"), act))));
}

const some = (title, cards) => cards.length > 0 &&
  h("section", {}, h("h2", {}, t(title)), h("div", { class: "cards" }, cards.map(cardOf)));

const told = (words, ...rest) => h("p", { class: "told" }, h("span", {}, words), rest);

// Messages about an unusual state: the memory is off, or a change waits for an answer.
function banners(home, again) {
  const on = (fields) => button(t("off.on"), () => patch("/preferences", fields).then(again).catch(complain));
  return [
    !home.chosen.memory && told(t("off.about"), on({ memory: true })),
    home.chosen.memory && home.chosen.incognito && told(t("off.incognito"), h("a", { href: "#/settings" }, t("view.settings"))),
    home.waiting > 0 && told(t("asked.waiting", { n: home.waiting, count: number(home.waiting) }),
      h("a", { href: "#/asked" }, t("asked.see"))),
  ].filter(Boolean);
}

export async function show(main, { caller, known }) {
  const home = known ?? await get("/home");
  const always = new Set(home.core.map((one) => one.id));
  const again = () => show(main, { caller });
  const { total } = home;
  const occupation = home.portrait?.data?.occupation;
  main.replaceChildren(
    ...banners(home, again),
    h("p", { class: "overline" }, t("portrait.over")),
    h("h1", { dir: "auto" }, called(home)),
    occupation ? h("p", { class: "occupation", dir: "auto" }, occupation) : "",
    h("p", { class: "soft" }, [
      t("count.memories", { n: total, count: number(total) }),
      t("count.talks", { n: home.talks, count: number(home.talks) }),
      home.since && t("since", { when: date(home.since) }),
    ].filter(Boolean).join(" · ")),
    narrative(home, caller, again, total),
    some("portrait.core", home.core) || "",
    some("portrait.latest", home.latest.filter((one) => !always.has(one.id))) || "");
}
