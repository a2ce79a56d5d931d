// Forget a topic: first lists the records about it, each with a reason; then erases the chosen records for good.
import { post } from "../api.js";
import { changed } from "../changes.js";
import { button, h, twice } from "../dom.js";
import { complain } from "../notice.js";
import { has, minute, number, t, undated } from "../words.js";

const KINDS = ["memory", "episode", "portrait", "turn", "proposal", "item"];

function why(text) {
  const names = /^it mentions (.+) as well$/.exec(text);
  if (names) return t("trace.it mentions", { names: names[1] });
  const key = `trace.${text.replace(/ \([^)]*\)/, "")}`;
  return has(key) ? t(key) : text;
}

// The text of a proposal begins with its op, which must be translated.
const text = (trace) => (trace.kind === "proposal"
  ? trace.text.replace(/^([A-Z]+): /, (_, op) => `${t(`op.${op}`)}: `) : undated(trace.text));

function line(trace, redraw) {
  const box = h("input", { type: "checkbox", checked: trace.sure, value: trace.id, onchange: redraw });
  return h("li", { class: "trace" }, h("label", {}, box, h("span", { dir: "auto" }, text(trace))),
    !trace.whole && trace.lines.length > 0 && h("p", { class: "small" }, t("topic.only"), " ",
      trace.lines.map((words) => h("del", { dir: "auto" }, words, " "))),
    h("p", { class: "soft small" }, why(trace.why), trace.at && ` · ${minute(trace.at)}`));
}

const group = (kind, traces, redraw) => traces.length > 0 && h("fieldset", {},
  h("legend", {}, t(`trace.kind.${kind}`)), h("ul", { class: "plain" }, traces.map((one) => line(one, redraw))));

function rest(traces, redraw) {
  const box = h("input", { type: "checkbox", checked: true, onchange: redraw, "data-ids": traces.map((one) => one.id).join(" ") });
  return h("fieldset", {}, h("legend", {}, t("trace.kind.rest")), h("div", { class: "trace" },
    h("label", {}, box, h("span", {}, number(traces.length))), h("p", { class: "soft small" }, t("trace.rest.about"))));
}

const chosen = (place) => [...place.querySelectorAll("input:checked")]
  .flatMap((one) => one.dataset.ids?.split(" ") ?? one.value);

function preview(place, topic, found) {
  const sure = found.traces.filter((one) => one.sure);
  const foot = h("div", { class: "buttons" });
  const redraw = () => {
    const ids = chosen(place);
    const label = t("topic.go", { count: number(ids.length) });
    foot.replaceChildren(twice(label, t("topic.sure.ask"), () => go(place, topic, chosen(place)),
      { class: "danger", disabled: !ids.length }));
  };
  const groups = (traces) => KINDS.map((kind) => group(kind, traces.filter((one) => one.kind === kind), redraw));
  const perhaps = found.traces.filter((one) => !one.sure);
  const notes = sure.filter((one) => !KINDS.includes(one.kind));
  place.replaceChildren(h("h2", { tabindex: "-1" }, t("topic.sure")), ...groups(sure).filter(Boolean),
    notes.length ? rest(notes, redraw) : "",
    perhaps.length ? h("section", {}, h("h2", {}, t("topic.perhaps")), h("p", { class: "soft" }, t("topic.perhaps.about")), groups(perhaps)) : "",
    h("p", { class: "soft small" }, t("topic.copies")), foot);
  redraw();
  place.querySelector("h2").focus();
}

async function go(place, topic, ids) {
  place.setAttribute("aria-busy", "true");
  place.replaceChildren(h("p", { role: "status" }, t("topic.going")));
  try {
    receipt(place, await post("/forget", { topic, ids }));
  } catch (error) {
    complain(error);
    place.replaceChildren();
  }
  place.removeAttribute("aria-busy");
  changed();
}

// The result as numbers only: forgotten words are not shown again.
function receipt(place, done) {
  const counts = Object.entries(done.counts);
  const some = counts.filter(([kind]) => KINDS.includes(kind));
  const others = counts.filter(([kind]) => !KINDS.includes(kind)).reduce((sum, [, count]) => sum + count, 0);
  const row = (kind, count) => [h("dt", {}, t(`trace.kind.${kind}`)), h("dd", {}, number(count))];
  const form = document.querySelector(".topic form");
  form?.reset();
  place.replaceChildren(h("h2", { tabindex: "-1" }, t("topic.done")),
    h("dl", { class: "facts" }, some.map(([kind, count]) => row(kind, count)), others > 0 && row("rest", others)),
    done.remarks.map((one) => h("p", {}, one)), h("p", { class: "soft" }, t("topic.copies")),
    button(t("topic.another"), () => {
      place.replaceChildren();
      form?.querySelector("input").focus();
    }));
  place.querySelector("h2").focus();
}

export async function show(main) {
  const place = h("div", { class: "found" });
  const word = h("input", { required: true, maxlength: 200, autocomplete: "off", "aria-label": t("topic.word"), placeholder: t("topic.word") });
  const look = async (event) => {
    event.preventDefault();
    const topic = word.value.trim();
    place.replaceChildren(h("p", { role: "status" }, t("topic.looking")));
    try {
      const found = await post("/forget/preview", { topic });
      if (found.traces.length) preview(place, topic, found);
      else place.replaceChildren(h("p", { role: "status" }, t("topic.none", { topic })));
    } catch (error) {
      place.replaceChildren();
      complain(error);
    }
  };
  main.replaceChildren(h("p", { class: "overline" }, h("a", { href: "#/settings" }, t("view.settings"))),
    h("h1", {}, t("view.topic")), h("p", { class: "soft" }, t("topic.about")),
    h("form", { class: "asking", onsubmit: look }, word, h("button", { class: "chief" }, t("topic.look"))), place);
  return () => {};
}
