/** Comparisons that only choose between what they compare: however that was rounded, it is their minimum or maximum. */
import { type Kernel, type Op, text, type Value } from "../ir/module.js";
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
  private readonly stores = new Map<string, Op[]>();

  /** @param of what is known of a value where it is asked */
  constructor(
    kernel: Kernel,
    private readonly of: (v: Value) => Known,
  ) {
    walkKernel(kernel, (op) => {
      for (const r of op.results) this.makers.set(r, op);
      for (const v of op.operands) this.uses.set(v, [...(this.uses.get(v) ?? []), op]);
      if (op.name === "store")
        this.stores.set(text(op, "buffer"), [...(this.stores.get(text(op, "buffer")) ?? []), op]);
    });
  }

  /** Whether elements of inputs, or numbers of the launch, are in what an op computes; not whether they choose. */
  isOfData(op: Op, seen = new Set<Op>()): boolean {
    if (seen.has(op)) return false;
    seen.add(op);
    if (op.name === "scalar") return true;
    const made = op.regions.flatMap(({ ops }) => ops.at(-1)?.operands ?? []);
    if (op.name !== "load") return [...op.operands, ...made].some((v) => this.isMadeOfData(v, seen));
    const stored = this.stores.get(text(op, "buffer"));
    return stored === undefined || stored.some((store) => this.isMadeOfData(store.operands[0]!, seen));
  }

  private isMadeOfData(v: Value, seen: Set<Op>): boolean {
    const maker = this.makers.get(v);
    return maker !== undefined && this.isOfData(maker, seen);
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
