/**
 * merge-dims: neighbouring dimensions that nothing tells apart become one.
 *
 * Rows of `[batch, sequence, width]` that are multiplied by one matrix are the rows of a matrix of `batch · sequence`: its tiles are
 * full where those of each batch would hold a row or two. So it is with what is computed element by element, folded or moved along another
 * dimension. Elements lie in memory in the same order either way; the signature, and what is claimed of it, keep their dimensions.
 *
 * Between two neighbouring dimensions of a tensor is a seam. An operation ties seams of its operands to those of its result, or
 * tells the two dimensions of a seam apart: then no tensor of those that are tied to it is without it.
 */
import { Builder } from "../ir/builder.js";
import { type Attributes, type Buffer, type Kernel, type Op, text, type Value } from "../ir/module.js";
import { sameType, type Type } from "../ir/types.js";
import { rewriteOps, Substitution } from "../ir/visit.js";
import { extent, type Extent, productOf, sameExtent } from "../types/extent.js";
import { isCut, withDims } from "../types/layout.js";
import { cutsOf, localShapeOf } from "../types/mesh.js";
import { isKnownMultiple } from "../types/requirement.js";
import { ELEMENTWISE } from "./support/tensor-uses.js";

type TensorType = Extract<Type, { kind: "tensor" }>;

export function mergeDims(kernel: Kernel): Kernel {
  // What an author's loops index has the dimensions that they index.
  if (kernel.body.ops.some(({ regions }) => regions.length > 0)) return kernel;
  const seams = new Seams(kernel);
  if (!seams.areAnyOpen) return kernel;
  return new Merging(kernel, seams).run();
}

function typeOf(v: Value): TensorType | null {
  return v.type.kind === "tensor" ? v.type : null;
}

/** A tensor's seam between dimension `at` and the next one; `on` is a value, or the buffer's name. */
interface Seam {
  readonly on: Value | string;
  readonly at: number;
}

class Seams {
  private readonly numbers = new Map<Value | string, number>();
  /** By number of a seam: one that it is tied to, or itself; and of those that stand for themselves, whether their tensors keep them. */
  private readonly parents: number[] = [];
  private readonly kept: boolean[] = [];

  constructor(private readonly kernel: Kernel) {
    for (const op of kernel.body.ops) this.op(op);
  }

  get areAnyOpen(): boolean {
    return this.parents.some((_, i) => !this.kept[this.find(i)]);
  }

  /** The first dimension of each group that becomes one. */
  firsts(on: Value, rank: number): readonly number[] {
    return Array.from({ length: rank }, (_, d) => d).filter((d) => d === 0 || this.isKept({ on, at: d - 1 }));
  }

  private isKept(seam: Seam): boolean {
    return this.kept[this.find(this.numberOf(seam))]!;
  }

  private numberOf({ on, at }: Seam): number {
    return this.numbers.get(on)! + at;
  }

  private find(i: number): number {
    let root = i;
    while (this.parents[root] !== root) root = this.parents[root]!;
    return (this.parents[i] = root);
  }

  private tie(a: Seam, b: Seam): void {
    const [x, y] = [this.find(this.numberOf(a)), this.find(this.numberOf(b))];
    if (x === y) return;
    this.parents[x] = y;
    this.kept[y] ||= this.kept[x]!;
  }

  private keep(seam: Seam): void {
    this.kept[this.find(this.numberOf(seam))] = true;
  }

  private declare(on: Value | string, rank: number): void {
    if (this.numbers.has(on)) return;
    this.numbers.set(on, this.parents.length);
    for (let at = 0; at < rank - 1; at++) {
      this.parents.push(this.parents.length);
      this.kept.push(false);
    }
  }

  /** A tensor that is cut among ranks along a dimension: its parts are runs of what the dimension and those behind it are together. */
  private typed(v: Value, { shape, layout }: TensorType): void {
    this.declare(v, shape.length);
    const { mesh, world, requirements } = this.kernel;
    cutsOf(layout, mesh, world, shape.length).forEach((parts, d) => {
      if (!isCut(layout, d)) return;
      // Before it are single rows, or other ones.
      const other = shape.slice(0, d).findLastIndex((e) => e !== 1);
      if (other >= 0) this.keep({ on: v, at: other });
      if (d < shape.length - 1 && !isKnownMultiple(shape[d]!, parts, requirements)) this.keep({ on: v, at: d });
    });
  }

  private op(op: Op): void {
    const operands = op.operands.filter((v) => typeOf(v) !== null);
    const [result] = op.results;
    const type = result === undefined ? null : typeOf(result);
    if (type !== null) this.typed(result!, type);
    if (op.name === "input" || op.name === "output") {
      const v = type !== null ? result! : op.operands[0]!;
      const rank = typeOf(v)!.shape.length;
      this.declare(text(op, "buffer"), rank);
      for (let at = 0; at < rank - 1; at++) this.tie({ on: v, at }, { on: text(op, "buffer"), at });
      return;
    }
    if (type === null) return operands.forEach((v) => this.keepAll(v));
    this.tied(op, result!, type, operands);
  }

  private keepAll(v: Value): void {
    for (let at = 0; at < typeOf(v)!.shape.length - 1; at++) this.keep({ on: v, at });
  }

  /** Ties dimension by dimension, but for seams beside dimensions that are `apart`. */
  private alike(result: Value, operands: readonly Value[], apart: readonly number[] = []): void {
    for (const operand of operands)
      for (let at = 0; at < typeOf(result)!.shape.length - 1; at++) {
        this.tie({ on: operand, at }, { on: result, at });
        if (apart.includes(at) || apart.includes(at + 1)) this.keep({ on: result, at });
      }
  }

  private tied(op: Op, result: Value, { shape }: TensorType, operands: readonly Value[]): void {
    const [first] = operands;
    const dim = op.attributes["dim"];
    if (ELEMENTWISE.has(op.name) || op.name === "convert") return this.alike(result, operands);
    switch (op.name) {
      case "fold":
      case "repeat":
      case "concat":
        return this.alike(result, operands, [dim as number]);
      case "slice": {
        const whole = typeOf(first!)!.shape;
        const cut = shape.flatMap((e, d) => (sameExtent(e, whole[d]!) ? [] : [d]));
        return this.alike(result, [first!], cut);
      }
      case "iota": {
        if (shape.length === 1) return;
        for (const at of [(dim as number) - 1, dim as number])
          if (at >= 0 && at < shape.length - 1) this.keep({ on: result, at });
        return;
      }
      case "const":
      case "scalar":
        return;
      case "reshape":
        return this.reshaped(result, first!);
      case "permute":
        return this.permuted(result, first!, text(op, "order").split(",").map(Number));
      case "expand":
        return this.expanded(result, first!);
      case "matmul":
        return this.multiplied(result, operands as [Value, Value]);
      default:
        for (const v of [result, ...operands]) this.keepAll(v);
    }
  }

  /** Elements are counted row by row, whatever rows are called; but rows that are kept on one side are on the other. */
  private reshaped(result: Value, operand: Value): void {
    const counts = (v: Value): Extent[] => typeOf(v)!.shape.map((_, at, shape) => productOf(shape.slice(0, at + 1)));
    const [before, after] = [counts(operand).slice(0, -1), counts(result).slice(0, -1)];
    before.forEach((count, i) => {
      const at = after.findIndex((other) => sameExtent(count, other));
      if (at >= 0) this.tie({ on: operand, at: i }, { on: result, at });
    });
  }

  private permuted(result: Value, operand: Value, order: readonly number[]): void {
    for (let at = 0; at < order.length - 1; at++) {
      if (order[at + 1] === order[at]! + 1) this.tie({ on: operand, at: order[at]! }, { on: result, at });
      else this.keep({ on: result, at });
      if (order.indexOf(at + 1) !== order.indexOf(at) + 1) this.keep({ on: operand, at });
    }
  }

  /** Dimensions are matched from the last one: both of a seam are repeated, or neither. */
  private expanded(result: Value, operand: Value): void {
    const [to, from] = [typeOf(result)!.shape, typeOf(operand)!.shape];
    const missing = to.length - from.length;
    const isRepeated = (d: number): boolean => d < missing || !sameExtent(to[d]!, from[d - missing]!);
    for (let at = 0; at < to.length - 1; at++) {
      const seam = { on: operand, at: at - missing };
      if (seam.at >= 0) this.tie(seam, { on: result, at });
      if (isRepeated(at) !== isRepeated(at + 1)) this.keep({ on: result, at });
    }
  }

  /** Batches of the left operand are rows, where the right one is one matrix; else batches are batches. */
  private multiplied(result: Value, [left, right]: readonly [Value, Value]): void {
    const [l, r, of] = [left, right, result].map((v) => typeOf(v)!.shape.length) as [number, number, number];
    this.keep({ on: left, at: l - 2 });
    this.keep({ on: right, at: r - 2 });
    if (of > 1) this.keep({ on: result, at: of - 2 });
    if (r === 2 && l === of) {
      for (let at = 0; at < of - 2; at++) this.tie({ on: left, at }, { on: result, at });
      return;
    }
    const areBatchesAlike =
      l === of &&
      r === of &&
      typeOf(left)!
        .shape.slice(0, -2)
        .every((e, d) => sameExtent(e, typeOf(right)!.shape[d]!));
    if (!areBatchesAlike) return [left, right, result].forEach((v) => this.keepAll(v));
    this.keep({ on: result, at: of - 3 });
    for (let at = 0; at < of - 2; at++) for (const v of [left, right]) this.tie({ on: v, at }, { on: result, at });
  }
}

class Merging {
  private readonly build: Builder;
  private readonly shapes = new Map<string, Buffer>();

  constructor(
    private readonly kernel: Kernel,
    private readonly seams: Seams,
  ) {
    this.build = new Builder(kernel.body.ops[0]!.span);
  }

  run(): Kernel {
    const { kernel, build } = this;
    rewriteOps(kernel.body.ops, build, new Substitution(), (op, _, values) => {
      this.op(op, values);
      return true;
    });
    const buffers = kernel.buffers.map((b) => this.shapes.get(b.name) ?? b);
    return { ...kernel, buffers, body: { arguments: [], ops: build.ops } };
  }

  private op(op: Op, values: Substitution): void {
    const { build } = this;
    const [result] = op.results;
    const tensor = op.name === "output" ? op.operands[0]! : (result ?? null);
    const type = tensor === null ? null : typeOf(tensor);
    const firsts = type === null ? [] : this.seams.firsts(tensor!, type.shape.length);
    const merged = type === null ? null : mergedType(type, firsts);
    if (op.name === "input" || op.name === "output") this.reshaped(text(op, "buffer"), merged!);
    let operands = op.operands.map((v) => values.get(v));
    if (op.name === "slice") operands = operands.filter((_, i) => i === 0 || firsts.includes(i - 1));
    const [only] = operands;
    // What gave dimensions other names gives none any more.
    if (op.name === "reshape" && sameType(only!.type, merged!)) return values.set(result!, only!);
    const made = build.op(op.name, operands, this.attributes(op, firsts), result === undefined ? null : (merged ?? result.type)); // prettier-ignore
    if (result !== undefined) values.set(result, made!);
  }

  private attributes(op: Op, firsts: readonly number[]): Attributes {
    const { attributes } = op;
    const dim = attributes["dim"];
    if (op.name === "permute") {
      const order = text(op, "order").split(",").map(Number);
      const own = this.seams.firsts(op.operands[0]!, order.length);
      return { ...attributes, order: firsts.map((d) => own.indexOf(order[d]!)).join(",") };
    }
    return typeof dim === "number" ? { ...attributes, dim: firsts.indexOf(dim) } : attributes;
  }

  private reshaped(name: string, { shape, layout }: TensorType): void {
    const { mesh, world } = this.kernel;
    const buffer = this.kernel.buffers.find((b) => b.name === name)!;
    if (buffer.shape.length === shape.length) return;
    this.shapes.set(name, { ...buffer, shape: localShapeOf(shape, layout, mesh, world) });
  }
}

function mergedType(type: TensorType, firsts: readonly number[]): TensorType {
  const ends = [...firsts.slice(1), type.shape.length];
  const shape = firsts.map((d, g) => lengthOf(type.shape.slice(d, ends[g])));
  const layout = withDims(type.layout, (dim) => firsts.findLastIndex((first) => first <= dim))!;
  return { ...type, shape, layout };
}

/** The product in one form, whichever dimensions it is of: lengths that are known come last, as one. */
function lengthOf(lengths: readonly Extent[]): Extent {
  if (lengths.length === 1) return lengths[0]!;
  const factors = lengths.flatMap(factorsOf);
  const known = factors.reduce<number>((n, e) => (typeof e === "number" ? n * e : n), 1);
  const product = productOf(factors.filter((e) => typeof e !== "number"));
  return known === 1 ? product : extent("mul", product, known);
}

function factorsOf(e: Extent): readonly Extent[] {
  return typeof e === "object" && e.op === "mul" ? [...factorsOf(e.a), ...factorsOf(e.b)] : [e];
}
