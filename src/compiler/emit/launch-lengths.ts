/**
 * Lengths that follow from a launch's dimensions by divisions. A thread takes some hundred cycles for each, one after the other, and no block
 * begins before it has them: on an H200, 2 µs of a product's 14 (16×8192×2048, 2026-11). Who launches the kernel computes them once, and passes them.
 */
import type { Kernel, Op, Region, Value } from "../ir/module.js";
import { scalarOf } from "../ir/types.js";
import { walkKernel } from "../ir/visit.js";
import type { LaunchLength } from "../manifest.js";
import { extent, type Extent, printExtent } from "../types/extent.js";

export interface LaunchLengths {
  readonly lengths: readonly LaunchLength[];
  /** What the kernel takes as a length; of a condition, 1 where it holds and else 0. */
  readonly names: ReadonlyMap<Value, string>;
  /** What is computed for lengths alone. */
  readonly unused: ReadonlySet<Op>;
  /** Of what products' kernels divide by. */
  readonly reciprocals: ReadonlyMap<Value, Reciprocal>;
}

/** By what something is divided: the length to multiply by, and a number that it may be instead. */
export interface Reciprocal {
  readonly name: string;
  readonly or: number | null;
}

/**
 * The reciprocal of d is 2⁵² ÷ d + 1: x times that over 2⁵² is x ÷ d, or one more, for x below 2⁵² (after "Division by Invariant Integers using
 * Multiplication", Granlund and Montgomery, 1994). Who launches computes with numbers of 53 bits.
 */
const RECIPROCAL = 2 ** 52;

/** A value of which all is known at a launch. */
interface Known {
  readonly op: Op;
  /** Bounds for all dimensions: extents round down, kernels towards zero, so nothing is divided that may be negative. */
  readonly low: number;
  readonly high: number;
  /** Divisions behind it, of which one by what is not known before counts as many. */
  readonly divisions: number;
}

/** So many divisions by constants take a thread as long as one by something else. */
const MANY = 8;

/** Of kernels' bodies, kept because texts and parameters both ask. */
const found = new WeakMap<Region, LaunchLengths>();

export function launchLengthsOf(kernel: Kernel): LaunchLengths {
  let lengths = found.get(kernel.body);
  if (lengths === undefined) found.set(kernel.body, (lengths = findLengths(kernel)));
  return lengths;
}

function findLengths(kernel: Kernel): LaunchLengths {
  const known = new Map<Value, Known>();
  const users = new Map<Value, Op[]>();
  walkKernel(kernel, (op) => {
    for (const v of op.operands) users.set(v, [...(users.get(v) ?? []), op]);
    const value = knownOf(op, known);
    if (value !== null) known.set(op.results[0]!, value);
  });
  const isKnown = (op: Op): boolean => op.results.length === 1 && known.has(op.results[0]!);
  const isWorthIt = ([v, k]: [Value, Known]): boolean =>
    (users.get(v) ?? []).some(
      (op) => !isKnown(op) && (k.divisions >= MANY || (isDivision(op) && op.operands[1] === v)),
    );
  const roots = [...known].filter((entry) => entry[1].op.operands.length > 0 && isWorthIt(entry));

  // What several lengths are made of is a length itself, so that each is computed once.
  const parents = new Map<Value, number>();
  const count = (v: Value): void => {
    const before = parents.get(v) ?? 0;
    parents.set(v, before + 1);
    if (before === 0) known.get(v)!.op.operands.forEach(count);
  };
  roots.forEach(([v]) => count(v));
  const isRoot = new Set(roots.map(([v]) => v));
  let prefix = "length_";
  while (kernel.dims.some((name) => name.startsWith(prefix))) prefix = `_${prefix}`;
  const lengths: LaunchLength[] = [];
  const names = new Map<Value, string>();
  const extents = new Map<Value, Extent>();
  const named = new Map<string, string>();
  for (const [v, { op }] of known) {
    if (!parents.has(v)) continue;
    const of = extentOf(op, op.operands.map((x) => extents.get(x)!), op.operands.map((x) => known.get(x)!)); // prettier-ignore
    const isShared = op.operands.length > 0 && parents.get(v)! > 1;
    if (typeof of === "string" || (!isRoot.has(v) && (!isShared || typeof of === "number"))) {
      extents.set(v, of);
      if (isRoot.has(v)) names.set(v, of as string);
    } else {
      const key = printExtent(of);
      const name = named.get(key) ?? `${prefix}${lengths.length}`;
      if (!named.has(key)) lengths.push({ name, value: of });
      named.set(key, name);
      extents.set(v, name);
      if (isRoot.has(v)) names.set(v, name);
    }
  }
  const unused = new Set<Op>();
  const isNeeded = (v: Value): boolean => !names.has(v) && (users.get(v) ?? []).some((op) => !unused.has(op));
  for (const [v, { op }] of [...known].reverse())
    if (op.name !== "const" && (names.has(v) || !isNeeded(v))) unused.add(op);
  const reciprocals = new Map<Value, Reciprocal>();
  const extentFor = (v: Value): Extent => {
    const { op } = known.get(v)!;
    return names.get(v) ?? extentOf(op, op.operands.map(extentFor), op.operands.map((x) => known.get(x)!)); // prettier-ignore
  };
  const reciprocalOf = (by: Extent, or: number | null): Reciprocal => {
    const value = extent("add", extent("div", RECIPROCAL, extent("max", by, 1)), 1);
    const key = printExtent(value);
    const name = named.get(key) ?? `${prefix}${lengths.length}`;
    if (!named.has(key)) lengths.push({ name, value });
    named.set(key, name);
    return { name, or };
  };
  // Elsewhere some kernels gain and as many lose, up to 0.2 µs (H200, 2026-11; bench/results/collectives.md).
  if (!kernel.buffers.some((b) => b.role === "ring")) return { lengths, names, unused, reciprocals };
  const makers = new Map<Value, Op>();
  walkKernel(kernel, (op) => {
    for (const v of op.results) makers.set(v, op);
    const by = op.operands[1]!;
    if (!isDivision(op) || scalarOf(by.type) !== "index" || unused.has(op)) return;
    const rest = restOf(by, makers, known);
    if (rest !== null) reciprocals.set(by, reciprocalOf(extent("mod", extentFor(rest.of), rest.most), rest.most));
    else if ((known.get(by)?.low ?? -1) >= 0 && known.get(by)!.op.name !== "const")
      reciprocals.set(by, reciprocalOf(extentFor(by), null));
  });
  return { lengths, names, unused, reciprocals };
}

/** Of min(c, n − c · i), `of` n and `most` c: that is c, or n modulo c. Null for what is not known to be such, of an n that is known at the launch. */
function restOf(
  v: Value,
  makers: ReadonlyMap<Value, Op>,
  known: ReadonlyMap<Value, Known>,
): { of: Value; most: number } | null {
  const operandsOf = (x: Value, fn: string): readonly Value[] => {
    const op = makers.get(x);
    return op?.name === "binary" && op.attributes["fn"] === fn ? op.operands : [];
  };
  const numberOf = (x: Value | undefined): number | null => {
    const op = x === undefined ? undefined : makers.get(x);
    return op?.name === "const" ? (op.attributes["value"] as number) : null;
  };
  for (const [a, b] of [operandsOf(v, "min"), operandsOf(v, "min").toReversed()]) {
    const most = numberOf(a);
    const [of, taken] = b === undefined ? [] : operandsOf(b, "sub");
    if (most === null || most < 1 || of === undefined || (known.get(of)?.low ?? -1) < 0) continue;
    if (operandsOf(taken!, "mul").some((x) => numberOf(x) === most)) return { of, most };
  }
  return null;
}

export function isDivision({ name, attributes: { fn } }: Op): boolean {
  return name === "binary" && (fn === "div" || fn === "rem");
}

const BOOLEAN = { low: 0, high: 1 };

/** Null for what is not known at a launch, or is no extent. */
function knownOf(op: Op, known: ReadonlyMap<Value, Known>): Known | null {
  const [result] = op.results;
  if (result === undefined || op.results.length !== 1 || op.regions.length > 0) return null;
  const kind = scalarOf(result.type);
  if (kind !== "index" && kind !== "bool") return null;
  const of = op.operands.map((v) => known.get(v));
  if (of.includes(undefined)) return null;
  const [a, b, c] = of as Known[];
  const before = (of as Known[]).reduce((sum, k) => sum + k.divisions, 0);
  const made = (low: number, high: number, more = 0): Known => ({ op, low, high, divisions: Math.min(MANY, before + more) }); // prettier-ignore
  switch (op.name) {
    case "const": {
      const value = op.attributes["value"] as number;
      return Number.isSafeInteger(value) ? made(value, value) : null;
    }
    case "dim":
      return made(0, Infinity);
    case "compare":
      return made(BOOLEAN.low, BOOLEAN.high);
    case "select":
      return made(Math.min(b!.low, c!.low), Math.max(b!.high, c!.high));
    case "binary":
      break;
    default:
      return null;
  }
  const [x, y] = [a!, b!];
  switch (op.attributes["fn"]) {
    case "add":
      return made(x.low + y.low, x.high + y.high);
    case "sub":
      return made(x.low - y.high, x.high - y.low);
    case "mul":
      return x.low >= 0 && y.low >= 0 ? made(x.low * y.low, Infinity) : made(-Infinity, Infinity);
    case "min":
      return made(Math.min(x.low, y.low), Math.min(x.high, y.high));
    case "max":
      return made(Math.max(x.low, y.low), Math.max(x.high, y.high));
    case "div":
    case "rem":
      if (x.low < 0 || y.low < 1) return null;
      return made(
        0,
        op.attributes["fn"] === "div" ? x.high : Math.min(x.high, y.high - 1),
        y.op.name === "const" ? 1 : MANY,
      );
    case "and":
    case "or":
      return kind === "bool" ? made(BOOLEAN.low, BOOLEAN.high) : null;
    default:
      return null;
  }
}

/** Of a condition 1 where it holds, else 0. */
function extentOf({ name, attributes }: Op, [a, b, c]: readonly Extent[], [x, y]: readonly Known[]): Extent {
  const isLess = (x: Extent, y: Extent): Extent => extent("min", 1, extent("max", 0, extent("sub", y, x)));
  const not = (x: Extent): Extent => extent("sub", 1, x);
  if (name === "const") return Number(attributes["value"]);
  if (name === "dim") return attributes["name"] as string;
  if (name === "select") return extent("add", c!, extent("mul", a!, extent("sub", b!, c!)));
  const fn = attributes["fn"] as string;
  if (name === "binary") {
    // One of the two, where bounds say which.
    if (fn === "max" || fn === "min") {
      const isFirst = fn === "max" ? x!.low >= y!.high : x!.high <= y!.low;
      const isSecond = fn === "max" ? y!.low >= x!.high : y!.high <= x!.low;
      if (isFirst || isSecond) return isFirst ? a! : b!;
    }
    const same = { rem: "mod", and: "min", or: "max" } as const;
    return extent((same[fn as keyof typeof same] ?? fn) as Parameters<typeof extent>[0], a!, b!);
  }
  switch (fn) {
    case "lt":
      return isLess(a!, b!);
    case "gt":
      return isLess(b!, a!);
    case "ge":
      return not(isLess(a!, b!));
    case "le":
      return not(isLess(b!, a!));
    case "ne":
      return extent("max", isLess(a!, b!), isLess(b!, a!));
    default:
      return not(extent("max", isLess(a!, b!), isLess(b!, a!)));
  }
}
