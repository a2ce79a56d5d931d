// The page: sign-in, the choice of the view, and updates.
import { Refused, get, keep, leave, session } from "./api.js";
import { h, wear } from "./dom.js";
import { icon } from "./icons.js";
import { look, watch } from "./learning.js";
import { follow } from "./live.js";
import { complain, wordsOf } from "./notice.js";
import { show as portrait } from "./views/portrait.js";
import { called, speak, t } from "./words.js";

const VIEWS = ["portrait", "memories", "names", "days", "why", "settings"];
const BEYOND = { memory: "memories", asked: "asked", topic: "settings", figures: "settings" };
const AGAIN = 2000; // milliseconds after which a failed view is loaded again
const FOCUSABLE = "a[href], button, input, select, textarea, [tabindex='0']";
const main = document.getElementById("main");
const head = document.getElementById("head");
let caller;
let home;
let leaving = new AbortController();
let refresh;
let waiting = 0;
let seeking = false;
let fresh = false;
let shown;

function entrance(title, ...children) {
  head.hidden = true;
  main.replaceChildren(h("div", { class: "entrance" }, h("h1", {}, title),
    session.erased && h("p", { role: "status" }, t("erase.done")), children));
}

function signIn(why) {
  const token = h("input", { type: "password", autocomplete: "off", required: true, "aria-label": t("token") });
  entrance(t("sign.in"), h("p", { class: "soft" }, t("sign.about")),
    h("p", { class: "soft small" }, `${t("sign.how")} `, h("code", {}, "souffleur token --user …")),
    why && session.token && h("p", { role: "alert" }, why),
    h("form", {
      onsubmit: (event) => {
        event.preventDefault();
        keep({ token: token.value.trim() });
        if (caller) location.reload(); // nothing of the former user stays
        else start();
      },
    }, token, h("button", {}, t("sign.go"))));
}

// Lets an admin choose a user, unless there is only one. Before the first talk, looks for one from time to time.
async function chooseUser() {
  const users = await get("/users");
  const take = (user) => {
    keep({ user, choose: undefined });
    start();
  };
  if (users.length === 1 && !session.choose) return take(users[0].user_id);
  const named = h("input", { required: true });
  if (!users.length) setTimeout(() => named.isConnected && !named.value && chooseUser(), AGAIN);
  entrance(t(users.length ? "whose" : "whose.none"), h("ul", { class: "users", role: "list" }, users.map((one) =>
    h("li", {}, h("button", { type: "button", onclick: () => take(one.user_id) }, h("b", { dir: "auto" }, one.user_id),
      h("span", { class: "soft" }, t("count.memories", { n: one.memories, count: one.memories })))))),
  users.length ? "" : [h("p", { class: "soft" }, t("whose.none.about")), h("form", {
    onsubmit: (event) => {
      event.preventDefault();
      take(named.value);
    },
  }, h("label", { class: "field" }, h("span", {}, t("user")), named), h("button", {}, t("sign.go")))]);
}

function menu(current) {
  shown = current;
  head.hidden = false;
  head.replaceChildren(
    h("a", { class: "brand", href: "#/portrait" }, "Souffleur"),
    h("nav", { "aria-label": t("menu") }, [...(waiting || current === "asked" ? ["asked"] : []), ...VIEWS].map((one) =>
      h("a", { href: `#/${one}`, "aria-current": one === current ? "page" : null }, icon(one), h("span", {}, t(`view.${one}`)),
        one === "asked" && waiting > 0 && h("span", { class: "badge" }, String(waiting))))),
    caller.role === "admin" ? h("button", { type: "button", class: "quiet who", onclick: () => leave({ ...session, choose: true }) },
      h("b", { dir: "auto" }, called(home)), h("span", {}, t("leave.other"))) : "");
}

// Keeps the keyboard focus during a change: in the same card, otherwise at the same position.
function keepFocus(root, change) {
  const among = (place) => [...place.querySelectorAll(FOCUSABLE)];
  const held = document.activeElement;
  const place = among(root).indexOf(held);
  const id = place >= 0 && held.closest("[data-id]")?.dataset.id;
  change();
  if (place < 0) return;
  const card = id && root.querySelector(`[data-id="${id}"]`);
  const there = card ? among(card) : among(root);
  const same = card ? there.find((one) => one.textContent === held.textContent) ?? there[0] : there[Math.min(place, there.length - 1)];
  (same ?? main).focus({ preventScroll: true });
}

// Focuses a new view: its search field if the slash key was pressed, otherwise its beginning.
function focusFirst() {
  const search = seeking && main.querySelector(".search");
  seeking = false;
  (search || main).focus({ preventScroll: true });
}

// An element whose content would be lost if the view were drawn again.
const busy = () => main.querySelector("form.editing, .why .reasons > *, .settings");

// Decodes a part of the URL; returns it unchanged if it is invalid.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function draw(moved) {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const view = VIEWS.includes(name) || name in BEYOND ? name : "portrait";
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  keepFocus(head, () => menu(BEYOND[view] ?? view));
  document.title = `${t(`view.${view}`)} · Souffleur`;
  main.dataset.view = view;
  try {
    const { show } = view === "portrait" ? { show: portrait } : await import(`./views/${view}.js`);
    const place = h("div", { class: view });
    if (moved) main.replaceChildren(place);
    const known = fresh ? home : null;
    fresh = false;
    const again = await show(place, { caller, home, known, rest, signal });
    if (signal.aborted || (!moved && busy())) return;
    if (!moved) keepFocus(main, () => main.replaceChildren(place));
    refresh = again ?? (() => (busy() ? null : draw(false)));
    if (moved) focusFirst();
  } catch (error) {
    if (signal.aborted) return;
    refresh = () => draw(false);
    if (error instanceof Refused && error.status === 401) return signIn(wordsOf(error));
    main.replaceChildren(h("p", { role: "alert" }, wordsOf(error)));
    if (!(error instanceof Refused) || error.status >= 429) setTimeout(() => signal.aborted || refresh(), AGAIN);
  }
}

async function start() {
  try {
    [caller] = await Promise.all([get("/me"), speaking]);
    if (caller.role === "admin" && !session.user) return await chooseUser();
    [home] = await Promise.all([get("/home"), look()]);
    waiting = home.waiting;
    fresh = true;
    await draw(true);
    if (!start.followed) {
      start.followed = true;
      follow();
      watch(() => refresh?.());
    }
  } catch (error) {
    await speaking;
    if (error.status === 422 && session.user) { // the entered text is no valid id: ask again
      keep({ user: undefined });
      await start();
      complain(error);
    } else if (error instanceof Refused && error.status < 500) signIn(wordsOf(error));
    else if (main.childElementCount) complain(error);
    else main.replaceChildren(h("p", { role: "alert" }, wordsOf(error)));
  }
}

let due;
addEventListener("hashchange", () => {
  scrollTo(0, 0);
  draw(true);
});
addEventListener("changed", () => {
  clearTimeout(due);
  due = setTimeout(async () => {
    refresh?.();
    look();
    const found = await get("/questions").catch(() => null);
    if (!found || found.length === waiting) return;
    waiting = found.length;
    keepFocus(head, () => menu(shown));
  }, 120);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea, select") || head.hidden) return;
  event.preventDefault();
  seeking = true;
  if (main.dataset.view === "memories") focusFirst();
  else location.hash = "#/memories";
});
wear(localStorage.getItem("souffleur-theme"));
const speaking = speak();
start();
await speaking;
const skip = document.getElementById("skip");
skip.textContent = t("skip");
skip.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
