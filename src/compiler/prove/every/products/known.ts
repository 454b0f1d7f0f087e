/** What is found in cases, one after the other, and has to be one thing in all of them. */
import type { Op } from "../../../ir/module.js";
import { equal, keyOf } from "../forms.js";
import { expect } from "./follow.js";
import type { Assumed, Numbers } from "./numbers.js";

/** What is one thing in all cases. */
export class Known {
  private readonly things = new Map<string, string>();
  private readonly numbers = new Map<Op, number>();
  private readonly possible = new Map<string, Map<string, Possible>>();
  /** Buffers that nothing but the blocks' tiles touches, by what they are there for. */
  readonly owned = new Map<string, string>();

  /** A number for an op. */
  numberOf(op: Op): number {
    const known = this.numbers.get(op) ?? this.numbers.size;
    this.numbers.set(op, known);
    return known;
  }

  /**
   * What may be done in several orders is done in one of them in all cases that one launch has: of what all iterations go through together, each of two orders may leave
   * out what the other does twice. Cases that lengths tell apart are of different launches.
   */
  narrow(what: string, options: readonly string[], numbers: Numbers, reason: string, op: Op): void {
    const assumed = numbers.assumedOfLengths;
    const key = [...assumed].map(([name, value]) => `${name}=${keyOf(value)}`).join();
    const cases = this.possible.get(what) ?? new Map<string, Possible>();
    this.possible.set(what, cases);
    const own = cases.get(key)?.own.filter((o) => options.includes(o)) ?? options;
    let left = own;
    for (const [name, other] of cases) {
      if (name === key || !areTogether(assumed, other.assumed)) continue;
      if (!left.every((o) => other.own.includes(o))) left = left.filter((o) => other.own.includes(o));
      if (other.left.every((o) => own.includes(o))) continue;
      other.left = other.left.filter((o) => own.includes(o));
      expect(other.left.length > 0, reason, op);
    }
    cases.set(key, { assumed, own, left });
    expect(left.length > 0, reason, op);
  }

  alike(what: string, value: string, op: Op): void {
    const known = this.things.get(what) ?? value;
    this.things.set(what, known);
    expect(known === value, "iterations keep their parts in several places", op);
  }

  /** A buffer is there for one thing. */
  own(name: string, what: string, op: Op): void {
    const known = this.owned.get(name) ?? what;
    this.owned.set(name, known);
    expect(known === what, `'${name}' is there for several things`, op);
  }
}

/** Orders that are possible in the cases of some lengths, and those of them that are in all cases that may be of the same launch. */
interface Possible {
  readonly assumed: Assumed;
  readonly own: readonly string[];
  left: readonly string[];
}

/**
 * Whether two cases may be looked at for one launch: no number of lengths is one thing in one, and another in the other. A number that is one of several, of which two are
 * the same at some lengths, is there taken for the same one in all iterations.
 */
function areTogether(a: Assumed, b: Assumed): boolean {
  for (const [name, value] of a) {
    const other = b.get(name);
    if (other !== undefined && !equal(value, other)) return false;
  }
  return true;
}
