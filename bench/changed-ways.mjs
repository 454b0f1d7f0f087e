/** Ways that have another text from a day on: what files of earlier days measured says nothing of them. */
export const CHANGED_WAYS = [
  { way: "all_reduce/push", since: "2026-11-27", why: "it adds up and hands out in one loop, and had two" },
  { way: "broadcast/relay", since: "2026-11-27", why: "the root keeps its own copy while it deals, and did it after" },
];

/** @param way with the kind of its copies, as `all_reduce/push+copies` @param file named by its day, or the day */
export function isChanged(way, file) {
  return CHANGED_WAYS.some((c) => (way === c.way || way.startsWith(`${c.way}+`)) && file < c.since);
}
