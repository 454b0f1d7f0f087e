/**
 * derive-sync: puts a barrier wherever an access conflicts with an earlier one that nothing orders yet.
 *
 * Walks the kernel in program order with the set of accesses since the last barrier that covers them.
 * What happened before the launch counts as accesses too: callers wrote the inputs and used the outputs,
 * and the previous launch of this kernel, on any rank, used the scratch. So do the callers after it.
 * Per conflict the cheapest order that is enough: on this rank or all ranks, and between blocks of one number
 * only (`block`) when both accesses give an element to the same block, else between all blocks (`grid`).
 * Loops are walked twice, the second time after their own end.
 */
import { isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js";
import { walk } from "../ir/visit.js";
import { Definitions, rankVarying } from "./support/analysis.js";
import { tilePosition, sameTile, type TilePosition } from "./support/tile-position.js";

interface Access {
  readonly buffer: string;
  readonly writes: boolean;
  readonly remote: boolean;
  /** Outside this launch. */
  readonly external: boolean;
  /** Which element of which tile loop; null when not known. */
  readonly position: TilePosition | null;
  /** Ranks for which a `block` barrier since then orders it before what blocks of the same number do. */
  readonly settled: "none" | "self" | "all";
}

interface LoopResult {
  readonly ops: readonly Op[];
  readonly pending: readonly Access[];
}

interface Need {
  readonly scope: "block" | "grid";
  readonly ranks: "all" | "self";
}

export function deriveSync(kernel: Kernel): Kernel {
  const pass = new SyncDerivation(kernel);
  return { ...kernel, body: pass.run() };
}

class SyncDerivation {
  private readonly definitions: Definitions;
  private readonly varying: ReadonlySet<Value>;
  private pending: Access[] = [];
  private readonly loops = new Map<Op, Map<string, LoopResult>>();

  constructor(private readonly kernel: Kernel) {
    this.definitions = new Definitions(kernel);
    this.varying = rankVarying(kernel);
  }

  run(): Region {
    this.pending = this.external("before");
    const ops = this.sequence(this.kernel.body.ops);
    const last = this.needFor(this.external("after"));
    return { arguments: [], ops: last === null ? ops : [...ops, this.barrier(last, ops.at(-1)!)] };
  }

  /** Accesses of others around the launch. Scratch belongs to the kernel: only its own earlier launches use it. */
  private external(when: "before" | "after"): Access[] {
    return this.kernel.buffers.flatMap((b) => {
      const isScratch = b.role === "scratch";
      if (isScratch && (when === "after" || !b.symmetric)) return [];
      const base = { buffer: b.name, remote: isScratch, external: true, position: null, settled: "none" as const };
      return [true, false].map((writes) => ({ ...base, writes }));
    });
  }

  private sequence(ops: readonly Op[]): Op[] {
    const out: Op[] = [];
    for (const op of ops) {
      if (op.name === "barrier") {
        this.pending = op.attributes["scope"] === "grid" && op.attributes["ranks"] === "all" ? [] : this.pending;
        out.push(op);
      } else if (this.isUniformLoop(op)) out.push(...this.loop(op));
      else if (op.name === "if" && !this.varying.has(op.operands[0]!)) out.push(this.branches(op));
      else {
        const accesses = this.accessesOf(op);
        const need = this.needFor(accesses);
        if (need !== null) {
          out.push(this.barrier(need, op));
          this.settle(need);
        }
        this.pending.push(...accesses);
        out.push(op);
      }
    }
    return out;
  }

  /** A loop that all blocks of all ranks run in step, so that a barrier may stand in it. */
  private isUniformLoop(op: Op): boolean {
    const map = op.attributes["map"];
    return op.name === "for" && (map === "serial" || map === "ranks") && !op.operands.some((v) => this.varying.has(v));
  }

  /** What a loop becomes depends on it and on what is pending: nested loops, walked again and again, are done once. */
  private loop(op: Op): Op[] {
    const key = this.pending
      .map((a) => JSON.stringify(a))
      .sort()
      .join();
    const known = this.loops.get(op) ?? new Map<string, LoopResult>();
    this.loops.set(op, known);
    let result = known.get(key);
    if (result === undefined) {
      const ops = this.deriveLoop(op);
      result = { ops, pending: this.pending };
      known.set(key, result);
    }
    this.pending = [...result.pending];
    return [...result.ops];
  }

  private deriveLoop(op: Op): Op[] {
    const [body] = op.regions;
    const before = [...this.pending];
    this.pending = [];
    // Turns in any order promise not to touch what others write; serial ones are walked twice, to meet their own end.
    const walks = op.attributes["map"] === "ranks" ? [1] : [1, 2];
    const ordersItself = walks.some(() => this.sequence(body!.ops).some(containsBarrier));
    const own = this.pending;
    if (!ordersItself) {
      // Its turns need no order among themselves: what came before is settled once, ahead of the loop.
      this.pending = before;
      const need = this.needFor(own);
      if (need !== null) this.settle(need);
      this.pending = union(this.pending, own);
      return need === null ? [op] : [this.barrier(need, op), op];
    }
    this.pending = union(before, own);
    const ops = this.sequence(body!.ops);
    if (!this.runsAtLeastOnce(op)) this.pending = union(before, this.pending);
    // With a barrier inside, all ranks must take the turns in one order.
    return [{ ...op, attributes: { ...op.attributes, map: "serial" }, regions: [{ arguments: body!.arguments, ops }] }];
  }

  private runsAtLeastOnce(loop: Op): boolean {
    const [lo, hi] = loop.operands.map((v) => this.definitions.constant(v));
    return lo !== undefined && hi !== undefined && lo < hi;
  }

  private branches(op: Op): Op {
    const before = [...this.pending];
    let after: Access[] = [];
    const regions = op.regions.map((region) => {
      this.pending = [...before];
      const ops = this.sequence(region.ops);
      after = union(after, this.pending);
      return { arguments: region.arguments, ops };
    });
    this.pending = after;
    return { ...op, regions };
  }

  private accessesOf(root: Op): Access[] {
    const found: Access[] = [];
    walk({ arguments: [], ops: [root] }, (op, parents) => {
      if (op.name !== "load" && op.name !== "store") return;
      const buffer = text(op, "buffer");
      const { indices } = memoryOperands(op);
      const position = tilePosition(indices, parents, this.definitions);
      found.push({
        buffer,
        writes: op.name === "store",
        remote: isRemote(op),
        external: false,
        position,
        settled: "none",
      });
    });
    return found;
  }

  private needFor(accesses: readonly Access[]): Need | null {
    let need: Need | null = null;
    for (const later of accesses) for (const earlier of this.pending) need = strongest(need, conflict(earlier, later));
    return need;
  }

  private barrier(need: Need, at: Op): Op {
    const ranks = this.kernel.world === 1 ? "all" : need.ranks;
    return {
      name: "barrier",
      operands: [],
      results: [],
      attributes: { scope: need.scope, ranks },
      regions: [],
      span: at.span,
    };
  }

  /** Records what a barrier of this strength orders before everything later. */
  private settle({ scope, ranks }: Need): void {
    if (scope === "grid") {
      this.pending = ranks === "all" ? [] : this.pending.filter((a) => a.remote || a.external);
      return;
    }
    // A word from one block of every rank proves that the launch has begun there; of what blocks of
    // this launch did, it orders only the doings of blocks of the same number.
    this.pending = this.pending
      .filter((a) => !(a.external && ranks === "all"))
      .map((a) => (a.settled === "all" ? a : { ...a, settled: ranks }));
  }
}

/** The order that two accesses need, or null when they cannot conflict or are ordered already. */
function conflict(earlier: Access, later: Access): Need | null {
  if (earlier.buffer !== later.buffer || !(earlier.writes || later.writes)) return null;
  const external = earlier.external || later.external;
  const ranks = earlier.remote || later.remote ? "all" : "self";
  // Before and after the launch one block's word is enough: a peer's stream has reached, or will leave, the kernel.
  // On this rank alone the stream has ordered it.
  if (external) return ranks === "all" ? { scope: "block", ranks } : null;
  if (!sameTile(earlier.position, later.position)) return { scope: "grid", ranks };
  const isSettled = earlier.settled === "all" || earlier.settled === ranks;
  return isSettled ? null : { scope: "block", ranks };
}

function union(a: readonly Access[], b: readonly Access[]): Access[] {
  const byContent = new Map([...a, ...b].map((access) => [JSON.stringify(access), access]));
  return [...byContent.values()];
}

function strongest(a: Need | null, b: Need | null): Need | null {
  if (a === null || b === null) return a ?? b;
  return {
    scope: a.scope === "grid" || b.scope === "grid" ? "grid" : "block",
    ranks: a.ranks === "all" || b.ranks === "all" ? "all" : "self",
  };
}

function containsBarrier(op: Op): boolean {
  return op.name === "barrier" || op.regions.some((r) => r.ops.some(containsBarrier));
}
