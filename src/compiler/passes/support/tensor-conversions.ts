/**
 * Changes of layout, by the pair of layouts alone:
 *   partial → sharded     computed, two_shot: each element goes to its owner's stage [rank, …], the owner folds the stages
 *                         in reach, or one_shot: the owner reads its slice from every peer
 *   partial → replicated  one_shot: every reader folds all peers' copies; two_shot: each rank folds a part and gives it to all
 *                         hierarchical: in each domain each rank folds a part, folds it with its counterparts' and gives it to its domain
 *   partial → on          the one rank folds all peers' copies
 *   sharded → replicated  every rank gives its shard to all
 *   sharded → on          likewise to the one rank, if it is stored as it is; else the one rank reads all shards
 *   sharded(a) → sharded(b)    each element is read from the rank that holds it
 *   on → replicated, sharded   read from that rank;   replicated → sharded   the local slice
 *   on → replicated, hierarchical   the one rank's domain shares it out, counterparts read from there and give it to their domains
 */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import type { Kernel, Value } from "../../ir/module.js";
import { scalar, scalarOf } from "../../ir/types.js";
import { extent, type Extent } from "../../types/extent.js";
import { type Layout, type Placement, printLayout, type ReductionOp, sameLayout } from "../../types/layout.js";
import { hasAxes, type MeshAxis, placementsOf } from "../../types/mesh.js";
import type { Algorithm } from "../options.js";
import { type Along, counterpartsOf, type ElementBuilder, groupOf, type RankGroup } from "./element-builder.js";
import type { DType } from "../../types/dtype.js";
import { memoryDType, pieceOf, type TensorMemory } from "./tensor-memory.js";
import { computeKind, type Index, type LocalTensor, type Partition, readsOf } from "./tensor-values.js";

export class TensorConversions {
  constructor(
    private readonly kernel: Kernel,
    private readonly at: ElementBuilder,
    private readonly memory: TensorMemory,
    /** Which part of a replicated tensor of that shape a rank had better compute, where it is not one_shot. */
    private readonly partitionOf: (shape: readonly Extent[], axis: Along) => Partition,
  ) {}

  /**
   * @param shape what a rank holds of the result
   * @param algorithm what `choose-algorithms` has chosen, where there is a choice
   * @param isStored nothing is computed from the result
   * @param isNarrow what is computed from more bytes than it has is computed before it travels, not by peers from what they read
   */
  convert(
    given: LocalTensor,
    to: Layout,
    shape: readonly Extent[],
    algorithm: Algorithm | undefined,
    { isStored, isNarrow }: { readonly isStored: boolean; readonly isNarrow: boolean },
  ): LocalTensor {
    const source = isNarrow && this.memory.isOfMoreBytes(given) ? { ...given, isReachable: false } : given;
    const { axis, from, into } = changeBetween(source.layout, to, this.kernel.mesh);
    // Where rows of the mesh have divided a value among them, others do not know who has what.
    const isDivided = axis !== null && (source.owned !== null || source.spread !== null);
    const whole = isDivided && from.kind !== "replicated" ? this.memory.everywhere(source) : source;
    const one = new ConversionAlong(this.kernel, this.at, this.memory, this.partitionOf, axis, to);
    return one.convert(whole, from, into, shape, algorithm, isStored);
  }
}

/** The axis along which two layouts differ, and what they say of it; null, and the layouts, where they speak of all ranks. */
export function changeBetween(
  from: Layout,
  to: Layout,
  mesh: readonly MeshAxis[],
): { readonly axis: number | null; readonly from: Placement; readonly into: Placement } {
  if (!hasAxes(from) && !hasAxes(to)) return { axis: null, from: from as Placement, into: to as Placement };
  const [before, after] = [placementsOf(from, mesh), placementsOf(to, mesh)];
  const [axis, ...more] = mesh.flatMap((_, at) => (sameLayout(before[at]!, after[at]!) ? [] : [at]));
  if (axis === undefined || more.length > 0)
    throw new InternalCompilerError(`${printLayout(from)} to ${printLayout(to)} is not along one axis`);
  return { axis, from: before[axis]!, into: after[axis]! };
}

/** Conversions among all ranks, or among those of each row along an axis. */
class ConversionAlong {
  private readonly group: RankGroup;

  constructor(
    private readonly kernel: Kernel,
    private readonly at: ElementBuilder,
    private readonly memory: TensorMemory,
    private readonly partitionOf: (shape: readonly Extent[], axis: Along) => Partition,
    private readonly axis: number | null,
    /** What the result's layout is, of all axes. */
    private readonly layout: Layout,
  ) {
    this.group = groupOf(kernel, axis);
  }

  convert(
    source: LocalTensor,
    from: Placement,
    to: Placement,
    shape: readonly Extent[],
    algorithm: Algorithm | undefined,
    isStored: boolean,
  ): LocalTensor {
    switch (from.kind) {
      case "replicated":
        return this.fromReplicated(source, to, shape);
      case "partial":
        return this.fromPartial(source, from.op, to, shape, algorithm, isStored);
      case "on":
        return this.fromOne(source, from.rank, to, shape, algorithm);
      case "sharded":
        return algorithm === "hierarchical"
          ? this.gatheredByDomains(source, from.dim, shape)
          : this.fromSharded(source, from.dim, to, shape, isStored);
      default:
        return this.refuse(from, to);
    }
  }

  private refuse(from: Layout, to: Layout): never {
    throw new InternalCompilerError(`no way from ${printLayout(from)} to ${printLayout(to)}`);
  }

  private result(source: LocalTensor, shape: readonly Extent[], fields: Partial<LocalTensor>): LocalTensor {
    return this.memory.computed({
      ...source,
      layout: this.layout,
      shape,
      buffer: null,
      isReachable: false,
      isExact: false,
      isConverted: true,
      isCostly: true,
      reads: readsOf([source], "anywhere"),
      runs: shape.map(() => 1),
      ofRepeated: null,
      scaled: null,
      owned: null,
      spread: null,
      ...fields,
    });
  }

  private shifted(index: Index, dim: number, length: Extent): Index {
    const { at } = this;
    return at.replaced(index, dim, (v) => at.index("add", v, at.index("mul", at.place(this.group), at.extent(length))));
  }

  /** Of what each rank of the group has. */
  private foldRanks(op: ReductionOp, element: (peer: Value) => Value): Value {
    return this.averaged(
      op,
      this.foldPlaces(op, (place) => element(this.at.member(this.group, place))),
    );
  }

  /** Of what each rank has that has this one's place in its domain, where domains have folded theirs. */
  private foldCounterparts(op: ReductionOp, element: (place: Value) => Value): Value {
    return this.averaged(op, this.foldPlaces(op, element, counterpartsOf(this.kernel)));
  }

  /** The fold alone; of an average, the sum. */
  private foldPlaces(op: ReductionOp, element: (place: Value) => Value, { size } = this.group): Value {
    const { at } = this;
    return at.reduce(op === "avg" ? "sum" : op, size, true, element);
  }

  /** What is folded of all ranks of the group, as their average where that was asked for. */
  private averaged(op: ReductionOp, folded: Value): Value {
    const { build } = this.at;
    if (op !== "avg") return folded;
    return build.binary("div", folded, build.constant(this.group.size, scalar(scalarOf(folded.type))));
  }

  private fromReplicated(source: LocalTensor, to: Placement, shape: readonly Extent[]): LocalTensor {
    if (to.kind !== "sharded") return { ...this.memory.everywhere(source), layout: this.layout, shape };
    const { dim } = to;
    const { owned } = source;
    const isOwn = owned?.kind === "slices" && owned.axis === this.axis && owned.dim === dim && owned.isExact;
    // What each rank computes is its own slice: nothing has to be given to others.
    const held = owned === null || isOwn ? source : this.memory.everywhere(source);
    return this.result(held, shape, {
      element: (i, p) => held.element(this.shifted(i, dim, shape[dim]!), p),
      isCostly: held.isCostly,
      isExact: held.isExact,
      reads: readsOf([held], "anywhere"),
    });
  }

  private fromPartial(
    source: LocalTensor,
    op: ReductionOp,
    to: Placement,
    shape: readonly Extent[],
    algorithm: Algorithm | undefined,
    isStored: boolean,
  ): LocalTensor {
    // A sum that is stored as it is wraps there: it does not matter to it that its summands have wrapped before.
    const dtype = isStored && op === "sum" ? source.dtype : memoryDType(source);
    if (to.kind === "sharded") {
      const { dim } = to;
      if (algorithm === "hierarchical") return this.scatteredByDomains(source, dtype, op, shape, dim);
      if (!source.isReachable && algorithm !== "one_shot")
        return this.throughStages(source, dtype, op, to, shape, dim, shape[dim]!, null);
      const held = this.memory.withinReach(source, dtype);
      return this.result(source, shape, {
        element: (i) => this.foldRanks(op, (p) => held.element(this.shifted(i, dim, shape[dim]!), p)),
        ...(source.isReachable ? {} : { reads: readsOf([held], "ranks"), products: new Set() }),
      });
    }
    if (algorithm === "hierarchical") {
      const held = this.memory.withinReach(source, dtype);
      const inside = groupOf(this.kernel, "domain");
      const { own, owned, load } = this.shared(computeKind(dtype), shape);
      this.memory.ownPart({ shape }, owned, (i) => {
        const ofDomain = this.foldPlaces(op, (p) => held.element(i, this.at.member(inside, p)), inside);
        this.at.build.store(own, ofDomain, i);
      });
      return this.result(source, shape, {
        element: (i) => this.foldCounterparts(op, (p) => load(i, p)),
        reads: new Map([[own, "ranks"]]),
        products: new Set(),
        owned,
      });
    }
    if (algorithm === "two_shot" && !source.isReachable) {
      // One element is nothing to divide: the dimension is the first of more.
      const dim = Math.max(0, shape.findIndex((n) => n !== 1)); // prettier-ignore
      const isRun = shape.slice(dim + 1).every((n) => n === 1);
      const length = isRun ? pieceOf(shape[dim]!, this.group.size) : extent("ceildiv", shape[dim]!, this.group.size);
      const owned: Partition = { kind: "slices", dim, length, isExact: false, axis: this.axis };
      return this.throughStages(source, dtype, op, to, shape, dim, length, owned);
    }
    const held = this.memory.withinReach(source, dtype);
    const spread = algorithm === "two_shot" && to.kind === "replicated" ? this.partitionOf(shape, this.axis) : null;
    return this.result(source, shape, {
      element: (i) => this.foldRanks(op, (p) => held.element(i, p)),
      reads: readsOf([held], "ranks"),
      products: new Set(),
      spread,
    });
  }

  /**
   * Each rank writes every element of its summand to the stage of the rank that owns it, which folds them.
   * @param dtype of the stage @param length indices of dimension `dim` that each rank owns @param owned the same of a replicated result
   */
  private throughStages(
    source: LocalTensor,
    dtype: DType,
    op: ReductionOp,
    to: Placement,
    shape: readonly Extent[],
    dim: number,
    length: Extent,
    owned: Partition | null,
  ): LocalTensor {
    const { at, memory, group } = this;
    const { build } = at;
    const stage = memory.scratch("stage", dtype, [group.size, ...shape.with(dim, length)]);
    // What a product is of goes through all elements, in tiles; else ranks are sent theirs one after the other.
    if (source.isCostly || source.products.size > 0)
      at.tiles(source.shape, (i) => {
        const value = build.cast(source.element(i), dtype);
        const each = at.extent(length);
        const owner = at.index("div", i[dim]!, each);
        const there = at.replaced(i, dim, (v) => at.index("rem", v, each));
        build.store(stage, value, [at.place(group), ...there], at.member(group, owner));
      });
    else
      memory.partsOfRanks(source, group, { dim, length, isExact: owned === null }, (i, peer, begin) => {
        const there = at.replaced(i, dim, (v) => at.index("sub", v, begin));
        build.store(stage, build.cast(source.element(i), dtype), [at.place(group), ...there], peer);
      });
    const kind = computeKind(dtype);
    const start = (): Value => at.index("mul", at.place(this.group), at.extent(length));
    const place = (i: Index): Index => (owned === null ? i : at.replaced(i, dim, (v) => at.index("sub", v, start())));
    return this.result(source, shape, {
      element: (i) =>
        this.averaged(
          op,
          this.foldPlaces(op, (p) => build.cast(build.load(stage, [p, ...place(i)], scalar(dtype)), kind)),
        ),
      reads: new Map([[stage, "anywhere"]]),
      products: new Set(),
      owned,
    });
  }

  private fromOne(
    source: LocalTensor,
    rank: number,
    to: Placement,
    shape: readonly Extent[],
    algorithm: Algorithm | undefined,
  ): LocalTensor {
    const held = this.memory.withinReach(source);
    const root = (): Value => this.at.member(this.group, this.at.constant(rank));
    const reads = readsOf([held], to.kind === "sharded" ? "anywhere" : "ranks");
    const exact = { isExact: held.isExact, reads, products: new Set<object>() };
    if (algorithm === "hierarchical") {
      const { at, memory } = this;
      const domain = at.constant(Math.floor(rank / this.kernel.ranksPerDomain!));
      const dtype = memoryDType(held);
      const { own, owned, load } = this.shared(dtype, shape);
      at.when(at.build.compare("eq", at.place(counterpartsOf(this.kernel)), domain), () =>
        memory.ownPart({ shape }, owned, (i) => at.build.store(own, at.build.cast(held.element(i, root()), dtype), i)),
      );
      const isExact = held.isExact || dtype === source.dtype;
      return this.result(source, shape, {
        ...{ ...exact, isExact, reads: new Map([[own, "ranks" as const]]), owned },
        element: (i) => at.build.cast(load(i, domain), computeKind(dtype)),
      });
    }
    if (to.kind === "sharded")
      return this.result(source, shape, {
        ...exact,
        element: (i) => held.element(this.shifted(i, to.dim, shape[to.dim]!), root()),
      });
    return this.result(source, shape, {
      ...exact,
      element: (i) => held.element(i, root()),
      spread: algorithm === "two_shot" && to.kind === "replicated" ? this.partitionOf(shape, this.axis) : null,
    });
  }

  /** Each rank folds what its domain has for its counterparts, which fold what all domains have for them. */
  private scatteredByDomains(
    source: LocalTensor,
    dtype: DType,
    op: ReductionOp,
    shape: readonly Extent[],
    dim: number,
  ): LocalTensor {
    const { at, memory, kernel } = this;
    const [inside, counterparts] = [groupOf(kernel, "domain"), counterpartsOf(kernel)];
    const held = memory.withinReach(source, dtype);
    const kind = computeKind(dtype);
    const own = memory.scratch("own", kind, [counterparts.size, ...shape]);
    at.tiles([counterparts.size, ...shape], ([domain, ...i]) => {
      const start = at.index("mul", at.member(counterparts, domain!), at.extent(shape[dim]!));
      const whole = at.replaced(i, dim, (v) => at.index("add", v, start));
      const ofDomain = this.foldPlaces(op, (p) => held.element(whole, at.member(inside, p)), inside);
      at.build.store(own, ofDomain, [domain!, ...i]);
    });
    const load = (i: Index, p: Value): Value =>
      at.build.load(own, [at.place(counterparts), ...i], scalar(kind), at.member(counterparts, p));
    return this.result(source, shape, {
      element: (i) => this.foldCounterparts(op, (p) => load(i, p)),
      reads: new Map([[own, "anywhere"]]),
      products: new Set(),
    });
  }

  /** Each rank takes its counterparts' shards, and gives its domain those and its own. */
  private gatheredByDomains(source: LocalTensor, dim: number, shape: readonly Extent[]): LocalTensor {
    const { at, memory } = this;
    const length = source.shape[dim]!;
    const held = memory.withinReach(source);
    const dtype = memoryDType(held);
    const own = memory.scratch("own", dtype, shape);
    const owned: Partition = { kind: "rails", dim, length, axis: "domain" };
    memory.ownRails({ shape }, owned, (i, counterpart, start) => {
      const there = at.replaced(i, dim, (v) => at.index("sub", v, start));
      at.build.store(own, at.build.cast(held.element(there, counterpart), dtype), i);
    });
    return this.result(source, shape, {
      element: (i) => at.build.cast(at.build.load(own, i, scalar(dtype)), computeKind(dtype)),
      isExact: held.isExact || dtype === source.dtype,
      isCostly: false,
      reads: new Map([[own, "own"]]),
      products: new Set(),
      owned,
    });
  }

  /** Memory in which the ranks of each domain have a part each of a replicated tensor, and how a rank loads what a counterpart has of its part. */
  private shared(
    dtype: DType,
    shape: readonly Extent[],
  ): { own: string; owned: Partition; load: (index: Index, domain: Value) => Value } {
    const { at, memory, kernel } = this;
    const own = memory.scratch("own", dtype, shape);
    const load = (index: Index, domain: Value): Value =>
      at.build.load(own, index, scalar(dtype), at.member(counterpartsOf(kernel), domain));
    return { own, owned: this.partitionOf(shape, "domain"), load };
  }

  private fromSharded(
    source: LocalTensor,
    dim: number,
    to: Placement,
    shape: readonly Extent[],
    isStored: boolean,
  ): LocalTensor {
    const { at } = this;
    const length = source.shape[dim]!;
    if (to.kind === "replicated" || (to.kind === "on" && isStored)) {
      const start = (): Value => at.index("mul", at.place(this.group), at.extent(length));
      return this.result(source, shape, {
        element: (i) => source.element(at.replaced(i, dim, (v) => at.index("sub", v, start()))),
        isExact: source.isExact,
        isCostly: source.isCostly,
        owned: { kind: "slices", dim, length, isExact: true, axis: this.axis },
      });
    }
    const held = this.memory.withinReach(source);
    return this.result(source, shape, {
      element: (i) => {
        const whole = to.kind === "sharded" ? this.shifted(i, to.dim, shape[to.dim]!) : i;
        const each = at.extent(length);
        const owner = at.index("div", whole[dim]!, each);
        return held.element(
          at.replaced(whole, dim, (v) => at.index("rem", v, each)),
          at.member(this.group, owner),
        );
      },
      isExact: held.isExact,
      reads: readsOf([held], "anywhere"),
      products: new Set(),
    });
  }
}
