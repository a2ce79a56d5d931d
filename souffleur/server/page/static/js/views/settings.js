// Settings: look and language of the page, the user's name, files and erasure.
import { get, leave, patch, put, remove, session } from "../api.js";
import { button, h, wear } from "../dom.js";
import { files } from "../files.js";
import { complain, notice } from "../notice.js";
import { LANGUAGES, choose, spoken, t } from "../words.js";

function pick(label, options, chosen, act) {
  const made = h("select", { onchange: (one) => act(one.target.value) },
    options.map(([value, words]) => h("option", { value }, words)));
  made.value = chosen;
  return h("label", { class: "field" }, h("span", {}, label), made);
}

function wish(name, on, fields) {
  const box = h("input", { type: "checkbox", checked: on, "aria-describedby": `wish-${name}` });
  box.addEventListener("change", async () => {
    try {
      await patch("/preferences", fields(box.checked));
      notice(t("saved"));
    } catch (error) {
      box.checked = !box.checked;
      complain(error);
    }
  });
  return h("div", { class: "wish" }, h("label", {}, box, h("span", {}, t(`wish.${name}`))),
    h("p", { class: "soft small", id: `wish-${name}` }, t(`wish.${name}.about`)));
}

const wishes = ({ chosen }) => [
  wish("memory", chosen.memory, (memory) => ({ memory })),
  wish("ask", !chosen.auto_extract, (first) => ({ auto_extract: !first })),
  wish("show_references", chosen.show_references, (show_references) => ({ show_references })),
  wish("incognito", chosen.incognito, (incognito) => ({ incognito })),
];

function person(home) {
  const speech = h("select", {}, ["", ...Object.keys(LANGUAGES)].map((one) =>
    h("option", { value: one, disabled: !one && home.language }, LANGUAGES[one] ?? t("speech.auto"))));
  speech.value = home.language ?? "";
  const title = h("input", { value: home.title, maxlength: 60 });
  const zone = h("input", { value: home.timezone, maxlength: 60 });
  const fields = { title, timezone: zone, language: speech };
  const known = { title: home.title, timezone: home.timezone, language: home.language ?? "" };
  // Saves only changed fields, because the fields also show defaults: the id as the name, the program's time zone.
  const keep = async (event) => {
    event.preventDefault();
    const chosen = Object.entries(fields).map(([name, one]) => [name, one.value]).filter(([name, value]) => value !== known[name]);
    try {
      if (chosen.length) await put("/person", Object.fromEntries(chosen));
      Object.assign(known, Object.fromEntries(chosen));
      notice(t("saved"));
    } catch (error) {
      complain(error);
    }
  };
  return h("form", { onsubmit: keep },
    h("label", { class: "field" }, h("span", {}, t("settings.title")), title),
    h("label", { class: "field" }, h("span", {}, t("settings.zone")), zone),
    h("label", { class: "field" }, h("span", {}, t("settings.speech")), speech),
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
      leave({ erased: true });
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
    part("settings.wishes", wishes(home)),
    part("settings.you", person(home)),
    part("view.figures", h("p", { class: "soft" }, t("figures.about")), h("a", { class: "button", href: "#/figures" }, t("figures.see"))),
    part("files", files(home)),
    part("view.topic", h("p", { class: "soft" }, t("topic.about")), h("a", { class: "button", href: "#/topic" }, t("topic.choose"))),
    part("erase", erasure(home)),
    h("div", { class: "buttons" }, caller.role === "admin" && button(t("leave.other"), () => leave({ ...session, choose: true })),
      session.token && button(t("leave"), () => leave())));
}
