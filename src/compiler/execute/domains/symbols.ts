/**
 * Values that stand for data: terms of an algebra, and numbers where they are known. Truth values are 0 and 1. Without an
 * algebra only what decides something (addresses, bounds, conditions, flags) is computed, and all data is `OPAQUE`.
 */
import { BINARY, COMPARE } from "../../ir/functions.js";
import type { BinaryFunction } from "../../ir/ops.js";
import { DTYPES, isDType, isFloat, type ScalarKind } from "../../types/dtype.js";
import { decode, encode } from "../../types/formats.js";
import { at } from "../semantics/memory.js";
import type { Domain, Form } from "../setting.js";

/** What numbers of JavaScript do as they are. */
const PLAIN = new Set<BinaryFunction>(["add", "sub", "mul"]);
const METHODS: Partial<Record<BinaryFunction, (a: string, b: string) => string>> = {
  add: (a, b) => `A.add(${a},${b})`,
  sub: (a, b) => `A.sub(${a},${b})`,
  mul: (a, b) => `A.mul(${a},${b})`,
  div: (a, b) => `A.div(${a},${b})`,
  min: (a, b) => `A.extreme("min",${a},${b})`,
  max: (a, b) => `A.extreme("max",${a},${b})`,
};

/** A whole number in few bits, as `wrap` in `prove/values.ts` has it. */
const WRAPPED: Partial<Record<ScalarKind, (a: string) => string>> = {
  u32: (a) => `(${a}>>>0)`,
  i32: (a) => `(${a}|0)`,
  u8: (a) => `(${a}&255)`,
  i8: (a) => `(${a}<<24>>24)`,
};

function isWider(from: ScalarKind, to: ScalarKind): boolean {
  return isDType(from) && isDType(to) && isFloat(from) && DTYPES[from].bytes < DTYPES[to].bytes;
}

/** A literal's text, which JavaScript reads as the same number. */
function literal(x: number): string {
  return x < 0 || Object.is(x, -0) ? `(${Object.is(x, -0) ? "-0" : x})` : String(x);
}

/** The same of a kind, which may have no such number. */
function literalOf(hasData: boolean, kind: ScalarKind, x: number): string {
  const isRounded = hasData && isDType(kind) && isFloat(kind) && decode(kind, encode(kind, x)) !== x;
  return isRounded ? `(castOf(A,"f32","${kind}",${literal(x)}))` : literal(x);
}

/** Arithmetic of two known numbers as JavaScript has it; null where it takes more. See `known` in `prove/values.ts`. */
function knownText(fn: BinaryFunction, kind: ScalarKind, a: string, b: string): string | null {
  const operator = PLAIN.has(fn) ? BINARY[fn].operator : null;
  const isLiteral = /^[1-9]\d*$/.test(b);
  if (kind === "i8" || kind === "u8" || kind === "i64") return null;
  if (kind === "u32" || kind === "i32") {
    const wrapped = WRAPPED[kind]!;
    if (fn === "mul") return wrapped(`Math.imul(${a},${b})`);
    return operator === null ? null : wrapped(`(${a}${operator}${b})`);
  }
  if (operator !== null) return `(${a}${operator}${b})`;
  if (fn === "min" || fn === "max") return `${fn}(${a},${b})`;
  if (kind === "bool") return fn === "and" ? `(${a}&${b})` : fn === "or" ? `(${a}|${b})` : null;
  if (kind !== "index" || !isLiteral) return null;
  return fn === "div" ? `trunc(${a}/${b})` : fn === "rem" ? `(${a}%${b})` : null;
}

function binary(hasData: boolean, fn: BinaryFunction, kind: ScalarKind, a: Form, b: Form): Form {
  const general = `binaryOf(A,"${fn}","${kind}",${a.text},${b.text})`;
  if (a.isKnown && b.isKnown) return { text: knownText(fn, kind, a.text, b.text) ?? general, isKnown: true };
  const method = hasData && isFloat(kind) ? METHODS[fn] : undefined;
  return { text: method?.(a.text, b.text) ?? general, isKnown: false };
}

function cast(hasData: boolean, from: ScalarKind, to: ScalarKind, a: Form): Form {
  const isRounded = hasData && isFloat(to) && !isWider(from, to);
  if (!isRounded && a.isKnown && (from === "index" || from === "bool" || from === "u32" || from === "i32")) {
    if (to === "bool") return { text: from === "bool" ? a.text : `(${a.text}!==0?1:0)`, isKnown: true };
    return { text: WRAPPED[to]?.(a.text) ?? a.text, isKnown: true };
  }
  // To a wider float nothing is rounded.
  if (isFloat(to) && !isRounded) return a;
  return { text: `castOf(A,"${from}","${to}",${a.text})`, isKnown: a.isKnown };
}

/** What the text calls for whatever is not plain arithmetic; each takes the algebra, or null, first. */
export interface SymbolHelpers {
  readonly OPAQUE: unknown;
  readonly known: unknown;
  readonly refuse: unknown;
  readonly unwritten: unknown;
  readonly binaryOf: unknown;
  readonly unaryOf: unknown;
  readonly compareOf: unknown;
  readonly selectOf: unknown;
  readonly castOf: unknown;
  /** Takes the algebra: a sum of values that grows, with `add` and `build`. */
  readonly sumOf: unknown;
  /** Takes the machine, a fold, a rank and a launch: its results by the indices that it depends on. */
  readonly foldsOf: unknown;
}

/** @param hasData whether there is an algebra */
export function symbols(hasData: boolean, helpers: SymbolHelpers): Domain {
  return {
    helpers: () => ({ ...helpers }),
    hasData,
    isSymbolic: true,
    checksDivisors: false,
    literal: (kind, value) => ({ text: literalOf(hasData, kind, value), isKnown: true }),
    scalar: (_kind, name) => ({
      text: hasData ? `A.leavesOf(f.launch,${JSON.stringify(name)},-1)(0)` : "OPAQUE",
      isKnown: false,
    }),
    binary: (fn, kind, a, b) => binary(hasData, fn, kind, a, b),
    unary: (fn, kind, a) => ({
      text: `unaryOf(A,"${fn}","${kind}",${a.text})`,
      // A known number stays one, but for the functions that only terms have.
      isKnown: a.isKnown && (fn === "not" || fn === "neg" || fn === "abs"),
    }),
    compare: (fn, _kind, a, b) =>
      a.isKnown && b.isKnown
        ? { text: `(${a.text}${COMPARE[fn].javascript}${b.text}?1:0)`, isKnown: true }
        : { text: `compareOf(A,"${fn}",${a.text},${b.text})`, isKnown: false },
    select: (c, a, b) =>
      c.isKnown
        ? { text: `(${c.text}!==0?${a.text}:${b.text})`, isKnown: a.isKnown && b.isKnown }
        : { text: `selectOf(A,${c.text},${a.text},${b.text})`, isKnown: false },
    cast: (from, to, a) => cast(hasData, from, to, a),
    condition: (x) => `${x}!==0`,
    truth: (condition) => ({ text: `(${condition}?1:0)`, isKnown: true }),
    load: (_w, p, lane) => {
      const index = at(p.index, lane);
      return { text: `${p.memory}[${index}]??unwritten(M,${p.number},${p.owner},${index})`, isKnown: false };
    },
    store: (w, p, lane, value) => w.line(`${p.memory}[${at(p.index, lane)}]=${value};`),
  };
}
