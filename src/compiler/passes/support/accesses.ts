/**
 * What one rank touches in a stretch of code: which buffer, on which rank, which part of it. Loops over ranks, and short
 * constant ones, are gone through iteration by iteration; conditions that this rank can decide are decided.
 */
import { isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { isNear } from "../../machine/reach.js";
import type { Span } from "../../source.js";
import { areDisjoint, type Interval } from "./forms.js";
import type { RankValues } from "./rank-values.js";
import { positionIn } from "./tile-position.js";

/** An interval for each dimension; null for the whole buffer. */
export type Part = readonly Interval[] | null;

export interface Access {
  /** Rank that carries it out, and rank whose memory it touches. */
  readonly rank: number;
  readonly owner: number;
  readonly buffer: string;
  readonly part: Part;
  readonly writes: boolean;
  /** Equal positions of overlapping parts: each element falls to blocks of one number. Null if that is not known. */
  readonly position: string | null;
  /** Where the program says so; null for what callers do around a launch. For messages. */
  readonly span: Span | null;
  /** It happened in the launch before. */
  readonly isEarlier?: boolean;
  /** Names buffer and owner. */
  readonly place: string;
  /** Names all of the above: accesses of one key differ in time only. */
  readonly key: string;
}

export function accessOf(fields: Omit<Access, "key" | "place">): Access {
  const part = fields.part?.map(({ lo, hi }) => `${lo?.key ?? "?"}..${hi?.key ?? "?"}`).join(";") ?? "whole";
  const { buffer, rank, owner, writes, position } = fields;
  const place = `${buffer}@${owner}`;
  return { ...fields, place, key: `${place} ${writes ? "w" : "r"} by ${rank} ${part} ${position ?? ""}` };
}

/** Whether two accesses to one buffer of one rank may touch an element that one of them writes. */
export function mayConflict(a: Access, b: Access): boolean {
  if (!(a.writes || b.writes)) return false;
  if (a.part === null || b.part === null || a.part.length !== b.part.length) return true;
  return !a.part.some((interval, d) => areDisjoint(interval, b.part![d]!));
}

/** Whether iterations of a loop are spread over blocks and threads. */
export function isSpread(op: Op): boolean {
  return op.attributes["map"] === "tiles" || op.attributes["map"] === "rows";
}

/** Most iterations of a constant loop that are looked at one by one, but for one for each rank; longer ones are taken as a whole. */
const MOST_ITERATIONS = 64;

/** Numbers that the variable of a one-dimensional loop or fold takes, in order; null if there are many or it is not known. */
export function iterationsOf(
  op: Op,
  values: RankValues,
  most = Math.max(MOST_ITERATIONS, values.world),
): number[] | null {
  if (op.operands.length !== 2) return null;
  const [lo, hi] = op.operands.map((v) => values.number(v));
  if (lo == null || hi == null || hi - lo > most) return null;
  return Array.from({ length: Math.max(0, hi - lo) }, (_, k) => lo + k);
}

/**
 * The body of a loop or fold as a rank comes to it: a scope for each iteration, where iterations are known and few, else one for any of them.
 * Iterations in which nothing is done are left out where an equality decides: of a loop that looks for a peer, all but one.
 */
export function* scopesInside(op: Op, values: RankValues): Iterable<RankValues> {
  const iterations = isSpread(op) ? null : iterationsOf(op, values);
  if (iterations === null) {
    const inside = values.insideLoop(op);
    if (inside !== null) yield inside;
    return;
  }
  const equality = iterations.length > 1 ? equalityOf(op) : null;
  const acting = equality === null ? iterations : values.whereEqual(op, equality, iterations);
  for (const iteration of acting) yield values.atIteration(op, iteration);
}

const knownEqualities = new WeakMap<Op, readonly [Value, Value] | null>();

/** Two values without whose equality an iteration of a loop does nothing; null if the loop is none of that kind. */
export function equalityOf(loop: Op): readonly [Value, Value] | null {
  let known = knownEqualities.get(loop);
  if (known === undefined) knownEqualities.set(loop, (known = findEquality(loop)));
  return known;
}

function findEquality({ name, regions }: Op): readonly [Value, Value] | null {
  const { ops } = regions[0]!;
  const [only, ...others] = ops.filter((op) => definitionOf(op.name).effect !== "pure");
  if (name !== "for" || only?.name !== "if" || others.length > 0 || only.regions[1]!.ops.length > 0) return null;
  const condition = ops.find((op) => op.results[0] === only.operands[0]);
  if (condition?.name !== "compare" || condition.attributes["fn"] !== "eq") return null;
  const [a, b] = condition.operands as [Value, Value];
  return [a, b];
}

export class AccessCollector {
  private found = new Map<string, Access>();

  constructor(private readonly kernel: Pick<Kernel, "world" | "ranksPerDomain">) {}

  /** Accesses of `op` by the rank of `values`, each once. */
  of(op: Op, values: RankValues): readonly Access[] {
    return values.once(op, () => {
      this.found = new Map();
      this.visit(op, values, null);
      return [...this.found.values()];
    });
  }

  private region(region: Region, values: RankValues, tiles: Op | null): void {
    for (const op of region.ops) this.visit(op, values, tiles);
  }

  private visit(op: Op, values: RankValues, tiles: Op | null): void {
    switch (op.name) {
      case "load":
      case "store":
        return this.access(op, values, tiles);
      case "if": {
        const condition = values.number(op.operands[0]!);
        op.regions.forEach((r, i) => {
          if (condition === null || (condition !== 0) === (i === 0)) this.region(r, values, tiles);
        });
        return;
      }
      case "message":
        return this.region(op.regions[0]!, values, null);
      case "reduce":
      case "contract":
      case "for": {
        const [body] = op.regions as [Region];
        for (const inside of scopesInside(op, values)) this.region(body, inside, isSpread(op) ? (tiles ?? op) : tiles);
      }
    }
  }

  private access(op: Op, values: RankValues, tiles: Op | null): void {
    const { peer, indices } = memoryOperands(op);
    const position = tiles === null ? null : positionIn(tiles, indices, values);
    const part = this.partOf(indices, values);
    for (const owner of this.ownersOf(isRemote(op) ? peer : null, values)) {
      const access = accessOf({
        rank: values.rank,
        owner,
        buffer: text(op, "buffer"),
        part,
        writes: op.name === "store",
        position,
        span: op.span,
      });
      this.found.set(access.key, access);
    }
  }

  private partOf(indices: readonly Value[], values: RankValues): Part {
    const intervals = indices.map((v) => values.interval(v));
    return intervals.every(({ lo, hi }) => lo === null && hi === null) ? null : intervals;
  }

  /** Ranks whose memory may be meant: the one that the peer is, or all that share addresses. */
  private ownersOf(peer: Value | null, values: RankValues): number[] {
    const { world, ranksPerDomain = world } = this.kernel;
    if (peer === null) return [values.rank];
    const known = values.number(peer);
    if (known !== null) return known >= 0 && known < world ? [known] : [];
    const all = Array.from({ length: world }, (_, r) => r);
    return all.filter((r) => isNear(r, values.rank, { ranksPerDomain }));
  }
}
