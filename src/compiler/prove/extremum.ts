/** Values of `min` and `max`, which are sets: of any number of values, in any order and however often. */
import type { Term } from "./algebra.js";
import { type Fields, Residues, ZERO } from "./residues.js";

export type ExtremeFunction = "min" | "max";

/** Fewer members are looked through without a table. */
const FEW = 8;

/** Values in the order in which they came, each once. Folds share it as it grows: a set is its first so many. */
class Members {
  readonly all: Residues[] = [];
  /** A hash table of places, from 1; null while there are few. */
  private slots: Int32Array | null = null;

  constructor(
    readonly fn: ExtremeFunction,
    readonly fields: Fields,
  ) {}

  private slot(x: Residues, slots: Int32Array): number {
    const { all } = this;
    const last = slots.length - 1;
    for (let s = (x.p ^ (x.q << 5)) & last; ; s = (s + 1) & last) {
      const place = slots[s]!;
      if (place === 0 || all[place - 1]!.equals(x)) return s;
    }
  }

  /** Place of a value; -1 if it is no member. */
  place(x: Residues): number {
    const { all, slots } = this;
    if (slots !== null) return slots[this.slot(x, slots)]! - 1;
    for (let i = 0; i < all.length; i++) if (all[i]!.equals(x)) return i;
    return -1;
  }

  /** Adds what is no member yet. */
  push(x: Residues): void {
    const { all, slots } = this;
    all.push(x);
    if (slots !== null && 2 * all.length <= slots.length) slots[this.slot(x, slots)] = all.length;
    else if (all.length > FEW) {
      const larger = (this.slots = new Int32Array(slots === null ? 8 * FEW : 4 * slots.length));
      for (let i = 0; i < all.length; i++) larger[this.slot(all[i]!, larger)] = i + 1;
    }
  }

  /**
   * What stands for the first `size` members. It moves with them, as an extremum does: their mean, and something of how each
   * differs from it, which depends on the set alone. Of -x instead of x it is the other extremum.
   */
  standIn(size: number): Residues {
    const { all, fields, fn } = this;
    let sum = ZERO;
    let largest = all[0]!.size;
    for (let i = 0; i < size; i++) {
      sum = fields.plus(sum, all[i]!);
      largest = largest.or(all[i]!.size);
    }
    const mean = fields.times(sum, fields.inverse(fields.residues(size)));
    let rest = ZERO;
    for (let i = 0; i < size; i++) {
      const difference = fn === "max" ? fields.minus(all[i]!, mean) : fields.minus(mean, all[i]!);
      rest = fields.plus(rest, fields.standIn(-1, [difference]));
    }
    // Of the sum, not the sum: those of different sets could be equal.
    const whole = fields.standIn(-2, [rest]);
    const { p, q, r } = fn === "max" ? fields.plus(mean, whole) : fields.minus(mean, whole);
    // It is one of its members.
    return new Residues(p, q, r, largest.or(whole.size));
  }

  copy(size: number): Members {
    const members = new Members(this.fn, this.fields);
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
  /** The last value that came to it, and what came out: the same fold may be asked for by each element of a row. */
  private last: Residues | null = null;
  private next: Extremum | null = null;
  /** The last factor, and that multiple: each element of a row may ask for the same one, which has all members of the row. */
  private factor: Residues | null = null;
  private multiple: Extremum | null = null;
  /** What its members were multiplied by, as far as that is known. */
  scale = 1;
  /** The narrow dtype that all its members have, where they have one. */
  fits: "i8" | "u8" | null = null;

  private constructor(
    private readonly members: Members,
    private readonly size: number,
  ) {}

  /** Of two different values. */
  static of(fields: Fields, fn: ExtremeFunction, a: Residues, b: Residues): Extremum {
    const members = new Members(fn, fields);
    members.push(a);
    members.push(b);
    return new Extremum(members, 2);
  }

  /**
   * A multiple of this: of a negative one, the other extremum of multiples.
   * @param by the factor as a number
   */
  times(factor: Residues, by: number): Extremum {
    if (this.factor?.equals(factor) !== true || this.multiple!.scale !== this.scale * by) {
      this.multiple = this.multipliedBy(factor, by);
      this.factor = factor;
    }
    return this.multiple!;
  }

  private multipliedBy(factor: Residues, by: number): Extremum {
    const { all, fn, fields } = this.members;
    const members = new Members(by < 0 === (fn === "min") ? "max" : "min", fields);
    for (let i = 0; i < this.size; i++) members.push(fields.times(all[i]!, factor));
    const multiple = new Extremum(members, this.size);
    multiple.scale = this.scale * by;
    return multiple;
  }

  get id(): number {
    return 0;
  }

  get fn(): ExtremeFunction {
    return this.members.fn;
  }

  /** What stands for the set; made when it is asked for, since a fold asks for that of the last alone. */
  get residues(): Residues {
    return (this.known ??= this.members.standIn(this.size));
  }

  /** Whether a value is one of its members. */
  has(x: Residues): boolean {
    const place = this.members.place(x);
    return place >= 0 && place < this.size;
  }

  /** This and another value. */
  with(x: Residues): Extremum {
    if (this.last !== x) {
      this.next = this.grown([x], 1);
      this.last = x;
    }
    return this.next!;
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
    if (size === this.size) return this;
    const larger = new Extremum(members, size);
    larger.scale = this.scale;
    return larger;
  }
}
