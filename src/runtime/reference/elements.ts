/**
 * Evaluates claims about single elements, `ensures y[i] == x@next[i]`, in float64, with the same kind of error bound as
 * `evaluate.ts`: u = 2^-24 for each float32 operation, carried through. Whole numbers wrap as they do in 32 or 64 bits.
 *
 * A sum may be added up in another order than it is written in, so its error goes with its terms: Higham's
 * (n - 1)·u·Σ|x_i| ("Accuracy and Stability of Numerical Algorithms", 4.2), however small the sum is.
 *
 * An expression becomes closures once. Those of floats leave in `State` how far a float32 computation may be off; those of
 * indices and whole numbers, which are exact, are plain functions; those of 64 bits give bigints.
 */
import {
  DTYPES,
  elementsOf,
  evaluateExtent,
  freeVariables,
  InternalCompilerError,
  type DimValues,
  type ElementExpression,
  type ElementSpecification,
  type Manifest,
  partsOfExpression,
  REDUCE,
  sharedParts,
  UNARY,
  type UnaryFunction,
  wideToF32,
} from "../../compiler/index.js";
import { decode, encode } from "../numbers/index.js";
import { constantError } from "./elementwise.js";
import { decodedInput, InputBlocks, type InputReader } from "./inputs.js";
import {
  COMPARE,
  type Compute,
  errorOf,
  floatBinary,
  floatCast,
  floatChoice,
  floatFold,
  floatUnary,
  type FoldedOver,
  joined,
  type Kind,
  kindsFor,
  type Known,
  known,
  OutsideClaim,
  recall,
  set,
  type State,
  wholeFunction,
  wrapped,
} from "./element-operations.js";
import { givenTo, type Rows } from "./logical.js";
import { startsOf } from "./starts.js";
import { MOST_FOLDED, WideClaims } from "./wide-claims.js";
import { wideCast, wideOf, wideRows } from "./wide.js";

/**
 * What the claim says of elements `from` … `to` (exclusive) of one rank's output, counted row-major in its local shape.
 * @throws OutsideClaim where the claim reads outside of an input or of the group.
 */
export function evaluateElements(
  s: ElementSpecification,
  manifest: Manifest,
  dims: DimValues,
  read: InputReader,
  rank: number,
  shape: readonly number[],
  from: number,
  to: number,
): Rows {
  const values = new Float64Array(to - from);
  const error = new Float64Array(to - from);
  let copied = true;
  let exact = true;
  const claim = new Claim(s, manifest, dims, read, rank);
  const { state } = claim;
  const index = s.variables.map((name) => claim.slot(name));
  const go = (at: number): void => {
    let rest = at;
    for (let d = shape.length - 1; d >= 0; d--) {
      state.variables[index[d]!] = rest % shape[d]!;
      rest = Math.floor(rest / shape[d]!);
    }
  };
  // What a float is off by, the whole number is that is made of it.
  const cutOff = s.value.kind === "cast" && s.value.dtype === "i64" && claim.kind(s.value.a) === "float" ? s.value.a : null; // prettier-ignore
  if (claim.kind(s.value) === "i64" && cutOff === null) {
    const compute = claim.wides.of(s.value);
    const wide = BigInt64Array.from({ length: to - from }, (_, i) => {
      go(from + i);
      return compute();
    });
    return wideRows(wide);
  }
  const compute = claim.float(cutOff ?? s.value);
  for (let at = from; at < to; at++) {
    go(at);
    values[at - from] = compute();
    const off = errorOf(state);
    error[at - from] = off;
    copied &&= state.copied;
    exact &&= off === 0;
  }
  if (cutOff !== null)
    return { ...wideRows(wideOf({ values })), error: exact ? null : error.map(Math.ceil), copied: false };
  return { values, error: exact ? null : error, copied };
}

/** Elements of a rank's input that are decoded whole. */
const MOST_DECODED = 1 << 22;

type Load = Extract<ElementExpression, { kind: "load" }>;
type Reduction = Extract<ElementExpression, { kind: "reduce" }>;

/** A claim for one rank, as closures. */
class Claim {
  readonly state: State = { variables: [], error: 0, terms: 1, size: 0, reach: 0, copied: false };
  private readonly slots = new Map<string, number>();
  private readonly floats = new Map<ElementExpression, Compute>();
  private readonly wholes = new Map<ElementExpression, Compute>();
  readonly kind: (e: ElementExpression) => Kind;
  readonly wides = new WideClaims(this);
  /** What the claim is made of in more than one place: without remembering it, the time doubles with every such use. */
  readonly shared: ReadonlySet<ElementExpression>;
  /** Variables that are bound where closures are being made. */
  readonly scope: string[];

  constructor(
    s: ElementSpecification,
    private readonly manifest: Manifest,
    private readonly dims: DimValues,
    readonly read: InputReader,
    private readonly rank: number,
  ) {
    this.kind = kindsFor(manifest);
    this.shared = sharedParts([s.value], partsOfExpression);
    this.scope = [...s.variables];
  }

  slot(name: string): number {
    let slot = this.slots.get(name);
    if (slot === undefined) this.slots.set(name, (slot = this.slots.size));
    return slot;
  }

  private tensor(e: Load): Manifest["inputs"][number] {
    return this.manifest.inputs.find((t) => t.name === e.input)!;
  }

  // -- whole numbers -------------------------------------------------------------------------------

  /** A whole number, or a condition. */
  whole(e: ElementExpression): Compute {
    let compute = this.wholes.get(e);
    if (compute === undefined) this.wholes.set(e, (compute = this.makeWhole(e)));
    return compute;
  }

  private makeWhole(e: ElementExpression): Compute {
    const kind = this.kind(e);
    if (kind === "float") return this.float(e);
    if (kind === "i64") {
      // As an index: what a claim reads by lies below 2^53.
      const wide = this.wides.of(e);
      return () => Number(wide());
    }
    switch (e.kind) {
      case "scalar": {
        const value = givenTo(e.name, this.manifest, this.dims);
        return () => value;
      }
      case "constant":
      case "dim": {
        const value = e.kind === "constant" ? e.value : this.dims[e.name]!;
        return () => value;
      }
      case "rank":
        return () => this.rank;
      case "variable": {
        const [{ variables }, slot] = [this.state, this.slot(e.name)];
        return () => variables[slot]!;
      }
      case "unary": {
        const a = this.whole(e.a);
        if (e.fn === "not") return () => (a() === 0 ? 1 : 0);
        const f = UNARY[e.fn as UnaryFunction].value;
        return wrapped(kind, () => f(a()));
      }
      case "binary": {
        const [a, b] = [this.whole(e.a), this.whole(e.b)];
        const f = wholeFunction(e.fn, kind);
        return () => f(a(), b());
      }
      case "compare": {
        if (joined(this.kind(e.a), this.kind(e.b)) === "float") return this.float(e);
        const f = COMPARE[e.fn]!;
        if (joined(this.kind(e.a), this.kind(e.b)) === "i64") {
          const [a, b] = [this.wides.of(e.a), this.wides.of(e.b)];
          return () => (f(a(), b()) ? 1 : 0);
        }
        const [a, b] = [this.whole(e.a), this.whole(e.b)];
        return () => (f(a(), b()) ? 1 : 0);
      }
      case "select": {
        const [condition, a, b] = [this.whole(e.condition), this.whole(e.a), this.whole(e.b)];
        return () => (condition() !== 0 ? a() : b());
      }
      case "cast": {
        const { dtype } = e;
        if (this.kind(e.a) === "i64") {
          const wide = this.wides.of(e.a);
          return () => wideCast(dtype, wide());
        }
        const a = this.whole(e.a);
        return () => decode(dtype, encode(dtype, a()));
      }
      case "index":
        return this.whole(e.a);
      case "load":
        return this.element(e);
      case "reduce":
        return this.reduction(e, this.wholeFold(e, kind));
    }
  }

  private wholeFold(e: Reduction, kind: Kind): Compute {
    const { from, to, slot, body } = this.inside(e, () => this.whole(e.body));
    const { variables } = this.state;
    const f = wholeFunction(REDUCE[e.fn].fn, kind);
    const start = startsOf(e.body, kind === "float" ? "f32" : kind, this.manifest)(e.fn);
    return () => {
      const [first, last] = [from(), to()];
      let total = start;
      for (let k = first; k < last; k++) {
        variables[slot] = k;
        total = f(total, body());
      }
      return total;
    };
  }

  // -- floats --------------------------------------------------------------------------------------

  /** Any value, with what is known of it in `state`. */
  float(e: ElementExpression): Compute {
    let compute = this.floats.get(e);
    if (compute === undefined) {
      compute = this.makeFloat(e);
      if (this.shared.has(e) && e.kind !== "reduce") compute = this.remembered(e, compute);
      this.floats.set(e, compute);
    }
    return compute;
  }

  /** An operand of floats: a whole number is one of them. */
  private besideFloats(e: ElementExpression): Compute {
    return e.kind === "constant" ? this.literal(e.value) : this.float(e);
  }

  private literal(value: number): Compute {
    const off = constantError(value);
    return () => set(this.state, value, off);
  }

  private makeFloat(e: ElementExpression): Compute {
    const { state } = this;
    const isCopy = e.kind === "load" || e.kind === "select" || e.kind === "reduce";
    // A fraction is cut off, and what is off before may be off by one then.
    const cutsFraction = e.kind === "cast" && DTYPES[e.dtype].kind === "int" && this.kind(e.a) === "float";
    const comparesFloats = e.kind === "compare" && joined(this.kind(e.a), this.kind(e.b)) === "float";
    if (this.kind(e) === "i64") {
      // Beside floats, it becomes one: the nearest.
      const wide = this.wides.of(e);
      return () => set(state, wideToF32(wide()), 0);
    }
    if (this.kind(e) !== "float" && !comparesFloats && !cutsFraction && !isCopy) {
      const whole = this.whole(e);
      return () => set(state, whole(), 0);
    }
    switch (e.kind) {
      case "constant":
        return this.literal(e.value);
      case "scalar": {
        const value = givenTo(e.name, this.manifest, this.dims);
        return () => set(state, value, 0);
      }
      case "unary":
        return floatUnary(state, e.fn, this.float(e.a));
      case "binary":
        return floatBinary(state, e.fn, this.besideFloats(e.a), this.besideFloats(e.b));
      case "compare": {
        const [a, b, f] = [this.float(e.a), this.float(e.b), COMPARE[e.fn]!];
        return () => {
          const x = a();
          const off = errorOf(state);
          const y = b();
          const both = off + errorOf(state);
          return set(state, f(x, y) ? 1 : 0, both > 0 && Math.abs(x - y) <= both ? 1 : 0);
        };
      }
      case "select":
        return floatChoice(state, this.float(e.condition), this.float(e.a), this.float(e.b));
      case "cast": {
        if (this.kind(e.a) !== "i64") return floatCast(state, e.dtype, this.float(e.a));
        const [wide, { dtype }] = [this.wides.of(e.a), e];
        return () => set(state, wideCast(dtype, wide()), 0);
      }
      case "load": {
        const element = this.element(e);
        return () => {
          const value = set(state, element(), 0);
          state.copied = true;
          return value;
        };
      }
      case "reduce": {
        if (this.kind(e) === "float")
          return this.reduction(
            e,
            floatFold(
              state,
              e.fn,
              this.inside(e, () => this.float(e.body)),
            ),
          );
        const whole = this.wholeFold(e, this.kind(e));
        return this.reduction(e, () => set(state, whole(), 0));
      }
      default:
        throw new InternalCompilerError(`the reference has no float '${e.kind}'`);
    }
  }

  // -- reductions, loads, memory ---------------------------------------------------------------------

  /** Bounds and body of a reduction, whose variable is bound inside alone. */
  private inside(e: Reduction, make: () => Compute): FoldedOver {
    const [from, to] = [this.whole(e.from), this.whole(e.to)];
    const slot = this.slot(e.variable);
    this.scope.push(e.variable);
    const body = make();
    this.scope.pop();
    return { from, to, slot, body };
  }

  /** A reduction that not all variables around decide about, as in `max(k in 0..n) x[i, k]`, is folded once for those that do. */
  private reduction(e: Reduction, fold: Compute): Compute {
    const free = freeVariables(e);
    if (this.scope.every((name) => free.has(name)) && !this.shared.has(e)) return fold;
    return this.remembered(e, fold, MOST_FOLDED);
  }

  /** Keeps results by the values of the variables that decide about them. */
  private remembered(e: ElementExpression, compute: Compute, most = 1): Compute {
    const { state } = this;
    const deciding = [...freeVariables(e)].map((name) => this.slot(name));
    const results = new Map<number | string, Known>();
    return () => {
      const { variables } = state;
      const key = deciding.length === 1 ? variables[deciding[0]!]! : deciding.map((slot) => variables[slot]).join(" ");
      const found = results.get(key);
      if (found !== undefined) return recall(found, state);
      const value = compute();
      if (results.size >= most) results.clear();
      results.set(key, known(value, state));
      return value;
    };
  }

  /** The rank and the offset that a load reads. */
  place(e: Load): () => { readonly rank: number; readonly offset: number } {
    const { dims, manifest } = this;
    const tensor = this.tensor(e);
    const peer = e.peer === null ? (): number => this.rank : this.whole(e.peer);
    const indices = e.indices.map((index) => this.whole(index));
    const lengths = tensor.localShape.map((n) => evaluateExtent(n, dims));
    return () => {
      const rank = peer();
      if (!(rank >= 0 && rank < manifest.ranks))
        throw this.outside(`reads '${e.input}' of rank ${rank}, where ranks are 0 to ${manifest.ranks - 1}`);
      let offset = 0;
      for (let d = 0; d < indices.length; d++) {
        const i = indices[d]!();
        if (!(i >= 0 && i < lengths[d]!))
          throw this.outside(`reads '${e.input}' at index ${i} of a dimension of ${lengths[d]}`);
        offset = offset * lengths[d]! + i;
      }
      return { rank, offset };
    };
  }

  private outside(what: string): OutsideClaim {
    return new OutsideClaim(`the claim ${what}, on rank ${this.rank}`);
  }

  private element(e: Load): Compute {
    const tensor = this.tensor(e);
    const size = elementsOf(tensor.localShape, this.dims);
    const place = this.place(e);
    if (size > MOST_DECODED) {
      const { at } = new InputBlocks(this.read, tensor, size);
      return () => {
        const { rank, offset } = place();
        return at(rank, offset);
      };
    }
    const arrays: Float64Array[] = [];
    return () => {
      const { rank, offset } = place();
      return (arrays[rank] ??= decodedInput(this.read, tensor, rank, size))[offset]!;
    };
  }
}
