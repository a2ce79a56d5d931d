import { svg } from "./dom.js";

const PATHS = {
  portrait: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6",
  memories: "M5 4h14v16l-7-4-7 4z",
  days: "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4",
  why: "M4 5h16v11H10l-5 4v-4H4zM9 9h6M9 12h4",
  names: "M6 6m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M18 8m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M11 18m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M8 6l8 2M7 8l3 8M17 10l-5 6",
  asked: "M4 5h16v11H10l-5 4v-4H4zM10 9a2 2 0 1 1 3 1.700c-.700.400-1 .600-1 1.300M12 14v.100",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  core: "M12 20s-7-4.500-7-10a4 4 0 0 1 7-2.500A4 4 0 0 1 19 10c0 5.500-7 10-7 10z",
  fact: "M12 3a6 6 0 0 1 3 11v3H9v-3a6 6 0 0 1 3-11zM10 20h4",
  episode: "M4 5h16v11H10l-5 4v-4H4z",
  skill: "M14 6l4 4L8 20H4v-4z",
  system: "M12 3l8 4v5c0 5-4 8-8 9-4-1-8-4-8-9V7z",
  profile: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6",
};

export const icon = (name) =>
  svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" },
    svg("path", { d: PATHS[name] ?? PATHS.fact }));
