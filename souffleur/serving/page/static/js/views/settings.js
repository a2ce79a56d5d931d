// Settings: how the page looks and speaks, the person's name, and what can be taken away.
import { get, leave, put, remove, session } from "../api.js";
import { button, h } from "../dom.js";
import { complain, notice } from "../notice.js";
import { LANGUAGES, choose, spoken, t } from "../words.js";

export function wear(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function pick(label, options, chosen, act) {
  const made = h("select", { onchange: (one) => act(one.target.value) },
    options.map(([value, words]) => h("option", { value }, words)));
  made.value = chosen;
  return h("label", { class: "field" }, h("span", {}, label), made);
}

function person(home) {
  const title = h("input", { value: home.title, maxlength: 60 });
  const zone = h("input", { value: home.timezone, maxlength: 60 });
  const keep = async (event) => {
    event.preventDefault();
    try {
      await put("/person", { title: title.value, timezone: zone.value });
      notice(t("saved"));
    } catch (error) {
      complain(error);
    }
  };
  return h("form", { onsubmit: keep },
    h("label", { class: "field" }, h("span", {}, t("settings.title")), title),
    h("label", { class: "field" }, h("span", {}, t("settings.zone")), zone),
    h("button", {}, t("save")));
}

function erasure(home) {
  const typed = h("input", { autocomplete: "off", "aria-label": t("erase.type", { name: home.user_id }) });
  const go = h("button", { class: "danger", disabled: true }, t("erase.go"));
  typed.addEventListener("input", () => { go.disabled = typed.value !== home.user_id; });
  const erase = async (event) => {
    event.preventDefault();
    if (typed.value !== home.user_id) return;
    try {
      await remove("/users");
      leave();
    } catch (error) {
      complain(error);
    }
  };
  return h("form", { onsubmit: erase }, h("p", {}, t("erase.about")),
    h("label", { class: "field" }, h("span", {}, t("erase.type", { name: home.user_id })), typed), go);
}

export async function show(main, { caller }) {
  const home = await get("/home");
  const part = (title, ...children) => h("section", {}, h("h2", {}, t(title)), children);
  main.replaceChildren(h("h1", {}, t("view.settings")),
    part("settings.look",
      pick(t("settings.language"), Object.entries(LANGUAGES), spoken(), choose),
      pick(t("settings.theme"), ["", "light", "dark"].map((one) => [one, t(`theme.${one || "auto"}`)]),
        localStorage.getItem("souffleur-theme") ?? "", (one) => {
          localStorage.setItem("souffleur-theme", one);
          wear(one);
        })),
    part("settings.you", person(home)),
    part("erase", erasure(home)),
    session.token || caller.role === "admin" ? button(t("leave"), leave) : "");
}
