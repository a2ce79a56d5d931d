// Server-sent events, read by fetch so that the token goes in a header.
import { open } from "./api.js";
import { changed, ours, undo } from "./changes.js";
import { notice } from "./notice.js";
import { t } from "./words.js";

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
  const told = TOLD[event.type];
  if (!told || ours.has(event.entry_id) || event.by.who === "user") return;
  notice(t(told, { what: event.memory.content.slice(0, 120) }),
    [t("view"), () => { location.hash = `#/memory/${event.memory.id}`; }],
    [t("undo"), () => undo(event.entry_id)]);
}

async function read() {
  const answer = await open("/events", { query: { after: last } });
  if (!answer.ok) return answer.status < 500;
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

export async function follow() {
  for (;;) {
    if (await read().catch(() => false)) return;
    await new Promise((go) => setTimeout(go, 2000));
  }
}
