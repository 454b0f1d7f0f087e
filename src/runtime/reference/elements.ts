/**
 * Evaluates claims about single elements, `ensures y[i] == x@next[i]`, in float64, with the same kind of error bound as
 * `evaluate.ts`: u = 2^-24 for each float32 operation, carried through.
 */
import {
  DTYPES,
  evaluateExtent,
  freeVariables,
  InternalCompilerError,
  type DimValues,
  type ElementExpression,
  type ElementSpecification,
  type Manifest,
  partsOfExpression,
  sharedParts,
} from "../../compiler/index.js";
import { decode, encode } from "../numbers/index.js";
import { FLOAT_FUNCTIONS, maximum, minimum, type UnaryFunction } from "../../compiler/index.js";
import type { InputReader } from "./inputs.js";
import { type Rows, U32 } from "./logical.js";

/** A number, how far a float32 computation of it may be off, and whether it is an input's element, untouched. */
interface Known {
  readonly value: number;
  readonly error: number;
  readonly copied: boolean;
}

interface Place {
  readonly manifest: Manifest;
  readonly dims: DimValues;
  readonly read: InputReader;
  readonly rank: number;
  readonly variables: Map<string, number>;
  /** The indices that the claim is about; other variables are of reductions. */
  readonly own: readonly string[];
  /** What the claim is made of in more than one place. */
  readonly shared: ReadonlySet<ElementExpression>;
  /** What of that is known as long as the variables stay as they are. Without it, the time doubles with every such use. */
  known: Map<ElementExpression, Known>;
  readonly folds: Map<ElementExpression, Fold | null>;
}

/** Results of a reduction by the values of the variables that decide about it. */
interface Fold {
  readonly deciding: readonly string[];
  readonly results: Map<string, Known>;
}

/**
 * What the claim says of elements `from` … `to` (exclusive) of one rank's output, counted row-major in its local shape.
 * @throws RangeError where the claim reads outside of an input or of the group.
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
  const shared = sharedParts([s.value], partsOfExpression);
  const place: Place = {
    manifest,
    dims,
    read,
    rank,
    variables: new Map(),
    shared,
    known: new Map(),
    own: s.variables,
    folds: new Map(),
  };
  for (let at = from; at < to; at++) {
    place.known.clear();
    let rest = at;
    for (let d = shape.length - 1; d >= 0; d--) {
      place.variables.set(s.variables[d]!, rest % shape[d]!);
      rest = Math.floor(rest / shape[d]!);
    }
    const known = evaluate(s.value, place);
    values[at - from] = known.value;
    error[at - from] = known.error;
    copied &&= known.copied;
    exact &&= known.error === 0;
  }
  return { values, error: exact ? null : error, copied };
}

const number = (value: number): Known => ({ value, error: 0, copied: false });

function evaluate(e: ElementExpression, at: Place): Known {
  if (!at.shared.has(e)) return compute(e, at);
  let known = at.known.get(e);
  if (known === undefined) at.known.set(e, (known = compute(e, at)));
  return known;
}

function compute(e: ElementExpression, at: Place): Known {
  switch (e.kind) {
    case "constant":
      return number(e.value);
    case "variable":
      return number(at.variables.get(e.name)!);
    case "dim":
      return number(at.dims[e.name]!);
    case "rank":
      return number(at.rank);
    case "unary":
      return unary(e.fn, evaluate(e.a, at));
    case "binary":
      return binary(e.fn, evaluate(e.a, at), evaluate(e.b, at));
    case "compare":
      return number(compare(e.fn, evaluate(e.a, at).value, evaluate(e.b, at).value) ? 1 : 0);
    case "select":
      return evaluate(evaluate(e.condition, at).value !== 0 ? e.a : e.b, at);
    case "cast": {
      const a = evaluate(e.a, at);
      const value = decode(e.dtype, encode(e.dtype, a.value));
      return { value, error: a.error + (a.error > 0 ? DTYPES[e.dtype].epsilon * Math.abs(value) : 0), copied: false };
    }
    case "load":
      return load(e, at);
    case "reduce":
      return reduce(e, at);
  }
}

function load(e: Extract<ElementExpression, { kind: "load" }>, at: Place): Known {
  const tensor = at.manifest.inputs.find((t) => t.name === e.input)!;
  const rank = e.peer === null ? at.rank : evaluate(e.peer, at).value;
  if (!(rank >= 0 && rank < at.manifest.ranks)) throw new RangeError(`the claim reads '${e.input}' of rank ${rank}`);
  let offset = 0;
  e.indices.forEach((index, d) => {
    const length = evaluateExtent(tensor.localShape[d]!, at.dims);
    const i = evaluate(index, at).value;
    if (!(i >= 0 && i < length))
      throw new RangeError(`the claim reads '${e.input}' at ${i} of ${length} in dimension ${d}`);
    offset = offset * length + i;
  });
  const value = decode(tensor.dtype, at.read(e.input, rank, offset, offset + 1)[0]!);
  return { value, error: 0, copied: true };
}

type Reduction = Extract<ElementExpression, { kind: "reduce" }>;

/** Results of a reduction that are kept at a time. */
const MOST_FOLDED = 1 << 16;

/** A reduction that not all indices of the claim decide about, as in `max(k in 0..n) x[i, k]`, is folded once for those that do. */
function reduce(e: Reduction, at: Place): Known {
  let fold = at.folds.get(e);
  if (fold === undefined) {
    const free = freeVariables(e);
    fold = at.own.every((name) => free.has(name)) ? null : { deciding: [...free], results: new Map() };
    at.folds.set(e, fold);
  }
  if (fold === null) return folded(e, at);
  const { results } = fold;
  const key = fold.deciding.map((name) => at.variables.get(name)!).join(" ");
  let result = results.get(key);
  if (result === undefined) {
    result = folded(e, at);
    if (results.size >= MOST_FOLDED) results.clear();
    results.set(key, result);
  }
  return result;
}

function folded(e: Reduction, at: Place): Known {
  const [from, to] = [evaluate(e.from, at).value, evaluate(e.to, at).value];
  const outer = at.variables.get(e.variable);
  const knownOutside = at.known;
  at.known = new Map();
  const start = { sum: 0, prod: 1, min: Infinity, max: -Infinity }[e.fn];
  const fn = { sum: "add", prod: "mul", min: "min", max: "max" }[e.fn];
  let total = number(start);
  for (let k = from; k < to; k++) {
    at.variables.set(e.variable, k);
    at.known.clear();
    const next = evaluate(e.body, at);
    // Nothing is rounded when zero is added or one is multiplied by: so a search for one element stays exact.
    if (total.value === start && total.error === 0) total = next;
    else if (!(next.value === start && next.error === 0)) total = binary(fn, total, next);
  }
  at.known = knownOutside;
  if (outer === undefined) at.variables.delete(e.variable);
  else at.variables.set(e.variable, outer);
  return total;
}

function compare(fn: string, a: number, b: number): boolean {
  switch (fn) {
    case "eq":
      return a === b;
    case "ne":
      return a !== b;
    case "lt":
      return a < b;
    case "le":
      return a <= b;
    case "gt":
      return a > b;
    default:
      return a >= b;
  }
}

const EXACT = ["neg", "not", "abs", "relu"];
/** As in `evaluate.ts`: a float32 implementation of a function may be off by this many u of argument and result. */
const FUNCTION_ULPS = 16;

function unary(fn: string, a: Known): Known {
  if (fn === "not") return number(a.value === 0 ? 1 : 0);
  const f = FLOAT_FUNCTIONS[fn as UnaryFunction];
  if (f === undefined) throw new InternalCompilerError(`the reference has no function '${fn}'`);
  const value = f(a.value);
  const isExact = EXACT.includes(fn);
  if (isExact && a.error === 0) return number(value);
  const own = isExact ? 0 : FUNCTION_ULPS * U32;
  const d = a.error + own * Math.abs(a.value);
  const spread = maximum(Math.abs(f(a.value + d) - value), Math.abs(f(a.value - d) - value));
  const scale = fn === "gelu" ? Math.abs(a.value) : Math.abs(value);
  return { value, error: spread + own * scale, copied: false };
}

function binary(fn: string, a: Known, b: Known): Known {
  const x = a.value;
  const y = b.value;
  const rounded = (value: number, error: number): Known => {
    const isExact = a.error === 0 && b.error === 0 && Number.isInteger(value) && Math.abs(value) < 2 ** 24;
    return { value, error: isExact ? 0 : error + U32 * Math.abs(value), copied: false };
  };
  switch (fn) {
    case "add":
      return rounded(x + y, a.error + b.error);
    case "sub":
      return rounded(x - y, a.error + b.error);
    case "mul":
      return rounded(x * y, Math.abs(x) * b.error + Math.abs(y) * a.error + a.error * b.error);
    case "div":
      return {
        value: x / y,
        error:
          Math.abs(y) > b.error
            ? (a.error + Math.abs(x / y) * b.error) / (Math.abs(y) - b.error) + 4 * U32 * Math.abs(x / y)
            : Infinity,
        copied: false,
      };
    case "floordiv":
      return number(Math.floor(x / y));
    case "mod":
      return number(((x % y) + y) % y);
    case "min":
      return { value: minimum(x, y), error: Math.max(a.error, b.error), copied: false };
    case "max":
      return { value: maximum(x, y), error: Math.max(a.error, b.error), copied: false };
    case "and":
      return number(x & y);
    case "or":
      return number(x | y);
    case "xor":
      return number(x ^ y);
    case "shl":
      return number(x * 2 ** y);
    case "shr":
      return number(Math.floor(x / 2 ** y));
    default:
      throw new InternalCompilerError(`the reference has no function '${fn}'`);
  }
}
