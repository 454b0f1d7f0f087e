/** Symbolic values that can be read, as `ExactAlgebra` makes them: equal terms are one object. */
import type { Number_, Term } from "./algebra.js";

abstract class Identified implements Term {
  constructor(readonly id: number) {}
}

/** Element `index` of an input as rank `rank` held it at a launch; rank -1 for what is equal on all ranks. */
export class Leaf extends Identified {
  constructor(
    id: number,
    readonly launch: number,
    readonly buffer: string,
    readonly rank: number,
    readonly index: number,
  ) {
    super(id);
  }
}

/** Memory that nobody has written. */
export class Poison extends Identified {
  constructor(
    id: number,
    readonly buffer: string,
    readonly rank: number,
    readonly index: number,
  ) {
    super(id);
  }
}

/** A product of two or more terms, in order of identity. */
export class Product extends Identified {
  constructor(
    id: number,
    readonly factors: readonly Term[],
  ) {
    super(id);
  }
}

/** constant + Σ coefficient · term, the terms in order of identity. */
export class Sum extends Identified {
  constructor(
    id: number,
    readonly constant: number,
    readonly terms: readonly Term[],
    readonly coefficients: readonly number[],
  ) {
    super(id);
  }
}

/** Any other function; the arguments of `min`, `max`, `and`, `or` and `xor` are in order of identity. */
export class Applied extends Identified {
  constructor(
    id: number,
    readonly fn: string,
    readonly args: readonly Number_[],
  ) {
    super(id);
  }
}

/** What a term is made of. */
export function partsOfTerm(t: Term): readonly Number_[] {
  if (t instanceof Applied) return t.args;
  if (t instanceof Sum) return t.terms;
  return t instanceof Product ? t.factors : [];
}

/** What values look like, whatever their elements are called, and those elements in the order in which they are named. */
interface Appearance {
  readonly text: string;
  readonly leaves: readonly Leaf[];
  /** Whether memory that nobody has written is in them. */
  readonly hasPoison: boolean;
}

/**
 * @param most terms of more nodes are not looked through: null
 * @param describe what is said of an element: those of which the same is said may stand for each other
 */
export function appearanceOf(
  values: readonly Number_[],
  most: number,
  describe: (leaf: Leaf) => string,
): Appearance | null {
  const names = new Map<Term, number>();
  const leaves: Leaf[] = [];
  let isSeen = true;
  let hasPoison = false;
  const write = (x: Number_): string => {
    if (typeof x === "number") return String(x);
    const name = names.get(x);
    if (name !== undefined) return `#${name}`;
    names.set(x, names.size);
    if (x instanceof Leaf) {
      leaves.push(x);
      return `leaf ${describe(x)}`;
    }
    if (names.size > most) {
      isSeen = false;
      return "?";
    }
    if (x instanceof Poison) {
      hasPoison = true;
      return "poison";
    }
    if (x instanceof Product) return `(${x.factors.map(write).join("*")})`;
    if (x instanceof Sum)
      return `(${x.constant}+${x.terms.map((t, i) => `${x.coefficients[i]}*${write(t)}`).join("+")})`;
    return x instanceof Applied ? `${x.fn}(${x.args.map(write).join()})` : "?";
  };
  const text = values.map(write).join(" = ");
  return isSeen ? { text, leaves, hasPoison } : null;
}
