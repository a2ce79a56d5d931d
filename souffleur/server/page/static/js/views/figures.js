// A user's memories in numbers: due memories, strengths, decisions and runs.
import { get } from "../api.js";
import { h, svg } from "../dom.js";
import { ago, dollars, has, minute, number, t, undated } from "../words.js";

const WIDE = 600;
const HIGH = 120;

function bars(label, counts, named) {
  const most = Math.max(1, ...counts);
  const wide = WIDE / counts.length;
  const told = counts.map((count, index) => `${named(index)}: ${number(count)}`);
  return svg("svg", { class: "bars", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${label} – ${told.join(", ")}` },
    counts.map((count, index) => svg("rect", { x: index * wide + 1, width: wide - 2, rx: 2,
      y: HIGH - 2 - (count / most) * (HIGH - 12), height: 2 + (count / most) * (HIGH - 12) }, svg("title", {}, told[index]))));
}

function share(part) {
  const bar = h("span", { class: "meter", "aria-hidden": "true" }, h("span"));
  bar.firstChild.style.width = `${Math.round(100 * part)}%`;
  return bar;
}

const none = () => h("p", { class: "soft" }, t("figures.none"));

function plot(label, counts, named, low, high, about) {
  if (!counts.some(Boolean)) return none();
  return [about && h("p", { class: "soft small" }, about), bars(label, counts, named),
    h("p", { class: "ends soft small", "aria-hidden": "true" }, h("span", {}, low), h("span", {}, high))];
}

function table(counts, name) {
  const rows = Object.entries(counts).filter(([, count]) => count).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...rows.map(([, count]) => count));
  return rows.length
    ? h("dl", { class: "facts" }, rows.map(([key, count]) => [h("dt", {}, name(key)),
      h("dd", { class: "bar" }, share(count / most), number(count))]))
    : none();
}

const named = (prefix) => (key) => (has(`${prefix}.${key}`) ? t(`${prefix}.${key}`) : key);
const row = (name, value) => [h("dt", {}, t(name)), h("dd", {}, value)];

const due = (one) => h("li", {}, h("a", { href: `#/memory/${one.id}`, dir: "auto" }, undated(one.content)),
  h("p", { class: "soft small" }, `${t(`due.${one.due_for}`)} · `, h("time", { datetime: one.due_at, title: minute(one.due_at) }, ago(one.due_at))));

function run(one) {
  const seconds = (new Date(one.ended) - new Date(one.began)) / 1000;
  const done = Object.entries(one.done).map(([op, count]) => `${named("op")(op)} ${number(count)}`).join(", ");
  return h("li", {}, h("b", {}, named("run")(one.name)), " ",
    h("span", { class: "soft" }, `${minute(one.began)} · ${t("figures.seconds", { count: number(Math.round(seconds * 10) / 10) })}`),
    done && h("p", { class: "small" }, done), one.error && h("p", { class: "small danger" }, one.error));
}

function cost(found) {
  return h("dl", { class: "facts" },
    ["judged", "pending", "failed"].filter((one) => found.turns[one]).map((one) => row(`figures.turns.${one}`, number(found.turns[one]))),
    found.waiting_since && row("figures.waiting", minute(found.waiting_since)),
    row("figures.calls", number(found.calls)), row("figures.tokens", number(found.tokens)),
    found.cost > 0 && row("figures.cost", dollars(found.cost)));
}

export async function show(main) {
  const title = [h("p", { class: "overline" }, h("a", { href: "#/settings" }, t("view.settings"))), h("h1", {}, t("view.figures"))];
  main.replaceChildren(...title, h("p", { role: "status" }, t("figures.reading")));
  const found = await get("/figures");
  const part = (name, ...children) => h("section", {}, h("h2", {}, t(name)), children);
  const bin = (index) => `${number(index * found.bin)}+`;
  const day = (index) => t("figures.day", { n: index });
  main.replaceChildren(...title,
    part("figures.due", found.overdue > 0 && h("p", {}, t("figures.overdue", { n: found.overdue, count: number(found.overdue) })),
      found.due.length ? h("ul", { class: "plain due" }, found.due.map(due)) : h("p", { class: "soft" }, t("figures.due.none"))),
    part("figures.days", plot(t("figures.days"), found.due_by_day, day, t("figures.today"), day(found.due_by_day.length - 1))),
    part("figures.values", plot(t("figures.values"), found.importance, bin,
      number(0), number(found.importance.length * found.bin), t("figures.values.about"))),
    part("figures.decided", table(found.verdicts, named("op"))),
    part("figures.refused", table(found.refusals, named("refused"))),
    part("figures.talk", cost(found)),
    part("figures.runs", found.runs.length ? h("ul", { class: "plain due" }, found.runs.map(run)) : h("p", { class: "soft" }, t("figures.runs.none"))));
  return () => {};
}
