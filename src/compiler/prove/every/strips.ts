/**
 * Loops over strips of a length, of which the last may be short: each iteration s goes through what `min(max(length - strip · s, 0), strip)`
 * counts, from `strip · s` on. They are as many whole strips as the length has, and what is left.
 */
import type { Op, Value } from "../../ir/module.js";

export interface Strips {
  /** What is subtracted from. */
  readonly length: Value;
  /** Elements of a whole strip. */
  readonly strip: Value;
  /** Op that subtracts what lies before the strip; its result goes into the next alone, and so does that one's. */
  readonly left: Op;
  readonly limited: Op;
  /** What the iteration goes through. */
  readonly count: Op;
}

/**
 * What an iteration goes through, where it is a strip.
 * @param isZero whether a value is the number 0
 */
export function stripsOf(ops: readonly Op[], variable: Value, isZero: (v: Value) => boolean): Strips | null {
  const all = ops.filter((op) => op.name === "binary");
  const uses = (v: Value, of = ops): Op[] =>
    of.flatMap((op) => [...(op.operands.includes(v) ? [op] : []), ...op.regions.flatMap((r) => uses(v, r.ops))]);
  for (const count of all) {
    if (count.attributes["fn"] !== "min") continue;
    const [limit, strip] = count.operands as readonly [Value, Value];
    const limited = all.find((op) => op.results[0] === limit);
    if (limited?.attributes["fn"] !== "max" || !isZero(limited.operands[1]!)) continue;
    const left = all.find((op) => op.results[0] === limited.operands[0]);
    if (left?.attributes["fn"] !== "sub") continue;
    const [length, before] = left.operands as readonly [Value, Value];
    const begin = all.find((op) => op.results[0] === before);
    if (begin?.attributes["fn"] !== "mul" || begin.operands[0] !== variable || begin.operands[1] !== strip) continue;
    if (uses(limit).length === 1 && uses(limited.operands[0]!).length === 1)
      return { length, strip, left, limited, count };
  }
  return null;
}
