/** How many iterations a loop can have at most, on any rank, as an extent a host can evaluate. */
import { staysNatural } from "../../ir/builder.js";
import type { Kernel, Op, Value } from "../../ir/module.js";
import { extent, type Extent, type ExtentOp, productOf } from "../../types/extent.js";
import type { Definitions } from "./analysis.js";

/**
 * Bound of hi - lo; null when it depends on more than dimensions and constants.
 * @param isSure whether it may be no less; else what begins somewhere is taken to begin at 0 or later
 */
export function upperBound(lo: Value, hi: Value, definitions: Definitions, isSure = true): Extent | null {
  // min(lo + length, limit) - lo ≤ length, and the like for the operands swapped.
  const clamp = definitions.binary(hi, "min");
  if (clamp !== undefined) {
    const bounds = clamp.operands.map((v) => upperBound(lo, v, definitions, isSure)).filter((e) => e !== null);
    return bounds.length === 0 ? null : bounds.reduce((a, b) => extent("min", a, b));
  }
  if (definitions.constant(lo) === 0) {
    // A length as stage-transfers writes it: max(end - start, 0), or a product of such.
    const greater = definitions.binary(hi, "max")?.operands;
    const length = greater?.find((_, i) => definitions.constant(greater[1 - i]!) === 0);
    const difference = length === undefined ? undefined : definitions.binary(length, "sub");
    if (difference !== undefined)
      return upperBound(difference.operands[1]!, difference.operands[0]!, definitions, isSure);
    const product = definitions.binary(hi, "mul")?.operands ?? [];
    const factors = product.map((v) => (isNatural(v, definitions) ? upperBound(lo, v, definitions, isSure) : null));
    if (factors.length > 0 && factors.every((e) => e !== null)) return productOf(factors.map(clamped));
  }
  const sum = definitions.binary(hi, "add");
  if (sum !== undefined) {
    const [a, b] = sum.operands as [Value, Value];
    if (definitions.key(a) === definitions.key(lo)) return valueExtent(b, definitions);
    if (definitions.key(b) === definitions.key(lo)) return valueExtent(a, definitions);
  }
  const end = valueExtent(hi, definitions);
  if (end === null || !isSure || isNatural(lo, definitions)) return end;
  const start = valueExtent(lo, definitions);
  return start === null ? null : extent("sub", end, start);
}

/** Whether a value is surely not below zero, as a loop's variable that begins with such a value is not. */
function isNatural(v: Value, definitions: Definitions): boolean {
  const op = definitions.of(v);
  if (op !== undefined)
    return isFlooredRemainder(op, definitions) || staysNatural(op, (operand) => isNatural(operand, definitions));
  const [lo] = definitions.boundsOf(v) ?? [];
  return lo !== undefined && isNatural(lo, definitions);
}

/** A remainder by a constant as it is written out where it may be below 0: `r < 0 ? r + c : r` of r = x % c. */
function isFlooredRemainder({ name, operands }: Op, definitions: Definitions): boolean {
  if (name !== "select") return false;
  const [condition, sum, rest] = operands as [Value, Value, Value];
  const test = definitions.of(condition);
  const [divisor] = definitions.binary(rest, "rem")?.operands.slice(1) ?? [];
  const terms = definitions.binary(sum, "add")?.operands ?? [];
  return (
    divisor !== undefined &&
    (definitions.constant(divisor) ?? 0) > 0 &&
    terms.includes(rest) &&
    terms.includes(divisor) &&
    test?.attributes["fn"] === "lt" &&
    test.operands[0] === rest &&
    definitions.constant(test.operands[1]!) === 0
  );
}

/** What a value is at least and at most on any rank and in any iteration; null where that is not known before a launch. */
interface Ends {
  readonly least: Extent | null;
  readonly most: Extent | null;
}

const UNKNOWN: Ends = { least: null, most: null };

function endsOf(v: Value, definitions: Definitions, known = new Map<Value, Ends>()): Ends {
  let ends = known.get(v);
  if (ends === undefined) known.set(v, (ends = computedEnds(v, definitions, known)));
  return ends;
}

function computedEnds(v: Value, definitions: Definitions, known: Map<Value, Ends>): Ends {
  const of = (o: Value): Ends => endsOf(o, definitions, known);
  const op = definitions.of(v);
  if (op === undefined) {
    const bounds = definitions.boundsOf(v);
    if (bounds === undefined) return UNKNOWN;
    return { least: of(bounds[0]).least, most: both("sub", of(bounds[1]).most, 1) };
  }
  switch (op.name) {
    case "const":
    case "dim": {
      const only = valueExtent(v, definitions);
      return { least: only, most: only };
    }
    case "rank":
      return { least: 0, most: definitions.world - 1 };
    case "select": {
      const divisor = isFlooredRemainder(op, definitions)
        ? definitions.binary(op.operands[2]!, "rem")!.operands[1]!
        : null;
      if (divisor !== null) return { least: 0, most: definitions.constant(divisor)! - 1 };
      const [a, b] = [of(op.operands[1]!), of(op.operands[2]!)];
      return { least: both("min", a.least, b.least), most: both("max", a.most, b.most) };
    }
    case "binary":
      return binaryEnds(op, definitions, of);
    default:
      return UNKNOWN;
  }
}

function binaryEnds({ attributes, operands }: Op, definitions: Definitions, of: (v: Value) => Ends): Ends {
  const [a, b] = operands.map(of) as [Ends, Ends];
  const areNatural = operands.every((v) => isNatural(v, definitions));
  const constant = definitions.constant(operands[1]!);
  switch (attributes["fn"]) {
    case "add":
      return { least: both("add", a.least, b.least), most: both("add", a.most, b.most) };
    case "sub":
      return { least: both("sub", a.least, b.most), most: both("sub", a.most, b.least) };
    case "mul":
      if (!areNatural) return UNKNOWN;
      return { least: both("mul", naturalOf(a.least), naturalOf(b.least)), most: both("mul", a.most, b.most) };
    case "div":
      if (!areNatural) return UNKNOWN;
      if (constant === undefined) return { least: 0, most: a.most };
      return constant > 0 ? { least: both("div", a.least, constant), most: both("div", a.most, constant) } : UNKNOWN;
    case "rem":
      if (!areNatural) return UNKNOWN;
      return { least: 0, most: b.most === null ? a.most : both("sub", b.most, 1) };
    case "min":
      return { least: both("min", a.least, b.least), most: a.most === null || b.most === null ? (a.most ?? b.most) : both("min", a.most, b.most) }; // prettier-ignore
    case "max":
      return { least: a.least === null || b.least === null ? (a.least ?? b.least) : both("max", a.least, b.least), most: both("max", a.most, b.most) }; // prettier-ignore
    default:
      return UNKNOWN;
  }
}

function both(op: ExtentOp, a: Extent | null, b: Extent | null): Extent | null {
  return a === null || b === null ? null : extent(op, a, b);
}

/** The least of what is not below zero. */
function naturalOf(least: Extent | null): Extent {
  return least === null ? 0 : clamped(least);
}

/** A length, which is none below zero. */
export function clamped(length: Extent): Extent {
  return isNaturalExtent(length) ? length : extent("max", length, 0);
}

function isNaturalExtent(e: Extent): boolean {
  if (typeof e !== "object") return typeof e === "string" || e >= 0;
  const parts = [isNaturalExtent(e.a), isNaturalExtent(e.b)];
  return e.op === "max" ? parts.includes(true) : e.op !== "sub" && !parts.includes(false);
}

/** The value itself as an extent; null if it varies by rank, block or iteration. */
export function valueExtent(v: Value, definitions: Definitions): Extent | null {
  const op = definitions.of(v);
  if (op === undefined) return null;
  if (op.name === "const") return op.attributes["value"] as number;
  if (op.name === "dim") return op.attributes["name"] as string;
  if (op.name !== "binary") return null;
  const fn = op.attributes["fn"] as string;
  const [a, b] = op.operands.map((o) => valueExtent(o, definitions));
  if (a == null || b == null || !["add", "sub", "mul", "div", "min", "max"].includes(fn)) return null;
  return extent(fn as ExtentOp, a, b);
}

/** The most elements a loop over several variables can have, on any rank, as an extent; null where that is not known before a launch. */
export function knownElements(op: Op, definitions: Definitions): Extent | null {
  const lengths: Extent[] = [];
  for (let i = 0; i < op.operands.length; i += 2) {
    const [lo, hi] = [op.operands[i]!, op.operands[i + 1]!];
    const length = upperBound(lo, hi, definitions) ?? both("sub", endsOf(hi, definitions).most, endsOf(lo, definitions).least); // prettier-ignore
    if (length === null) return null;
    lengths.push(clamped(length));
  }
  return productOf(lengths);
}

/** The same, for what takes longer where it is too few: where nothing is known, as many as the largest tensor has. */
export function mostElements(op: Op, kernel: Kernel, definitions: Definitions): Extent {
  const lengths: (Extent | null)[] = [];
  for (let i = 0; i < op.operands.length; i += 2)
    lengths.push(upperBound(op.operands[i]!, op.operands[i + 1]!, definitions, false));
  if (lengths.every((e) => e !== null)) return productOf(lengths.map(clamped));
  return kernel.buffers.map((b) => productOf(b.shape)).reduce<Extent>((a, b) => extent("max", a, b), 1);
}
