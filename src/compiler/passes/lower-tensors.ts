/**
 * lower-tensors: tensor level → rank level.
 *
 * A tensor becomes a function from an element's local index to code that computes it, so elementwise work
 * fuses into its user, on the peers' side too: what is computed from memory that peers can reach is computed by
 * whoever reads it. Scratch appears only where peers must read a product, or a product reads a value many times.
 * A change of layout is lowered by the pair of layouts alone:
 *   partial → sharded     a product: each element goes to its owner's stage [rank, …], the owner folds the stages
 *                         in reach: the owner reads its slice from every peer
 *   partial → replicated, on   every reader folds all peers' copies
 *   sharded → replicated, on   every rank hands its shard to all, readers read their own copy
 *   sharded(a) → sharded(b)    each element is read from the rank that holds it
 *   on → replicated, sharded   read from that rank;   replicated → sharded   the local slice
 */
import { Builder } from "../ir/builder.js";
import { type Buffer, type Kernel, type Op, text, type Value } from "../ir/module.js";
import type { UnaryFunction, BinaryFunction } from "../ir/ops.js";
import { scalar, scalarOf, type Type } from "../ir/types.js";
import { InternalCompilerError } from "../diagnostics/ice.js";
import { DTYPES, type DType } from "../types/dtype.js";
import { extent, type Extent } from "../types/extent.js";
import { type Layout, printLayout, type ReductionOp } from "../types/layout.js";

type TensorType = Extract<Type, { kind: "tensor" }>;
type Index = readonly Value[];

/** A tensor as this rank sees it. */
interface LocalTensor {
  readonly dtype: DType;
  readonly shape: readonly Extent[];
  /** The buffer that holds exactly this tensor, if one does. */
  readonly buffer: string | null;
  /** Emits the element at a local index, in the dtype's compute kind; on `peer`, if given, what that rank has there. */
  readonly element: (index: Index, peer?: Value) => Value;
  /** Whether `element` can be asked for a peer's: all it reads lies in memory that peers can reach. */
  readonly reachable: boolean;
}

export function lowerTensors(kernel: Kernel): Kernel {
  const lowering = new TensorLowering(kernel);
  for (const op of kernel.body.ops) lowering.lower(op);
  return { ...kernel, level: "rank", buffers: lowering.buffers, body: { arguments: [], ops: lowering.build.ops } };
}

class TensorLowering {
  readonly build: Builder;
  buffers: readonly Buffer[];
  private readonly tensors = new Map<Value, LocalTensor>();
  /** Outputs that a value is stored to as it is: a gather can write there directly. */
  private readonly destinations = new Map<Value, string>();

  constructor(private readonly kernel: Kernel) {
    this.build = new Builder(kernel.body.ops[0]?.span ?? { start: 0, end: 0 });
    this.buffers = kernel.buffers;
    for (const op of kernel.body.ops)
      if (op.name === "output") this.destinations.set(op.operands[0]!, text(op, "buffer"));
  }

  lower(op: Op): void {
    this.build.span = op.span;
    if (op.name === "output") {
      this.storeOutput(op);
      return;
    }
    const type = op.results[0]!.type as TensorType;
    this.tensors.set(op.results[0]!, this.lowerValue(op, type));
  }

  private lowerValue(op: Op, type: TensorType): LocalTensor {
    const { build } = this;
    const shape = localShape(type, this.kernel.world);
    const kind = DTYPES[type.dtype].compute;
    const operands = op.operands.map((v) => this.tensors.get(v)!);
    const computed = (element: LocalTensor["element"], reachable: boolean): LocalTensor => ({
      dtype: type.dtype,
      shape,
      buffer: null,
      element,
      reachable,
    });
    const fromOperands = operands.every((o) => o.reachable);
    const fn = op.attributes["fn"];
    switch (op.name) {
      case "input":
        return this.inBuffer(text(op, "buffer"), type.dtype, shape, type.layout.kind === "replicated");
      case "const":
        return computed(() => build.constant(op.attributes["value"] as number, scalar(kind)), true);
      case "unary":
        return computed((i, p) => build.unary(fn as UnaryFunction, operands[0]!.element(i, p)), fromOperands);
      case "binary":
        return computed(
          (i, p) => build.binary(fn as BinaryFunction, operands[0]!.element(i, p), operands[1]!.element(i, p)),
          fromOperands,
        );
      case "cast":
        return computed((i, p) => build.cast(build.cast(operands[0]!.element(i, p), type.dtype), kind), fromOperands);
      case "matmul": {
        const a = this.materialise(operands[0]!);
        const b = this.materialise(operands[1]!);
        const depth = a.shape[1]!;
        const product = ([i, j]: Index): Value =>
          build.reduce("sum", build.constant(0), build.extent(depth), (k) =>
            build.mul(a.element([i!, k]), b.element([k, j!])),
          );
        return computed(product, false);
      }
      case "convert":
        return this.convert(operands[0]!, op, type, shape);
      default:
        throw new InternalCompilerError(`'${op.name}' is no tensor op`);
    }
  }

  /** @param isSame every rank's copy has the same values, so that one's own stands for any peer's. */
  private inBuffer(buffer: string, dtype: DType, shape: readonly Extent[], isSame: boolean): LocalTensor {
    const element = (index: Index, peer?: Value): Value =>
      this.build.cast(
        this.build.load(buffer, index, scalar(dtype), isSame ? null : (peer ?? null)),
        DTYPES[dtype].compute,
      );
    return { dtype, shape, buffer, element, reachable: true };
  }

  private scratch(hint: string, dtype: DType, shape: readonly Extent[]): string {
    let name = hint;
    for (let n = 2; this.buffers.some((b) => b.name === name); n++) name = `${hint}${n}`;
    this.buffers = [...this.buffers, { name, role: "scratch", dtype, shape, symmetric: false }];
    return name;
  }

  private overTiles(shape: readonly Extent[], body: (index: Index) => void): void {
    const zero = this.build.constant(0);
    this.build.for(
      "tiles",
      shape.map((e) => [zero, this.build.extent(e)] as const),
      body,
    );
  }

  /** The tensor in memory, computed into scratch if it is not there yet. */
  private materialise(t: LocalTensor): LocalTensor {
    if (t.buffer !== null) return t;
    const name = this.scratch("value", t.dtype, t.shape);
    this.overTiles(t.shape, (i) => this.build.store(name, this.build.cast(t.element(i), t.dtype), i));
    return this.inBuffer(name, t.dtype, t.shape, false);
  }

  /** A form whose elements can be read from peers: the expression itself, or its values in memory. */
  private withinReach(t: LocalTensor): LocalTensor {
    return t.reachable ? t : this.materialise(t);
  }

  private foldRanks(op: ReductionOp, element: (peer: Value) => Value): Value {
    const { build } = this;
    const world = this.kernel.world;
    const folded = build.reduce(op === "avg" ? "sum" : op, build.constant(0), build.constant(world), element);
    return op === "avg" ? build.binary("div", folded, build.constant(world, scalar(scalarOf(folded.type)))) : folded;
  }

  private convert(source: LocalTensor, op: Op, to: TensorType, shape: readonly Extent[]): LocalTensor {
    const { build } = this;
    const from = (op.operands[0]!.type as TensorType).layout;
    const target = to.layout;
    const computed = (element: LocalTensor["element"]): LocalTensor => ({
      dtype: to.dtype,
      shape,
      buffer: null,
      element,
      reachable: false,
    });
    const shifted = (index: Index, dim: number, by: Value): Index =>
      index.map((v, d) => (d === dim ? build.add(v, by) : v));
    const shardStart = (length: Extent): Value => build.mul(build.rank(), build.extent(length));
    if (from.kind === "replicated") {
      if (target.kind === "sharded")
        return computed((i) => source.element(shifted(i, target.dim, shardStart(shape[target.dim]!))));
      return { ...source, shape };
    }
    if (from.kind === "partial") {
      if (target.kind === "sharded" && !source.reachable)
        return this.reduceThroughStages(source, from.op, target.dim, to, shape);
      const held = this.withinReach(source);
      if (target.kind === "sharded") {
        const { dim } = target;
        return computed((i) =>
          this.foldRanks(from.op, (p) => held.element(shifted(i, dim, shardStart(shape[dim]!)), p)),
        );
      }
      return computed((i) => this.foldRanks(from.op, (p) => held.element(i, p)));
    }
    if (from.kind === "on") {
      const held = this.withinReach(source);
      const root = (): Value => build.constant(from.rank);
      if (target.kind === "sharded")
        return computed((i) => held.element(shifted(i, target.dim, shardStart(shape[target.dim]!)), root()));
      return computed((i) => held.element(i, root()));
    }
    if (from.kind === "sharded") {
      if (target.kind === "sharded") {
        const held = this.withinReach(source);
        const length = held.shape[from.dim]!;
        return computed((i) => {
          const at = shifted(i, target.dim, shardStart(shape[target.dim]!));
          const owner = build.div(at[from.dim]!, build.extent(length));
          const there = at.map((v, d) => (d === from.dim ? build.rem(v, build.extent(length)) : v));
          return held.element(there, owner);
        });
      }
      return this.gather(source, from.dim, op.results[0]!, to, shape);
    }
    throw new InternalCompilerError(`no way from ${printLayout(from)} to ${printLayout(target as Layout)}`);
  }

  /** Each rank writes its shard into everybody's copy of the whole. */
  private gather(
    source: LocalTensor,
    dim: number,
    result: Value,
    to: TensorType,
    shape: readonly Extent[],
  ): LocalTensor {
    const { build } = this;
    const whole = this.destinations.get(result) ?? this.scratch("gathered", to.dtype, shape);
    this.overTiles(source.shape, (i) => {
      const value = build.cast(source.element(i), to.dtype);
      const start = build.mul(build.rank(), build.extent(source.shape[dim]!));
      const at = i.map((v, d) => (d === dim ? build.add(v, start) : v));
      build.for("ranks", [[build.constant(0), build.constant(this.kernel.world)]], ([p]) =>
        build.store(whole, value, at, p!),
      );
    });
    return this.inBuffer(whole, to.dtype, shape, true);
  }

  /** Each rank writes every element of its summand to the owner's stage; the owner folds the stages. */
  private reduceThroughStages(
    source: LocalTensor,
    fold: ReductionOp,
    dim: number,
    to: TensorType,
    shape: readonly Extent[],
  ): LocalTensor {
    const { build } = this;
    const stage = this.scratch("stage", to.dtype, [this.kernel.world, ...shape]);
    this.overTiles(source.shape, (i) => {
      const value = build.cast(source.element(i), to.dtype);
      const length = build.extent(shape[dim]!);
      const owner = build.div(i[dim]!, length);
      const at = i.map((v, d) => (d === dim ? build.rem(v, length) : v));
      build.store(stage, value, [build.rank(), ...at], owner);
    });
    const kind = DTYPES[to.dtype].compute;
    const element = (i: Index): Value =>
      this.foldRanks(fold, (p) => build.cast(build.load(stage, [p, ...i], scalar(to.dtype)), kind));
    return { dtype: to.dtype, shape, buffer: null, element, reachable: false };
  }

  private storeOutput(op: Op): void {
    const { build } = this;
    const name = text(op, "buffer");
    const tensor = this.tensors.get(op.operands[0]!)!;
    if (tensor.buffer === name) return;
    const { layout } = op.operands[0]!.type as TensorType;
    const storeAll = (): void =>
      this.overTiles(tensor.shape, (i) => build.store(name, build.cast(tensor.element(i), tensor.dtype), i));
    if (layout.kind === "on") build.if(build.compare("eq", build.rank(), build.constant(layout.rank)), storeAll);
    else storeAll();
  }
}

/** What one rank holds of a tensor of this type. */
function localShape(type: TensorType, world: number): Extent[] {
  const { layout } = type;
  return type.shape.map((e, d) => (layout.kind === "sharded" && layout.dim === d ? extent("div", e, world) : e));
}
