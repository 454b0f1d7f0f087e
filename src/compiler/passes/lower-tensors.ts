/**
 * lower-tensors: tensor level → rank level.
 *
 * A tensor becomes a function from an element's local index to code that computes it, so elementwise work, broadcasts and
 * arrangements fuse into their user, on the peers' side too: what is computed from memory that peers can reach is computed
 * by whoever reads it, unless the conversion says that values travel that have fewer bytes (`narrow`). Memory appears only where a value is needed again in another loop, where peers must read what was
 * folded or multiplied, and where a product reads a value many times. Changes of layout: `support/tensor-conversions.ts`;
 * what is stored, and by whom: `support/tensor-memory.ts`.
 *
 * Loops that the author wrote between tensor expressions stay as they are, in their place. What has been named before one,
 * is used after it, and would be computed from memory that it stores to, is kept in memory of its own first.
 */
import { Builder, type Factors } from "../ir/builder.js";
import { type Kernel, type Op, text, type Value } from "../ir/module.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import { scalar, scalarOf } from "../ir/types.js";
import { copyOp, Substitution } from "../ir/visit.js";
import { InternalCompilerError } from "../diagnostics/ice.js";
import { extent, type Extent } from "../types/extent.js";
import { localShapeOf } from "../types/mesh.js";
import type { Algorithm } from "./options.js";
import { type Along, ElementBuilder, groupOf } from "./support/element-builder.js";
import { foldedInParts } from "./support/folded-parts.js";
import { TensorConversions } from "./support/tensor-conversions.js";
import { TensorMemory } from "./support/tensor-memory.js";
import { TensorReads } from "./support/tensor-reads.js";
import { partsOfProduct, scaledBy, scaledOf } from "./support/tensor-scales.js";
import { ELEMENTWISE, TensorUses } from "./support/tensor-uses.js";
import { dimsIn, isFoldOverRanks } from "./support/unmoved.js";
import {
  commonRun,
  computeKind,
  type Index,
  type LocalTensor,
  movedPartition,
  type Partition,
  readsOf,
  samePartition,
  type TensorType,
} from "./support/tensor-values.js";

export function lowerTensors(kernel: Kernel): Kernel {
  const lowering = new TensorLowering(groupedByDomain(kernel));
  for (const op of kernel.body.ops) lowering.lower(op);
  return {
    ...kernel,
    level: "rank",
    buffers: lowering.memory.buffers,
    body: { arguments: [], ops: lowering.build.ops },
  };
}

/** The kernel, with how many ranks share addresses where a conversion goes by that. */
function groupedByDomain(kernel: Kernel): Kernel {
  const numbers = kernel.body.ops.flatMap(({ attributes }) => attributes["ranksPerDomain"] ?? []);
  return numbers.length === 0 ? kernel : { ...kernel, ranksPerDomain: numbers[0] as number };
}

class TensorLowering {
  readonly build: Builder;
  readonly memory: TensorMemory;
  private readonly at: ElementBuilder;
  private readonly conversions: TensorConversions;
  private readonly uses: TensorUses;
  private readonly reads: TensorReads;
  private readonly tensors = new Map<Value, LocalTensor>();
  /** Values that are no tensors, as they are at this level. */
  private readonly numbers = new Substitution();

  constructor(private readonly kernel: Kernel) {
    this.build = new Builder(kernel.body.ops[0]?.span ?? { start: 0, end: 0 });
    this.at = new ElementBuilder(this.build);
    this.memory = new TensorMemory(kernel, this.at);
    this.conversions = new TensorConversions(kernel, this.at, this.memory, (shape, axis) =>
      this.partitionOf(shape, axis),
    );
    this.uses = new TensorUses(kernel);
    this.reads = new TensorReads(kernel);
  }

  /** Whole rows where rows are folded, so that a rank can fold its own; else pieces as even as can be. */
  private partitionOf(shape: readonly Extent[], axis: Along): Partition {
    const folds = this.kernel.body.ops.some((op) => op.name === "fold" && op.attributes["dim"] !== 0);
    if (!folds || shape.length < 2) return { kind: "chunks", axis };
    const length = extent("ceildiv", shape[0]!, groupOf(this.kernel, axis).size);
    return { kind: "slices", dim: 0, length, isExact: false, axis };
  }

  lower(op: Op): void {
    for (const v of this.reads.lostBy(op))
      if (!this.isReplaced(v, op)) this.tensors.set(v, this.copied(this.tensors.get(v)!));
    this.build.span = op.span;
    if (op.name === "output") return this.output(op);
    const [result] = op.results;
    if (result?.type.kind !== "tensor") return copyOp(op, this.build, this.numbers);
    const tensor = this.value(op, result.type);
    this.tensors.set(result, tensor.isCostly && this.isNeededAgain(result) ? this.kept(tensor, result) : tensor);
  }

  /**
   * Whether an output takes the place of the memory that it is computed from, element by element: whoever stores an element
   * has read all that is needed of it, and nobody else reads it.
   */
  private isReplaced(v: Value, op: Op): boolean {
    if (op.name !== "output" || op.operands[0] !== v || this.uses.usersOf(v).at(-1) !== op) return false;
    const { reads, owned, spread, layout } = this.tensors.get(v)!;
    const place = reads.get(text(op, "buffer"));
    // One rank reads an element of all, and stores that of all, or of the only one that has it.
    const isByOne =
      owned?.axis === null || (layout.kind === "replicated" && spread?.axis === null) || layout.kind === "on";
    return place === undefined || place === "own" || (place === "ranks" && (isByOne || this.kernel.world === 1));
  }

  /** Whether several loops need it. Where it is part of one expression alone, that is as costly, and is kept in its place. */
  private isNeededAgain(v: Value): boolean {
    const [user, ...others] = this.uses.usersOf(v);
    const isPart = user !== undefined && others.length === 0 && ELEMENTWISE.has(user.name);
    return !isPart && this.uses.rootsOf(v).size > 1;
  }

  /** A value for several loops: shared at once if several outputs would each have to be given to all ranks. */
  private kept(t: LocalTensor, v: Value): LocalTensor {
    const given = [...this.uses.rootsOf(v)].filter(
      (op) => op.name === "output" && (op.operands[0]!.type as TensorType).layout.kind === "replicated",
    );
    return this.memory.held(given.length > 1 || t.spread?.kind === "chunks" ? this.memory.everywhere(t) : t);
  }

  /** A value of its own, that no store to what it is computed from changes. */
  private copied(t: LocalTensor): LocalTensor {
    const whole = t.owned?.kind === "chunks" || t.spread?.kind === "chunks" ? this.memory.everywhere(t) : t;
    return this.memory.held({ ...whole, buffer: null });
  }

  private output(op: Op): void {
    const name = text(op, "buffer");
    const tensor = this.tensors.get(op.operands[0]!)!;
    if (tensor.buffer !== name) this.memory.store(name, tensor);
  }

  private value(op: Op, type: TensorType): LocalTensor {
    const shape = localShapeOf(type.shape, type.layout, this.kernel.mesh, this.kernel.world);
    const operands = op.operands.flatMap((v) => this.tensors.get(v) ?? []);
    const [first] = operands;
    switch (op.name) {
      case "input":
        return this.memory.inBuffer(text(op, "buffer"), this.plain(type, shape), type.layout.kind === "replicated");
      case "const": {
        const value = op.attributes["value"] as number;
        const element = (): Value => this.build.constant(value, scalar(computeKind(type.dtype)));
        return this.memory.computed({ ...this.plain(type, shape), element, runs: shape.map(() => 0) });
      }
      case "iota": {
        const dim = op.attributes["dim"] as number;
        const element = (i: Index): Value => this.build.cast(i[dim]!, computeKind(type.dtype));
        return this.memory.computed({ ...this.plain(type, shape), element });
      }
      case "scalar": {
        const name = text(op, "name");
        const { dtype } = this.kernel.scalars.find((s) => s.name === name)!;
        const element = (): Value => this.build.cast(this.build.scalar(name, dtype), computeKind(type.dtype));
        return this.memory.computed({ ...this.plain(type, shape), element, runs: shape.map(() => 0) });
      }
      case "unary":
      case "binary":
      case "compare":
      case "select":
      case "cast":
        return this.elementwise(op, type, shape, operands);
      case "convert": {
        const [result] = op.results as [Value];
        const algorithm = op.attributes["algorithm"] as Algorithm | undefined;
        const isNarrow = op.attributes["narrow"] === true;
        const how = { isStored: this.uses.soleOutput(result) !== null, isNarrow };
        const converted = this.conversions.convert(first!, type.layout, shape, algorithm, how);
        // What is stored in more bytes goes to other ranks before it has them.
        return isNarrow && this.uses.isWidened(result) ? this.memory.everywhere(converted) : converted;
      }
      case "matmul":
        return this.product(op, operands as [LocalTensor, LocalTensor], type, shape);
      case "fold":
        return this.fold(op, first!, type, shape);
      case "expand":
        return this.expand(first!, type, shape);
      case "permute":
        return this.permute(op, first!, type, shape);
      case "reshape":
        return this.reshape(first!, type, shape);
      case "repeat":
        return this.repeat(op, first!, type, shape);
      case "slice":
        return this.slice(op, first!, type, shape);
      case "concat":
        return this.concat(op, operands, type, shape);
      default:
        throw new InternalCompilerError(`'${op.name}' is no tensor op`);
    }
  }

  private plain({ dtype, layout }: TensorType, shape: readonly Extent[]): LocalTensor {
    const element = (): Value => {
      throw new InternalCompilerError("a tensor without elements is read");
    };
    const facts = { isReachable: true, isExact: false, isConverted: false, isCostly: false, isStrided: false };
    const made = { reads: new Map(), products: new Set<object>(), ofStrided: null, owned: null, spread: null };
    const scale = { runs: shape.map(() => 1), ofRepeated: null, scaled: null };
    return { dtype, layout, shape, element, buffer: null, ...made, ...scale, ...facts };
  }

  /** An arrangement of a tensor's elements: it computes nothing. */
  private view(
    t: LocalTensor,
    type: TensorType,
    shape: readonly Extent[],
    place: (index: Index) => Index,
  ): LocalTensor {
    const element = (i: Index, p?: Value): Value => t.element(place(i), p);
    return this.memory.computed({
      ...t,
      layout: type.layout,
      shape,
      buffer: null,
      element,
      reads: readsOf([t], "anywhere"),
      runs: shape.map(() => 1),
      ofRepeated: null,
      scaled: null,
    });
  }

  // -- elementwise ---------------------------------------------------------------------------------

  private elementwise(op: Op, type: TensorType, shape: readonly Extent[], given: readonly LocalTensor[]): LocalTensor {
    const { build } = this;
    const operands = this.together(given);
    const owned = operands.find((o) => o.owned !== null)?.owned ?? null;
    const [a, b, c] = operands;
    const fn = op.attributes["fn"];
    const element = (i: Index, p?: Value): Value => {
      const [x, y, z] = [a, b, c].map((o) => o?.element(i, p)) as [Value, Value, Value];
      switch (op.name) {
        case "unary":
          return build.unary(fn as UnaryFunction, x);
        case "binary":
          return build.binary(fn as BinaryFunction, x, y);
        case "compare":
          return build.compare(fn as Comparison, x, y);
        case "select":
          return build.select(x, y, z);
        default: {
          const kind = computeKind(type.dtype);
          return build.cast(build.cast(x, type.dtype), kind);
        }
      }
    };
    return this.memory.computed({
      ...this.plain(type, shape),
      element,
      isReachable: operands.every((o) => o.isReachable),
      isExact: op.name === "cast",
      isCostly: operands.some((o) => o.isCostly),
      reads: readsOf(operands),
      products: new Set(operands.flatMap((o) => [...o.products])),
      runs: shape.map((_, d) => operands.reduce((run, o) => commonRun(run, o.runs[d]!), 0)),
      scaled: scaledOf(op, type, operands),
      owned,
      spread: owned === null ? (operands.find((o) => o.spread !== null)?.spread ?? null) : null,
    });
  }

  /** Operands of one loop: with one partition and one product among them; what is over is kept in memory first. */
  private together(operands: readonly LocalTensor[]): readonly LocalTensor[] {
    let owned: Partition | null = null;
    const products = new Set<object>();
    const done = new Map<LocalTensor, LocalTensor>();
    for (const o of operands) {
      if (done.has(o)) continue;
      let t = o;
      if (t.owned !== null && owned !== null && !samePartition(t.owned, owned)) t = this.memory.everywhere(t);
      owned ??= t.owned;
      const more = [...t.products].filter((p) => !products.has(p));
      if (products.size > 0 && more.length > 0) t = this.memory.held(t);
      else for (const p of more) products.add(p);
      done.set(o, t);
    }
    return operands.map((o) => done.get(o)!);
  }

  // -- products and folds --------------------------------------------------------------------------

  private product(
    { span }: Op,
    [left, right]: readonly [LocalTensor, LocalTensor],
    type: TensorType,
    shape: readonly Extent[],
  ): LocalTensor {
    const { at, build, memory } = this;
    const { factors, scales, run } = partsOfProduct(left, right);
    const [a, b] = [memory.strided(factors[0]), memory.strided(factors[1])];
    const [scaleA, scaleB] = scales.map((t) => t && this.repeated(t)) as [LocalTensor | null, LocalTensor | null];
    const depth = a.shape.at(-1)!;
    const element = (index: Index): Value => {
      const [i, j] = index.slice(-2) as [Value, Value];
      const batch = (t: LocalTensor): Index => this.broadcastIndex(index.slice(0, -2), t.shape.slice(0, -2));
      const around = this.build.span;
      this.build.span = span;
      const scalesAt = (k: Value): Value[] => [
        ...(scaleA === null ? [] : [scaleA.element([...batch(scaleA), i, k])]),
        ...(scaleB === null ? [] : [scaleB.element([...batch(scaleB), k, j])]),
      ];
      const terms = (k: Value): Factors => [
        a.element([...batch(a), i, k]),
        b.element([...batch(b), k, j]),
        ...(run === 0 ? [] : scalesAt(k)),
      ];
      const sum = at.contract(depth, terms, run === 0 ? null : run);
      // What is the same for all terms multiplies their sum.
      const whole = run === 0 ? scalesAt(at.constant(0)).reduce((x, scale) => build.mul(x, scale), sum) : sum;
      this.build.span = around;
      return whole;
    };
    const read = [a, b, scaleA, scaleB].filter((t) => t !== null);
    const reads = readsOf(read, "anywhere");
    const facts = { isReachable: false, isCostly: true, reads, products: new Set([{}]) };
    return this.memory.computed({ ...this.plain(type, shape), element, ...facts });
  }

  /** The tensor as loads from memory, one an element, whose indices may be divided by the lengths of runs. */
  private repeated(t: LocalTensor): LocalTensor {
    return t.ofRepeated?.() ?? this.memory.strided(t);
  }

  private fold(op: Op, operand: LocalTensor, type: TensorType, shape: readonly Extent[]): LocalTensor {
    const { at, build, memory } = this;
    const dim = op.attributes["dim"] as number;
    const fn = text(op, "fn");
    if (isFoldOverRanks(op, this.kernel)) return this.view(operand, type, shape, (i) => i);
    const isAcross = (p: Partition | null): boolean => p !== null && (p.kind === "chunks" || p.dim === dim);
    const source = isAcross(operand.owned) || isAcross(operand.spread) ? memory.everywhere(operand) : operand;
    const length = source.shape[dim]!;
    const reduction = fn === "mean" ? "sum" : (fn as "sum" | "min" | "max" | "prod");
    const isOfRows = this.uses.isOfRows(op.operands[0]!);
    const plain = (to: readonly Extent[]): LocalTensor => this.plain(type, to);
    const inParts = isOfRows ? null : foldedInParts({ at, memory, plain, source, dim, fn: reduction });
    const element = (index: Index): Value => {
      const terms = (k: Value): Value => source.element(at.replaced(index, dim, () => k));
      const folded = inParts === null ? at.reduce(reduction, length, false, terms) : inParts(index);
      if (fn !== "mean") return folded;
      const count = build.cast(at.extent(length), scalarOf(folded.type));
      return build.binary("div", folded, count);
    };
    const owned = source.owned ?? source.spread;
    const facts = { isReachable: false, isCostly: true, reads: readsOf([source], "anywhere"), owned };
    const folded = memory.computed({ ...this.plain(type, shape), element, ...facts });
    // Whoever broadcasts it would fold anew for each element.
    return this.uses.soleOutput(op.results[0]!) === null ? memory.held(folded, undefined, "folded") : folded;
  }

  // -- arrangements --------------------------------------------------------------------------------

  /** The index of an operand that is broadcast: dimensions are matched from the last one, and one of length 1 repeats. */
  private broadcastIndex(index: Index, shape: readonly Extent[]): Index {
    const missing = index.length - shape.length;
    return shape.map((n, d) => (n === 1 ? this.at.constant(0) : index[d + missing]!));
  }

  private expand(operand: LocalTensor, type: TensorType, shape: readonly Extent[]): LocalTensor {
    const missing = shape.length - operand.shape.length;
    const repeats = missing > 0 || operand.shape.some((n, d) => n === 1 && shape[d] !== 1);
    const isCut = type.layout.kind !== "replicated";
    // All ranks need what is repeated along a dimension that is divided among them.
    const isRepeated = (p: Partition | null): boolean =>
      p !== null && repeats && (p.kind === "chunks" || operand.shape[p.dim] === 1);
    const isWanted = isCut || isRepeated(operand.owned) || isRepeated(operand.spread);
    const whole = isWanted ? this.memory.everywhere(operand) : operand;
    const source = repeats && whole.isCostly ? this.memory.held(whole) : whole;
    const moved = this.view(source, type, shape, (i) => this.broadcastIndex(i, source.shape));
    const again = (t: LocalTensor): LocalTensor => this.expand(t, { ...type, dtype: t.dtype }, shape);
    return {
      ...moved,
      buffer: repeats ? null : source.buffer,
      runs: shape.map((n, d) => {
        const own = d - missing;
        return own < 0 || (source.shape[own] === 1 && n !== 1) ? 0 : source.runs[own]!;
      }),
      ofRepeated: () => again(this.repeated(source)),
      scaled: scaledBy(source, again),
      owned: movedPartition(source.owned, (d) => d + missing),
      spread: movedPartition(source.spread, (d) => d + missing),
    };
  }

  /** Without a partition that counts elements one by one, which means something else in another shape. */
  private aligned(t: LocalTensor): LocalTensor {
    return t.owned?.kind === "chunks" || t.spread?.kind === "chunks" ? this.memory.everywhere(t) : t;
  }

  private permute(op: Op, operand: LocalTensor, type: TensorType, shape: readonly Extent[]): LocalTensor {
    const order = text(op, "order").split(",").map(Number);
    const source = this.aligned(operand);
    const moved = this.view(source, type, shape, (i) => order.map((_, d) => i[order.indexOf(d)]!));
    const place = (d: number): number => order.indexOf(d);
    const [owned, spread] = [source.owned, source.spread].map((p) => movedPartition(p, place)) as [
      Partition | null,
      Partition | null,
    ];
    const ofStrided = (): LocalTensor => this.permute(op, this.memory.strided(operand), type, shape);
    const again = (t: LocalTensor): LocalTensor => this.permute(op, t, { ...type, dtype: t.dtype }, shape);
    return {
      ...moved,
      isStrided: source.isStrided,
      ofStrided,
      runs: order.map((d) => source.runs[d]!),
      ofRepeated: () => again(this.repeated(source)),
      scaled: scaledBy(source, again),
      owned,
      spread,
    };
  }

  private repeat(op: Op, operand: LocalTensor, type: TensorType, shape: readonly Extent[]): LocalTensor {
    const [dim, times] = [op.attributes["dim"] as number, op.attributes["times"] as number];
    // Ranks that each have a part of the dimension would have another of the result's.
    const source = this.memory.everywhere(operand);
    const kept = source.isCostly ? this.memory.held(source) : source;
    const moved = this.view(kept, type, shape, (i) =>
      this.at.replaced(i, dim, (v) => this.at.index("div", v, this.at.constant(times))),
    );
    const again = (t: LocalTensor): LocalTensor => this.repeat(op, t, { ...type, dtype: t.dtype }, shape);
    return {
      ...moved,
      runs: source.runs.map((run, d) => (d === dim ? run * times : run)),
      ofRepeated: () => again(this.repeated(kept)),
    };
  }

  private reshape(operand: LocalTensor, type: TensorType, shape: readonly Extent[]): LocalTensor {
    // Pieces that are counted row-major are the same pieces in another shape.
    const isCounted = [operand.owned, operand.spread].every((p) => p === null || p.kind === "chunks");
    const source = isCounted ? operand : this.memory.everywhere(operand);
    const place = dimsIn(source.shape, shape);
    const moved = this.view(source, type, shape, (i) =>
      place === null
        ? this.at.unfold(this.at.linear(i, shape), source.shape)
        : place.map((d) => (d === null ? this.at.constant(0) : i[d]!)),
    );
    return { ...moved, isStrided: place !== null && source.isStrided };
  }

  private slice(op: Op, operand: LocalTensor, type: TensorType, shape: readonly Extent[]): LocalTensor {
    const source = this.memory.everywhere(operand);
    const starts = op.operands.slice(1).map((v) => this.numbers.get(v));
    const moved = this.view(source, type, shape, (i) => i.map((v, d) => this.at.index("add", v, starts[d]!)));
    return { ...moved, isStrided: source.isStrided };
  }

  /** The parts, stored one after the other where the whole is to lie. */
  private concat(op: Op, parts: readonly LocalTensor[], type: TensorType, shape: readonly Extent[]): LocalTensor {
    const { at, memory } = this;
    const dim = op.attributes["dim"] as number;
    const output = this.uses.soleOutput(op.results[0]!);
    const kept = parts.every((p) => p.isExact) ? type.dtype : computeKind(type.dtype);
    const name = output === null ? memory.scratch("joined", kept, shape) : text(output, "buffer");
    let start: Extent = 0;
    for (const part of parts) {
      const from = at.extent(start);
      memory.store(name, part, (i) => at.replaced(i, dim, (v) => at.index("add", v, from)));
      start = extent("add", start, part.shape[dim]!);
    }
    const isSame = type.layout.kind === "replicated";
    return memory.inBuffer(name, { ...this.plain(type, shape) }, isSame);
  }
}
