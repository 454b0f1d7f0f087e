/** Values of `min` and `max`, which are sets: of any number of values, in any order and however often. */
import type { Term } from "./algebra.js";
import { type Fields, Residues } from "./residues.js";

export type ExtremeFunction = "min" | "max";

/** Fewer members are looked through without a table. */
const FEW = 8;

/** Values in the order in which they came, each once. Folds share it as it grows: a set is its first so many. */
class Members {
  /** A hash table of places, from 1; null while there are few. */
  private slots: Int32Array | null = null;
  /** As many have been asked for what stands for them last, and that. */
  private asked = 0;
  private standing: Residues | null = null;

  constructor(
    readonly fn: ExtremeFunction,
    readonly fields: Fields,
    readonly all: Residues[] = [],
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
    const { all } = this;
    if (all.length > FEW) {
      const slots = (this.slots ??= this.table());
      return slots[this.slot(x, slots)]! - 1;
    }
    for (let i = 0; i < all.length; i++) if (all[i]!.equals(x)) return i;
    return -1;
  }

  /** Adds what is no member yet. */
  push(x: Residues): void {
    const { all, slots } = this;
    all.push(x);
    if (slots === null) return;
    if (2 * all.length <= slots.length) slots[this.slot(x, slots)] = all.length;
    else this.slots = null;
  }

  private table(): Int32Array {
    const { all } = this;
    const slots = new Int32Array(2 ** Math.ceil(Math.log2(4 * all.length)));
    for (let i = 0; i < all.length; i++) slots[this.slot(all[i]!, slots)] = i + 1;
    return slots;
  }

  /**
   * What stands for the first `size` members. It moves with them, as an extremum does: their mean, and something of how each
   * differs from it, which depends on the set alone. Of -x instead of x it is the other extremum.
   */
  standIn(size: number): Residues {
    if (this.asked !== size) {
      this.standing = this.standInOf(size);
      this.asked = size;
    }
    return this.standing!;
  }

  private standInOf(size: number): Residues {
    const { all, fields, fn } = this;
    let largest = all[0]!.size;
    for (let i = 1; i < size; i++) largest = largest.or(all[i]!.size);
    const mean = fields.mean(all, size);
    const rest = fields.spread(-1, all, size, mean, fn === "min");
    // Of the sum, not the sum: those of different sets could be equal.
    const whole = fields.standIn(-2, [rest]);
    const { p, q, r } = fn === "max" ? fields.plus(mean, whole) : fields.minus(mean, whole);
    // It is one of its members.
    return new Residues(p, q, r, largest.or(whole.size));
  }

  /**
   * Members of which these are the first `size`, and a value the next. Another fold may have let the set grow already: by the same value, or by
   * another.
   * @param place of the value
   */
  grownBy(x: Residues, size: number, place: number): Members {
    if (place === size) return this;
    const members = this.all.length === size ? this : this.copy(size);
    members.push(x);
    return members;
  }

  private copy(size: number): Members {
    const members = new Members(this.fn, this.fields);
    for (let i = 0; i < size; i++) members.push(this.all[i]!);
    return members;
  }
}

/** The first of some members, each by a factor. */
interface Multiples {
  readonly of: Members;
  readonly factor: Residues;
  readonly fn: ExtremeFunction;
}

function multipliedMembers({ of: { all, fields }, factor, fn }: Multiples, size: number): Members {
  const multiples = new Array<Residues>(size);
  for (let i = 0; i < size; i++) multiples[i] = fields.times(all[i]!, factor);
  return new Members(fn, fields, multiples);
}

/** A `min` or `max` of two values or more. */
export class Extremum implements Term {
  private known: Residues | null = null;
  /** The last one that this was joined with: each rank of a kernel may do so. */
  private other: Extremum | null = null;
  private joined: Extremum | null = null;
  /** The last factor, and that multiple: each element of a row may ask for the same one, which has all members of the row. */
  private factor: Residues | null = null;
  private multiple: Extremum | null = null;
  /** What its members were multiplied by, as far as that is known. */
  scale = 1;
  /** The narrow dtype that all its members have, where they have one. */
  fits: "i8" | "u8" | null = null;
  /** Whether it is one of floats, to an algebra that rounds. Noted here, for each step of a fold makes another. */
  isFloat = false;

  /** Null where they are the multiples that `source` says, and not made yet. */
  private own: Members | null;
  private readonly source: Multiples | null;

  private constructor(
    of: Members | Multiples,
    private readonly size: number,
  ) {
    this.own = of instanceof Members ? of : null;
    this.source = of instanceof Members ? null : of;
  }

  /** Of two different values. */
  static of(fields: Fields, fn: ExtremeFunction, a: Residues, b: Residues): Extremum {
    return new Extremum(new Members(fn, fields, [a, b]), 2);
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
    const fn = by < 0 === (this.fn === "min") ? "max" : "min";
    const multiple = new Extremum({ of: this.members, factor, fn }, this.size);
    multiple.scale = this.scale * by;
    return multiple;
  }

  /** Made when they are asked for: of most multiples, only what stands for them is. */
  private get members(): Members {
    return (this.own ??= multipliedMembers(this.source!, this.size));
  }

  get id(): number {
    return 0;
  }

  get fn(): ExtremeFunction {
    return (this.source ?? this.own!).fn;
  }

  /** What stands for the set; made when it is asked for, since a fold asks for that of the last alone. */
  get residues(): Residues {
    const { own, size } = this;
    return (this.known ??= (own ?? multipliedMembers(this.source!, size)).standIn(size));
  }

  /** Whether these are the first two members, themselves. */
  beginsWith(fn: ExtremeFunction, a: Residues, b: Residues): boolean {
    const { own } = this;
    return own !== null && own.fn === fn && own.all[0] === a && own.all[1] === b;
  }

  /** Whether a value is one of its members. */
  has(x: Residues): boolean {
    const place = this.members.place(x);
    return place >= 0 && place < this.size;
  }

  /** This and another value. */
  with(x: Residues): Extremum {
    const { members, size } = this;
    // The same fold may be asked for by each element of a row.
    if (members.all[size] === x) return this.ofSize(members, size + 1);
    const place = members.place(x);
    return place >= 0 && place < size ? this : this.ofSize(members.grownBy(x, size, place), size + 1);
  }

  /** This and another of the same function. */
  join(x: Extremum): Extremum {
    if (x === this) return this;
    const [large, small] = this.size >= x.size ? [this, x] : [x, this];
    // What a fold of absolute values comes to on the way is not kept: of each element, it would be most of what a proof keeps.
    if (small.size <= FEW) return large.grownBy(small);
    if (this.other !== x) {
      this.joined = large.grownBy(small);
      this.other = x;
    }
    return this.joined!;
  }

  private grownBy(small: Extremum): Extremum {
    let { members, size } = this;
    const { all } = small.members;
    for (let i = 0; i < small.size; i++) {
      const x = all[i]!;
      const place = members.place(x);
      if (place >= 0 && place < size) continue;
      members = members.grownBy(x, size, place);
      size++;
    }
    return size === this.size ? this : this.ofSize(members, size);
  }

  private ofSize(members: Members, size: number): Extremum {
    const larger = new Extremum(members, size);
    larger.scale = this.scale;
    return larger;
  }
}
