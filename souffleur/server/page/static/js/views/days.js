// A calendar of the episodes.
import { get } from "../api.js";
import { button, h } from "../dom.js";
import { minute, month, t, undated, weekdays } from "../words.js";

let shown;

const key = (at) => new Intl.DateTimeFormat("sv", { dateStyle: "short" }).format(at);

function talk(one) {
  return h("article", { class: `card ${one.state}`, id: `day-${key(one.at)}` },
    h("p", { class: "over" }, h("time", { datetime: one.at.toISOString() }, minute(one.at)),
      one.state !== "active" && h("span", { class: "badge" }, t(`state.${one.state}`))),
    h("a", { class: "words", href: `#/memory/${one.id}`, dir: "auto" }, undated(one.content)),
    one.data.tone && h("p", { class: "soft small", dir: "auto" }, one.data.tone),
    (one.data.key_facts ?? []).length > 0 &&
      h("ul", { class: "small" }, one.data.key_facts.map((fact) => h("li", { dir: "auto" }, fact))),
    one.data.unresolved && h("p", { class: "soft small", dir: "auto" }, one.data.unresolved));
}

function grid(talks, go) {
  const first = new Date(shown.getFullYear(), shown.getMonth(), 1);
  const many = new Date(shown.getFullYear(), shown.getMonth() + 1, 0).getDate();
  const blank = Array.from({ length: (first.getDay() + 6) % 7 }, () => h("span"));
  const days = Array.from({ length: many }, (_, index) => {
    const at = new Date(shown.getFullYear(), shown.getMonth(), index + 1);
    const mine = talks.filter((one) => key(one.at) === key(at)).length;
    const label = t("count.talks", { n: mine, count: mine });
    return mine
      ? button(String(index + 1), () => document.getElementById(`day-${key(at)}`)?.scrollIntoView({ block: "center" }),
        { class: "day talked", "aria-label": `${index + 1}: ${label}` })
      : h("span", { class: "day" }, String(index + 1));
  });
  return h("div", { class: "month" },
    h("div", { class: "turning" }, button("‹", () => go(-1), { "aria-label": t("month.before") }),
      h("h2", {}, month(shown)), button("›", () => go(1), { "aria-label": t("month.after") })),
    h("div", { class: "grid" }, weekdays().map((one) => h("span", { class: "day small", "aria-hidden": "true" }, one)), blank, days));
}

async function talks() {
  const found = [];
  let cursor;
  do {
    const page = await get("/memories", { category: "episode", state: "any", order: "newest", limit: 500, cursor });
    found.push(...page.items);
    cursor = page.next;
  } while (cursor);
  return found;
}

export async function show(main) {
  const every = (await talks()).map((one) => ({ ...one, at: new Date(one.valid_from ?? one.created_at) }));
  shown ??= every[0]?.at ?? new Date();
  const draw = () => {
    const here = every.filter((one) => one.at.getMonth() === shown.getMonth() && one.at.getFullYear() === shown.getFullYear());
    const go = (by) => {
      shown = new Date(shown.getFullYear(), shown.getMonth() + by, 1);
      draw();
      main.querySelector(`.turning button:${by < 0 ? "first" : "last"}-of-type`).focus();
    };
    main.replaceChildren(h("h1", {}, t("view.days")), grid(here, go),
      here.length ? h("div", { class: "list" }, here.map(talk)) : h("p", { class: "soft" }, t(every.length ? "days.none" : "days.none.ever")));
  };
  draw();
}
