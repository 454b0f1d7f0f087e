/**
 * Whole numbers that are known up to named ones: constant + Σ factor · symbol. A symbol stands for a number that is never
 * negative, so a form whose parts are all non-negative is, too, whatever the dimensions turn out to be.
 */
export class Form {
  private text: string | null = null;
  private listed: readonly (readonly [string, number])[] | null = null;

  private constructor(
    readonly constant: number,
    readonly terms: ReadonlyMap<string, number>,
    /** Of a product of two forms that are no numbers, and of that with a number added, what is multiplied. */
    private readonly factorsOf: readonly [Form, Form] | null = null,
  ) {}

  static of(n: number): Form {
    return new Form(n, NO_TERMS);
  }

  static symbol(name: string): Form {
    return new Form(0, new Map([[name, 1]]));
  }

  /** The product of two forms that are not negative, as a symbol. */
  static product(a: Form, b: Form): Form {
    return new Form(0, new Map([[`mul(${[a.key, b.key].sort().join(",")})`, 1]]), [a, b]);
  }

  /** What is multiplied by the other one in a product; null of other forms. */
  over(other: Form): Form | null {
    if (this.factorsOf === null || this.constant !== 0) return null;
    const [a, b] = this.factorsOf;
    return b.key === other.key ? a : a.key === other.key ? b : null;
  }

  /** Its number, if no symbol is in it. */
  get number(): number | null {
    return this.terms.size === 0 ? this.constant : null;
  }

  /** Equal keys, equal values. */
  get key(): string {
    return (this.text ??= [
      ...[...this.terms].sort(([a], [b]) => (a < b ? -1 : 1)).map(([s, f]) => `${f}·${s}`),
      this.constant,
    ].join("+"));
  }

  plus(other: Form, factor = 1): Form {
    const constant = this.constant + factor * other.constant;
    // Most are numbers, or get one added.
    if (other.terms.size === 0) return new Form(constant, this.terms, this.factorsOf);
    if (this.terms.size === 0 && factor === 1) return new Form(constant, other.terms, other.factorsOf);
    const terms = new Map(this.terms);
    for (const [s, f] of other.terms) {
      const sum = (terms.get(s) ?? 0) + factor * f;
      if (sum === 0) terms.delete(s);
      else terms.set(s, sum);
    }
    return new Form(constant, terms);
  }

  minus(other: Form): Form {
    return this.plus(other, -1);
  }

  times(n: number): Form {
    return n === 0 ? Form.of(0) : Form.of(0).plus(this, n);
  }

  /** this / n where that leaves no remainder for any value of the symbols; null otherwise. */
  dividedBy(n: number): Form | null {
    if (this.constant % n !== 0) return null;
    for (const f of this.terms.values()) if (f % n !== 0) return null;
    return new Form(this.constant / n, new Map([...this.terms].map(([s, f]) => [s, f / n])));
  }

  /** Whether it is at least `n` more than another one, whatever the symbols of both are; false where that is not known. */
  exceeds(other: Form, n: number): boolean {
    if (this.constant - other.constant < n) return false;
    // Most are numbers.
    if (this.terms.size === 0 && other.terms.size === 0) return true;
    const [own, others] = [this.factors, other.factors];
    // Of the others most are so many times one length.
    if (own.length === 1 && others.length === 1 && own[0]![0] === others[0]![0]) return own[0]![1] >= others[0]![1];
    for (const [s, f] of others) if (f > (this.terms.get(s) ?? 0)) return false;
    for (const [s, f] of own) if (f < 0 && f < (other.terms.get(s) ?? 0)) return false;
    return true;
  }

  /** The terms as a list: intervals are compared more often than anything else is done, and a map takes long to go through. */
  private get factors(): readonly (readonly [string, number])[] {
    return (this.listed ??= [...this.terms]);
  }

  /** Whether it is at least `n`, whatever its symbols are; false where that is not known. */
  isAtLeast(n: number): boolean {
    if (this.constant < n) return false;
    for (const f of this.terms.values()) if (f < 0) return false;
    return true;
  }
}

const NO_TERMS: ReadonlyMap<string, number> = new Map();

/** Numbers from lo to hi, both included; null where no bound is known. */
export interface Interval {
  readonly lo: Form | null;
  readonly hi: Form | null;
}

/** Whether two intervals surely have no number in common. */
export function areDisjoint(a: Interval, b: Interval): boolean {
  return isBelow(a, b) || isBelow(b, a);
}

function isBelow({ hi }: Interval, { lo }: Interval): boolean {
  return hi !== null && lo !== null && lo.exceeds(hi, 1);
}
