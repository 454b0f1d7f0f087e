/** Whether an answer goes element by element: the same function of the elements around each place, whatever the lengths. */
import type { Kernel } from "../../ir/module.js";
import type { ElementExpression, ElementSpecification, SignatureTensor, Specification } from "../../manifest.js";
import { sameExtent } from "../../types/extent.js";
import { placeOf } from "../results.js";
import { NotShown } from "./stretches.js";

/** @throws NotShown for a kernel with an output whose elements depend on where they are, or on lengths */
export function checkSpecification(kernel: Kernel): void {
  for (const [o, s] of kernel.specification.entries()) {
    if (s === null) continue;
    const output = kernel.outputs[o]!;
    if (s.kind === "elements") new OfElements(kernel, output, s).check(s.value, new Set());
    else {
      checkTensors(kernel, s, new Set());
      checkShapes(kernel, output);
    }
  }
}

/** @param seen parts that were looked at: specifications share them */
function checkTensors(kernel: Kernel, s: Specification, seen: Set<Specification>): void {
  if (seen.has(s)) return;
  seen.add(s);
  switch (s.kind) {
    case "input":
    case "constant":
      return;
    case "unary":
    case "cast":
    case "rounded":
      return checkTensors(kernel, s.a, seen);
    case "binary":
    case "compare":
      checkTensors(kernel, s.a, seen);
      return checkTensors(kernel, s.b, seen);
    case "select":
      checkTensors(kernel, s.condition, seen);
      checkTensors(kernel, s.a, seen);
      return checkTensors(kernel, s.b, seen);
    default:
      throw new NotShown(`the answer has a '${s.kind}', which goes by places`, placeOf(kernel));
  }
}

/** One shape, cut into neighbours if at all: so that one number says where an element is in the whole. */
function checkShapes(kernel: Kernel, output: SignatureTensor): void {
  const fits = ({ layout, shape }: SignatureTensor): boolean =>
    layout.axis === undefined &&
    (layout.kind !== "sharded" || layout.dim === 0) &&
    layout.kind !== "local" &&
    shape.length === output.shape.length &&
    shape.every((e, d) => sameExtent(e, output.shape[d]!));
  if (![output, ...kernel.inputs].every(fits))
    throw new NotShown("the tensors have several shapes, or parts that are not neighbours", placeOf(kernel));
}

/** An `ensures` of elements, over what ranks hold where they hold it. */
class OfElements {
  /** By part: the numbers it was looked at with. Specifications share parts. */
  private readonly seen = new Map<ElementExpression, ReadonlySet<string>>();

  constructor(
    private readonly kernel: Kernel,
    private readonly output: SignatureTensor,
    private readonly specification: ElementSpecification,
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
        const input = this.kernel.inputs.find((t) => t.name === e.input)!;
        const shape = this.output.localShape;
        const isOwn =
          input.localShape.length === shape.length && input.localShape.every((x, d) => sameExtent(x, shape[d]!));
        if (!isOwn || !e.indices.every((i, d) => this.isPlace(i, d)))
          this.fail("the answer is of elements in other places");
        return;
      }
      case "reduce":
        this.check(e.from, numbers);
        this.check(e.to, numbers);
        return this.check(e.body, new Set([...numbers, e.variable]));
    }
  }

  /** Whether an index is that of the output's element; of a vector, at a fixed distance from it. */
  private isPlace(e: ElementExpression, d: number): boolean {
    const { variables } = this.specification;
    if (e.kind === "variable") return e.name === variables[d];
    const isMoved = e.kind === "binary" && (e.fn === "add" || e.fn === "sub") && e.b.kind === "constant";
    return isMoved && variables.length === 1 && this.isPlace(e.a, d);
  }

  private fail(reason: string): never {
    throw new NotShown(reason, placeOf(this.kernel));
  }
}
