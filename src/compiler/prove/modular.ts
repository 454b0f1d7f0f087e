/** Arithmetic of residues below 2^26, whose products are exact in a double, and a hash. */

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
export function mixed(z: number): number {
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return z ^ (z >>> 15);
}
