/** Terms made again from other elements, in the same algebra or another: what is known of numbers folds. */
import { foldCompare } from "../ir/functions.js";
import type { Comparison } from "../ir/ops.js";
import type { Algebra, Number_, Term } from "./algebra.js";
import { functionOf } from "./evaluate.js";
import { Applied, type Leaf, type Poison, Product, Sum } from "./terms.js";
import { compareOf, selectOf } from "./values.js";

export class Remade {
  private readonly known = new Map<Term, Number_>();

  /** @param element what stands for an element of an input, or for memory that nobody has written */
  constructor(
    private readonly algebra: Algebra,
    private readonly element: (t: Leaf | Poison) => Number_,
  ) {}

  value(x: Number_): Number_ {
    if (typeof x === "number") return x;
    let value = this.known.get(x);
    if (value === undefined) this.known.set(x, (value = this.make(x)));
    return value;
  }

  private make(t: Term): Number_ {
    const { algebra } = this;
    if (t instanceof Product) return t.factors.map((f) => this.value(f)).reduce((a, b) => algebra.mul(a, b));
    if (t instanceof Sum) {
      const sum = algebra.accumulator();
      sum.add(t.constant);
      t.terms.forEach((x, i) => sum.add(algebra.mul(this.value(x), t.coefficients[i]!)));
      return sum.build();
    }
    return t instanceof Applied ? this.applied(t) : this.element(t as Leaf | Poison);
  }

  private applied({ fn, args }: Applied): Number_ {
    const { algebra } = this;
    const values = args.map((a) => this.value(a));
    const [a, b, c] = values as [Number_, Number_, Number_];
    switch (fn) {
      case "min":
      case "max":
        return values.reduce((x, y) => algebra.extreme(fn, x, y));
      case "select":
        return selectOf(algebra, a, b, c);
      case "reciprocal":
        return algebra.div(1, a);
    }
    const numbers = values.filter((x) => typeof x === "number");
    if (COMPARISONS.has(fn))
      return numbers.length === 2
        ? Number(foldCompare(fn as Comparison, numbers[0]!, numbers[1]!))
        : compareOf(algebra, fn as Comparison, a, b);
    const folded = numbers.length === values.length ? functionOf(fn)?.(...numbers) : undefined;
    if (folded !== undefined && Number.isFinite(folded)) return folded;
    if (fn === "quotient") return algebra.quotient(a, b);
    return algebra.apply(fn, values, fn === "and" || fn === "or" || fn === "xor");
  }
}

const COMPARISONS = new Set(["eq", "ne", "lt", "le", "gt", "ge"]);
