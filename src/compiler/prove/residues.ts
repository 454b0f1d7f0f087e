/** Members of three prime fields, and random numbers among them. */
import type { Term } from "./algebra.js";

/** The three largest primes below 2^26: products of residues are exact in a double, and residues are small integers. */
export const [P, Q, R] = [67108859, 67108837, 67108819] as const;

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

/** From 1 to m - 1, for an m that 2^26 just exceeds: from the 26 highest bits. */
const within = (z: number, m: number): number => {
  const x = z >>> 6;
  return x < m - 1 ? x + 1 : x - m + 2;
};

const members: Residues[] = [];

/** The random member with a number, from SplitMix32. Kept, since each proof takes those from 0 on. */
export function member(number: number): Residues {
  for (let n = members.length; n <= number; n++) {
    const state = Math.imul(3 * n, STEP);
    members.push(
      new Residues(
        within(mixed((state + STEP) | 0), P),
        within(mixed((state + 2 * STEP) | 0), Q),
        within(mixed((state + 3 * STEP) | 0), R),
      ),
    );
  }
  return members[number]!;
}

/**
 * Members as if they were random, a function of a number and of values: three hashes of 32 bits that start differently.
 * So nothing has to be kept to give equal arguments equal results.
 */
export function standIn(tag: number, args: readonly Residues[]): Residues {
  let a = mixed((tag + STEP) | 0);
  let b = mixed((tag + 0x6a09e667) | 0);
  let c = mixed((tag + 0x3c6ef372) | 0);
  for (let i = 0; i < args.length; i++) {
    const { p, q, r } = args[i]!;
    a = mixed((mixed((mixed((a ^ p) + STEP) ^ q) + STEP) ^ r) + i);
    b = mixed((mixed((mixed((b ^ r) + STEP) ^ p) + STEP) ^ q) + i);
    c = mixed((mixed((mixed((c ^ q) + STEP) ^ r) + STEP) ^ p) + i);
  }
  return new Residues(within(a, P), within(b, Q), within(c, R));
}
