/** Members of three prime fields, and random numbers among them. */
import type { Term } from "./algebra.js";
import { Size } from "./degrees.js";
import { drawPrimes, PRIMES, SAFE_PRIMES } from "./primes.js";
import { inverse, mixed, plus, residue, times } from "./modular.js";

/** A value's residues. There are many: they hold nothing else. */
export class Residues implements Term {
  constructor(
    readonly p: number,
    readonly q: number,
    readonly r: number,
    /** Of the expression that they are residues of. */
    readonly size: Size = Size.MEMBER,
  ) {}

  /** Values are told apart by their residues. */
  get id(): number {
    return 0;
  }

  equals(x: Residues): boolean {
    return this.p === x.p && this.q === x.q && this.r === x.r;
  }
}

export const ZERO = new Residues(0, 0, 0, Size.ofFraction(0, 1));

const STEP = 0x9e3779b9 | 0;

/** From 1 to m - 1, each as often as any other, but for one of 64 hashes of 32 bits. */
const within = (z: number, m: number): number => (((z >>> 0) * ((m - 1) / 2 ** 32)) | 0) + 1;

/** A hash after a value's residues, the first of two and the second. */
const afterFirst = (h: number, x: number, y: number, z: number): number =>
  mixed(mixed((mixed((h ^ x) + STEP) ^ y) + STEP) ^ z);
const afterSecond = (h: number, x: number, y: number, z: number): number =>
  mixed((mixed((mixed((h ^ x) + STEP) ^ y) + STEP) ^ z) + 1);

/** What all that is random is drawn from: 128 bits. */
export type Key = readonly [number, number, number, number];

/** The key of a text, which each of its characters decides about, and of a number. */
export function keyOf(text: string, seed: number): Key {
  const key: [number, number, number, number] = [0x6a09e667, 0xbb67ae85 | 0, 0x3c6ef372, 0xa54ff53a | 0];
  const take = (x: number): void => {
    for (let j = 0; j < 4; j++) key[j] = mixed((Math.imul(key[j]!, 0x2c1b3c6d) + key[(j + 1) & 3]! + x + j) | 0);
  };
  for (let i = 0; i < text.length; i++) take(text.charCodeAt(i));
  take(seed | 0);
  take(text.length);
  for (let i = 0; i < 4; i++) take(i);
  return key;
}

/** A chance of two values in one field to be equal by accident that is too large: in three fields, 2^-40. */
const WEAK = 2 ** (-40 / 3);

/** Three prime fields, and members of them as if they were random. */
export class Fields {
  private readonly members: Residues[] = [];
  /** The size that was asked about last, as the next is most often, if it is not weak. */
  private lastStrong: Size = Size.MEMBER;
  readonly p: number;
  readonly q: number;
  readonly r: number;

  /**
   * @param primes how many primes of their kind the three were drawn from
   * @param least the logarithm to base 2 of what a residue is one of, at least
   * @param key tells apart the members of fields that are used together, of programs and of seeds
   */
  constructor(
    [p, q, r]: readonly [number, number, number],
    private readonly primes: number,
    private readonly least: number,
    private readonly key: Key,
  ) {
    [this.p, this.q, this.r] = [p, q, r];
  }

  /**
   * Whether an expression of a size other than 0 may be 0 in one of the fields with too large a chance: it is where the prime
   * divides all coefficients, as few of the primes do, or where the members are a root.
   */
  isWeak(size: Size): boolean {
    if (size === Size.MEMBER || size === this.lastStrong) return false;
    const dividing = Math.floor(Math.log2(size.wholeNorm) / this.least);
    const isStrong = size.wholeDegree / 2 ** this.least + dividing / this.primes <= WEAK;
    if (isStrong) this.lastStrong = size;
    return !isStrong;
  }

  /**
   * The random member with a number: each residue is a hash of it under two words of the key, as SplitMix32 makes numbers of
   * states. Kept, since each proof takes those from 0 on.
   */
  member(number: number): Residues {
    const [k, l, m, n] = this.key;
    for (let i = this.members.length; i <= number; i++) {
      const state = Math.imul(i + 1, STEP);
      const a = mixed((mixed((state + k) | 0) ^ l) + m);
      const b = mixed((mixed((state + l) | 0) ^ m) + n);
      const c = mixed((mixed((state + m) | 0) ^ n) + k);
      this.members.push(this.from(a, b, c));
    }
    return this.members[number]!;
  }

  private from(a: number, b: number, c: number): Residues {
    const { p, q, r } = this;
    return new Residues(within(a, p), within(b, q), within(c, r));
  }

  /**
   * Members as if they were random, a function of a number and of values: three hashes of 32 bits that start differently.
   * So nothing has to be kept to give equal arguments equal results.
   */
  standIn(tag: number, args: readonly Residues[]): Residues {
    const [k, l, m, n] = this.key;
    let a = mixed((mixed((tag + STEP) | 0) ^ k) + n);
    let b = mixed((mixed((tag + 0x6a09e667) | 0) ^ l) + n);
    let c = mixed((mixed((tag + 0x3c6ef372) | 0) ^ m) + n);
    for (let i = 0; i < args.length; i++) {
      const { p, q, r } = args[i]!;
      a = mixed((mixed((mixed((a ^ p) + STEP) ^ q) + STEP) ^ r) + i);
      b = mixed((mixed((mixed((b ^ r) + STEP) ^ p) + STEP) ^ q) + i);
      c = mixed((mixed((mixed((c ^ q) + STEP) ^ r) + STEP) ^ p) + i);
    }
    return this.from(a, b, c);
  }

  /** The same of two values: most functions that are made so have two, and lists of them would take more time than all else. */
  standInOfTwo(tag: number, x: Residues, y: Residues): Residues {
    const [k, l, m, n] = this.key;
    let a = mixed((mixed((tag + STEP) | 0) ^ k) + n);
    let b = mixed((mixed((tag + 0x6a09e667) | 0) ^ l) + n);
    let c = mixed((mixed((tag + 0x3c6ef372) | 0) ^ m) + n);
    a = mixed(mixed((mixed((a ^ x.p) + STEP) ^ x.q) + STEP) ^ x.r);
    b = mixed(mixed((mixed((b ^ x.r) + STEP) ^ x.p) + STEP) ^ x.q);
    c = mixed(mixed((mixed((c ^ x.q) + STEP) ^ x.r) + STEP) ^ x.p);
    a = mixed((mixed((mixed((a ^ y.p) + STEP) ^ y.q) + STEP) ^ y.r) + 1);
    b = mixed((mixed((mixed((b ^ y.r) + STEP) ^ y.p) + STEP) ^ y.q) + 1);
    c = mixed((mixed((mixed((c ^ y.q) + STEP) ^ y.r) + STEP) ^ y.p) + 1);
    return this.from(a, b, c);
  }

  /**
   * What stands for a sum, one product after the other, of which each product is `standInOfTwo` of its factors in their order, and each sum that of the
   * one before and the product; a product of 0 has no part in it. The same as these, without a value for each: products of tiles have millions.
   * @param from the sum before
   * @param first place of the first factors
   */
  sumInTurn(
    product: number,
    sum: number,
    from: Residues,
    a: readonly (Residues | 0)[],
    b: readonly (Residues | 0)[],
    first: number,
  ): Residues {
    const { p, q, r } = this;
    const [k, l, m, n] = this.key;
    const productA = mixed((mixed((product + STEP) | 0) ^ k) + n);
    const productB = mixed((mixed((product + 0x6a09e667) | 0) ^ l) + n);
    const productC = mixed((mixed((product + 0x3c6ef372) | 0) ^ m) + n);
    const sumA = mixed((mixed((sum + STEP) | 0) ^ k) + n);
    const sumB = mixed((mixed((sum + 0x6a09e667) | 0) ^ l) + n);
    const sumC = mixed((mixed((sum + 0x3c6ef372) | 0) ^ m) + n);
    let { p: inP, q: inQ, r: inR } = from;
    for (let i = first; i < a.length; i++) {
      const [u, v] = [a[i]!, b[i]!];
      if (u === 0 || v === 0) continue;
      const isInOrder = (u.p - v.p || u.q - v.q || u.r - v.r) <= 0;
      const x = isInOrder ? u : v;
      const y = isInOrder ? v : u;
      const ofP = within(afterSecond(afterFirst(productA, x.p, x.q, x.r), y.p, y.q, y.r), p);
      const ofQ = within(afterSecond(afterFirst(productB, x.r, x.p, x.q), y.r, y.p, y.q), q);
      const ofR = within(afterSecond(afterFirst(productC, x.q, x.r, x.p), y.q, y.r, y.p), r);
      const nextP = within(afterSecond(afterFirst(sumA, inP, inQ, inR), ofP, ofQ, ofR), p);
      const nextQ = within(afterSecond(afterFirst(sumB, inR, inP, inQ), ofR, ofP, ofQ), q);
      inR = within(afterSecond(afterFirst(sumC, inQ, inR, inP), ofQ, ofR, ofP), r);
      inP = nextP;
      inQ = nextQ;
    }
    return new Residues(inP, inQ, inR);
  }

  /** Of the first of some values: as their sum by their number, but of no size. Sets have thousands of values, and a sum for each would be most of what is made. */
  mean(values: readonly Residues[], count: number): Residues {
    const { p, q, r } = this;
    let [a, b, c] = [0, 0, 0];
    for (let i = 0; i < count; i++) {
      const x = values[i]!;
      a = plus(a, x.p, p);
      b = plus(b, x.q, q);
      c = plus(c, x.r, r);
    }
    const of = this.inverse(this.residues(count));
    return new Residues(times(a, of.p, p), times(b, of.q, q), times(c, of.r, r));
  }

  /**
   * The sum of what stands for how each of the first of some values differs from another, of no size.
   * @param tag see {@link standIn}
   * @param isBelow whether it is the other that is greater
   */
  spread(tag: number, values: readonly Residues[], count: number, from: Residues, isBelow: boolean): Residues {
    const { p, q, r } = this;
    const [k, l, m, n] = this.key;
    const a = mixed((mixed((tag + STEP) | 0) ^ k) + n);
    const b = mixed((mixed((tag + 0x6a09e667) | 0) ^ l) + n);
    const c = mixed((mixed((tag + 0x3c6ef372) | 0) ^ m) + n);
    let [inP, inQ, inR] = [0, 0, 0];
    for (let i = 0; i < count; i++) {
      const v = values[i]!;
      const [x, y] = isBelow ? [from, v] : [v, from];
      const dp = plus(x.p, p - y.p, p);
      const dq = plus(x.q, q - y.q, q);
      const dr = plus(x.r, r - y.r, r);
      inP = plus(inP, within(afterFirst(a, dp, dq, dr), p), p);
      inQ = plus(inQ, within(afterFirst(b, dr, dp, dq), q), q);
      inR = plus(inR, within(afterFirst(c, dq, dr, dp), r), r);
    }
    return new Residues(inP, inQ, inR);
  }

  plus(x: Residues, y: Residues): Residues {
    const { p, q, r } = this;
    return new Residues(plus(x.p, y.p, p), plus(x.q, y.q, q), plus(x.r, y.r, r), x.size.plus(y.size));
  }

  minus(x: Residues, y: Residues): Residues {
    const { p, q, r } = this;
    return new Residues(plus(x.p, p - y.p, p), plus(x.q, q - y.q, q), plus(x.r, r - y.r, r), x.size.plus(y.size));
  }

  times(x: Residues, y: Residues): Residues {
    const { p, q, r } = this;
    return new Residues(times(x.p, y.p, p), times(x.q, y.q, q), times(x.r, y.r, r), x.size.times(y.size));
  }

  inverse(x: Residues): Residues {
    return new Residues(inverse(x.p, this.p), inverse(x.q, this.q), inverse(x.r, this.r), x.size.inverse);
  }

  /** Of a fraction of whole numbers. */
  residues(top: number, bottom = 1): Residues {
    const of = (m: number): number => times(residue(top, m), inverse(residue(bottom, m), m), m);
    return new Residues(of(this.p), of(this.q), of(this.r), Size.ofFraction(top, bottom));
  }
}

/**
 * Where values are. Where exponentials have laws, they are in two places at once: in fields of p = 2p' + 1, and, as exponents, in those of
 * p', because what a square to the power of one comes to depends on nothing else.
 */
export interface Places {
  /** Of values without such laws: of any primes, of which there are more. */
  readonly plain: Fields;
  readonly values: Fields;
  readonly exponents: Fields;
}

/** The fields of a key, with members of it; what nothing asks for is not made. */
export function placesOf(key: Key): Places {
  const [k, l, m, n] = key;
  let safe: Pick<Places, "values" | "exponents"> | null = null;
  const ofExponentials = (): Pick<Places, "values" | "exponents"> => {
    if (safe !== null) return safe;
    const primes = drawPrimes([n, k, l, m], true);
    const halves = primes.map((p) => (p - 1) / 2) as [number, number, number];
    return (safe = {
      values: new Fields(primes, SAFE_PRIMES, 25.5, key),
      exponents: new Fields(halves, SAFE_PRIMES, 24.5, [~l, ~m, ~n, ~k]),
    });
  };
  return {
    plain: new Fields(drawPrimes([m, n, k, l], false), PRIMES, 25.5, key),
    get values() {
      return ofExponentials().values;
    },
    get exponents() {
      return ofExponentials().exponents;
    },
  };
}

/** Fields whose members are those of no program. */
export const NO_PROGRAM = placesOf(keyOf("", 0));
