/**
 * Second verifier, run only on sound structure: synchronisation is reached by everyone it names,
 * bodies spread over threads do not synchronise. Where accesses go is the program's own: proofs judge it, and executors.
 */
import { type Buffer, type Kernel, type Op, type Region, text, type Value } from "./module.js";
import { DTYPES } from "../types/dtype.js";
import { definitionOf, type LoopMap, type OpName, PACKET_BYTES, type PACKET_FORMATS } from "./ops.js";
import { RankPairs } from "./rank-pairs.js";
import { lanesOf } from "./types.js";
import type { Problem } from "./verify-structure.js";

export function verifyMeaning(kernel: Kernel): Problem[] {
  const problems: Problem[] = [];
  const verifier = new MeaningVerifier(kernel, problems);
  verifier.region(kernel.body, OUTSIDE);
  const { barriersInside, wordsInside } = verifier;
  if (barriersInside.size > 0)
    verifyVariance(kernel.body, ["rank", "block", "load"], new Set(), ["barrier"], barriersInside, problems);
  if (wordsInside.size > 0)
    verifyVariance(kernel.body, ["block", "load"], new Set(), ["notify", "await"], wordsInside, problems);
  return problems;
}

/** Ops that all threads of a block carry out together. */
const BLOCK_WIDE = new Set([
  "barrier",
  "notify",
  "await",
  "block_sync",
  "copy_tile",
  "copy_commit",
  "copy_wait",
  "fragment_clear",
  "mma",
  "mma_wait",
  "roles",
  "ring_acquire",
  "ring_fill",
  "ring_wait",
  "ring_release",
  "shard_sent",
  "await_movers",
  "await_copies",
  "tile_sent",
  "await_tile",
  "fragment_store",
  "fragment_put",
  "fragment_add",
  "piece_put",
  "await_pieces",
]);

/** Ops on pieces of tiles, as accumulators of warp groups hold them. */
const OF_CONSUMERS: ReadonlySet<OpName> = new Set<OpName>([
  "fragment_put",
  "fragment_add",
  "piece_put",
  "await_pieces",
]);

/** What the loops around an op mean for it. */
interface Around {
  /** What the outermost loop that spreads its iterations over threads is over; null outside of any. */
  readonly spread: "threads" | "tiles" | "fragment" | null;
  /** Blocks run some loop different numbers of times. */
  readonly isUneven: boolean;
  readonly isOverRanks: boolean;
  /** Which of the roles that proofs see as one thread it belongs to; null for none. */
  readonly role: "producer" | "consumer" | null;
  /** The ops around it, the outermost first. */
  readonly parents: readonly Op[];
}

const OUTSIDE: Around = { spread: null, isUneven: false, isOverRanks: false, role: null, parents: [] };

class MeaningVerifier {
  /** Ops with a barrier somewhere inside, and those with a notify or an await. */
  readonly barriersInside = new Set<Op>();
  readonly wordsInside = new Set<Op>();
  private readonly buffers: ReadonlyMap<string, Buffer>;

  constructor(
    private readonly kernel: Kernel,
    private readonly problems: Problem[],
  ) {
    this.buffers = new Map(kernel.buffers.map((b) => [b.name, b]));
  }

  private report(op: Op, message: string): void {
    this.problems.push({ message: `${op.name}: ${message}`, op });
  }

  region(region: Region, around: Around): void {
    const { role } = around;
    for (let i = 0; i < region.ops.length; i++) {
      const op = region.ops[i]!;
      if (role !== null && waitsInThreads(op) && region.ops[i + 1]?.name !== "block_sync")
        this.report(op, `the ${role}'s threads do not meet after they have waited`);
      if (op.name === "packet_store" || op.name === "packet_load") this.packet(op);
      else if (definitionOf(op.name).effect !== "pure") this.uniformity(op, around);
      if (op.regions.length === 0) continue;
      const inside = insideOf(op, around);
      for (let r = 0; r < op.regions.length; r++)
        this.region(op.regions[r]!, op.name === "roles" ? { ...inside, role: roleOf(r, role) } : inside);
    }
  }

  private packet(op: Op): void {
    const { type } = op.name === "packet_store" ? op.operands[0]! : op.results[0]!;
    const bytes = lanesOf(type) * DTYPES[this.buffers.get(text(op, "even"))!.dtype].bytes;
    const most = PACKET_BYTES[text(op, "format") as (typeof PACKET_FORMATS)[number]];
    if (bytes > most) this.report(op, `has ${bytes} bytes, and a packet holds ${most}`);
  }

  private uniformity(op: Op, around: Around): void {
    const { spread, isUneven, isOverRanks, parents } = around;
    const map = op.name === "for" ? mapOf(op) : null;
    if (spread !== null) {
      if (BLOCK_WIDE.has(op.name)) this.report(op, `stands inside a loop over ${spread}`);
      if (map === "threads" || map === "tiles" || map === "rows" || map === "blocks")
        this.report(op, `a loop over ${map} stands inside one over ${spread}`);
    } else if (op.name === "signal" || op.name === "wait")
      this.report(op, "stands outside a loop over threads, so every thread would carry it out");
    if (op.name === "await_movers" || op.name === "shard_sent") this.moversAwaited(op, parents);
    if (op.name === "tile_sent" || op.name === "await_tile") this.tileSent(op, parents);
    if (OF_CONSUMERS.has(op.name) && around.role !== "consumer") this.report(op, "stands outside of what consumers do");
    const isBarrier = op.name === "barrier";
    if (!isBarrier && op.name !== "notify" && op.name !== "await") return;
    for (const p of parents) (isBarrier ? this.barriersInside : this.wordsInside).add(p);
    if (isUneven || (isBarrier && isOverRanks))
      this.report(op, "stands inside a loop that blocks run different numbers of times");
    if (isBarrier) this.ranks(op);
  }

  private moversAwaited(op: Op, parents: readonly Op[]): void {
    const roles = parents.findLast((p) => p.name === "roles");
    const [, producers, movers] = roles?.regions ?? [];
    const isSent = op.name === "shard_sent";
    const last = movers?.ops.at(-1);
    if (producers === undefined || !stands(isSent ? movers! : producers, op))
      this.report(op, `stands outside of what ${isSent ? "movers do" : "a producer does"}`);
    else if (last?.name !== "barrier" || last.attributes["half"] !== "wait")
      this.report(op, "the movers beside it do not end with the rest of a barrier");
    else if (!isSent && !holdsOp(movers!, "shard_sent")) this.report(op, "the movers never tell what they have sent");
  }

  private tileSent(op: Op, parents: readonly Op[]): void {
    const [consumers, , movers] = parents.findLast((p) => p.name === "roles")?.regions ?? [];
    const isSent = op.name === "tile_sent";
    if (consumers === undefined || !stands(isSent ? movers! : consumers, op))
      this.report(op, `stands outside of what ${isSent ? "movers" : "consumers"} do`);
    else if (!isSent && !holdsOp(movers!, "tile_sent")) this.report(op, "the movers never tell what they have sent");
  }

  private ranks(op: Op): void {
    const { world } = this.kernel;
    const ranks = op.attributes["ranks"] as string;
    const canonical = RankPairs.parse(ranks, world)?.print();
    if (canonical === undefined) this.report(op, `names no pairs of ${world} ranks: '${ranks}'`);
    else if (canonical !== ranks) this.report(op, `writes the pairs '${canonical}' as '${ranks}'`);
  }
}

function stands(region: Region, op: Op): boolean {
  return region.ops.some((o) => o === op || o.regions.some((inner) => stands(inner, op)));
}

function holdsOp(region: Region, name: OpName): boolean {
  return region.ops.some((o) => o.name === name || o.regions.some((inner) => holdsOp(inner, name)));
}

/** The role of a region of `roles`, by its number. @param around of what is around those */
function roleOf(number: number, around: Around["role"]): Around["role"] {
  if (around === "producer" || number === 1) return "producer";
  return number === 0 ? "consumer" : around;
}

/** Each thread of a role does all in order, as far as proofs see; but for waits, that is only so when they meet. */
function waitsInThreads(op: Op): boolean {
  return op.name === "for" && mapOf(op) === "threads" && holdsOp(op.regions[0]!, "wait");
}

function mapOf(loop: Op): LoopMap {
  return loop.attributes["map"] as LoopMap;
}

function insideOf(op: Op, { spread, isUneven, isOverRanks, role, parents }: Around): Around {
  const map = op.name === "for" ? mapOf(op) : null;
  return {
    spread: spread ?? (map === "threads" || map === "tiles" || map === "fragment" ? map : null),
    isUneven: isUneven || map === "blocks" || map === "rows",
    isOverRanks: isOverRanks || map === "ranks",
    role,
    parents: [...parents, op],
  };
}

/**
 * None of `syncs` under a condition, or in a serial loop with bounds, that differ between those who should meet: where
 * values come from one of `sources`.
 * @param holders ops with one of `syncs` inside
 */
function verifyVariance(
  region: Region,
  sources: readonly OpName[],
  varying: Set<Value>,
  syncs: readonly OpName[],
  holders: ReadonlySet<Op>,
  problems: Problem[],
): void {
  for (const op of region.ops) {
    const varies = op.operands.some((v) => varying.has(v));
    if (
      sources.includes(op.name) ||
      (varies && definitionOf(op.name).effect === "pure") ||
      ((op.name === "reduce" || op.name === "contract") && varies)
    )
      for (const r of op.results) varying.add(r);
    for (const inner of op.regions) {
      const isSpread = op.name === "for" && !["serial", "ranks"].includes(op.attributes["map"] as string);
      const isUnordered = op.attributes["map"] === "ranks" && sources.includes("rank");
      if (varies || isSpread || isUnordered) for (const a of inner.arguments) varying.add(a);
      if ((op.name === "if" || op.name === "for") && varies && holders.has(op)) refuse(inner, syncs, problems);
      verifyVariance(inner, sources, varying, syncs, holders, problems);
    }
  }
}

function refuse(region: Region, syncs: readonly OpName[], problems: Problem[]): void {
  for (const op of region.ops) {
    if (syncs.includes(op.name))
      problems.push({ message: `${op.name}: stands where ranks or blocks may differ in reaching it`, op });
    for (const inner of op.regions) refuse(inner, syncs, problems);
  }
}
