/** Sums of members of the fields, and of products of them. */
import type { Accumulator, Factors, Number_ } from "./algebra.js";
import type { FieldAlgebra } from "./field.js";
import { isWrapped, Wrapped } from "./field-values.js";
import { type Size } from "./degrees.js";
import { plus, rest, times } from "./modular.js";
import { type Fields, Residues, ZERO } from "./residues.js";

/** As many products of 39 bits have an exact sum in a double. */
const MOST_PRODUCTS = 2 ** 14;

/** Factors of which each is 0, as those behind the edge of a tile are. */
export const NOTHING: Factors = [];

export class Total implements Accumulator {
  private p = 0;
  private q = 0;
  private r = 0;
  private size: Size = ZERO.size;
  private isZero = true;
  /** The same sum of what had not wrapped; null while nothing had. */
  private unwrapped: Total | null = null;
  private readonly fields: Fields;

  constructor(private readonly algebra: FieldAlgebra) {
    this.fields = algebra.fields;
  }

  add(x: Number_, by = 1): void {
    if (x === 0 || by === 0) return;
    if (by !== 1) return this.addProduct(x, by);
    this.isZero = false;
    this.noteWrapped(x, x)?.add(this.algebra.unwrapped(x));
    const { p, q, r, size } = this.algebra.of(x);
    this.size = this.size.plus(size);
    this.p = plus(this.p, p, this.fields.p);
    this.q = plus(this.q, q, this.fields.q);
    this.r = plus(this.r, r, this.fields.r);
  }

  addProduct(a: Number_, b: Number_): void {
    if (a === 0 || b === 0) return;
    this.isZero = false;
    this.noteWrapped(a, b)?.addProduct(this.algebra.unwrapped(a), this.algebra.unwrapped(b));
    const x = this.algebra.of(a);
    const y = this.algebra.of(b);
    this.size = this.size.plus(x.size.times(y.size));
    this.p = plus(this.p, times(x.p, y.p, this.fields.p), this.fields.p);
    this.q = plus(this.q, times(x.q, y.q, this.fields.q), this.fields.q);
    this.r = plus(this.r, times(x.r, y.r, this.fields.r), this.fields.r);
  }

  addProducts(a: Factors, b: Factors): void {
    if (a === NOTHING || b === NOTHING) return;
    for (let k = 0; k < a.length; k += MOST_PRODUCTS)
      this.addSome(a as readonly Residues[], b as readonly Residues[], k, Math.min(a.length, k + MOST_PRODUCTS));
  }

  /** The second factors are cut into halves of 13 bits, so that only sums have to be reduced. */
  private addSome(a: readonly Residues[], b: readonly Residues[], from: number, to: number): void {
    let pl = 0;
    let ph = 0;
    let ql = 0;
    let qh = 0;
    let rl = 0;
    let rh = 0;
    let { size } = this;
    for (let k = from; k < to; k++) {
      const x = a[k]!;
      const y = b[k]!;
      if (x === ZERO || y === ZERO) continue;
      this.isZero = false;
      size = size.plus(x.size.times(y.size));
      pl += x.p * (y.p & 0x1fff);
      ph += x.p * (y.p >>> 13);
      ql += x.q * (y.q & 0x1fff);
      qh += x.q * (y.q >>> 13);
      rl += x.r * (y.r & 0x1fff);
      rh += x.r * (y.r >>> 13);
    }
    this.size = size;
    this.p = whole(this.p, pl, ph, this.fields.p);
    this.q = whole(this.q, ql, qh, this.fields.q);
    this.r = whole(this.r, rl, rh, this.fields.r);
  }

  /** Where what is unwrapped goes, from the first that had wrapped on. */
  private noteWrapped(a: Number_, b: Number_): Total | null {
    if (this.unwrapped === null && isWrapped(a, b)) {
      this.unwrapped = new Total(this.algebra);
      this.unwrapped.add(new Residues(this.p, this.q, this.r, this.size));
    }
    return this.unwrapped;
  }

  build(): Number_ {
    const sum = new Residues(this.p, this.q, this.r, this.size);
    if (this.unwrapped !== null) return new Wrapped(sum, this.algebra.of(this.unwrapped.build()), null);
    return this.isZero ? 0 : sum;
  }
}

/** total + low + 2^13 · high. */
const whole = (total: number, low: number, high: number, m: number): number =>
  rest(low + total + rest(high, m) * 0x2000, m);
