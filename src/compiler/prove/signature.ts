/** What a kernel's signature says at some lengths of its dimensions: shapes, kinds, and who holds what. */
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Kernel } from "../ir/module.js";
import type { SignatureTensor, Specification } from "../manifest.js";
import { partsOfSpecification, shapeOfSpecification, sharedParts } from "../specification-shape.js";
import { DTYPES, type ScalarKind } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { membersOf, sourcesOf } from "../types/mesh.js";
import { broadcastPlaces, type Places } from "./places.js";

export class Signature {
  private readonly shapes = new Map<SignatureTensor, readonly number[]>();
  private readonly specificationShapes = new Map<Specification, readonly number[]>();
  private readonly kinds = new Map<Specification, ScalarKind>();
  private readonly members = new Map<SignatureTensor, (readonly number[])[]>();
  /** What the outputs' specifications have in common. */
  readonly shared: ReadonlySet<Specification>;
  /** By rank: the first for which all inputs have the same values. */
  readonly views: readonly number[];

  constructor(
    readonly kernel: Kernel,
    readonly dims: DimValues,
  ) {
    const tensors = kernel.specification.flatMap((s) => (s == null || s.kind === "elements" ? [] : [s]));
    this.shared = sharedParts(tensors, partsOfSpecification);
    const ranks = Array.from({ length: kernel.world }, (_, r) => r);
    this.views = ranks.map((rank) => ranks.find((other) => this.isSameView(rank, other))!);
  }

  private isSameView(a: number, b: number): boolean {
    const { inputs } = this.kernel;
    return a === b || inputs.every((t) => t.layout.kind !== "local" && this.firstOf(t, a) === this.firstOf(t, b));
  }

  /** One of the ranks that hold a tensor as `self` sees it: who sees the same, sees the same ones. */
  private firstOf(t: SignatureTensor, self: number): number {
    const { mesh } = this.kernel;
    return t.layout.kind === "grid" ? Math.min(...sourcesOf(t.layout, mesh, self)) : this.membersFor(t, self)[0]!;
  }

  input(name: string): SignatureTensor {
    const tensor = this.kernel.inputs.find((t) => t.name === name);
    if (tensor === undefined) throw new InternalCompilerError(`the specification names '${name}', which is no input`);
    return tensor;
  }

  shapeOf(t: SignatureTensor): readonly number[] {
    let shape = this.shapes.get(t);
    if (shape === undefined) this.shapes.set(t, (shape = t.shape.map((e) => evaluateExtent(e, this.dims))));
    return shape;
  }

  /** What one rank holds of a tensor. */
  localShapeOf(t: SignatureTensor): readonly number[] {
    return t.localShape.map((e) => evaluateExtent(e, this.dims));
  }

  /** The ranks on which a tensor of the signature lies, in the order of its layout, as `self` sees it. */
  membersFor(t: SignatureTensor, self: number): readonly number[] {
    let rows = this.members.get(t);
    if (rows === undefined) this.members.set(t, (rows = []));
    return (rows[self] ??= membersOf(t.layout, this.kernel.mesh, this.kernel.world, self));
  }

  /** Shape of a specification's value; [] for constants. */
  shape(s: Specification): readonly number[] {
    const input = (name: string): readonly number[] => this.shapeOf(this.input(name));
    return shapeOfSpecification(s, { input, extent: (e) => evaluateExtent(e, this.dims) }, this.specificationShapes);
  }

  private readonly broadcast = new Map<Specification, Map<Specification, Places>>();

  /** Where the elements of a specification's value lie in an operand that is broadcast to it. */
  places(s: Specification, operand: Specification): Places {
    let places = this.broadcast.get(s);
    if (places === undefined) this.broadcast.set(s, (places = new Map()));
    let found = places.get(operand);
    if (found === undefined) places.set(operand, (found = broadcastPlaces(this.shape(s), this.shape(operand))));
    return found;
  }

  /** The kind in which a specification's value is computed. */
  kind(s: Specification): ScalarKind {
    let kind = this.kinds.get(s);
    if (kind === undefined) this.kinds.set(s, (kind = this.kindOf(s)));
    return kind;
  }

  private kindOf(s: Specification): ScalarKind {
    switch (s.kind) {
      case "input":
        return DTYPES[this.input(s.name).dtype].compute;
      case "constant":
        return "f32";
      case "scalar":
        return this.kernel.scalars.find((x) => x.name === s.name)!.dtype;
      case "iota":
        return "i32";
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
}
