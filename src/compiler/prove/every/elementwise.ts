/** Whether an answer goes element by element: the same function of the elements around each place, whatever the lengths. */
import type { Kernel } from "../../ir/module.js";
import type { ElementExpression, ElementSpecification, SignatureTensor, Specification } from "../../manifest.js";
import { type Extent, sameExtent } from "../../types/extent.js";
import { placeOf } from "../results.js";
import { demand, NotShown } from "./conditions.js";
import { Regions } from "./regions.js";

/**
 * How an answer goes element by element: of the elements in the same places of whole tensors; of those at fixed distances in
 * what ranks hold; of a single one, in a row and a column that go with those of the whole output in either order; or, in each
 * region of rows, of those at distances that go with lengths.
 */
export type Answer = "whole" | "local" | "single" | Regions;

const known = new WeakMap<Kernel, readonly (Answer | null)[]>();

/** Of each output; null of those that nothing is said of. @throws NotShown for a kernel with an output whose elements depend on where they are, or on lengths */
export function answersOf(kernel: Kernel): readonly (Answer | null)[] {
  let answers = known.get(kernel);
  if (answers === undefined) {
    answers = kernel.specification.map((s, o) => (s === null ? null : answerOf(kernel, kernel.outputs[o]!, s)));
    known.set(kernel, answers);
  }
  return answers;
}

function answerOf(kernel: Kernel, output: SignatureTensor, s: Kernel["specification"][number] & object): Answer {
  if (s.kind === "elements") {
    if (new OfOne(kernel, output, s).is()) return "single";
    const elements = new OfElements(kernel, output, s);
    try {
      elements.check(s.value, new Set());
      return "local";
    } catch (e) {
      if (!(e instanceof NotShown)) throw e;
      const regions = regionsOf(kernel, output, s);
      if (regions === null) throw e;
      return regions;
    }
  }
  if (new OfTensors(kernel, output).holdsRows(s))
    throw new NotShown("the answer is of what ranks have one by one", placeOf(kernel));
  checkShapes(kernel, output);
  return "whole";
}

function regionsOf(kernel: Kernel, output: SignatureTensor, s: ElementSpecification): Regions | null {
  try {
    return new Regions(kernel, output, s, (value, isInPlace) =>
      new OfElements(kernel, output, s, isInPlace).check(value, new Set()),
    );
  } catch (e) {
    if (e instanceof NotShown) return null;
    throw e;
  }
}

/**
 * A tensor without dimensions in front of which there is one index: places are the same without them. A dimension of the ranks, each of which has
 * one index of it, is left out, too, down to so many dimensions: what each rank has then is a summand of its own.
 */
export function withoutRows(t: SignatureTensor, dims: number): SignatureTensor {
  const { layout, shape, localShape } = t;
  const isRanks = layout.kind === "sharded" && layout.axis === undefined && layout.dim === 0 && shape.length > dims;
  if (localShape.length < 2 || localShape[0] !== 1 || (shape[0] !== 1 && !isRanks)) return t;
  const left = { ...t, shape: shape.slice(1), localShape: localShape.slice(1) };
  if (layout.kind !== "sharded") return withoutRows(left, dims);
  if (layout.dim === 0) return withoutRows({ ...left, layout: { kind: "partial", op: "sum" } }, dims);
  return withoutRows({ ...left, layout: { ...layout, dim: layout.dim - 1 } }, dims);
}

/** An output without dimensions of one element in front. */
export const outputRows = (output: SignatureTensor): SignatureTensor => withoutRows(output, output.shape.length);

/** A specification of whole tensors, element by element; of rows that ranks have one by one, all of a place together. */
class OfTensors {
  /** Parts that were looked at, which specifications share, and whether they have rows of ranks. */
  private readonly seen = new Map<Specification, boolean>();
  private readonly dims: number;

  constructor(
    private readonly kernel: Kernel,
    private readonly output: SignatureTensor,
  ) {
    this.dims = outputRows(output).shape.length;
  }

  /** @throws NotShown where an element is not made of those of its place */
  holdsRows(s: Specification): boolean {
    let known = this.seen.get(s);
    if (known === undefined) this.seen.set(s, (known = this.look(s)));
    return known;
  }

  private look(s: Specification): boolean {
    switch (s.kind) {
      case "input": {
        const input = this.kernel.inputs.find((t) => t.name === s.name)!;
        return input.shape.length > this.dims && input.shape[0] !== 1;
      }
      case "constant":
      // One number of the launch, wherever it is used.
      case "scalar":
        return false;
      case "unary":
      case "cast":
      case "rounded":
        return this.holdsRows(s.a);
      case "binary":
      case "compare":
        return this.someHold([s.a, s.b]);
      case "select":
        return this.someHold([s.condition, s.a, s.b]);
      case "fold":
        if (s.dim !== 0 || !this.holdsRows(s.a)) return this.refuse(s);
        return false;
      case "reshape": {
        const { shape } = outputRows(this.output);
        const more = s.shape.length - shape.length;
        const isSame = more >= 0 && s.shape.every((e, d) => (d < more ? e === 1 : sameExtent(e, shape[d - more]!)));
        if (!isSame || this.holdsRows(s.a)) return this.refuse(s);
        return false;
      }
      default:
        return this.refuse(s);
    }
  }

  /** All are looked at, whatever the first ones hold. */
  private someHold(parts: readonly Specification[]): boolean {
    return parts.map((part) => this.holdsRows(part)).includes(true);
  }

  private refuse({ kind }: Specification): never {
    throw new NotShown(`the answer has a '${kind}', which goes by places`, placeOf(this.kernel));
  }
}

/** How many dimensions a shape has without those that are 1 at its end, where as long a shape has other lengths there: it has an element for each row of that. */
export function rowDims(shape: readonly Extent[], of: readonly Extent[]): number {
  let dims = shape.length;
  if (dims !== of.length) return dims;
  while (dims > 0 && shape[dims - 1] === 1 && of[dims - 1] !== 1) dims--;
  return dims;
}

/** The last dimensions of the output, or its first ones and 1 for each other, on all ranks or cut along one of them: so that places in one say where to look in another. */
function checkShapes(kernel: Kernel, given: SignatureTensor): void {
  const output = outputRows(given);
  // What each rank makes of its own tensors is in places of these, as what it has whole is.
  const others = output.layout.kind === "local" ? ["sharded", "grid"] : ["local", "grid"];
  const fits = ({ layout, shape }: SignatureTensor): boolean => {
    const before = output.shape.length - shape.length;
    return (
      layout.axis === undefined &&
      !others.includes(layout.kind) &&
      before >= 0 &&
      shape.slice(0, rowDims(shape, output.shape)).every((e, d) => sameExtent(e, output.shape[before + d]!))
    );
  };
  if (![output, ...kernel.inputs.map((t) => withoutRows(t, output.shape.length))].every(fits))
    throw new NotShown("the tensors have several shapes, or parts that are not neighbours", placeOf(kernel));
}

type Load = ElementExpression & { readonly kind: "load" };

/** An `ensures` of elements, over what ranks hold where they hold it. */
class OfElements {
  /** By part: the numbers it was looked at with. Specifications share parts. */
  private readonly seen = new Map<ElementExpression, ReadonlySet<string>>();

  constructor(
    private readonly kernel: Kernel,
    private readonly output: SignatureTensor,
    private readonly specification: ElementSpecification,
    private readonly isInPlace = (load: Load): boolean => this.isOwn(load),
  ) {}

  /** @param numbers variables of reductions */
  check(e: ElementExpression, numbers: ReadonlySet<string>): void {
    if (this.seen.get(e) === numbers) return;
    this.seen.set(e, numbers);
    switch (e.kind) {
      case "constant":
      case "rank":
        return;
      case "variable":
        if (!numbers.has(e.name)) this.fail("the answer depends on where an element is");
        return;
      case "dim":
        return this.fail("the answer depends on a length");
      case "unary":
      case "cast":
      case "index":
        return this.check(e.a, numbers);
      case "binary":
      case "compare":
        this.check(e.a, numbers);
        return this.check(e.b, numbers);
      case "select":
        this.check(e.condition, numbers);
        this.check(e.a, numbers);
        return this.check(e.b, numbers);
      case "load": {
        if (e.peer !== null) this.check(e.peer, numbers);
        if (!this.isInPlace(e)) this.fail("the answer is of elements in other places");
        return;
      }
      case "reduce":
        this.check(e.from, numbers);
        this.check(e.to, numbers);
        return this.check(e.body, new Set([...numbers, e.variable]));
    }
  }

  /** Whether a load is of the output's element's place in what has its shape. */
  private isOwn({ input: name, indices }: Load): boolean {
    const input = this.kernel.inputs.find((t) => t.name === name)!;
    const shape = this.output.localShape;
    const isAlike =
      input.localShape.length === shape.length && input.localShape.every((x, d) => sameExtent(x, shape[d]!));
    if (isAlike) return indices.every((i, d) => this.isPlace(i, d));
    const dims = rowDims(input.localShape, shape);
    const isZero = (i: ElementExpression): boolean => i.kind === "constant" && i.value === 0;
    if (dims < input.localShape.length)
      return (
        input.localShape.slice(0, dims).every((x, d) => sameExtent(x, shape[d]!)) &&
        indices.every((i, d) => (d < dims ? this.isPlace(i, d) : isZero(i)))
      );
    // A number for each row, or for each column.
    const { variables } = this.specification;
    const less = shape.length - input.localShape.length;
    return [0, less].some(
      (first) =>
        less > 0 &&
        input.localShape.every((x, d) => sameExtent(x, shape[first + d]!)) &&
        indices.every((i, d) => i.kind === "variable" && i.name === variables[first + d]),
    );
  }

  /** Whether an index is that of the output's element; of a vector, at a fixed distance from it. */
  private isPlace(e: ElementExpression, d: number): boolean {
    const { variables } = this.specification;
    if (e.kind === "variable") return e.name === variables[d];
    const isMoved = e.kind === "binary" && (e.fn === "add" || e.fn === "sub") && e.b.kind === "constant";
    return isMoved && variables.length === 1 && this.isPlace(e.a, d);
  }

  private fail(reason: string): void {
    demand("elementwise", false, reason, placeOf(this.kernel));
  }
}

/** An `ensures` of one element of an input that is cut among the ranks, wherever in it that lies. */
class OfOne {
  constructor(
    private readonly kernel: Kernel,
    private readonly output: SignatureTensor,
    private readonly specification: ElementSpecification,
  ) {}

  /** Whether it is that: each coordinate in the whole input is one in the whole output. */
  is(): boolean {
    const { value } = this.specification;
    if (value.kind !== "load" || value.peer === null) return false;
    const { layout, localShape } = this.kernel.inputs.find((t) => t.name === value.input)!;
    if (layout.kind !== "sharded" || layout.axis !== undefined || !this.isCutAlike()) return false;
    if (this.output.shape.length > 2 && !this.isInPlace(value)) return false;
    const { peer } = value;
    return value.indices.every((index, d) => {
      if (d !== layout.dim) return this.isWhole(index);
      const isPart = (e: ElementExpression, fn: string): boolean =>
        e.kind === "binary" && e.fn === fn && this.isWhole(e.a) && isExtent(e.b, localShape[d]!);
      if (!isPart(peer, "floordiv") || !isPart(index, "mod")) return false;
      const [p, i] = [peer, index] as (ElementExpression & { kind: "binary" })[];
      return JSON.stringify(p!.a) === JSON.stringify(i!.a);
    });
  }

  /**
   * Whether each coordinate is that of the same dimension, in tensors of one shape. Of more than two dimensions some are looked at together, so that
   * a place in others, or in another order, could mean one element where a dimension is 1.
   */
  private isInPlace({ input, indices }: Load): boolean {
    const { shape } = this.kernel.inputs.find((t) => t.name === input)!;
    const { shape: own } = this.output;
    const isOf = (e: ElementExpression, d: number): boolean => {
      if (e.kind === "variable") return e.name === this.specification.variables[d];
      return e.kind === "binary" && ["add", "mod"].includes(e.fn) && isOf(e.a, d);
    };
    return shape.length === own.length && indices.every((e, d) => sameExtent(shape[d]!, own[d]!) && isOf(e, d));
  }

  private isCutAlike(): boolean {
    const { layout } = this.output;
    return layout.axis === undefined && layout.kind !== "grid" && layout.kind !== "local";
  }

  /** Whether an index is a coordinate in the whole output. */
  private isWhole(e: ElementExpression): boolean {
    const { layout, localShape } = this.output;
    const at = (v: ElementExpression): number =>
      v.kind === "variable" ? this.specification.variables.indexOf(v.name) : -1;
    const dim = layout.kind === "sharded" ? layout.dim : -1;
    if (e.kind === "variable") return at(e) >= 0 && at(e) !== dim;
    if (e.kind !== "binary" || e.fn !== "add" || at(e.a) !== dim || dim < 0 || e.b.kind !== "binary") return false;
    return e.b.fn === "mul" && e.b.a.kind === "rank" && isExtent(e.b.b, localShape[dim]!);
  }
}

function isExtent(e: ElementExpression, x: Extent): boolean {
  if (typeof x === "number") return e.kind === "constant" && e.value === x;
  if (typeof x === "string") return e.kind === "dim" && e.name === x;
  const fn = x.op === "div" ? "floordiv" : x.op;
  return e.kind === "binary" && e.fn === fn && isExtent(e.a, x.a) && isExtent(e.b, x.b);
}
