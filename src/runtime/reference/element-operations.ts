/**
 * Single numbers in float64 with their error bounds: the operations that claims about elements are made of, and of floats the
 * closures that carry them out.
 */
import {
  carriedErrors,
  CLAIM_HELP,
  DTYPES,
  type DType,
  type ElementExpression,
  FUNCTION_ULPS,
  InternalCompilerError,
  type Manifest,
  maximum,
  minimum,
  power,
  REDUCE,
  U32,
  UNARY,
  type UnaryFunction,
} from "../../compiler/index.js";
import { RuntimeError } from "../errors.js";
import { decode, encode, toI32 } from "../numbers/index.js";
import { functionError, rounding } from "./elementwise.js";
import { PartialSums, sumError, wrap } from "./logical.js";

/** A claim reads outside of an input or of the group: the program says of its output what is nothing. */
export class OutsideClaim extends RuntimeError {
  constructor(message: string) {
    super(message, CLAIM_HELP);
  }
}

/** What is known of the number that a closure has just returned. */
export interface State {
  readonly variables: number[];
  /** Bound on its error, but for the rounding of the sum that it is. */
  error: number;
  /** Number of terms that it is the sum of, and the sum of their magnitudes. */
  terms: number;
  size: number;
  /** Bound on its partial sums; see `PartialSums`. */
  reach: number;
  /** It is an input's element, untouched. */
  copied: boolean;
}

export type Compute = () => number;
/** `index` is a whole number that does not wrap, or a condition; `i32`, `u32` and `i64`, a bigint, do; the rest is a float. */
export type Kind = "index" | "i32" | "u32" | "i64" | "float";

export function errorOf({ error, terms, size, reach }: State): number {
  return error + sumError(terms, size, reach);
}

export function set(state: State, value: number, error: number): number {
  state.error = error;
  state.terms = 1;
  state.size = Math.abs(value);
  state.reach = state.size;
  state.copied = false;
  return value;
}

type Summed = Pick<State, "error" | "terms" | "size" | "reach">;

/** The sum of a number whose facts are given and of `y`, whose facts are in the state. */
function added(state: State, x: number, { error, terms, size, reach }: Summed, y: number): number {
  const value = x + y;
  const isExact = error === 0 && terms === 1 && state.error === 0 && state.terms === 1;
  state.size += size;
  state.reach += reach;
  // Whole numbers below 2^24 are added exactly, in any order.
  if (isExact && Number.isInteger(x) && Number.isInteger(y) && state.size < 2 ** 24) state.error = 0;
  else {
    state.error += error;
    state.terms += terms;
  }
  state.copied = false;
  return value;
}

/** What is remembered of a number. */
export interface Known {
  readonly value: number;
  readonly error: number;
  readonly terms: number;
  readonly size: number;
  readonly reach: number;
  readonly copied: boolean;
}

export function known(value: number, { error, terms, size, reach, copied }: State): Known {
  return { value, error, terms, size, reach, copied };
}

export function recall(k: Known, state: State): number {
  state.error = k.error;
  state.terms = k.terms;
  state.size = k.size;
  state.reach = k.reach;
  state.copied = k.copied;
  return k.value;
}

const WHOLE_FUNCTIONS = ["neg", "abs", "relu"];

export function joined(a: Kind, b: Kind): Kind {
  if (a === "float" || b === "float") return "float";
  return a === "index" ? b : a;
}

function computedIn(dtype: DType): Kind {
  const { compute } = DTYPES[dtype];
  return compute === "f32" ? "float" : compute === "bool" ? "index" : compute;
}

export function wrapped(kind: Kind, compute: Compute): Compute {
  return kind === "i32" || kind === "u32" ? () => wrap(kind, compute()) : compute;
}

export const COMPARE: Readonly<Record<string, <N extends number | bigint>(a: N, b: N) => boolean>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

const WHOLE_OPERATIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => Math.trunc(a / b),
  floordiv: (a, b) => Math.floor(a / b),
  mod: (a, b) => ((a % b) + b) % b,
  min: Math.min,
  max: Math.max,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => a * 2 ** b,
  shr: (a, b) => Math.floor(a / 2 ** b),
};

/** An operation on indices, or on elements, which wrap. */
export function wholeFunction(fn: string, kind: Kind): (a: number, b: number) => number {
  const f = WHOLE_OPERATIONS[fn];
  if (f === undefined) throw new InternalCompilerError(`the reference has no function '${fn}'`);
  if (kind === "index" || fn === "min" || fn === "max") return f;
  const exact = fn === "mul" ? Math.imul : f;
  return kind === "i32" ? (a, b) => exact(a, b) | 0 : (a, b) => exact(a, b) >>> 0;
}

/** Operations on floats but for sums: numbers with their errors, and the state that takes what comes out. */
const FLOAT_OPERATIONS: Readonly<
  Record<string, (state: State, x: number, ea: number, y: number, eb: number) => number>
> = {
  mul: (state, x, ea, y, eb) => {
    const value = x * y;
    const isExact = ea === 0 && eb === 0 && Number.isInteger(value) && Math.abs(value) < 2 ** 24;
    const carried = ea === 0 && eb === 0 ? 0 : Math.abs(x) * eb + Math.abs(y) * ea + ea * eb;
    return set(state, value, isExact ? 0 : carried + rounding(value));
  },
  div: (state, x, ea, y, eb) => {
    const value = x / y;
    const size = Math.abs(value);
    return set(state, value, Math.abs(y) > eb ? (ea + size * eb) / (Math.abs(y) - eb) + 4 * rounding(size) : ea === 0 && eb === 0 ? 0 : Infinity); // prettier-ignore
  },
  pow: (state, x, ea, y, eb) => {
    const value = power(x, y);
    const [size, exponent] = [Math.abs(value), Math.abs(y)];
    const ulps = FUNCTION_ULPS * (1 + exponent * (1 + (x > 0 ? Math.abs(Math.log(x)) : 0)));
    if (x > ea) return set(state, value, size * (exponent * (ea / (x - ea)) + Math.abs(Math.log(x)) * eb + ulps * U32));
    return set(state, value, ea === 0 && eb === 0 ? ulps * U32 * size : Infinity);
  },
  min: (state, x, ea, y, eb) => set(state, minimum(x, y), Math.max(ea, eb)),
  max: (state, x, ea, y, eb) => set(state, maximum(x, y), Math.max(ea, eb)),
  floordiv: (state, x, _, y) => set(state, Math.floor(x / y), 0),
  mod: (state, x, _, y) => set(state, ((x % y) + y) % y, 0),
};

type Reduction = keyof typeof REDUCE;

/** What a reduction goes through: its bounds, the slot of its variable, and its body. */
export interface FoldedOver {
  readonly from: Compute;
  readonly to: Compute;
  readonly slot: number;
  readonly body: Compute;
}

/** A function of one float. */
export function floatUnary(state: State, fn: string, a: Compute): Compute {
  const f = UNARY[fn as UnaryFunction].value;
  if (f === undefined) throw new InternalCompilerError(`the reference has no function '${fn}'`);
  if (fn === "neg")
    return () => {
      const x = a();
      state.copied = false;
      return -x;
    };
  const isExact = UNARY[fn as UnaryFunction].isExact === true;
  return () => {
    const x = a();
    const off = errorOf(state);
    const value = f(x);
    if (isExact && off === 0) return set(state, value, 0);
    const spread = maximum(...carriedErrors(fn as UnaryFunction, x, value, off, FUNCTION_ULPS * U32));
    return set(state, value, isExact ? spread : spread + functionError(fn as UnaryFunction, x, value));
  };
}

/** A function of two floats. */
export function floatBinary(state: State, fn: string, a: Compute, b: Compute): Compute {
  if (fn === "add" || fn === "sub") {
    const sign = fn === "sub" ? -1 : 1;
    return () => {
      const x = a();
      const before = known(x, state);
      const y = sign * b();
      return added(state, x, before, y);
    };
  }
  const f = FLOAT_OPERATIONS[fn];
  if (f === undefined) throw new InternalCompilerError(`the reference has no function '${fn}'`);
  return () => {
    const x = a();
    const ea = errorOf(state);
    const y = b();
    return f(state, x, ea, y, errorOf(state));
  };
}

/** The chosen side alone is evaluated, and the other one, too, where the errors leave the choice open. */
export function floatChoice(state: State, condition: Compute, a: Compute, b: Compute): Compute {
  return () => {
    const chosen = condition();
    const isOpen = state.error > 0;
    const value = chosen !== 0 ? a() : b();
    if (!isOpen) return value;
    const off = errorOf(state);
    let other: number;
    try {
      other = chosen !== 0 ? b() : a();
    } catch (e) {
      if (!(e instanceof OutsideClaim)) throw e;
      return set(state, value, off);
    }
    return set(state, value, Math.abs(value - other) + Math.max(off, errorOf(state)));
  };
}

/** A float rounded to a dtype. */
export function floatCast(state: State, dtype: DType, a: Compute): Compute {
  const { epsilon, kind } = DTYPES[dtype];
  const round = (x: number): number => decode(dtype, encode(dtype, kind === "int" ? toI32(x) : x));
  return () => {
    const x = a();
    const off = errorOf(state);
    const value = round(x);
    if (off === 0) return set(state, value, 0);
    if (kind === "int") return set(state, value, Math.max(Math.abs(round(x - off) - value), Math.abs(round(x + off) - value))); // prettier-ignore
    // What is not known exactly may be rounded to a neighbour.
    return set(state, value, off + 2 * epsilon * (Math.abs(value) + off));
  };
}

/** A reduction of floats. */
export function floatFold(state: State, fn: Reduction, { from, to, slot, body }: FoldedOver): Compute {
  const start = REDUCE[fn].identity("f32");
  const f = fn === "sum" ? null : FLOAT_OPERATIONS[REDUCE[fn].fn]!;
  return () => {
    const [first, last] = [from(), to()];
    let total: number = set(state, start, 0);
    let isStart = true;
    // Of terms that are sums themselves, partial sums are bounded by those of each.
    const partial = f === null ? new PartialSums(last - first) : null;
    let isPlain = true;
    for (let k = first; k < last; k++) {
      const before = known(total, state);
      state.variables[slot] = k;
      const next = body();
      partial?.add(next);
      isPlain &&= state.terms === 1;
      // Nothing is rounded when zero is added or one is multiplied by: so a search for one element stays exact.
      if (isStart) {
        total = next;
        isStart = total === start && errorOf(state) === 0;
      } else if (next === start && errorOf(state) === 0) total = recall(before, state);
      else if (f === null) total = added(state, before.value, before, next);
      else {
        const off = errorOf(state);
        recall(before, state);
        total = f(state, before.value, errorOf(state), next, off);
      }
    }
    if (partial !== null && isPlain) state.reach = partial.bound;
    return total;
  };
}

/** What expressions over the tensors and numbers of a manifest are computed in. Each is looked at once. */
export function kindsFor(manifest: Manifest): (e: ElementExpression) => Kind {
  const kinds = new Map<ElementExpression, Kind>();
  const kind = (e: ElementExpression): Kind => {
    let known = kinds.get(e);
    if (known === undefined) kinds.set(e, (known = kindOf(e)));
    return known;
  };
  const kindOf = (e: ElementExpression): Kind => {
    switch (e.kind) {
      case "constant":
        return Number.isInteger(e.value) ? "index" : "float";
      case "variable":
      case "dim":
      case "rank":
      case "compare":
      case "index":
        return "index";
      case "scalar":
        return computedIn(manifest.scalars.find((s) => s.name === e.name)!.dtype);
      case "unary":
        if (e.fn === "not") return "index";
        return WHOLE_FUNCTIONS.includes(e.fn) ? kind(e.a) : "float";
      case "binary": {
        const of = joined(kind(e.a), kind(e.b));
        return e.fn === "div" && of === "index" ? "float" : of;
      }
      case "select":
        return joined(kind(e.a), kind(e.b));
      case "cast":
        return computedIn(e.dtype);
      case "load":
        return computedIn(manifest.inputs.find((t) => t.name === e.input)!.dtype);
      case "reduce":
        return kind(e.body);
    }
  };
  return kind;
}
