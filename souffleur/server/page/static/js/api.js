// Requests to the server with the token and user of the session.
const KEY = "souffleur";
const BASE = new URL("../../", import.meta.url); // a reverse proxy may serve the page below a path
export const session = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");

export class Refused extends Error {
  constructor(status, { message, type } = {}) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

export function keep(changes) {
  Object.assign(session, { erased: undefined }, changes);
  sessionStorage.setItem(KEY, JSON.stringify(session));
}

// Ends the session of a user. An admin, whose token is kept, then chooses a user again.
export function leave({ token, erased, choose } = {}) {
  sessionStorage.setItem(KEY, JSON.stringify({ token, erased, choose }));
  location.hash = "";
  location.reload();
}

export async function open(path, { query = {}, ...rest } = {}) {
  const url = new URL(`api${path}`, BASE);
  if (session.user) url.searchParams.set("user_id", session.user);
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null && one !== "") url.searchParams.append(name, one);
    }
  }
  const headers = { ...rest.headers };
  if (/[^\x20-\x7e]/.test(session.token)) throw new Refused(401); // a header can have only ASCII
  if (session.token) headers.Authorization = `Bearer ${session.token}`;
  return fetch(url, { ...rest, headers, cache: "no-store" });
}

async function ask(method, path, query, body) {
  const rest = { method, query };
  if (body !== undefined) {
    rest.body = JSON.stringify(body);
    rest.headers = { "Content-Type": "application/json" };
  }
  return read(await open(path, rest));
}

async function checked(answer) {
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => null);
  throw new Refused(answer.status, told?.error ?? { message: answer.statusText });
}

const read = async (answer) => (await checked(answer)).json();
export const load = async (path) => checked(await open(path));
export const get = (path, query) => ask("GET", path, query);
export const post = (path, body, query) => ask("POST", path, query, body);
export const patch = (path, body) => ask("PATCH", path, {}, body);
export const put = (path, body) => ask("PUT", path, {}, body);
export const remove = (path) => ask("DELETE", path);
export const send = async (path, file, query) =>
  read(await open(path, { method: "POST", query, body: file, headers: { "Content-Type": "application/octet-stream" } }));
