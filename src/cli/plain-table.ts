/** Tables of reports: columns without lines. */
import Table from "cli-table3";
import type { Palette } from "./io.js";

/** No lines: a list reads better without. */
export const NO_LINES = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "",
};

/**
 * Rows under a head, indented; the head is left out where all of it is empty.
 * @param right numbers of the columns whose text stands at the right
 */
export function plainTable(
  c: Palette,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const t = new Table({
    head: head.every((h) => h === "") ? [] : head.map((h) => c.dim(h)),
    style: { head: [], border: [], compact: true, "padding-left": 0, "padding-right": 2 },
    chars: NO_LINES,
    colAligns: head.map((_, i) => (right.includes(i) ? "right" : "left")),
  });
  t.push(...rows.map((r) => [...r]));
  const text = t.toString().replace(/[ \t]+$/gm, "");
  return text.replace(/^(?=.)/gm, "  ");
}
