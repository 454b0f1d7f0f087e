/** Members of three prime fields, and random numbers among them. */
import type { Term } from "./algebra.js";

/**
 * The three largest primes below 2^26 of which the half, rounded down, is prime: products of residues are exact in a double,
 * and residues are small integers. Exponents of their squares are members of three fields again, those of the halves.
 */
export const [P, Q, R] = [67108187, 67107983, 67107539] as const;

/** A value's residues. There are many: they hold nothing else. */
export class Residues implements Term {
  constructor(
    readonly p: number,
    readonly q: number,
    readonly r: number,
  ) {}

  /** Values are told apart by their residues. */
  get id(): number {
    return 0;
  }

  equals(x: Residues): boolean {
    return this.p === x.p && this.q === x.q && this.r === x.r;
  }
}

export const ZERO = new Residues(0, 0, 0);

/** What is left of a whole number from 0 to 2^53 after division by m; a multiplication is faster than a division. */
export function rest(x: number, m: number): number {
  const left = x - Math.floor(x * (1 / m)) * m;
  return (left < 0 ? left + m : left >= m ? left - m : left) | 0;
}

export const times = (a: number, b: number, m: number): number => rest(a * b, m);

export const plus = (a: number, b: number, m: number): number => {
  const s = (a + b) | 0;
  return s >= m ? (s - m) | 0 : s;
};

/** 1 / a, and 0 of 0; Euclid's algorithm. */
export function inverse(a: number, m: number): number {
  let larger = m;
  let smaller = a;
  let before = 0;
  let now = 1;
  while (smaller > 0) {
    const quotient = (larger / smaller) | 0;
    const left = larger - quotient * smaller;
    larger = smaller;
    smaller = left;
    const next = before - quotient * now;
    before = now;
    now = next;
  }
  return a === 0 ? 0 : before < 0 ? before + m : before;
}

/** Of any whole number. */
export const residue = (x: number, m: number): number => (((x % m) + m) % m) | 0;

/** The last step of SplitMix32: each bit of the result depends on each of z. */
function mixed(z: number): number {
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return z ^ (z >>> 15);
}

const STEP = 0x9e3779b9 | 0;

/** From 1 to m - 1, for an m that a power of 2 just exceeds: from the highest bits. */
const within = (z: number, m: number, unused: number): number => {
  const x = z >>> unused;
  return x < m - 1 ? x + 1 : x - m + 2;
};

/** What all that is random is drawn from: 128 bits. */
type Key = readonly [number, number, number, number];

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

/** Three prime fields, and members of them as if they were random. */
export class Fields {
  private readonly members: Residues[] = [];
  /** Bits of a hash that no member needs. */
  private readonly unused: number;

  /** @param key tells apart the members of fields that are used together, of programs and of seeds */
  constructor(
    readonly p: number,
    readonly q: number,
    readonly r: number,
    private readonly key: Key,
  ) {
    this.unused = Math.clz32(p);
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
    const { p, q, r, unused } = this;
    return new Residues(within(a, p, unused), within(b, q, unused), within(c, r, unused));
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

  plus(x: Residues, y: Residues): Residues {
    return new Residues(plus(x.p, y.p, this.p), plus(x.q, y.q, this.q), plus(x.r, y.r, this.r));
  }

  minus(x: Residues, y: Residues): Residues {
    const { p, q, r } = this;
    return new Residues(plus(x.p, p - y.p, p), plus(x.q, q - y.q, q), plus(x.r, r - y.r, r));
  }

  times(x: Residues, y: Residues): Residues {
    return new Residues(times(x.p, y.p, this.p), times(x.q, y.q, this.q), times(x.r, y.r, this.r));
  }

  inverse(x: Residues): Residues {
    return new Residues(inverse(x.p, this.p), inverse(x.q, this.q), inverse(x.r, this.r));
  }

  /** Of a whole number. */
  residues(x: number): Residues {
    return new Residues(residue(x, this.p), residue(x, this.q), residue(x, this.r));
  }
}

/** Where values are, and where their exponents are: what a square to the power of one comes to depends on nothing else. */
export interface Places {
  readonly values: Fields;
  readonly exponents: Fields;
}

/** The fields with members of a key. */
export function placesOf(key: Key): Places {
  const [k, l, m, n] = key;
  return {
    values: new Fields(P, Q, R, key),
    exponents: new Fields((P - 1) / 2, (Q - 1) / 2, (R - 1) / 2, [~l, ~m, ~n, ~k]),
  };
}

/** Fields whose members are those of no program. */
export const { values: VALUES, exponents: EXPONENTS } = placesOf(keyOf("", 0));
