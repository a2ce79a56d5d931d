// The words of the page in the reader's language, and its formats of times and numbers.
export const LANGUAGES = { en: "English", zh: "中文", ja: "日本語" };
let words = {};
let language = "en";

const usual = () => {
  const wanted = localStorage.getItem("souffleur-language") ?? navigator.language;
  return Object.keys(LANGUAGES).find((one) => wanted.startsWith(one)) ?? "en";
};

export async function speak(wanted = usual()) {
  const answer = await fetch(new URL(`../strings/${wanted}.json`, import.meta.url));
  words = await answer.json();
  language = wanted;
  document.documentElement.lang = wanted;
}

export function choose(wanted) {
  localStorage.setItem("souffleur-language", wanted);
  location.reload();
}

export const spoken = () => language;
export const has = (key) => key in words;

export function t(key, given = {}) {
  const one = given.n === 1 && words[`${key}.one`];
  return (one || words[key] || key).replace(/\{(\w+)\}/g, (_, name) => given[name]);
}

// The name of the user. An id that a program chose for its only user is no name.
export const called = ({ title }) => (title === "me" ? t("settings.you") : title);

export const number = (value) => new Intl.NumberFormat(language).format(value);
export const dollars = (value) =>
  new Intl.NumberFormat(language, { style: "currency", currency: "USD", maximumSignificantDigits: 3 }).format(value);
export const date = (at) =>
  new Intl.DateTimeFormat(language, { dateStyle: "medium" }).format(new Date(at));
export const minute = (at) =>
  new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));
// The time of a day, with the date unless it is today.
export const time = (at) => (new Date(at).toDateString() === new Date().toDateString()
  ? new Intl.DateTimeFormat(language, { timeStyle: "short" }).format(new Date(at)) : minute(at));
// A day, such as "2026-12-04", with its weekday.
export const day = (at) => new Intl.DateTimeFormat(language, { weekday: "long", day: "numeric", month: "short", timeZone: "UTC" }).format(new Date(at));
export const month = (at) =>
  new Intl.DateTimeFormat(language, { year: "numeric", month: "long" }).format(at);
// Removes the time at the beginning of a talk's words, because the page shows it separately.
export const undated = (text) => text.replace(/^\[\d{4}-[^\]]*\]\s*/, "");

// The names of the weekdays from Monday on. The first of January 2024 was a Monday.
export const weekdays = () => Array.from({ length: 7 }, (_, index) =>
  new Intl.DateTimeFormat(language, { weekday: "narrow" }).format(new Date(2024, 0, 1 + index)));

const STEPS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400],
  ["hour", 3600], ["minute", 60]];

export function ago(at, now = Date.now()) {
  const seconds = (new Date(at) - now) / 1000;
  const told = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return told.format(Math.trunc(seconds / length), unit);
  }
  return seconds > 0 ? told.format(0, "second") : t("now");
}
