/** What single elements of a rank's output must be, where an `ensures` clause says so. */
import {
  BINARY_FUNCTIONS,
  type BinaryFunction,
  type Comparison,
  COMPARISONS,
  UNARY_FUNCTIONS,
  type UnaryFunction,
} from "../ir/ops.js";
import type { ElementExpression, ElementSpecification, SignatureTensor } from "../manifest.js";
import { partsOfExpression, sharedParts } from "../specification-shape.js";
import { DTYPES, type ScalarKind } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import type { Algebra, Number_ } from "./algebra.js";
import type { InputValues } from "./inputs.js";
import { CannotTell } from "./results.js";
import { binaryOf, castOf, compareOf, FOLD, identityOf, selectOf, unaryOf } from "./values.js";

/** Where an expression is evaluated. */
interface Place {
  readonly variables: ReadonlyMap<string, number>;
  readonly rank: number;
  readonly shared: ReadonlySet<ElementExpression>;
  /** Of what is shared, as far as it is known: without them, the time doubles with every value that is used twice. */
  readonly values: Map<ElementExpression, Number_>;
}

export class ElementExpectation {
  constructor(
    private readonly inputs: readonly SignatureTensor[],
    private readonly world: number,
    private readonly dims: DimValues,
    private readonly algebra: Algebra,
    private readonly launch: number,
    private readonly values: InputValues,
  ) {}

  /** What a claim is made of in more than one place. */
  private readonly shared = new Map<ElementSpecification, ReadonlySet<ElementExpression>>();
  private readonly kinds = new Map<ElementExpression, ScalarKind>();

  /** The element at an index of the rank's own part. */
  element(s: ElementSpecification, at: readonly number[], rank: number): Number_ {
    let shared = this.shared.get(s);
    if (shared === undefined) this.shared.set(s, (shared = sharedParts([s.value], partsOfExpression)));
    const variables = new Map(s.variables.map((v, d) => [v, at[d]!]));
    return this.evaluate(s.value, { variables, rank, shared, values: new Map() });
  }

  private evaluate(e: ElementExpression, place: Place): Number_ {
    if (!place.shared.has(e)) return this.compute(e, place);
    let value = place.values.get(e);
    if (value === undefined) place.values.set(e, (value = this.compute(e, place)));
    return value;
  }

  private compute(e: ElementExpression, place: Place): Number_ {
    const { algebra } = this;
    const { variables, rank } = place;
    const of = (x: ElementExpression): Number_ => this.evaluate(x, place);
    switch (e.kind) {
      case "constant":
        return e.value;
      case "variable":
        return variables.get(e.name)!;
      case "dim":
        return this.dims[e.name]!;
      case "rank":
        return rank;
      case "unary": {
        const a = of(e.a);
        if (e.fn === "not" && typeof a === "number") return a === 0 ? 1 : 0;
        return unaryOf(algebra, oneOf(UNARY_FUNCTIONS, e.fn) as UnaryFunction, this.kind(e.a), a);
      }
      case "binary":
        return this.binary(e.fn, this.kind(e.a), of(e.a), of(e.b));
      case "compare":
        return compareOf(algebra, oneOf(COMPARISONS, e.fn) as Comparison, of(e.a), of(e.b));
      case "select": {
        // Only the side that is chosen need make sense.
        const condition = of(e.condition);
        if (typeof condition === "number") return of(condition !== 0 ? e.a : e.b);
        return selectOf(algebra, condition, of(e.a), of(e.b));
      }
      case "cast":
        return castOf(algebra, this.kind(e.a), e.dtype, of(e.a));
      case "load":
        return this.load(e, e.peer === null ? rank : this.known(of(e.peer)), e.indices.map(of));
      case "reduce": {
        const [from, to] = [this.known(of(e.from)), this.known(of(e.to))];
        const kind = this.kind(e.body);
        let total: Number_ = identityOf(e.fn, kind);
        for (let i = from; i < to; i++) {
          const inner: Place = { ...place, variables: new Map(variables).set(e.variable, i), values: new Map() };
          total = binaryOf(algebra, FOLD[e.fn], kind, total, this.evaluate(e.body, inner));
        }
        return total;
      }
    }
  }

  private binary(fn: string, kind: ScalarKind, a: Number_, b: Number_): Number_ {
    if (typeof a === "number" && typeof b === "number") {
      if (fn === "floordiv") return Math.floor(a / b);
      if (fn === "mod") return ((a % b) + b) % b;
      if (fn === "div") return DTYPES_INT.has(kind) ? Math.trunc(a / b) : a / b;
    }
    const name = fn === "mod" ? "rem" : fn === "floordiv" ? "div" : fn;
    return binaryOf(this.algebra, oneOf(BINARY_FUNCTIONS, name) as BinaryFunction, kind, a, b);
  }

  private known(x: Number_): number {
    if (typeof x === "number") return x;
    throw new CannotTell("what the claim reads depends on data that steers nothing in the kernel");
  }

  private load(e: Extract<ElementExpression, { kind: "load" }>, peer: number, indices: readonly Number_[]): Number_ {
    const tensor = this.inputs.find((t) => t.name === e.input)!;
    if (!(peer >= 0 && peer < this.world)) throw new CannotTell(`the claim reads '${e.input}' of rank ${peer}`);
    let at = 0;
    tensor.localShape.forEach((extent, d) => {
      const length = evaluateExtent(extent, this.dims);
      const i = this.known(indices[d]!);
      if (!(i >= 0 && i < length)) throw new CannotTell(`the claim reads '${e.input}' at ${i} of ${length}`);
      at = at * length + i;
    });
    return this.values.element(this.algebra, this.launch, e.input, this.values.nameOf(tensor, peer), at);
  }

  /** The kind in which an expression is computed. */
  private kind(e: ElementExpression): ScalarKind {
    let kind = this.kinds.get(e);
    if (kind === undefined) this.kinds.set(e, (kind = this.kindOf(e)));
    return kind;
  }

  private kindOf(e: ElementExpression): ScalarKind {
    switch (e.kind) {
      case "load":
        return DTYPES[this.inputs.find((t) => t.name === e.input)!.dtype].compute;
      case "cast":
        return DTYPES[e.dtype].compute;
      case "select":
      case "binary": {
        const a = this.kind(e.a);
        return a === "index" ? this.kind(e.b) : a;
      }
      case "unary":
        return this.kind(e.a);
      case "compare":
        return "bool";
      case "reduce":
        return this.kind(e.body);
      default:
        return "index";
    }
  }
}

const DTYPES_INT = new Set<ScalarKind>(["i32", "u32", "i8", "u8"]);

function oneOf(known: readonly string[], fn: string): string {
  if (!known.includes(fn)) throw new CannotTell(`the prover does not know '${fn}'`);
  return fn;
}
