/**
 * Equality of values that choose: by comparisons, `where`, `min` and `max`. All that decides about such a choice is the order
 * of the values that are compared, so two forms are equal for all data if they are in each order. Orders are looked at as far as
 * they matter: first which member of the largest `max` is the first greatest one, then comparisons that are still open, one by
 * one. So an argmax over n elements takes n cases, not one for each of their orders.
 */
import type { Number_, Term } from "./algebra.js";
import { Case, chooses, type Edge, EQUAL, firstExtremes, isExtreme } from "./case.js";
import { type ExactAlgebra, TooLarge } from "./exact.js";
import { Remade } from "./remade.js";
import { appearanceOf, type Applied, Leaf, partsOfTerm } from "./terms.js";
import type { RangeOf } from "./whole-numbers.js";

/** Terms that are looked at for one equality, in all cases together. */
const MOST_STEPS = 2_000_000;

/** Terms of more nodes are not looked through. */
const MOST_NODES = 4000;

/** Thrown where there are too many cases. */
class TooMany {}

/** Elements of so many values or fewer are looked at value by value, as long as there are not too many together. */
const FEW_VALUES = 4;
const MOST_COMBINATIONS = 64;

export interface CaseOptions {
  /** What elements of inputs may be. */
  readonly rangeOf?: RangeOf;
  /** Says of values without choices whether they are equal for all data. */
  readonly isSame?: (a: Number_, b: Number_) => boolean;
}

export class Cases {
  /** By what the two values look like, whatever their elements are called. */
  private readonly known = new Map<string, boolean>();
  private steps = 0;
  private readonly rangeOf: RangeOf;
  private readonly isSame: (a: Number_, b: Number_) => boolean;

  constructor(
    private readonly algebra: () => ExactAlgebra,
    { rangeOf = () => null, isSame = () => false }: CaseOptions = {},
  ) {
    this.rangeOf = rangeOf;
    this.isSame = isSame;
  }

  /** Whether two values are equal in all cases; false, too, where there are too many. */
  areEqual(a: Number_, b: Number_): boolean {
    const look = appearanceOf([a, b], MOST_NODES, (leaf) => this.rangeOf(leaf)?.join("..") ?? "");
    if (look === null || !(chooses(a) || chooses(b) || this.fewValued(look.leaves).length > 0)) return false;
    let equal = this.known.get(look.text);
    if (equal === undefined) {
      this.steps = 0;
      try {
        equal = this.forAllValues(a, b, this.fewValued(look.leaves));
      } catch (e) {
        if (!(e instanceof TooMany || e instanceof TooLarge)) throw e;
        equal = false;
      }
      this.known.set(look.text, equal);
    }
    return equal;
  }

  /** Elements that are looked at value by value. */
  private fewValued(leaves: readonly Leaf[]): Leaf[] {
    const found: Leaf[] = [];
    let combinations = 1;
    for (const leaf of leaves) {
      const range = this.rangeOf(leaf);
      const values = range === null ? Infinity : Math.max(1, range[1] - range[0]);
      if (values > FEW_VALUES || combinations * values > MOST_COMBINATIONS) continue;
      combinations *= values;
      found.push(leaf);
    }
    return found;
  }

  private forAllValues(a: Number_, b: Number_, few: readonly Leaf[], given = new Map<Leaf, number>()): boolean {
    const [next, ...others] = few;
    if (next === undefined) {
      if (given.size === 0) return this.inAllCases(a, b);
      const at = new Remade(this.algebra(), (t) => (t instanceof Leaf ? (given.get(t) ?? t) : t));
      return this.inAllCases(at.value(a), at.value(b));
    }
    const [from, to] = this.rangeOf(next)!;
    for (let value = from; value < Math.max(from + 1, to); value++)
      if (!this.forAllValues(a, b, others, new Map([...given, [next, value]]))) return false;
    return true;
  }

  private inAllCases(a: Number_, b: Number_): boolean {
    if (a === b) return true;
    if (!chooses(a) && !chooses(b)) return this.isSame(a, b);
    const largest = largestChoice([a, b]);
    if (largest === null) return this.holds(a, b, []);
    // In the order of elements, the first extreme is what an argmax is after.
    const members = [...largest.args].sort(inOrder);
    const splits = firstExtremes(largest.fn === "max", members);
    return splits.every((edges, i) => this.holds(a, b, edges, [largest, members[i]!]));
  }

  /** @param known a value, and what it is in this case */
  private holds(a: Number_, b: Number_, edges: readonly Edge[], known?: readonly [Term, Number_]): boolean {
    const at = new Case(this.algebra(), edges, known, () => {
      if (++this.steps > MOST_STEPS) throw new TooMany();
    });
    if (at.isImpossible()) return true;
    const [x, y] = [at.value(a), at.value(b)];
    if (x === y || at.relation(x, y) === EQUAL) return true;
    const split = at.splitOf(x) ?? at.splitOf(y);
    const isNew = (e: Edge): boolean =>
      !edges.some((old) => old.lower === e.lower && old.upper === e.upper && old.isStrict === e.isStrict);
    if (split === null) return this.isSame(x, y);
    // Where an order is known already and does not help, no rule does.
    return split.every((more) => more.some(isNew) && this.holds(a, b, [...edges, ...more], known));
  }
}

function inOrder(x: Number_, y: Number_): number {
  if (!(x instanceof Leaf) || !(y instanceof Leaf)) return Number(x instanceof Leaf) - Number(y instanceof Leaf);
  return x.launch - y.launch || x.rank - y.rank || x.index - y.index || x.id - y.id;
}

/** The extreme with the most members, none of which chooses. */
function largestChoice(roots: readonly Number_[]): Applied | null {
  const found: Applied[] = [];
  const seen = new Set<Term>();
  const look = (x: Number_): void => {
    if (typeof x === "number" || seen.has(x)) return;
    seen.add(x);
    if (isExtreme(x) && !x.args.some(chooses)) found.push(x);
    partsOfTerm(x).forEach(look);
  };
  roots.forEach(look);
  return found.reduce<Applied | null>((a, b) => (a === null || b.args.length > a.args.length ? b : a), null);
}
