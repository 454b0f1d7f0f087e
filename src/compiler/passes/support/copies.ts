/**
 * What loops on rank level copy, where that is all they do: for each rank a list of runs of neighbouring elements, with dimensions as
 * symbols and ranks as numbers. A copy engine takes a run of rows; so a tile loop has one variable, or two of which the last counts
 * neighbours on both sides.
 */
import { foldBinary, foldCompare } from "../../ir/functions.js";
import {
  type Buffer,
  bufferOf,
  isParameter,
  type Kernel,
  memoryOperands,
  type Op,
  text,
  type Value,
} from "../../ir/module.js";
import { type BinaryFunction, type Comparison, definitionOf } from "../../ir/ops.js";
import type { Copy, CopyEnd } from "../../manifest-steps.js";
import { extent, type Extent, type ExtentOp, productOf, sameExtent } from "../../types/extent.js";
import type { Definitions } from "./analysis.js";
import { actingIterations } from "./iterations.js";
import { RankValues } from "./rank-values.js";

/** Ranks for which lists are written out, and the most copies of one rank. */
export const MOST_RANKS = 256;
const MOST_COPIES = 4 * MOST_RANKS;

/** Of each rank, what these ops copy; null where they do something else, or copy what no engine can. */
export function copiesOfRanks(
  ops: readonly Op[],
  kernel: Kernel,
  definitions: Definitions,
): readonly (readonly Copy[])[] | null {
  const lists = copyLists(ops, kernel, definitions, isParameter);
  return lists !== null && lists.some((list) => list.length > 0) ? lists : null;
}

/**
 * The same, where no rank may have anything to copy.
 * @param isCopied whether a buffer is one that may be copied
 */
export function copyLists(
  ops: readonly Op[],
  kernel: Kernel,
  definitions: Definitions,
  isCopied: (buffer: Buffer) => boolean,
): readonly (readonly Copy[])[] | null {
  if (kernel.world > MOST_RANKS) return null;
  const lists: Copy[][] = [];
  const valuesOf = RankValues.ofEach(definitions);
  for (let rank = 0; rank < kernel.world; rank++) {
    const list = copiesOfRank(valuesOf(rank), ops, kernel, definitions, isCopied);
    if (list === null) return null;
    lists.push(list);
  }
  return lists;
}

/** The same of one rank. */
export function copiesOfRank(
  values: RankValues,
  ops: readonly Op[],
  kernel: Kernel,
  definitions: Definitions,
  isCopied: (buffer: Buffer) => boolean,
): Copy[] | null {
  const reader = new CopyReader(kernel, definitions, values, isCopied);
  return reader.read(ops) ? reader.copies : null;
}

/** base + Σ factor · variable of a tile loop. */
interface Linear {
  readonly base: Extent;
  readonly factors: ReadonlyMap<Value, Extent>;
}

const ARITHMETIC: Readonly<Record<string, ExtentOp>> = { div: "div", rem: "mod", min: "min", max: "max" };

class CopyReader {
  readonly copies: Copy[] = [];
  private readonly rank: number;
  /** Counters of loops that are written out. */
  private readonly numbers = new Map<Value, number>();
  /** The tile loop around, its variables the outermost first. */
  private tiles: readonly Value[] = [];
  private loop: Op | null = null;
  private readonly fixed = new Map<Value, Linear | null>();

  constructor(
    private readonly kernel: Kernel,
    private readonly definitions: Definitions,
    /** Of the iterations around. */
    private values: RankValues,
    private readonly isCopied: (buffer: Buffer) => boolean,
  ) {
    this.rank = values.rank;
  }

  /** Whether the ops do nothing but copy; what they copy is then in `copies`. */
  read(ops: readonly Op[]): boolean {
    return ops.every((op) => this.readOne(op));
  }

  private readOne(op: Op): boolean {
    switch (op.name) {
      case "if": {
        const condition = this.number(op.operands[0]!);
        return condition !== null && this.read(op.regions[condition !== 0 ? 0 : 1]!.ops);
      }
      case "for":
        return op.attributes["map"] === "tiles" ? this.readTiles(op) : this.readIterations(op);
      case "store":
        return this.readStore(op);
      case "load":
        return true; // What it gives is looked at where it is stored.
      default:
        return definitionOf(op.name).effect === "pure";
    }
  }

  private readIterations(op: Op): boolean {
    const [lo, hi] = op.operands.map((v) => this.number(v)) as [number | null, number | null];
    if (!["ranks", "serial"].includes(text(op, "map")) || op.operands.length !== 2 || lo === null || hi === null)
      return false;
    if (hi - lo > MOST_COPIES) return false;
    const variable = op.regions[0]!.arguments[0]!;
    const all = Array.from({ length: Math.max(0, hi - lo) }, (_, k) => lo + k);
    const around = this.values;
    for (const iteration of actingIterations(op, around, all)) {
      this.numbers.set(variable, iteration);
      this.values = around.atIteration(op, iteration);
      if (!this.read(op.regions[0]!.ops)) return false;
    }
    this.values = around;
    return true;
  }

  private readTiles(op: Op): boolean {
    if (this.loop !== null || op.operands.length > 4) return false;
    const before = this.copies.length;
    [this.loop, this.tiles] = [op, op.regions[0]!.arguments];
    const isCopying = this.read(op.regions[0]!.ops);
    [this.loop, this.tiles] = [null, []];
    // Copies go on in any order; stores of one iteration have the program's.
    const own = this.copies.slice(before);
    const isApart = own.every((a, i) =>
      own.every((b, k) => i === k || !(isSamePart(a.to, b.from) || isSamePart(a.to, b.to))),
    );
    return isCopying && isApart;
  }

  private readStore(op: Op): boolean {
    const { value } = memoryOperands(op);
    const load = this.definitions.of(value!);
    if (this.loop === null || load?.name !== "load" || this.copies.length >= MOST_COPIES) return false;
    const [from, to] = [this.end(load), this.end(op)];
    if (from === null || to === null) return false;
    // Between two others it would pass through this rank's port in both directions.
    if (from.rank !== this.rank && to.rank !== this.rank) return false;
    const ranges = this.tiles.map((_, k) => {
      const [lo, hi] = [this.constant(this.loop!.operands[2 * k]!), this.constant(this.loop!.operands[2 * k + 1]!)];
      return lo === null || hi === null ? null : { lo, length: extent("max", extent("sub", hi, lo), 0) };
    });
    const start = (at: Placed): Extent =>
      ranges.reduce<Extent>((sum, r, k) => extent("add", sum, extent("mul", at.factors[k]!, r!.lo)), at.base);
    if (ranges.some((r) => r === null)) return false;
    const last = this.tiles.length - 1;
    if (!sameExtent(from.factors[last]!, 1) || !sameExtent(to.factors[last]!, 1)) return false;
    const [rows, length] = last === 0 ? [1, ranges[0]!.length] : [ranges[0]!.length, ranges[1]!.length];
    const end = (at: Placed): CopyEnd => {
      const { tensor, rank } = at;
      return { tensor, rank, offset: start(at), pitch: last === 0 ? length : at.factors[0]! };
    };
    const [source, target] = [end(from), end(to)];
    if (!isSamePart(source, target)) {
      this.copies.push({ rows, length, from: source, to: target });
      return true;
    }
    // A copy to where it comes from does nothing; others within one tensor may overlap.
    return sameExtent(source.offset, target.offset) && sameExtent(source.pitch, target.pitch);
  }

  /** Where an access is, as a function of the tile loop's variables. */
  private end(op: Op): Placed | null {
    const { peer, indices } = memoryOperands(op);
    const buffer = bufferOf(this.kernel, text(op, "buffer"));
    const rank = peer === null ? this.rank : this.number(peer);
    if (!this.isCopied(buffer) || rank === null || rank < 0 || rank >= this.kernel.world) return null;
    let base: Extent = 0;
    const factors: Extent[] = this.tiles.map(() => 0);
    for (const [d, index] of indices.entries()) {
      const linear = this.linear(index);
      if (linear === null) return null;
      const step = productOf(buffer.shape.slice(d + 1));
      base = extent("add", base, extent("mul", linear.base, step));
      this.tiles.forEach((v, k) => {
        const factor = linear.factors.get(v);
        if (factor !== undefined) factors[k] = extent("add", factors[k]!, extent("mul", factor, step));
      });
    }
    return { tensor: buffer.name, rank, base, factors };
  }

  private number(v: Value): number | null {
    const value = this.constant(v);
    return typeof value === "number" ? value : null;
  }

  /** The value, where it is the same for all elements of the tile loop. */
  private constant(v: Value): Extent | null {
    const linear = this.linear(v);
    return linear === null || linear.factors.size > 0 ? null : linear.base;
  }

  /** What depends on no loop is the same wherever it stands. */
  private linear(v: Value): Linear | null {
    if (this.definitions.argumentsOf(v).length > 0) return this.computed(v);
    let known = this.fixed.get(v);
    if (known === undefined) this.fixed.set(v, (known = this.computed(v)));
    return known;
  }

  private computed(v: Value): Linear | null {
    const number = this.numbers.get(v);
    if (number !== undefined) return { base: number, factors: new Map() };
    if (this.tiles.includes(v)) return { base: 0, factors: new Map([[v, 1]]) };
    const op = this.definitions.of(v);
    const only = (base: Extent | null): Linear | null => (base === null ? null : { base, factors: new Map() });
    switch (op?.name) {
      case "const":
        return only(op.attributes["value"] as number);
      case "dim":
        return only(text(op, "name"));
      case "rank":
        return only(this.rank);
      case "binary":
        return this.binary(op);
      case "compare": {
        const [a, b] = op.operands.map((o) => this.number(o)) as [number | null, number | null];
        return a === null || b === null ? null : only(Number(foldCompare(op.attributes["fn"] as Comparison, a, b)));
      }
      case "select": {
        const condition = this.number(op.operands[0]!);
        return condition === null ? null : this.linear(op.operands[condition !== 0 ? 1 : 2]!);
      }
      case "unary": {
        const a = op.attributes["fn"] === "not" ? this.number(op.operands[0]!) : null;
        return a === null ? null : only(1 - a);
      }
      default:
        return null;
    }
  }

  private binary(op: Op): Linear | null {
    const fn = text(op, "fn");
    const [a, b] = op.operands.map((o) => this.linear(o)) as [Linear | null, Linear | null];
    if (a === null || b === null) return null;
    if (fn === "add" || fn === "sub") {
      const factors = new Map(a.factors);
      for (const [v, f] of b.factors) factors.set(v, extent(fn, factors.get(v) ?? 0, f));
      return { base: extent(fn, a.base, b.base), factors };
    }
    const isFixed = a.factors.size === 0 && b.factors.size === 0;
    if (fn === "mul" && (a.factors.size === 0 || b.factors.size === 0)) {
      const [fixed, other] = a.factors.size === 0 ? [a, b] : [b, a];
      const factors = new Map([...other.factors].map(([v, f]) => [v, extent("mul", f, fixed.base)]));
      return { base: extent("mul", a.base, b.base), factors };
    }
    if (isFixed && typeof a.base === "number" && typeof b.base === "number") {
      const folded = foldBinary(fn as BinaryFunction, a.base, b.base);
      return folded === undefined ? null : { base: folded, factors: new Map() };
    }
    const known = ARITHMETIC[fn];
    return isFixed && known !== undefined ? { base: extent(known, a.base, b.base), factors: new Map() } : null;
  }
}

/** Whether two ends are of what one rank holds of one tensor. */
function isSamePart(a: CopyEnd, b: CopyEnd): boolean {
  return a.tensor === b.tensor && a.rank === b.rank;
}

interface Placed {
  readonly tensor: string;
  readonly rank: number;
  readonly base: Extent;
  /** Of each of the loop's variables. */
  readonly factors: readonly Extent[];
}
