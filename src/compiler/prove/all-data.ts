/** Two values at all data there is, where they are made of few integers with few values each. */
import type { Number_, Term } from "./algebra.js";
import { type ComputedIn, functionOf, LARGEST_INTEGER, type Wrapped, wrappedOf } from "./evaluate.js";
import { appearanceOf, Applied, type Leaf, partsOfTerm, Product, Sum } from "./terms.js";
import type { RangeOf } from "./whole-numbers.js";

/** As many combinations of values are tried at most. */
const MOST_CASES = 2 ** 16;

/** Terms of this many nodes and more are not looked through. */
const MOST_NODES = 200;

/**
 * Tries all data, where two values are made of few integers with few values each. What differs in the names of elements
 * alone is tried once.
 */
export class AllData {
  private readonly known = new Map<string, boolean | null>();

  constructor(
    private readonly rangeOf: RangeOf,
    private readonly computedIn: ComputedIn,
  ) {}

  /** Whether two values are equal for all data; null where there is too much of it, or some of it wraps. */
  areEqual(a: Number_, b: Number_): boolean | null {
    const look = appearanceOf(
      [a, b],
      MOST_NODES,
      (leaf) => `${this.rangeOf(leaf)?.join("..")} ${this.computedIn(leaf)}`,
    );
    if (look === null || look.hasPoison) return null;
    let equal = this.known.get(look.text);
    if (equal === undefined) this.known.set(look.text, (equal = this.tryAll(a, b, look.leaves)));
    return equal;
  }

  private tryAll(a: Number_, b: Number_, leaves: readonly Leaf[]): boolean | null {
    const ranges: (readonly [number, number])[] = [];
    let cases = 1;
    for (const leaf of leaves) {
      const range = this.rangeOf(leaf);
      if (range === null) return null;
      ranges.push(range);
      cases *= Math.max(1, range[1] - range[0]);
    }
    if (!(cases <= MOST_CASES)) return null;
    let wraps = false;
    const wrap = wrappedOf([a, b], this.computedIn);
    const plain = new Steps([a, b], leaves, null);
    const wrapped = wrap === null ? null : new Steps([a, b], leaves, wrap);
    const data = new Float64Array(leaves.length);
    for (let n = 0; n < cases; n++) {
      let rest = n;
      ranges.forEach(([from, to], i) => {
        const size = Math.max(1, to - from);
        data[i] = from + (rest % size);
        rest = Math.floor(rest / size);
      });
      const [x, y] = plain.at(data);
      if (plain.largest >= LARGEST_INTEGER || (x !== y && wrapped?.areEqualAt(data) === true)) wraps = true;
      else if (!(x === y))
        return Number.isFinite(y) && Math.abs(x - y) > 1e-6 * Math.max(1, Math.abs(y)) ? false : null;
    }
    return wraps ? null : true;
  }
}

/** Computes one term of those that stand before it. */
type Step = (known: Float64Array) => number;

/** Two values as steps of which each needs those before it alone: tens of thousands of data are tried, and looking terms up takes most of the time. */
class Steps {
  /** The largest number that was met on the way, of what was computed last. */
  largest = 0;
  private readonly steps: Step[] = [];
  private readonly places = new Map<Term, number>();
  private readonly known: Float64Array;
  private readonly ends: readonly [Step, Step];

  /** @param wrap where all is computed in integers of 32 bits, which wrap; null: in numbers */
  constructor(
    [a, b]: readonly [Number_, Number_],
    private readonly leaves: readonly Leaf[],
    private readonly wrap: Wrapped | null,
  ) {
    leaves.forEach((leaf, i) => this.places.set(leaf, i));
    this.ends = [this.read(a), this.read(b)];
    this.known = new Float64Array(leaves.length + this.steps.length);
  }

  at(data: Float64Array): readonly [number, number] {
    const { known, steps, leaves } = this;
    known.set(data);
    for (let i = 0; i < steps.length; i++) known[leaves.length + i] = steps[i]!(known);
    this.largest = 0;
    for (const value of known)
      if (!(Math.abs(value) <= this.largest)) this.largest = Number.isNaN(value) ? Infinity : Math.abs(value);
    const [a, b] = this.ends;
    return [a(known), b(known)];
  }

  areEqualAt(data: Float64Array): boolean {
    const [a, b] = this.at(data);
    return this.wrap!(a) === this.wrap!(b);
  }

  /** Reads a value that has its place, and those that it is made of before it. */
  private read(x: Number_): Step {
    if (typeof x === "number") return () => x;
    let place = this.places.get(x);
    if (place === undefined) {
      const step = this.stepOf(x);
      place = this.leaves.length + this.steps.push(step) - 1;
      this.places.set(x, place);
    }
    const at = place;
    return (known) => known[at]!;
  }

  private stepOf(t: Term): Step {
    const parts = partsOfTerm(t).map((part) => this.read(part));
    const { wrap } = this;
    if (t instanceof Applied) {
      const applied = appliedTo(functionOf(t.fn), parts);
      return wrap === null ? applied : (known) => wrap(applied(known));
    }
    if (t instanceof Product) {
      if (wrap === null) return (known) => parts.reduce((all, part) => all * part(known), 1);
      return (known) => wrap(parts.reduce((all, part) => Math.imul(all, part(known)), 1));
    }
    if (!(t instanceof Sum)) return () => NaN;
    const { constant, coefficients } = t;
    if (wrap === null)
      return (known) => {
        let all = constant;
        for (let i = 0; i < parts.length; i++) all += coefficients[i]! * parts[i]!(known);
        return all;
      };
    return (known) =>
      wrap(parts.reduce((all, part, i) => (all + Math.imul(coefficients[i]!, part(known))) | 0, constant));
  }
}

/** Lists of arguments that are made for each datum take longer than what is computed of them. */
function appliedTo(f: ((...x: number[]) => number) | undefined, parts: readonly Step[]): Step {
  if (f === undefined) return () => NaN;
  const [a, b, c] = parts as [Step, Step, Step];
  if (parts.length === 1) return (known) => f(a(known));
  if (parts.length === 2) return (known) => f(a(known), b(known));
  if (parts.length === 3) return (known) => f(a(known), b(known), c(known));
  return (known) => f(...parts.map((part) => part(known)));
}
