/**
 * What walks over one kernel share: its values as each rank computes them, what ranks touch, and its domains. Ranks of two domains
 * touch nothing of each other's but in messages, which are written in the stream of the rank that receives them. So no order between
 * domains is needed but the messages', and each domain is followed by itself.
 */
import { isParameter, type Kernel, type Op, type Value } from "../../ir/module.js";
import { RankPairs } from "../../ir/rank-pairs.js";
import { walkKernel } from "../../ir/visit.js";
import { domainOf, ranksOfDomain, type Reach } from "../../machine/reach.js";
import { type Access, AccessCollector, accessOf } from "./accesses.js";
import { Definitions } from "./analysis.js";
import type { Sync } from "./order.js";
import { RankValues } from "./rank-values.js";

/** Ranks that share addresses. */
export interface SyncDomain {
  readonly number: number;
  readonly ranks: readonly number[];
  /** Around a launch the caller of each rank does with that rank's tensors what it likes. */
  readonly callers: readonly Access[];
  /** Of each rank, in launches of even number and in those of odd number. */
  readonly values: readonly (readonly RankValues[])[];
}

/** Whether iterations of a loop need order, or what is in them, and how many accesses were looked at to find out. */
interface LoopNeeds {
  readonly needs: boolean;
  readonly looks: number;
}

export class SyncKernel {
  readonly definitions: Definitions;
  readonly varying: ReadonlySet<Value>;
  readonly collector: AccessCollector;
  /** Buffers of packets, which launches have two copies of. */
  readonly packets: ReadonlySet<string>;
  /** Launches after which the kernel does the same again, scratch in two copies aside. */
  readonly period: number;
  readonly domains: number;
  /** What lies between two kernels of each rank. */
  readonly onStream: Sync;
  /** Loops whose iterations need order among themselves. */
  readonly ordered = new Set<Op>();
  /** The iterations of loops that were followed one by one. */
  readonly iterations = new Map<Op, Set<number>>();
  /** Accesses that the walks over the kernel have looked at. */
  looks = 0;
  private readonly parities: Value[] = [];
  private readonly reach: Reach;
  /** What an access is called in launches that have the other copy of its buffer. */
  private readonly others = new Map<Access, Access>();
  /** What was found of loops in a scope of the first rank that was followed through them. */
  private readonly loops = new WeakMap<RankValues, Map<Op, LoopNeeds>>();
  /** What messages touch, by launch's parity and by domain. */
  private readonly messages = new Map<Op, (readonly (readonly Access[])[])[]>();

  constructor(readonly kernel: Kernel) {
    this.definitions = new Definitions(kernel);
    this.varying = this.definitions.varying;
    this.collector = new AccessCollector(kernel);
    walkKernel(kernel, (op) => void (op.name === "launch_parity" && this.parities.push(...op.results)));
    this.packets = new Set(
      kernel.buffers.filter((b) => b.role === "packet").flatMap((b) => [b.name, otherName(b.name)]),
    );
    this.period = this.parities.length > 0 || this.packets.size > 0 ? 2 : 1;
    this.onStream = { pairs: RankPairs.self(kernel.world), isGrid: true };
    const { world, ranksPerDomain = world } = kernel;
    this.reach = { ranksPerDomain };
    this.domains = Math.ceil(world / ranksPerDomain);
  }

  /** What walks over a domain keep, which is much: whoever needs it once lets go of it. */
  domain(number: number): SyncDomain {
    const ranks = ranksOfDomain(number, this.kernel.world, this.reach);
    const callers = this.kernel.buffers
      .filter(isParameter)
      .flatMap(({ name: buffer }) =>
        ranks.map((rank) =>
          accessOf({ rank, owner: rank, buffer, part: null, writes: true, position: null, span: null }),
        ),
      );
    const values = [0, 1].map((parity) => ranks.map(this.valuesOfEach(parity)));
    return { number, ranks, callers, values };
  }

  private valuesOfEach(parity: number): (rank: number) => RankValues {
    return RankValues.ofEach(this.definitions, new Map(this.parities.map((v) => [v, parity])));
  }

  /** What a message touches of a domain's memory, whoever sends it: what arrives is written by the rank that it arrives at. */
  messageAccesses(op: Op, launch: number, domain: SyncDomain): readonly Access[] {
    const parity = launch % this.period;
    const known = this.messages.get(op) ?? [];
    this.messages.set(op, known);
    return (known[parity] ??= this.byDomain(op, parity))[domain.number]!;
  }

  private byDomain(op: Op, parity: number): readonly (readonly Access[])[] {
    const found: Access[][] = Array.from({ length: this.domains }, () => []);
    const valuesOf = this.valuesOfEach(parity);
    for (let rank = 0; rank < this.kernel.world; rank++)
      for (const access of this.collector.of(op, valuesOf(rank))) {
        const own = access.writes ? accessOf({ ...access, rank: access.owner }) : access;
        found[domainOf(own.rank, this.reach)]!.push(own);
      }
    return found;
  }

  /** What was found of loops whose ranks have such values, the first of them these. */
  loopsIn(first: RankValues): Map<Op, LoopNeeds> {
    const known = this.loops.get(first) ?? new Map<Op, LoopNeeds>();
    this.loops.set(first, known);
    return known;
  }

  otherCopy(access: Access): Access {
    let other = this.others.get(access);
    if (other === undefined)
      this.others.set(access, (other = accessOf({ ...access, buffer: otherName(access.buffer) })));
    return other;
  }

  /** A loop that all blocks of all ranks run in step, so that they may synchronise in it. */
  isUniformLoop(op: Op): boolean {
    const map = op.attributes["map"];
    return op.name === "for" && (map === "serial" || map === "ranks") && !op.operands.some((v) => this.varying.has(v));
  }

  isUniformIf(op: Op): boolean {
    return op.name === "if" && !this.varying.has(op.operands[0]!);
  }
}

/** The other copy of a buffer that successive launches have two copies of. */
export function otherName(buffer: string): string {
  return `${buffer}'`;
}
