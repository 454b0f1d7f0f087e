/** What the elements of the outputs must be, as terms over the inputs of one launch. */
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Kernel } from "../ir/module.js";
import {
  BINARY_FUNCTIONS,
  UNARY_FUNCTIONS,
  type BinaryFunction,
  type Comparison,
  type UnaryFunction,
} from "../ir/ops.js";
import type { OutputSpecification, SignatureTensor, Specification } from "../manifest.js";
import { partsOfSpecification, shapeOfSpecification, sharedParts } from "../specification-shape.js";
import { DTYPES, type ScalarKind } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import type { ReductionOp } from "../types/layout.js";
import { membersOf } from "../types/mesh.js";
import { ElementExpectation } from "./elements.js";
import type { InputValues } from "./inputs.js";
import { CannotTell } from "./results.js";
import type { Algebra, Number_ } from "./algebra.js";
import { binaryOf, castOf, compareOf, selectOf, unaryOf } from "./values.js";

export type Index = readonly number[];

export class Expectation {
  constructor(
    private readonly kernel: Kernel,
    private readonly dims: DimValues,
    private readonly algebra: Algebra,
    private readonly launch: number,
    private readonly inputs: InputValues,
  ) {
    this.elements = new ElementExpectation(kernel.inputs, kernel.world, dims, algebra, launch, inputs);
    const tensors = kernel.specification.flatMap((s) => (s == null || s.kind === "elements" ? [] : [s]));
    this.shared = sharedParts(tensors, partsOfSpecification);
  }

  private readonly shared: ReadonlySet<Specification>;

  private readonly elements: ElementExpectation;

  private readonly shapes = new Map<SignatureTensor, readonly number[]>();
  private readonly members = new Map<SignatureTensor, (readonly number[])[]>();

  shapeOf(t: SignatureTensor): readonly number[] {
    let shape = this.shapes.get(t);
    if (shape === undefined) this.shapes.set(t, (shape = t.shape.map((e) => evaluateExtent(e, this.dims))));
    return shape;
  }

  /** What one rank holds of a tensor. */
  localShapeOf(t: SignatureTensor): readonly number[] {
    return t.localShape.map((e) => evaluateExtent(e, this.dims));
  }

  private tensor(name: string): SignatureTensor {
    const tensor = this.kernel.inputs.find((t) => t.name === name);
    if (tensor === undefined) throw new InternalCompilerError(`the specification names '${name}', which is no input`);
    return tensor;
  }

  private readonly specificationShapes = new Map<Specification, readonly number[]>();

  /** Shape of a specification's value; [] for constants. */
  private shape(s: Specification): readonly number[] {
    let shape = this.specificationShapes.get(s);
    if (shape === undefined) {
      const input = (name: string): readonly number[] => this.shapeOf(this.tensor(name));
      shape = shapeOfSpecification(s, { input, extent: (e) => evaluateExtent(e, this.dims) });
      this.specificationShapes.set(s, shape);
    }
    return shape;
  }

  private kind(s: Specification): ScalarKind {
    switch (s.kind) {
      case "input":
        return DTYPES[this.tensor(s.name).dtype].compute;
      case "constant":
        return "f32";
      case "cast":
        return DTYPES[s.dtype].compute;
      case "concat":
        return this.kind(s.parts[0]!);
      case "compare":
        return "bool";
      case "binary":
        return this.kind(s.a.kind === "constant" ? s.b : s.a);
      default:
        return this.kind(s.a);
    }
  }

  private readonly known = new Map<Specification, Map<string, Number_>>();

  /** Folds are asked for once for each element along their dimension, and shared parts by all that use them. */
  private remembered(s: Specification, at: Index, self: number, make: () => Number_): Number_ {
    const key = `${self}:${at.join(",")}`;
    let elements = this.known.get(s);
    if (elements === undefined) this.known.set(s, (elements = new Map()));
    let value = elements.get(key);
    if (value === undefined) elements.set(key, (value = make()));
    return value;
  }

  private readonly lines = new Map<Specification, Map<string, readonly Number_[]>>();

  /** The row or column of an operand that goes into an element of a product: all along dimension `along`, from the end. */
  private line(s: Specification, at: Index, along: -1 | -2, self: number): readonly Number_[] {
    const shape = this.shape(s);
    const index = [...within(at.slice(0, -2), shape.slice(0, -2)), at.at(-2)!, at.at(-1)!];
    const varying = index.length + along;
    index[varying] = 0;
    const key = `${self}:${index.join(",")}`;
    let lines = this.lines.get(s);
    if (lines === undefined) this.lines.set(s, (lines = new Map()));
    let line = lines.get(key);
    if (line === undefined) {
      line = Array.from({ length: shape[varying]! }, (_, k) => this.element(s, index.with(varying, k), self));
      lines.set(key, line);
    }
    return line;
  }

  private fold(s: Extract<Specification, { kind: "fold" }>, at: Index, self: number): Number_ {
    const { algebra } = this;
    const length = this.shape(s.a)[s.dim]!;
    const element = (k: number): Number_ => this.element(s.a, at.with(s.dim, k), self);
    if (s.fn === "sum" || s.fn === "mean") {
      const total = algebra.accumulator();
      for (let k = 0; k < length; k++) total.add(element(k));
      return s.fn === "sum" ? total.build() : binaryOf(algebra, "div", this.kind(s), total.build(), length);
    }
    const fn = s.fn === "prod" ? "mul" : s.fn;
    let folded = element(0);
    for (let k = 1; k < length; k++) folded = binaryOf(algebra, fn, this.kind(s), folded, element(k));
    return folded;
  }

  private concat(s: Extract<Specification, { kind: "concat" }>, at: Index, self: number): Number_ {
    let place = at[s.dim]!;
    const part = s.parts.find((p) => {
      const length = this.shape(p)[s.dim]!;
      if (place < length) return true;
      place -= length;
      return false;
    });
    return this.element(part!, at.with(s.dim, place), self);
  }

  private reshaped(s: Extract<Specification, { kind: "reshape" }>, at: Index): Index {
    let rest = linear(at, this.shape(s));
    return this.shape(s.a)
      .toReversed()
      .map((n) => {
        const index = rest % n;
        rest = Math.floor(rest / n);
        return index;
      })
      .reverse();
  }

  /**
   * The logical element at an index; of a claim about elements, that of the rank's own part. `self` is the rank whose
   * `local` inputs, and whose row of the mesh, count.
   */
  element(s: OutputSpecification, at: Index, self: number): Number_ {
    if (s.kind === "elements") return this.elements.element(s, at, self);
    return this.shared.has(s) ? this.remembered(s, at, self, () => this.made(s, at, self)) : this.made(s, at, self);
  }

  private made(s: Specification, at: Index, self: number): Number_ {
    const { algebra } = this;
    const operand = (x: Specification): Number_ => this.element(x, within(at, this.shape(x)), self);
    switch (s.kind) {
      case "input":
        return this.inputElement(this.tensor(s.name), at, self);
      case "constant":
        return s.value;
      case "matmul":
        return this.remembered(s, at, self, () => {
          const total = algebra.accumulator();
          const left = this.line(s.a, at, -1, self);
          const right = this.line(s.b, at, -2, self);
          for (let k = 0; k < left.length; k++) total.addProduct(left[k]!, right[k]!);
          return total.build();
        });
      case "unary":
        if (!(UNARY_FUNCTIONS as readonly string[]).includes(s.fn))
          throw new CannotTell(`the prover does not know '${s.fn}'`);
        return unaryOf(algebra, s.fn as UnaryFunction, this.kind(s), this.element(s.a, at, self));
      case "binary":
        if (!(BINARY_FUNCTIONS as readonly string[]).includes(s.fn))
          throw new CannotTell(`the prover does not know '${s.fn}'`);
        return binaryOf(algebra, s.fn as BinaryFunction, this.kind(s), operand(s.a), operand(s.b));
      case "compare":
        return compareOf(algebra, s.fn as Comparison, operand(s.a), operand(s.b));
      case "select":
        return selectOf(algebra, operand(s.condition), operand(s.a), operand(s.b));
      case "cast":
        return castOf(algebra, this.kind(s.a), s.dtype, this.element(s.a, at, self));
      case "rounded":
        return this.element(s.a, at, self);
      case "fold":
        return this.remembered(s, at, self, () => this.fold(s, at, self));
      case "permute": {
        const inner = new Array<number>(at.length);
        s.order.forEach((d, i) => (inner[d] = at[i]!));
        return this.element(s.a, inner, self);
      }
      case "reshape":
        return this.element(s.a, this.reshaped(s, at), self);
      case "slice":
        return this.element(
          s.a,
          at.map((i, d) => i + evaluateExtent(s.from[d]!, this.dims)),
          self,
        );
      case "concat":
        return this.concat(s, at, self);
      default:
        throw new CannotTell(`the prover does not know the specification '${(s as { kind: string }).kind}'`);
    }
  }

  private inputElement(t: SignatureTensor, at: Index, self: number): Number_ {
    const { algebra, launch } = this;
    const leaf = (rank: number, index: number): Number_ => this.inputs.element(algebra, launch, t.name, rank, index);
    const shape = this.shapeOf(t);
    switch (t.layout.kind) {
      case "replicated":
        return leaf(this.inputs.nameOf(t, self), linear(at, shape));
      case "on":
        return leaf(this.membersFor(t, self)[t.layout.rank]!, linear(at, shape));
      case "local":
        return leaf(self, linear(at, shape));
      case "sharded": {
        const members = this.membersFor(t, self);
        const { place, index } = shardOf(at, shape, t.layout.dim, members.length);
        return leaf(members[place]!, index);
      }
      case "partial": {
        const index = linear(at, shape);
        return this.reduce(
          t.layout.op,
          this.membersFor(t, self).map((r) => leaf(r, index)),
          t.dtype,
        );
      }
    }
  }

  /** The ranks on which a tensor of the signature lies, in the order of its layout, as `self` sees it. */
  membersFor(t: SignatureTensor, self: number): readonly number[] {
    let rows = this.members.get(t);
    if (rows === undefined) this.members.set(t, (rows = []));
    return (rows[self] ??= membersOf(t.layout, this.kernel.mesh, this.kernel.world, self));
  }

  /** The value a `partial` tensor stands for, from each rank's summand. */
  reduce(op: ReductionOp, parts: readonly Number_[], dtype: SignatureTensor["dtype"]): Number_ {
    const fn = ({ sum: "add", avg: "add", min: "min", max: "max", prod: "mul" } as const)[op];
    const kind = DTYPES[dtype].compute;
    const folded = parts.reduce((a, b) => binaryOf(this.algebra, fn, kind, a, b));
    return op === "avg" ? binaryOf(this.algebra, "div", kind, folded, parts.length) : folded;
  }
}

/** The index of a broadcast operand: dimensions are matched from the last one, and one of length 1 repeats. */
function within(at: Index, shape: readonly number[]): Index {
  return shape.map((n, d) => (n === 1 ? 0 : at[d + at.length - shape.length]!));
}

/** Row-major number of an element. */
export function linear(at: Index, shape: readonly number[]): number {
  let index = 0;
  for (let d = 0; d < at.length; d++) index = index * shape[d]! + at[d]!;
  return index;
}

/** Which of the ranks of a sharded tensor holds an element, by its place among them, and where. */
export function shardOf(
  at: Index,
  shape: readonly number[],
  dim: number,
  parts: number,
): { place: number; index: number } {
  const length = shape[dim]! / parts;
  const place = Math.floor(at[dim]! / length);
  let index = 0;
  for (let d = 0; d < shape.length; d++)
    index = d === dim ? index * length + at[d]! - place * length : index * shape[d]! + at[d]!;
  return { place, index };
}
