/** Values of `min` and `max`, which are sets: of any number of values, in any order and however often. */
import type { Term } from "./algebra.js";
import { P, plus, Q, R, Residues, standIn } from "./residues.js";

export type ExtremeFunction = "min" | "max";

/** Values in the order in which they came, each once. Folds share it as it grows: a set is its first so many. */
class Members {
  readonly all: Residues[] = [];
  /** Three for each member: the sum of what stands for it and for those before it. */
  private readonly sums: number[] = [];
  /** A hash table of places, from 1. */
  private slots = new Int32Array(8);

  constructor(readonly fn: ExtremeFunction) {}

  private slot(x: Residues): number {
    const { slots, all } = this;
    const last = slots.length - 1;
    for (let s = (x.p ^ (x.q << 5)) & last; ; s = (s + 1) & last) {
      const place = slots[s]!;
      if (place === 0 || all[place - 1]!.equals(x)) return s;
    }
  }

  /** Place of a value; -1 if it is no member. */
  place(x: Residues): number {
    return this.slots[this.slot(x)]! - 1;
  }

  /** Adds what is no member yet. */
  push(x: Residues): void {
    const { all, sums } = this;
    all.push(x);
    if (2 * all.length > this.slots.length) {
      this.slots = new Int32Array(2 * this.slots.length);
      all.forEach((member, i) => (this.slots[this.slot(member)] = i + 1));
    } else this.slots[this.slot(x)] = all.length;
    // Sums of what stands for members, not of members: those of different sets could be equal.
    const { p, q, r } = standIn(-1, [x]);
    const n = sums.length;
    sums.push(
      n === 0 ? p : plus(sums[n - 3]!, p, P),
      n === 0 ? q : plus(sums[n - 2]!, q, Q),
      n === 0 ? r : plus(sums[n - 1]!, r, R),
    );
  }

  /** The sum for the first `size` members, which tells sets apart. */
  sum(size: number): Residues {
    const at = 3 * (size - 1);
    return new Residues(this.sums[at]!, this.sums[at + 1]!, this.sums[at + 2]!);
  }

  copy(size: number): Members {
    const members = new Members(this.fn);
    for (let i = 0; i < size; i++) members.push(this.all[i]!);
    return members;
  }
}

/** A `min` or `max` of two values or more. */
export class Extremum implements Term {
  private known: Residues | null = null;
  /** The last one that this was joined with: each rank of a kernel may do so. */
  private other: Extremum | null = null;
  private joined: Extremum | null = null;

  private constructor(
    private readonly members: Members,
    private readonly size: number,
  ) {}

  /** Of two different values. */
  static of(fn: ExtremeFunction, a: Residues, b: Residues): Extremum {
    const members = new Members(fn);
    members.push(a);
    members.push(b);
    return new Extremum(members, 2);
  }

  get id(): number {
    return 0;
  }

  get fn(): ExtremeFunction {
    return this.members.fn;
  }

  /** What stands for the set; made when it is asked for, since a fold asks for that of the last alone. */
  get residues(): Residues {
    return (this.known ??= standIn(this.fn === "min" ? -2 : -3, [this.members.sum(this.size)]));
  }

  /** This and another value. */
  with(x: Residues): Extremum {
    return this.grown([x], 1);
  }

  /** This and another of the same function. */
  join(x: Extremum): Extremum {
    if (x === this) return this;
    if (this.other !== x) {
      const [large, small] = this.size >= x.size ? [this, x] : [x, this];
      this.joined = large.grown(small.members.all, small.size);
      this.other = x;
    }
    return this.joined!;
  }

  private grown(values: readonly Residues[], count: number): Extremum {
    let members = this.members;
    let size = this.size;
    for (let i = 0; i < count; i++) {
      const x = values[i]!;
      const place = members.place(x);
      if (place >= 0 && place < size) continue;
      // Another fold may have let the set grow already: by the same value, or by another.
      if (place !== size) {
        if (members.all.length !== size) members = members.copy(size);
        members.push(x);
      }
      size++;
    }
    return size === this.size ? this : new Extremum(members, size);
  }
}
