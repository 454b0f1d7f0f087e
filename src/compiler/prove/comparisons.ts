/** Comparisons that only choose between what they compare: however that was rounded, it is their minimum or maximum. */
import type { Kernel, Op, Value } from "../ir/module.js";
import { scalarOf } from "../ir/types.js";
import { walkKernel } from "../ir/visit.js";
import { isFloat } from "../types/dtype.js";
import { isSame, type Known } from "./interval-arithmetic.js";

/** What an expression that is written twice is made of. */
const REPEATED = new Set(["load", "const", "cast", "unary", "binary"]);

/** Who makes and who uses the values of a kernel. */
export class Comparisons {
  private readonly uses = new Map<Value, Op[]>();
  private readonly makers = new Map<Value, Op>();

  /** @param of what is known of a value where it is asked */
  constructor(
    kernel: Kernel,
    private readonly of: (v: Value) => Known,
  ) {
    walkKernel(kernel, (op) => {
      for (const r of op.results) this.makers.set(r, op);
      for (const v of op.operands) this.uses.set(v, [...(this.uses.get(v) ?? []), op]);
    });
  }

  /** The ops that have a value as an operand. */
  usesOf(v: Value): readonly Op[] {
    return this.uses.get(v) ?? [];
  }

  /** Whether a comparison of floats, or a truth value of one, serves selects between its two sides alone. */
  isChoice(op: Op): boolean {
    if (!isFloat(scalarOf(op.operands[0]!.type))) return false;
    const [a, b] = op.operands as [Value, Value?];
    // A truth value is held against 0.
    const isOther = (v: Value): boolean => (b === undefined ? this.isZero(v) : this.areOne(b, v));
    return this.usesOf(op.results[0]!).every((u) => {
      if (u.name !== "select") return false;
      const [, x, y] = u.operands as [Value, Value, Value];
      return (this.areOne(a, x) && isOther(y)) || (this.areOne(a, y) && isOther(x));
    });
  }

  private isZero(v: Value): boolean {
    const { lo, hi } = this.of(v).at;
    return lo === 0 && hi === 0;
  }

  /** Whether two values are one, or one expression of loads of the same elements. */
  private areOne(v: Value, w: Value): boolean {
    if (v === w || isSame(this.of(v), this.of(w))) return true;
    const [x, y] = [this.makers.get(v), this.makers.get(w)];
    if (x === undefined || y === undefined || !REPEATED.has(x.name)) return false;
    const isAlike = x.name === y.name && JSON.stringify(x.attributes) === JSON.stringify(y.attributes);
    return (
      isAlike && scalarOf(v.type) === scalarOf(w.type) && x.operands.every((o, k) => this.areOne(o, y.operands[k]!))
    );
  }
}
