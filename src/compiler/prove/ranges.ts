/** Intervals of whole numbers: what an index or a condition may be, by what its parts may be. */
import { foldBinary, foldCompare, REDUCE } from "../ir/functions.js";
import type { Op } from "../ir/module.js";
import type { BinaryFunction, Comparison } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import { isInteger } from "../types/dtype.js";
import { evaluateExtent, type Extent } from "../types/extent.js";

/** Inclusive; null is anything. */
export type Range = readonly [lo: number, hi: number] | null;

const YES: Range = [1, 1];
export const MAYBE: Range = [0, 1];

export function both(n: number): Range {
  return [n, n];
}

/** What a function of whole numbers gives; null of ops that are none, and where nothing is known. */
export function rangeOf(op: Op, operands: readonly Range[]): Range {
  const range = resultOf(op, operands);
  if (range === null) return null;
  const kind = scalarOf(op.results[0]!.type);
  // What wraps is not followed, nor what doubles do not count exactly.
  const [least, most] = [REDUCE.max.identity(kind), REDUCE.min.identity(kind)];
  return range[0] >= least && range[1] <= most ? counted(range) : null;
}

/** A range whose ends doubles count exactly. */
function counted(range: Range): Range {
  return range !== null && Number.isSafeInteger(range[0]) && Number.isSafeInteger(range[1]) ? range : null;
}

/** Of the length of a dimension, by what the dimensions may be. */
export function extentRange(e: Extent, of: (dim: string) => Range): Range {
  return counted(lengthRange(e, of));
}

function lengthRange(e: Extent, of: (dim: string) => Range): Range {
  if (typeof e === "number") return both(e);
  if (typeof e === "string") return of(e);
  const [a, b] = [extentRange(e.a, of), extentRange(e.b, of)];
  if (a === null || b === null) return null;
  if (a[0] === a[1] && b[0] === b[1]) return both(evaluateExtent({ op: e.op, a: a[0], b: b[0] }, {}));
  // Lengths are rounded down, and leave no rest below 0.
  if (e.op === "mod") return b[0] <= 0 ? null : a[0] >= 0 ? binaryRange("rem", a, b) : [0, b[1] - 1];
  if (e.op === "div" && a[0] < 0) return null;
  if (e.op !== "ceildiv") return binaryRange(e.op, a, b);
  return b[0] > 0 && a[0] >= 0 ? [Math.ceil(a[0] / b[1]), Math.ceil(a[1] / b[0])] : null;
}

function resultOf(op: Op, [a = null, b = null, c = null]: readonly Range[]): Range {
  switch (op.name) {
    case "const":
      return both(op.attributes["value"] as number);
    case "binary":
      return a && b && binaryRange(op.attributes["fn"] as BinaryFunction, a, b);
    case "compare":
      return a && b && compareRange(op.attributes["fn"] as Comparison, a, b);
    case "unary":
      return op.attributes["fn"] === "not" && a !== null ? [1 - a[1], 1 - a[0]] : null;
    case "select":
      return a && b && c ? (a[0] === 1 ? b : a[1] === 0 ? c : [Math.min(b[0], c[0]), Math.max(b[1], c[1])]) : null;
    case "cast": {
      const kind = scalarOf(op.results[0]!.type);
      return kind === "index" || isInteger(kind) ? a : null;
    }
    default:
      return null;
  }
}

function binaryRange(fn: BinaryFunction, a: NonNullable<Range>, b: NonNullable<Range>): Range {
  const isOne = b[0] === b[1];
  if (isOne && a[0] === a[1]) return exact(fn, a, b);
  switch (fn) {
    case "add":
      return [a[0] + b[0], a[1] + b[1]];
    case "min":
      return [Math.min(a[0], b[0]), Math.min(a[1], b[1])];
    case "max":
      return [Math.max(a[0], b[0]), Math.max(a[1], b[1])];
    case "mul": {
      const [w, x, y, z] = [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]];
      return [Math.min(w, x, y, z), Math.max(w, x, y, z)];
    }
    case "sub":
      return [a[0] - b[1], a[1] - b[0]];
    case "rem":
      if (b[0] <= 0) return null;
      if (a[0] >= 0 && isOne && Math.floor(a[0] / b[0]) === Math.floor(a[1] / b[0])) return [a[0] % b[0], a[1] % b[0]];
      // What is left has the sign of what is divided.
      return [Math.min(0, Math.max(a[0], 1 - b[1])), Math.max(0, Math.min(a[1], b[1] - 1))];
    case "div":
      if (b[0] <= 0) return null;
      return [Math.trunc(a[0] / (a[0] < 0 ? b[0] : b[1])), Math.trunc(a[1] / (a[1] < 0 ? b[1] : b[0]))];
    case "and":
      // Of conditions; bits of other numbers only where they are known.
      if (a[1] <= 1 && b[1] <= 1 && a[0] >= 0 && b[0] >= 0) return [a[0] & b[0], a[1] & b[1]];
      return a[0] >= 0 && b[0] >= 0 ? [0, Math.min(a[1], b[1])] : null;
    case "or":
      if (a[1] <= 1 && b[1] <= 1 && a[0] >= 0 && b[0] >= 0) return [a[0] | b[0], a[1] | b[1]];
      return a[0] >= 0 && b[0] >= 0 ? [Math.max(a[0], b[0]), allBits(a, b)] : null;
    case "xor":
      return a[0] >= 0 && b[0] >= 0 ? [0, allBits(a, b)] : null;
    default: {
      // Powers and shifts: the ends lead to the ends, but where signs alternate.
      if (fn === "pow" && a[0] < 0 && (a[0] !== a[1] || !isOne)) return null;
      const ends = [a[0], a[1]].flatMap((x) => [b[0], b[1]].map((y) => foldBinary(fn, x, y)));
      return ends.includes(undefined) ? null : [Math.min(...(ends as number[])), Math.max(...(ends as number[]))];
    }
  }
}

/** The largest number that has no more bits than those of two ranges have. */
function allBits(a: NonNullable<Range>, b: NonNullable<Range>): number {
  let bit = 1;
  while (bit <= Math.max(a[1], b[1])) bit *= 2;
  return bit - 1;
}

function exact(fn: BinaryFunction, a: NonNullable<Range>, b: NonNullable<Range>): Range {
  if (a[0] !== a[1] || b[0] !== b[1]) return null;
  const value = foldBinary(fn, a[0], b[0]);
  return value === undefined ? null : both(value);
}

export function compareRange(fn: Comparison, a: NonNullable<Range>, b: NonNullable<Range>): Range {
  const isPoint = a[0] === a[1] && b[0] === b[1];
  if (isPoint) return foldCompare(fn, a[0], b[0]) ? YES : both(0);
  const isApart = a[1] < b[0] || b[1] < a[0];
  if (fn === "eq" || fn === "ne") return isApart ? both(fn === "ne" ? 1 : 0) : MAYBE;
  // An order holds for all if it holds for the ends that are least in favour of it.
  const [x, y] = fn === "lt" || fn === "le" ? [a, b] : [b, a];
  const relation = fn === "lt" || fn === "gt" ? "lt" : "le";
  if (foldCompare(relation, x[1], y[0])) return YES;
  return foldCompare(relation, x[0], y[1]) ? MAYBE : both(0);
}
