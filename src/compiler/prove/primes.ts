/**
 * Three primes that a key decides about, from all of the last quarter below 2^26. A program is written before they are drawn, so
 * that no number in it can be a multiple of them but by chance.
 */
import { mixed, times } from "./modular.js";
import type { Key } from "./residues.js";

const LEAST = 2 ** 26 - 2 ** 24;

/** How many primes there are to draw from. */
export const PRIMES = 937_994;

/** How many of them have a half, rounded down, that is prime. */
export const SAFE_PRIMES = 36_267;

function power(base: number, exponent: number, m: number): number {
  let result = 1;
  for (let [square, e] = [base, exponent]; e > 0; square = times(square, square, m), e = Math.floor(e / 2))
    if (e % 2 === 1) result = times(result, square, m);
  return result;
}

/** Whether an odd number from 8 to 2^26 is prime, by Miller and Rabin's test, which is exact with these bases. */
export function isPrime(n: number): boolean {
  let [odd, twos] = [n - 1, 0];
  for (; odd % 2 === 0; odd /= 2) twos++;
  return [2, 3, 5, 7].every((base) => {
    let x = power(base, odd, n);
    for (let k = 0; k < twos; k++, x = times(x, x, n)) {
      if (x === n - 1 || (x === 1 && k === 0)) return true;
    }
    return false;
  });
}

/**
 * Three different ones, each as likely as any other: numbers are drawn until they are prime.
 * @param areSafe whether their halves, rounded down, have to be prime, too
 */
export function drawPrimes([k, l, m, n]: Key, areSafe: boolean): [number, number, number] {
  const found: number[] = [];
  for (let i = 0; found.length < 3; i++) {
    const hash = mixed((mixed((mixed((mixed((i ^ k) | 0) + l) | 0) ^ m) | 0) + n) | 0);
    const p = (LEAST + (hash >>> 8)) | 1;
    // No other remainder leaves p and its half without a factor of 2 or 3.
    if (areSafe && p % 12 !== 11) continue;
    if (!found.includes(p) && isPrime(p) && (!areSafe || isPrime((p - 1) / 2))) found.push(p);
  }
  return found as [number, number, number];
}
