/** What memory holds while a program is gone through: one interval for a buffer, of all that was stored so far. */
import { bufferOf, type Kernel, memoryOperands, type Op, text } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import { type DType, isFloat } from "../types/dtype.js";
import type { Extent, ExtentOp } from "../types/extent.js";
import { EXACT, either, type Exactness } from "./exactness.js";
import type { Known, Result } from "./interval-arithmetic.js";
import {
  allOf,
  greatest,
  hull,
  type Interval,
  interval,
  least,
  MOST_INDEX,
  negative,
  overlap,
  product,
  quotient,
  rising,
  sum,
  UNLIMITED,
  within,
} from "./intervals.js";
import type { KnownValues } from "./known-values.js";

/** The least and the greatest length of each dimension; one that is missing may have any. */
export type Lengths = Readonly<Record<string, readonly [number, number]>>;

/** What is known of what one op has stored, by the numbers of the rank and the indices it is loaded at. */
type Stored = (positions: readonly number[]) => Pick<Known, "greatest" | "peak">;

export class KnownMemory {
  private readonly held = new Map<string, Result>();
  /** What is stored where, in buffers that one op stores to, once for each element. */
  private readonly stored = new Map<string, Stored>();
  /** By buffer, how often something was stored to it, and how often anything may have been. */
  private readonly stores = new Map<string, number>();
  private others = 0;
  /** How often something was stored that had not been seen before. */
  changes = 0;
  /** Whether intervals may grow step by step; else their ends go to infinity. */
  isPatient = true;

  constructor(
    private readonly kernel: Kernel,
    private readonly lengths: Lengths,
    private readonly values: KnownValues,
  ) {}

  /** Enters what a load gives. */
  load(op: Op): void {
    const name = text(op, "buffer");
    const { role, dtype } = bufferOf(this.kernel, name);
    const { peer, indices } = memoryOperands(op);
    // The rank's own elements are those of its number.
    const rank = peer === null ? this.values.rank : this.values.of(peer).number;
    const positions = [rank, ...indices.map((v) => this.values.of(v).number)];
    if (role === "input")
      return this.values.define(op, {
        at: this.input(name, dtype),
        wraps: null,
        greatest: { buffer: name, positions },
        holds: isFloat(dtype) ? dtype : null,
      });
    const held = this.held.get(name);
    const stored = this.stored.get(name)?.(positions) ?? {};
    const holds = isFloat(dtype) ? dtype : null;
    const when = ` after ${this.stores.get(name) ?? 0} ${this.others}`;
    this.values.define(op, { ...(held ?? { at: allOf(dtype), wraps: null }), holds, ...stored }, true, when);
  }

  /** Blocks or ranks wait for each other, an op stores in a way of its own, or an iteration begins: memory may be another from here on. */
  mayChange(): void {
    this.others++;
  }

  private input(name: string, dtype: DType): Interval {
    const values = this.kernel.inputs.find((t) => t.name === name)?.values;
    const all = allOf(dtype);
    if (values === undefined) return all;
    const [from, to] = [this.extent(values.from), this.extent(values.to)];
    const most = isFloat(dtype) ? to.hi : to.hi - 1;
    return overlap(all, interval(from.lo, Math.max(from.lo, most)));
  }

  store(op: Op): void {
    const value = this.values.of(op.operands[0]!);
    const name = text(op, "buffer");
    this.stores.set(name, (this.stores.get(name) ?? 0) + 1);
    this.remember(name, value.at, value.wraps, value);
    this.keep(op, value);
  }

  /** Notes that a buffer may hold something. */
  remember(name: string, at: Interval, wraps: Op | null, exactness: Exactness = EXACT): void {
    const { grain, inexact, holds } = exactness;
    const held = this.held.get(name);
    if (held === undefined) {
      this.held.set(name, { at, wraps, grain, inexact, holds });
      this.changes++;
      return;
    }
    let next = hull(held.at, at);
    const both = either(held, exactness);
    const isNew = both.grain !== held.grain || both.inexact !== held.inexact || both.holds !== held.holds;
    if (same(next, held.at) && !isNew && (held.wraps !== null || wraps === null)) return;
    this.changes++;
    if (!this.isPatient) {
      const [lo, hi] = [next.lo < held.at.lo ? -Infinity : next.lo, next.hi > held.at.hi ? Infinity : next.hi];
      const nearest = next.nearest < held.at.nearest ? 0 : next.nearest;
      next = within(interval(lo, hi, nearest), bufferOf(this.kernel, name).dtype);
    }
    const grainThen = !this.isPatient && both.grain < held.grain ? 0 : both.grain;
    this.held.set(name, {
      at: next,
      wraps: held.wraps ?? wraps,
      grain: grainThen,
      inexact: both.inexact,
      holds: both.holds,
    });
  }

  /** Notes what a buffer holds for each index, if one op stores there, under no condition, the indices of its loop. */
  private keep(op: Op, value: Known): void {
    const name = text(op, "buffer");
    const { peer, indices } = memoryOperands(op);
    const numbers = indices.map((v) => this.values.of(v).number);
    const isOwn = peer === null && new Set(numbers).size === numbers.length && !this.stored.has(name);
    const counts = numbers.every((n) => this.values.numbered(n)?.within !== undefined);
    const isAlone = isOwn && counts && this.isStoredOnce(name) && bufferOf(this.kernel, name).dtype === "f32";
    const places = [this.values.rank, ...numbers];
    const isKnown = (n: number): boolean => places.includes(n) || this.values.isFixed(n);
    const { greatest, peak } = isAlone ? value : {};
    const isOfPlace = greatest?.positions.every((p) => typeof p !== "number" || isKnown(p)) === true;
    const isPeak = peak !== undefined && [...peak.left.keys()].every(isKnown);
    this.stored.set(name, (wanted) => {
      // Of one variable in two places, not all pairs are met.
      const isApart = new Set(wanted).size === wanted.length;
      const moved = (n: number): number => (places.includes(n) ? wanted[places.indexOf(n)]! : n);
      const positions = greatest?.positions.map((p) => (typeof p === "number" ? moved(p) : p));
      return {
        ...(isOfPlace ? { greatest: { ...greatest, positions: positions! } } : {}),
        ...(isPeak && isApart
          ? { peak: { ...peak, left: new Map([...peak.left].map(([n, range]) => [moved(n), range])) } }
          : {}),
      };
    });
  }

  /** Whether one op stores to a buffer, and it stands in a loop over elements alone. */
  private isStoredOnce(name: string): boolean {
    let stores = 0;
    let isPlain = true;
    walkKernel(this.kernel, (op, parents) => {
      if (op.name !== "store" || text(op, "buffer") !== name) return;
      stores++;
      isPlain &&= parents.every((p) => p.attributes["map"] === "tiles" || p.attributes["map"] === "rows");
    });
    return stores === 1 && isPlain;
  }

  lengthOf(name: string): Interval {
    const length = this.lengths[name];
    return length === undefined ? interval(0, MOST_INDEX) : interval(...length);
  }

  private extent(e: Extent): Interval {
    if (typeof e === "number") return interval(e, e);
    if (typeof e === "string") return this.lengthOf(e);
    return EXTENTS[e.op](this.extent(e.a), this.extent(e.b));
  }
}

const same = (a: Interval, b: Interval): boolean => a.lo === b.lo && a.hi === b.hi && a.nearest === b.nearest;

/** Of lengths, which are never negative. */
const EXTENTS: Readonly<Record<ExtentOp, (a: Interval, b: Interval) => Interval>> = {
  add: sum,
  sub: (a, b) => sum(a, negative(b)),
  mul: product,
  div: (a, b) => (b.lo < 1 ? UNLIMITED : rising(quotient(a, b, 1), Math.floor)),
  ceildiv: (a, b) => (b.lo < 1 ? UNLIMITED : rising(quotient(a, b, 1), Math.ceil)),
  mod: (a, b) => (b.lo < 1 ? UNLIMITED : interval(0, b.hi - 1)),
  min: least,
  max: greatest,
};
