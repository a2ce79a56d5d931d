// Everything of a person as a file, and memories from a file of another program.
import { open, send } from "./api.js";
import { changed } from "./changes.js";
import { button, h } from "./dom.js";
import { complain } from "./notice.js";
import { number, t } from "./words.js";

async function download(said, pressed) {
  pressed.target.disabled = true;
  said.textContent = t("files.exporting");
  try {
    const answer = await open("/export");
    if (!answer.ok) throw new Error(answer.statusText);
    const link = h("a", { href: URL.createObjectURL(await answer.blob()), download: `souffleur-${new Date().toISOString().slice(0, 10)}.jsonl` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  } catch (error) {
    complain(error);
  }
  said.textContent = "";
  pressed.target.disabled = false;
}

const sum = (counts) => Object.values(counts).reduce((all, one) => all + one, 0);

async function bring(place, file, dry) {
  place.replaceChildren(h("p", { role: "status" }, t("files.reading")));
  try {
    const found = await send("/import", file, { dry_run: dry });
    const told = (key) => h("p", { role: "status" }, t(key, { n: sum(found.new), count: number(sum(found.new)), known: number(sum(found.known)), skipped: number(sum(found.skipped)) }));
    if (!dry) {
      place.replaceChildren(told("files.taken"));
      changed();
    } else if (!sum(found.new)) place.replaceChildren(told("files.would"), h("p", {}, t("files.nothing")));
    else {
      const take = button(t("files.take"), () => bring(place, file, false), { class: "chief" });
      place.replaceChildren(told("files.would"), found.calls > 0 ? h("p", {}, t("files.calls", { count: number(found.calls) })) : "", take);
      take.focus();
    }
  } catch (error) {
    place.replaceChildren();
    complain(error);
  }
}

export function files() {
  const said = h("span", { role: "status", class: "soft" });
  const place = h("div", {});
  const pick = h("input", { type: "file", accept: ".json,.jsonl,.ndjson,application/json", onchange: (event) => {
    const [file] = event.target.files;
    if (file) bring(place, file, true);
  } });
  return [h("p", { class: "soft" }, t("files.about")),
    h("p", {}, button(t("files.export"), (pressed) => download(said, pressed)), " ", said),
    h("p", { class: "soft" }, t("files.import.about")),
    h("label", { class: "button file" }, t("files.choose"), pick), place];
}
