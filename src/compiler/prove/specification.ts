/** What the elements of the outputs must be, as terms over the inputs of one launch. */
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Kernel } from "../ir/module.js";
import { BINARY_FUNCTIONS, UNARY_FUNCTIONS, type BinaryFunction, type UnaryFunction } from "../ir/ops.js";
import type { OutputSpecification, SignatureTensor, Specification } from "../manifest.js";
import { DTYPES, type ScalarKind } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import type { ReductionOp } from "../types/layout.js";
import { membersOf } from "../types/mesh.js";
import { ElementExpectation } from "./elements.js";
import type { InputValues } from "./inputs.js";
import { CannotTell } from "./results.js";
import type { Algebra, Number_ } from "./algebra.js";
import { binaryOf, unaryOf } from "./values.js";

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
  }

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

  /** Shape of a specification's value; [] for constants. */
  private shape(s: Specification): readonly number[] {
    switch (s.kind) {
      case "input":
        return this.shapeOf(this.tensor(s.name));
      case "constant":
        return [];
      case "matmul":
        return [this.shape(s.a)[0]!, this.shape(s.b)[1]!];
      case "unary":
        return this.shape(s.a);
      case "binary": {
        const [a, b] = [this.shape(s.a), this.shape(s.b)];
        return a.length >= b.length ? a : b;
      }
      default:
        throw new CannotTell(`the prover does not know the specification '${(s as { kind: string }).kind}'`);
    }
  }

  private kind(s: Specification): ScalarKind {
    switch (s.kind) {
      case "input":
        return DTYPES[this.tensor(s.name).dtype].compute;
      case "constant":
        return "f32";
      default:
        return this.kind(s.a);
    }
  }

  /**
   * The logical element at an index; of a claim about elements, that of the rank's own part. `self` is the rank whose
   * `local` inputs, and whose row of the mesh, count.
   */
  element(s: OutputSpecification, at: Index, self: number): Number_ {
    const { algebra } = this;
    switch (s.kind) {
      case "elements":
        return this.elements.element(s, at, self);
      case "input":
        return this.inputElement(this.tensor(s.name), at, self);
      case "constant":
        return s.value;
      case "matmul": {
        const depth = this.shape(s.a)[1]!;
        const total = algebra.accumulator();
        for (let k = 0; k < depth; k++)
          total.addProduct(this.element(s.a, [at[0]!, k], self), this.element(s.b, [k, at[1]!], self));
        return total.build();
      }
      case "unary":
        if (!(UNARY_FUNCTIONS as readonly string[]).includes(s.fn))
          throw new CannotTell(`the prover does not know '${s.fn}'`);
        return unaryOf(algebra, s.fn as UnaryFunction, this.kind(s), this.element(s.a, at, self));
      case "binary": {
        if (!(BINARY_FUNCTIONS as readonly string[]).includes(s.fn))
          throw new CannotTell(`the prover does not know '${s.fn}'`);
        // An operand of fewer dimensions is the same along the leading ones.
        const operand = (x: Specification): Number_ =>
          this.element(x, at.slice(at.length - this.shape(x).length), self);
        return binaryOf(algebra, s.fn as BinaryFunction, this.kind(s), operand(s.a), operand(s.b));
      }
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
