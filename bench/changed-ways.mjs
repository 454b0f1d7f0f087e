/** Ways that have another text from a time on: what was measured before says nothing of them. */
export const CHANGED_WAYS = [
  { way: "all_reduce/push", since: "2026-11-26T05:00Z", why: "it adds up and hands out in one loop, and had two" },
  {
    way: "broadcast/relay",
    since: "2026-11-26T12:45Z",
    why: "the others fetch their shares and hand them out in one loop; the root dealt them first",
  },
];

/**
 * @param way with the kind of its copies, as `all_reduce/push+copies`
 * @param measured when: a date with its time, or the name of a file, which begins with the day; then all of the day counts as before
 */
export function isChanged(way, measured) {
  return CHANGED_WAYS.some((c) => (way === c.way || way.startsWith(`${c.way}+`)) && measured < c.since);
}
