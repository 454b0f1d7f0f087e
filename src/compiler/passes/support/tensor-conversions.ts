/**
 * Changes of layout, by the pair of layouts alone:
 *   partial → sharded     a product: each element goes to its owner's stage [rank, …], the owner folds the stages
 *                         in reach: the owner reads its slice from every peer
 *   partial → replicated  one_shot: every reader folds all peers' copies; two_shot: each rank folds a part and gives it to all
 *   partial → on          the one rank folds all peers' copies
 *   sharded → replicated  every rank gives its shard to all
 *   sharded → on          likewise to the one rank, if it is stored as it is; else the one rank reads all shards
 *   sharded(a) → sharded(b)    each element is read from the rank that holds it
 *   on → replicated, sharded   read from that rank;   replicated → sharded   the local slice
 */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import type { Kernel, Value } from "../../ir/module.js";
import { scalar, scalarOf } from "../../ir/types.js";
import { extent, type Extent } from "../../types/extent.js";
import { type Layout, printLayout, type ReductionOp } from "../../types/layout.js";
import type { ElementBuilder } from "./element-builder.js";
import type { TensorMemory } from "./tensor-memory.js";
import { computeKind, type Index, type LocalTensor, type Partition, readsOf } from "./tensor-values.js";

export class TensorConversions {
  private readonly world: number;

  constructor(
    kernel: Kernel,
    private readonly at: ElementBuilder,
    private readonly memory: TensorMemory,
    /** Which part of a replicated tensor of that shape a rank had better compute, where it is two_shot. */
    private readonly partitionOf: (shape: readonly Extent[]) => Partition,
  ) {
    this.world = kernel.world;
  }

  /**
   * @param shape what a rank holds of the result
   * @param isTwoShot each rank is to compute a part and give it to all
   * @param isStored nothing is computed from the result
   */
  convert(
    source: LocalTensor,
    to: Layout,
    shape: readonly Extent[],
    isTwoShot: boolean,
    isStored: boolean,
  ): LocalTensor {
    const from = source.layout;
    switch (from.kind) {
      case "replicated":
        return this.fromReplicated(source, to, shape);
      case "partial":
        return this.fromPartial(source, from.op, to, shape, isTwoShot);
      case "on":
        return this.fromOne(source, from.rank, to, shape, isTwoShot);
      case "sharded":
        return this.fromSharded(source, from.dim, to, shape, isStored);
      default:
        return this.refuse(from, to);
    }
  }

  private refuse(from: Layout, to: Layout): never {
    throw new InternalCompilerError(`no way from ${printLayout(from)} to ${printLayout(to)}`);
  }

  private result(
    source: LocalTensor,
    layout: Layout,
    shape: readonly Extent[],
    fields: Partial<LocalTensor>,
  ): LocalTensor {
    return this.memory.computed({
      ...source,
      layout,
      shape,
      buffer: null,
      isReachable: false,
      isExact: false,
      isConverted: true,
      isCostly: true,
      reads: readsOf([source], "anywhere"),
      owned: null,
      spread: null,
      ...fields,
    });
  }

  private shifted(index: Index, dim: number, length: Extent): Index {
    const { at } = this;
    return at.replaced(index, dim, (v) => at.index("add", v, at.index("mul", at.rank(), at.extent(length))));
  }

  private foldRanks(op: ReductionOp, element: (peer: Value) => Value): Value {
    const { at } = this;
    const folded = at.reduce(op === "avg" ? "sum" : op, this.world, true, element);
    if (op !== "avg") return folded;
    return at.build.binary("div", folded, at.build.constant(this.world, scalar(scalarOf(folded.type))));
  }

  private fromReplicated(source: LocalTensor, to: Layout, shape: readonly Extent[]): LocalTensor {
    if (to.kind !== "sharded") return { ...this.memory.everywhere(source), layout: to, shape };
    const { dim } = to;
    const { owned } = source;
    const isOwn = owned?.kind === "slices" && owned.dim === dim && owned.isExact;
    // What each rank computes is its own slice: nothing has to be given to others.
    const held = owned === null || isOwn ? source : this.memory.everywhere(source);
    return this.result(held, to, shape, {
      element: (i, p) => held.element(this.shifted(i, dim, shape[dim]!), p),
      isCostly: held.isCostly,
      isExact: held.isExact,
      reads: readsOf([held], "anywhere"),
    });
  }

  private fromPartial(
    source: LocalTensor,
    op: ReductionOp,
    to: Layout,
    shape: readonly Extent[],
    isTwoShot: boolean,
  ): LocalTensor {
    if (to.kind === "sharded") {
      const { dim } = to;
      if (!source.isReachable) return this.throughStages(source, op, to, shape, dim, shape[dim]!, null);
      return this.result(source, to, shape, {
        element: (i) => this.foldRanks(op, (p) => source.element(this.shifted(i, dim, shape[dim]!), p)),
      });
    }
    if (isTwoShot && !source.isReachable) {
      const length = extent("ceildiv", shape[0]!, this.world);
      const owned: Partition = { kind: "slices", dim: 0, length, isExact: false };
      return this.throughStages(source, op, to, shape, 0, length, owned);
    }
    const held = this.memory.withinReach(source);
    const spread = isTwoShot && to.kind === "replicated" ? this.partitionOf(shape) : null;
    return this.result(source, to, shape, {
      element: (i) => this.foldRanks(op, (p) => held.element(i, p)),
      reads: readsOf([held], "ranks"),
      products: new Set(),
      spread,
    });
  }

  /**
   * Each rank writes every element of its summand to the stage of the rank that owns it, which folds them.
   * @param length indices of dimension `dim` that each rank owns @param owned the same of a replicated result
   */
  private throughStages(
    source: LocalTensor,
    op: ReductionOp,
    to: Layout,
    shape: readonly Extent[],
    dim: number,
    length: Extent,
    owned: Partition | null,
  ): LocalTensor {
    const { at, memory, world } = this;
    const { build } = at;
    if (source.dtype === "bool") return this.refuse(source.layout, to);
    const { dtype } = source;
    const stage = memory.scratch("stage", dtype, [world, ...shape.with(dim, length)]);
    at.tiles(source.shape, (i) => {
      const value = build.cast(source.element(i), dtype);
      const each = at.extent(length);
      const owner = at.index("div", i[dim]!, each);
      const there = at.replaced(i, dim, (v) => at.index("rem", v, each));
      build.store(stage, value, [at.rank(), ...there], owner);
    });
    const kind = computeKind(dtype);
    const start = (): Value => at.index("mul", at.rank(), at.extent(length));
    const place = (i: Index): Index => (owned === null ? i : at.replaced(i, dim, (v) => at.index("sub", v, start())));
    return this.result(source, to, shape, {
      element: (i) => this.foldRanks(op, (p) => build.cast(build.load(stage, [p, ...place(i)], scalar(dtype)), kind)),
      reads: new Map([[stage, "anywhere"]]),
      products: new Set(),
      owned,
    });
  }

  private fromOne(
    source: LocalTensor,
    rank: number,
    to: Layout,
    shape: readonly Extent[],
    isTwoShot: boolean,
  ): LocalTensor {
    const held = this.memory.withinReach(source);
    const root = (): Value => this.at.constant(rank);
    const reads = readsOf([held], to.kind === "sharded" ? "anywhere" : "ranks");
    const exact = { isExact: held.isExact, reads, products: new Set<object>() };
    if (to.kind === "sharded")
      return this.result(source, to, shape, {
        ...exact,
        element: (i) => held.element(this.shifted(i, to.dim, shape[to.dim]!), root()),
      });
    return this.result(source, to, shape, {
      ...exact,
      element: (i) => held.element(i, root()),
      spread: isTwoShot && to.kind === "replicated" ? this.partitionOf(shape) : null,
    });
  }

  private fromSharded(
    source: LocalTensor,
    dim: number,
    to: Layout,
    shape: readonly Extent[],
    isStored: boolean,
  ): LocalTensor {
    const { at } = this;
    const length = source.shape[dim]!;
    if (to.kind === "replicated" || (to.kind === "on" && isStored)) {
      const start = (): Value => at.index("mul", at.rank(), at.extent(length));
      return this.result(source, to, shape, {
        element: (i) => source.element(at.replaced(i, dim, (v) => at.index("sub", v, start()))),
        isExact: source.isExact,
        isCostly: source.isCostly,
        owned: { kind: "slices", dim, length, isExact: true },
      });
    }
    const held = this.memory.withinReach(source);
    return this.result(source, to, shape, {
      element: (i) => {
        const whole = to.kind === "sharded" ? this.shifted(i, to.dim, shape[to.dim]!) : i;
        const each = at.extent(length);
        const owner = at.index("div", whole[dim]!, each);
        return held.element(
          at.replaced(whole, dim, (v) => at.index("rem", v, each)),
          owner,
        );
      },
      isExact: held.isExact,
      reads: readsOf([held], "anywhere"),
      products: new Set(),
    });
  }
}
