// Whether the companion learns from the user's talk just now; if not, the page says why, above every view.
import { get } from "./api.js";
import { h } from "./dom.js";
import { number, t, time } from "./words.js";

const SECONDS = 30; // between two looks of a page that is left open
const place = document.getElementById("trouble");
let found = { trouble: "", waiting: 0 };

// Whether something was said that the companion could not learn from.
export const isStuck = () => found.trouble && found.waiting > 0;

function show() {
  const words = [t(`trouble.${found.trouble}`, { when: found.since && time(found.since) }),
    found.waiting > 0 && t("trouble.waiting", { n: found.waiting, count: number(found.waiting) })];
  const text = found.trouble ? words.filter(Boolean).join(" ") : "";
  if (place.textContent !== text) place.replaceChildren(...(text ? [h("p", { class: "told" }, text)] : []));
}

// Asks the server, and returns whether the answer is another one than before.
export async function look() {
  const before = JSON.stringify(found);
  found = await get("/learning").catch(() => found);
  show();
  return before !== JSON.stringify(found);
}

export function watch(changed) {
  setInterval(async () => {
    if (document.visibilityState === "visible" && await look()) changed();
  }, SECONDS * 1000);
}
