// The names in memories: a picture of the ties between them, and a list with the same ties.
import { get } from "../api.js";
import { cardOf } from "../card.js";
import { button, h, svg } from "../dom.js";
import { place } from "../layout.js";
import { number, t } from "../words.js";

let open;

const size = (one, most) => 6 + 12 * Math.sqrt(one.count / most);
const short = (name) => ([...name].length > 16 ? `${[...name].slice(0, 15).join("")}…` : name);

function picture(found, wide, choose) {
  const many = wide < 600 ? 18 : 40;
  const names = found.names.slice(0, many);
  const ties = found.ties.filter((one) => one.first < many && one.second < many);
  const height = Math.round(Math.min(620, wide < 600 ? wide * 1.15 : wide * 0.6, 180 + 26 * names.length));
  const at = place(names.length, ties, wide, height);
  const lines = ties.map(({ first, second, type, count }) => svg("line", {
    class: `tie ${type} n${first} n${second}`, x1: at[first].x, y1: at[first].y, x2: at[second].x, y2: at[second].y,
    "stroke-width": Math.min(5, 0.8 + count * 0.5) }));
  const points = names.map((one, index) => {
    const radius = size(one, names[0].count);
    return svg("g", { class: "name", "data-name": one.name, onclick: () => choose(one.name) },
      svg("title", {}, one.name),
      svg("circle", { cx: at[index].x, cy: at[index].y, r: radius }),
      svg("text", { x: at[index].x, y: at[index].y + radius + 14, "text-anchor": "middle" }, short(one.name)));
  });
  return svg("svg", { class: "picture", role: "img", "aria-label": t("names.picture"), viewBox: `0 0 ${wide} ${height}`,
    width: wide, height }, lines, points);
}

// The ties of a name: the other name and the type of each tie.
function tiesOf(found, name, choose) {
  const here = found.names.findIndex((one) => one.name === name);
  const mine = found.ties.filter((one) => one.first === here || one.second === here).sort((a, b) => b.count - a.count);
  return mine.length > 0 && h("p", { class: "goes" }, h("span", { class: "soft" }, t("names.ties"), " "), mine.map((one) => {
    const other = found.names[one.first === here ? one.second : one.first].name;
    return [button([h("bdi", {}, other), h("span", { class: "soft small" }, ` ${t(`tie.${one.type}`, { count: number(one.count) })}`)],
      () => choose(other)), " "];
  }));
}

function chosen(found, name, choose) {
  const one = found.names.find((each) => each.name === name);
  if (!one) return "";
  const cards = new Map(found.cards.map((card) => [card.id, card]));
  return [h("h2", { tabindex: "-1", dir: "auto" }, one.name), tiesOf(found, name, choose) || "",
    h("div", { class: "cards" }, one.memories.map((id) => cardOf(cards.get(id))))];
}

export async function show(main, { signal }) {
  const found = await get("/names");
  const shown = h("section", { class: "chosen" });
  const list = h("ul", { class: "plain list-of-names" });
  const stage = h("div", { class: "stage" });
  const mark = () => {
    const index = found.names.findIndex((one) => one.name === open);
    stage.querySelectorAll(".name").forEach((one) => one.classList.toggle("open", one.dataset.name === open));
    stage.querySelectorAll(".tie").forEach((one) => one.classList.toggle("open", one.classList.contains(`n${index}`)));
    list.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", one.dataset.name === open));
  };
  const choose = (name) => {
    open = name;
    shown.replaceChildren(...[chosen(found, name, choose)].flat());
    mark();
    shown.querySelector("h2")?.focus();
  };
  const draw = () => {
    stage.replaceChildren(picture(found, Math.max(280, Math.floor(stage.clientWidth)), choose));
    mark();
  };
  list.append(...found.names.map((one) => h("li", {}, button([h("bdi", {}, one.name), " ", h("span", { class: "soft" }, number(one.count))],
    () => choose(one.name), { "data-name": one.name, "aria-pressed": "false" }))));
  main.replaceChildren(h("h1", {}, t("view.names")),
    h("p", { class: "soft" }, found.names.length ? t("names.about") : t("names.none")),
    ...(found.names.length ? [stage, h("h2", { class: "small-title" }, t("names.list")), list, shown] : []));
  if (!found.names.length) return;
  if (open) shown.replaceChildren(...[chosen(found, open, choose)].flat());
  requestAnimationFrame(draw);
  addEventListener("resize", draw, { signal });
}
