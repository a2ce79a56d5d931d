// The export of a user's data to a file, and the import of a file from another program.
import { load, send } from "./api.js";
import { changed } from "./changes.js";
import { button, h } from "./dom.js";
import { complain } from "./notice.js";
import { dollars, number, t } from "./words.js";

async function download(said, pressed) {
  pressed.target.disabled = true;
  said.textContent = t("files.exporting");
  try {
    const answer = await load("/export");
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

// The skipped parts of a file: the number for each reason, and the names of unreadable parts.
function leftOut(found) {
  const left = [...Object.entries(found.skipped).map(([why, count]) => `${why}: ${number(count)}`), ...found.unread];
  return left.length > 0 && h("details", {}, h("summary", {}, t("files.left")),
    h("ul", { class: "small" }, left.map((line) => h("li", { dir: "auto" }, line))));
}

// The estimated effort to judge the talks of a file, and its skipped parts.
function estimate(found) {
  return [
    found.calls > 0 && h("p", {}, t("files.calls", { count: number(found.calls), tokens: number(found.input_tokens + found.output_tokens) }),
      found.dollars > 0 && ` ${t("files.cost", { cost: dollars(found.dollars) })}`,
      found.days > 0 && ` ${t("files.days", { n: found.days, count: number(found.days) })}`),
    leftOut(found),
  ].filter(Boolean);
}

async function bring(place, file, query) {
  place.replaceChildren(h("p", { role: "status" }, t("files.reading")));
  try {
    const found = await send("/import", file, query);
    const told = (key) => h("p", { role: "status" }, t(key, { n: sum(found.new), count: number(sum(found.new)),
      known: number(sum(found.known)), skipped: number(sum(found.skipped)) }));
    if (!query.dry_run) {
      place.replaceChildren(...[told("files.taken"), leftOut(found)].filter(Boolean));
      changed();
    } else {
      const take = button(t("files.take"), () => bring(place, file, { ...query, dry_run: false }), { class: "chief" });
      place.replaceChildren(told("files.would"), ...estimate(found), sum(found.new) ? take : h("p", {}, t("files.nothing")));
      if (sum(found.new)) take.focus();
    }
  } catch (error) {
    place.replaceChildren(...(error.status === 422 ? [h("p", { role: "alert" }, t("files.unknown"))] : []));
    if (error.status !== 422) complain(error);
  }
}

export function files({ personas }) {
  const said = h("span", { role: "status", class: "soft" });
  const place = h("div", {});
  const persona = h("select", {}, personas.map((one) => h("option", { value: one.agent_id }, one.name)));
  const pick = h("input", { type: "file", accept: ".json,.jsonl,.ndjson,.zip", onchange: ({ target }) => {
    const [file] = target.files;
    if (file) bring(place, file, { dry_run: true, agent_id: persona.value });
    target.value = "";
  } });
  return [h("p", { class: "soft" }, t("files.about")),
    h("p", {}, button(t("files.export"), (pressed) => download(said, pressed)), " ", said),
    h("p", { class: "soft" }, t("files.import.about")),
    personas.length > 1 && h("label", { class: "field" }, h("span", {}, t("files.persona")), persona),
    h("label", { class: "button file" }, t("files.choose"), pick), place];
}
