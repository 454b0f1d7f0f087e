/** Numbers that decide what is counted: how often a region runs, with which values of its loop's variables, and what follows from those. */
import { BINARY, COMPARE } from "../ir/functions.js";
import type { Op, Value } from "../ir/module.js";
import { scalarOf } from "../ir/types.js";
import type { DimValues } from "../types/extent.js";
import { Unwinding } from "../unwinding.js";

/** What is known of a value: a number, that it depends on a loop that was taken as a whole, or on data. */
export type Known = number | "loop" | "data";

/** Thrown inside a loop that was taken as a whole where its variable decides something; it is then gone through. */
export class NeedsIterations extends Unwinding {}

/** How many iterations are looked at one by one at most; of more, `picked` are picked evenly, and each stands for its neighbours. */
export interface Picking {
  readonly most: number;
  readonly picked: number;
  /** Iterations after which the same is often done again, as one rank is sent something: each place among so many is picked as often. */
  readonly period: number;
}

/** Worlds of which each rank has its share of a few iterations. */
const SMALL_WORLD = 8;
const FEW = 8;

/** Where lengths are compared. */
export function fewIterations(world: number): Picking {
  if (world > SMALL_WORLD) return { most: 2 * FEW, picked: FEW, period: 1 };
  const picked = Math.ceil(FEW / world) * world;
  return { most: Math.max(2 * FEW, picked * world), picked, period: world };
}

/** Where what moves is told. */
export function manyIterations(world: number): Picking {
  return { most: Math.max(512, world), picked: Math.ceil(128 / world) * world, period: world };
}

/** The most ranks that one loop goes through with rows of each. */
const MOST_TURNS = 16;

/**
 * How iterations are picked of a loop that goes through rows and ranks together, iteration c · row + q for the q-th of c ranks: each q as often; of other
 * loops, as they are picked of all.
 */
export function inTurns<V>(
  { arguments: [variable], ops }: { readonly arguments: readonly V[]; readonly ops: readonly OpOf<V>[] },
  picking: Picking,
  valueOf: (v: V) => Known,
): Picking {
  const row = ops.find(({ attributes, operands }) => attributes["fn"] === "div" && operands[0] === variable);
  const turns = row === undefined ? "data" : valueOf(row.operands[1]!);
  if (typeof turns !== "number" || turns < 2 || turns > MOST_TURNS) return picking;
  const picked = Math.ceil(picking.picked / turns) * turns;
  return { most: Math.max(picking.most, picked * turns), picked, period: turns };
}

/** How a loop is gone through. */
export interface Iterating {
  /** How often all blocks and threads together do each iteration, and how many there are. */
  readonly each: number;
  readonly total: number;
  /** Iterations of the busiest thread. */
  readonly path: number;
  readonly isOrdered: boolean;
  readonly isOfBlocks: boolean;
}

/** Multiples of it lie as evenly between whole numbers as any do. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

export interface Iteration {
  readonly values: readonly number[];
  /** How many iterations it stands for. */
  readonly weight: number;
}

/**
 * The iterations of a loop over ranges of several variables, the last one fastest.
 * @param mayPick false if each iteration has to be looked at.
 */
export function iterationsOf(
  ranges: readonly (readonly [lo: number, hi: number])[],
  mayPick: boolean,
  { most, picked, period }: Picking,
): Iteration[] {
  const lengths = ranges.map(([lo, hi]) => Math.max(0, hi - lo));
  const total = lengths.reduce((a, b) => a * b, 1);
  const isPicked = mayPick && total > most;
  const count = isPicked ? picked : total;
  const last = lengths.at(-1) ?? 1;
  const weight = total / count;
  const pick = (place: number): Iteration => ({ values: valuesAt(ranges, lengths, place), weight });
  if (!isPicked) return Array.from({ length: count }, (_, i) => pick(i));
  // Of several variables, evenly in all but the last, and in the last: what one part after the other of it does is picked as often as it is done.
  if (last > 1 && total > last)
    return Array.from({ length: count }, (_, i) => {
      const outer = Math.floor(((i + 0.5) * total) / last / count);
      const inner = Math.floor((((i + 0.5) * GOLDEN) % 1) * last);
      return pick(outer * last + inner);
    });
  // One of each of equally many parts, not at the same place of each: what is done again after so many iterations would be picked always, or never.
  return Array.from({ length: count }, (_, i) => {
    const start = Math.ceil((i * total) / count);
    const part = Math.ceil(((i + 1) * total) / count) - start;
    const place = Math.floor((((i + 0.5) * GOLDEN) % 1) * part);
    const aligned = part < period ? place : place - ((start + place - i) % period);
    return pick(start + (aligned < 0 ? aligned + period : aligned));
  });
}

/** The variables of an iteration, by its number. */
function valuesAt(ranges: readonly (readonly [number, number])[], lengths: readonly number[], place: number): number[] {
  const values = new Array<number>(ranges.length);
  let rest = place;
  for (let d = ranges.length - 1; d >= 0; d--) {
    values[d] = ranges[d]![0] + (rest % lengths[d]!);
    rest = Math.floor(rest / lengths[d]!);
  }
  return values;
}

/** Where what is known of values is kept: a map, or a list of numbered ones. */
export interface KnownStore<V> {
  get(v: V): Known | undefined;
  set(v: V, known: Known): unknown;
}

/** An op, with values or with numbers that stand for them. */
interface OpOf<V> extends Pick<Op, "name" | "attributes"> {
  readonly operands: readonly V[];
  readonly results: readonly V[];
}

/** What is known of the values of a kernel on one rank, while its ops are gone through in order. What nothing is known of is data. */
export class KnownValues<V = Value> {
  /** @param grid blocks of the launch, whose first one is meant */
  constructor(
    private readonly rank: number,
    private readonly dims: DimValues,
    private readonly grid: number,
    private readonly known: KnownStore<V> = new Map<V, Known>(),
  ) {}

  of(v: V): Known {
    return this.known.get(v) ?? "data";
  }

  set(v: V, known: Known): void {
    this.known.set(v, known);
  }

  /** A number that decides what is counted; null if only the data knows. @throws NeedsIterations */
  deciding(v: V): number | null {
    const known = this.of(v);
    if (known === "loop") throw new NeedsIterations();
    return known === "data" ? null : known;
  }

  /** Enters what an op gives that is pure, and that is no arithmetic on elements. */
  enter(op: OpOf<V>): void {
    const result = op.results[0]!;
    switch (op.name) {
      case "const":
        return this.set(result, op.attributes["value"] as number);
      case "dim":
        return this.set(result, this.dims[op.attributes["name"] as string]!);
      case "rank":
        return this.set(result, this.rank);
      case "grid":
        return this.set(result, this.grid);
      case "aligned":
        return this.set(result, 1);
      // Every second launch uses the other copy of scratch memory, and moves as much.
      case "launch_parity":
      case "block":
        return this.set(result, 0);
      case "binary":
      case "compare":
        return this.set(result, this.folded(op));
      case "select": {
        const condition = this.of(op.operands[0]!);
        if (typeof condition !== "number") return this.set(result, condition);
        return this.set(result, this.of(op.operands[condition !== 0 ? 1 : 2]!));
      }
    }
  }

  private folded(op: OpOf<V>): Known {
    const fold = foldOf(op.name, op.attributes);
    return this.applied(fold, op.operands[0]!, op.operands[1]!);
  }

  /** Enters what a function of two values gives. */
  fold(result: V, fold: Fold, a: V, b: V): void {
    this.known.set(result, this.applied(fold, a, b));
  }

  private applied(fold: Fold, first: V, second: V): Known {
    const [a, b] = [this.of(first), this.of(second)];
    if (a === "data" || b === "data") return "data";
    if (a === "loop" || b === "loop") return "loop";
    return fold(a, b) ?? "data";
  }
}

/** A function of two numbers; undefined where it has no value. */
export type Fold = (a: number, b: number) => number | undefined;

/** What a `binary` or a `compare` does with numbers. */
export function foldOf(name: string, attributes: Op["attributes"]): Fold {
  const fn = attributes["fn"] as never;
  if (name !== "compare") return (BINARY[fn] as (typeof BINARY)["add"]).fold;
  const { holds } = COMPARE[fn] as (typeof COMPARE)["eq"];
  return (a, b) => (holds(a, b) ? 1 : 0);
}

/** Whether an operation on two values is one on numbers that decide what is counted, and not one on elements. */
export function isOfIndices(op: Op): boolean {
  const kind = scalarOf(op.operands[0]!.type);
  return kind === "index" || kind === "bool";
}
