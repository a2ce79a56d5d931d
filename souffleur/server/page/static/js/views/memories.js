// All memories: search, filters and a list. Only the visible part of the list is in the document.
import { get, post } from "../api.js";
import { cardOf } from "../card.js";
import { button, h } from "../dom.js";
import { isStuck } from "../learning.js";
import { complain } from "../notice.js";
import { number, t } from "../words.js";

const KINDS = ["preference", "fact", "relationship", "goal", "todo", "promise", "boundary", "moment",
  "context", "pattern", "decision", "lesson", "skill", "experience", "workflow"];
const DAYS = { week: 7, month: 30, year: 365 };
const HEIGHT = 188;
const USUAL = { text: "", kind: "", category: "", state: "active", learned_by: "", time: "" };
const wanted = { ...USUAL, order: "newest" };

function select(name, options, onchange) {
  const made = h("select", { "aria-label": t(`filter.${name}`), "data-name": name, onchange: (one) => onchange(name, one.target.value) },
    options.map(([value, words]) => h("option", { value }, words)));
  made.value = wanted[name];
  return made;
}

function query() {
  const { time, text, ...rest } = wanted;
  const since = DAYS[time] && new Date(Date.now() - DAYS[time] * 86400000).toISOString();
  return { ...rest, since };
}

const AT_ONCE = 120;
const MOST = 200;

// Reads pages from a cursor on, until there are `count` memories or no more pages.
async function read(count, cursor) {
  const text = wanted.text.trim();
  const { order, ...filters } = query();
  const asked = { ...filters, order, cursor };
  const found = { items: [] };
  do {
    asked.limit = Math.min(MOST, count - found.items.length);
    const page = await (text ? post("/cards/search", { text }, filters) : get("/cards", asked));
    found.items.push(...page.items);
    Object.assign(found, { next: page.next, total: page.total });
    asked.cursor = page.next;
  } while (found.next && found.items.length < count);
  return found;
}

class List {
  constructor(told) {
    this.told = told;
    this.turn = 0;
    this.element = h("ul", { class: "window", role: "list" });
    this.items = [];
    this.drawn = new Map();
  }

  async load(more = false) {
    if (!more) this.turn += 1;
    const { turn } = this;
    const seen = Math.max(-1, ...this.drawn.keys()) + 1;
    const page = await (more ? read(AT_ONCE, this.next) : read(Math.max(AT_ONCE, seen)));
    if (turn !== this.turn) return;
    this.items = more ? [...this.items, ...page.items] : page.items;
    this.next = page.next;
    this.total = page.total;
    this.told(page.total);
    if (!more) {
      const held = this.element.contains(document.activeElement) && document.activeElement.closest("[data-id]");
      const at = held && [...this.drawn].find(([, one]) => one.contains(held))?.[0];
      this.drawn.forEach((one) => one.remove());
      this.drawn.clear();
      this.draw();
      if (held) this.focus(held.dataset.id, at);
    }
    this.draw();
  }

  // Focuses the same card; if that card is gone, the card that has its place now.
  focus(id, at) {
    const there = this.element.querySelector(`[data-id="${id}"] a`) ?? this.drawn.get(Math.min(at, this.items.length - 1))?.querySelector("a");
    (there ?? document.getElementById("main")).focus({ preventScroll: true });
  }

  draw() {
    const wide = this.element.clientWidth || 320;
    const columns = Math.max(1, Math.floor(wide / 320));
    const top = -this.element.getBoundingClientRect().top;
    const first = Math.max(0, (Math.floor(top / HEIGHT) - 2) * columns);
    const last = Math.min(this.items.length, (Math.ceil((top + innerHeight) / HEIGHT) + 2) * columns);
    this.element.style.height = `${Math.ceil(this.items.length / columns) * HEIGHT}px`;
    for (const [index, one] of this.drawn) {
      if ((index < first || index >= last) && !one.contains(document.activeElement)) {
        one.remove();
        this.drawn.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) this.place(index, columns, wide / columns);
    if (this.next && last + 4 * columns >= this.items.length) this.more();
  }

  place(index, columns, width) {
    if (!this.drawn.has(index)) {
      const made = h("li", { "aria-posinset": index + 1, "aria-setsize": this.total }, cardOf(this.items[index]));
      this.drawn.set(index, made);
      const after = [...this.drawn.keys()].filter((one) => one > index).sort((a, b) => a - b)[0];
      this.element.insertBefore(made, this.drawn.get(after) ?? null);
    }
    const { style } = this.drawn.get(index);
    style.width = `${width}px`;
    style.transform = `translate(${(index % columns) * width}px, ${Math.floor(index / columns) * HEIGHT}px)`;
  }

  more() {
    if (this.busy) return;
    this.busy = true;
    this.load(true).catch(complain).finally(() => { this.busy = false; });
  }
}

const narrowing = () => Object.keys(USUAL).some((name) => wanted[name] !== USUAL[name]);

// The number of memories, and whether a search compared only words; for an empty list the reason, and a button that shows all memories.
function told(total, byMeaning, all) {
  const bare = wanted.text.trim() && !byMeaning ? ` ${t("memories.words")}` : "";
  if (total) return [t("count.memories", { n: total, count: number(total) }), bare];
  return narrowing() ? [t("memories.nothing"), bare, " ", button(t("memories.all"), all)] : [t(isStuck() ? "trouble.kept" : "memories.none")];
}

// On a phone the filters are behind this button.
function fold(filters) {
  const made = button(t("filters"), () => made.setAttribute("aria-expanded", filters.classList.toggle("open")),
    { class: "fold", "aria-expanded": String(filters.classList.toggle("open", narrowing())) });
  return made;
}

export async function show(main, { caller, home, signal }) {
  const count = h("p", { class: "soft", role: "status" });
  const list = new List((total) => count.replaceChildren(...told(total, caller.by_meaning, everything)));
  let waiting;
  const reload = () => list.load().catch(complain);
  const set = (name, value) => {
    wanted[name] = value;
    clearTimeout(waiting);
    waiting = setTimeout(reload, name === "text" ? 200 : 0);
  };
  const everything = () => {
    Object.assign(wanted, USUAL);
    main.querySelectorAll("[data-name]").forEach((one) => { one.value = wanted[one.dataset.name]; });
    main.querySelector(".search").focus();
    reload();
  };
  const all = (name) => ["", t(`filter.${name}.all`)];
  const filters = h("div", { class: "filters" },
    select("kind", [all("kind"), ...KINDS.map((one) => [one, t(`kind.${one}`)])], set),
    select("category", [all("category"), ...["core", "fact", "skill", "episode"].map((one) => [one, t(`category.${one}`)])], set),
    select("state", ["active", "pending", "forgotten", "archived", "superseded", "any"].map((one) => [one, t(`state.${one}`)]), set),
    home.personas.length > 1 &&
      select("learned_by", [all("learned_by"), ...home.personas.map((one) => [one.agent_id, one.name])], set),
    select("time", [all("time"), ...Object.keys(DAYS).map((one) => [one, t(`time.${one}`)])], set),
    select("order", ["newest", "oldest", "strongest"].map((one) => [one, t(`order.${one}`)]), set));
  main.replaceChildren(
    h("h1", {}, t("view.memories")),
    h("input", { type: "search", class: "search", placeholder: t("search"), "aria-label": t("search"),
      "data-name": "text", value: wanted.text, oninput: (one) => set("text", one.target.value) }),
    fold(filters), filters, count, list.element);
  addEventListener("scroll", () => list.draw(), { passive: true, signal });
  addEventListener("resize", () => list.draw(), { signal });
  await list.load();
  return reload;
}
