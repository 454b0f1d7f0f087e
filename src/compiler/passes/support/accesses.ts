/**
 * What one rank touches in a stretch of code: which buffer, on which rank, which part of it. Loops over ranks, and short
 * constant ones, are gone through iteration by iteration; conditions that this rank can decide are decided.
 */
import { isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js";
import { isNear } from "../../machine/reach.js";
import type { Span } from "../../source.js";
import { areDisjoint, type Interval } from "./forms.js";
import { isSpread, scopesInside } from "./iterations.js";
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
