// Server-sent events, read by fetch because only fetch can send the token in a header.
import { open } from "./api.js";
import { changed, ours, undo } from "./changes.js";
import { notice } from "./notice.js";
import { t, undated } from "./words.js";

const TOLD = { "memory.created": "told.created", "memory.forgotten": "told.forgotten",
  "memory.deleted": "told.deleted" };
let last;

function take(block) {
  const fields = Object.fromEntries(block.split("\n").map((line) => {
    const at = line.indexOf(":");
    return [line.slice(0, at), line.slice(at + 2)];
  }));
  if (fields.id) last = fields.id;
  if (!fields.data) return;
  const event = JSON.parse(fields.data);
  changed();
  if (!ours.has(event.entry_id) && event.by.who !== "user") tell(event);
}

// Shows a notice for an event. A change after a turn has its own text in the user's language.
function tell({ notice: told, type, memory, entry_id: entry }) {
  const see = (place) => [t("view"), () => { location.hash = place; }];
  const back = [t("undo"), () => undo(entry)];
  if (told?.asks && location.hash === "#/asked") return;
  if (memory.category === "profile") {
    if (memory.state === "active") notice(t("told.portrait"), see("#/portrait"), back);
  } else if (told?.asks) notice(told.text, see("#/asked"));
  else if (told) notice(told.text, see(`#/memory/${memory.id}`), back);
  else if (TOLD[type]) notice(t(TOLD[type], { what: undated(memory.content).slice(0, 120) }), see(`#/memory/${memory.id}`), back);
}

async function read(signal, again) {
  const answer = await open("/events", { query: { after: last }, signal });
  if (!answer.ok) return [401, 403].includes(answer.status);
  if (again) changed(); // there is no event for data that were erased during a break
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return false;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    blocks.forEach(take);
  }
}

// A browser has at most six connections to a server, so a hidden tab keeps no connection open.
const seen = () => document.visibilityState === "visible";

function looked() {
  return new Promise((go) => {
    const look = () => {
      if (!seen()) return;
      document.removeEventListener("visibilitychange", look);
      go();
    };
    document.addEventListener("visibilitychange", look);
    look();
  });
}

export async function follow() {
  for (let again = false; ; again = true) {
    await looked();
    const away = new AbortController();
    const leave = () => seen() || away.abort();
    document.addEventListener("visibilitychange", leave);
    addEventListener("pagehide", () => away.abort(), { signal: away.signal });
    const over = await read(away.signal, again).catch(() => false);
    document.removeEventListener("visibilitychange", leave);
    if (over) return;
    if (!away.signal.aborted) await new Promise((go) => setTimeout(go, 2000));
  }
}
