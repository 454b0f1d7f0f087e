/** Which layout follows from which: the rules of matrix products, folds and elementwise operations. */
import type { FoldFunction } from "../manifest.js";
import { type DType, DTYPES } from "../types/dtype.js";
import type { Extent } from "../types/extent.js";
import { type Layout, partialOf, type Placement, printLayout, type ReductionOp, sameLayout } from "../types/layout.js";
import { hasAxes, layoutOf, type MeshAxis, placementsOf } from "../types/mesh.js";
import { conversionBetween, gatherOf } from "./functions.js";

interface Laid {
  readonly dtype: DType;
  readonly shape: readonly Extent[];
  readonly layout: Layout;
}

const isFloat = (dtype: DType): boolean => DTYPES[dtype].kind === "float";

/**
 * Whether scaling and adding the parts scales and adds the whole: of sums, and of averages of floats. An average of integers is cut
 * off, and what is made of the parts before is cut off elsewhere.
 */
export function isLinear(l: Layout, dtype: DType): boolean {
  const op = partialOf(l);
  return op === "sum" || (op === "avg" && isFloat(dtype));
}

/** Whether what is picked of the parts, element by element, or 0, is picked of the whole. */
export function isOfSummands(l: Layout): boolean {
  const op = partialOf(l);
  return op === "sum" || op === "avg";
}

/** Whether dividing the parts divides the whole: quotients of integers are cut off. */
export function isDivisible(l: Layout, dtype: DType): boolean {
  return isLinear(l, dtype) && isFloat(dtype);
}

/**
 * Whether casts of the parts are the parts of what is cast. Rounding aside: what is not is a float that is cut off, an average of
 * integers, which is, and the greatest of integers that wrap. Sums and products of integers wrap in 32 bits, or in 64: what keeps
 * fewer bits keeps those of the sum, and what has room for more, as floats do, would see parts that had not wrapped yet.
 */
export function mayCastParts(op: ReductionOp, from: DType, to: DType): boolean {
  if (from === to) return true;
  if (isFloat(from) || to === "bool") return isFloat(from) && isFloat(to);
  if (op === "min" || op === "max") return isFloat(to) || from === "bool" || isWithin(from, to);
  return op !== "avg" && !isFloat(to) && DTYPES[to].bytes <= Math.max(DTYPES[from].bytes, WORD_BYTES);
}

/** Bytes that integers of fewer are added in. */
const WORD_BYTES = 4;

/** Whether an integer dtype has all numbers of another. */
function isWithin(from: DType, to: DType): boolean {
  const [of, into] = [DTYPES[from].bytes, DTYPES[to].bytes];
  const isUnsigned = (dtype: DType): boolean => dtype.startsWith("u");
  return isUnsigned(from) === isUnsigned(to) ? into >= of : isUnsigned(from) && into > of;
}

/** A rule of layouts of all ranks, for each axis of the mesh where some speak of axes; null where one has none. */
export function perAxis(
  mesh: readonly MeshAxis[],
  layouts: readonly Layout[],
  rule: (...placements: Placement[]) => Layout | null,
): Layout | null {
  if (!layouts.some(hasAxes)) return rule(...(layouts as Placement[]));
  const rows = layouts.map((l) => placementsOf(l, mesh));
  const all = mesh.map((_, at) => rule(...rows.map((row) => row[at]!)));
  return all.includes(null) ? null : layoutOf(all as Placement[], mesh);
}

/**
 * What to say where a layout leaves out an axis of the mesh that the other operand's speaks of: that is `local` there, which is seldom
 * meant. Null where no axis is left out.
 */
export function leftOutHelp(
  mesh: readonly MeshAxis[],
  ...operands: readonly { readonly layout: Layout; readonly name: string }[]
): string | null {
  const rows = operands.map(({ layout }) => placementsOf(layout, mesh));
  for (const [at, axis] of mesh.entries())
    for (const [i, { layout, name }] of operands.entries()) {
      const row = rows[i]!;
      if (!hasAxes(layout) || row[at]!.kind !== "local" || rows.every((r) => r[at]!.kind === "local")) continue;
      const whole = layoutOf(row.with(at, { kind: "replicated" }), mesh);
      return `'${name}' says nothing of the axis ${axis.name}, so along it each rank has values of its own; if they are the same, declare it ${printLayout(whole)}`;
    }
  return null;
}

/**
 * Whether a rank's slice of what it holds is its part of the result: an axis that cuts a dimension anew must come behind those
 * that cut it already, for the first axis of the mesh cuts first.
 */
export function nests(
  operand: Layout,
  result: Layout,
  mesh: readonly MeshAxis[],
  /** Which of the result's dimensions are the operand's. */
  isOwn: (dim: number) => boolean = () => true,
): boolean {
  if (!hasAxes(operand) && !hasAxes(result)) return true;
  const [from, to] = [placementsOf(operand, mesh), placementsOf(result, mesh)];
  return to.every(
    (p, at) =>
      p.kind !== "sharded" ||
      !isOwn(p.dim) ||
      from[at]!.kind !== "replicated" ||
      !from.slice(at + 1).some((inner) => inner.kind === "sharded" && inner.dim === p.dim),
  );
}

/**
 * Layout of a matrix product of `rank` dimensions; null where ranks lack what they need. A dimension counts by its place
 * from the end: rows are 2, columns 1, batches more.
 */
export function productLayout(a: Laid, b: Laid, rank: number): Layout | null {
  const isWhole = (l: Layout): boolean => l.kind === "replicated";
  const [l, r] = [a.layout, b.layout];
  const cut = (t: Laid): number | null => (t.layout.kind === "sharded" ? t.shape.length - t.layout.dim : null);
  const [cutA, cutB] = [cut(a), cut(b)];
  const sharded = (fromEnd: number): Layout => ({ kind: "sharded", dim: rank - fromEnd });
  if (isWhole(l) && isWhole(r)) return { kind: "replicated" };
  if (l.kind === "local" && (isWhole(r) || r.kind === "local")) return l;
  if (isWhole(l) && r.kind === "local") return r;
  if (l.kind === "on" && (isWhole(r) || sameLayout(l, r))) return l;
  if (isWhole(l) && r.kind === "on") return r;
  if (cutA !== null && cutB !== null) {
    if (cutA === 1 && cutB === 2) return { kind: "partial", op: "sum" };
    return cutA > 2 && cutA === cutB ? sharded(cutA) : null;
  }
  if (cutA !== null) return isWhole(r) && cutA !== 1 ? sharded(cutA) : null;
  if (cutB !== null) return isWhole(l) && cutB !== 2 ? sharded(cutB) : null;
  if (isLinear(l, a.dtype) && isWhole(r)) return l;
  return isWhole(l) && isLinear(r, b.dtype) ? r : null;
}

/** A side of a product, as text. */
export interface Written {
  readonly text: string;
  /** The same beside `@`, in parentheses where it needs them. */
  readonly factor: string;
  /** It is the name of what the program declares with a layout. */
  readonly isDeclared: boolean;
}

/** What would make the product possible. @param contracted the dimension both sides share, as written. */
export function productHelp(a: Laid, b: Laid, left: Written, right: Written, contracted: string): string {
  const [l, r] = [a.layout, b.layout];
  if (l.kind === "partial") return `convert the left side first: ${gatherOf(l, left.text)} @ ${right.factor}`;
  if (r.kind === "partial") return `convert the right side first: ${left.factor} @ ${gatherOf(r, right.text)}`;
  const [dimA, dimB] = [a.shape.length - 1, b.shape.length - 2];
  const cutLeft = l.kind === "sharded" && l.dim === dimA;
  const cutRight = r.kind === "sharded" && r.dim === dimB;
  if (cutLeft && !cutRight)
    return `dimension '${contracted}' is cut on the left only: gather it, all_gather(${left.text}, dim: ${dimA}) @ ${right.factor}${cutToo(right, r, dimB)}`;
  if (cutRight && !cutLeft)
    return `dimension '${contracted}' is cut on the right only: gather it, ${left.factor} @ all_gather(${right.text}, dim: ${dimB})${cutToo(left, l, dimA)}`;
  if (l.kind === "sharded" && r.kind === "sharded")
    return `both sides are cut, so each rank has one block of the result: gather one, as in all_gather(${left.text}, dim: ${l.dim}) @ ${right.factor}`;
  const [bad, { text }] = l.kind === "on" ? [l, left] : [r, right];
  return `convert it first: ${gatherOf(bad, text) ?? text}`;
}

/** How a side comes to be cut along a dimension: what is declared says so, and what is computed of what all ranks have is kept where it is cut. */
function cutToo({ text, isDeclared }: Written, layout: Layout, dim: number): string {
  if (isDeclared) return `, or declare '${text}' sharded(${dim})`;
  return layout.kind === "replicated" ? `, or assign ${text} to scratch that is sharded(${dim})` : "";
}

/** Layout of an elementwise operation of two tensors; null where they do not go together. @param dtype of both */
export function elementwiseLayout(operator: string, a: Layout, b: Layout, dtype: DType): Layout | null {
  if (a.kind === "partial" || b.kind === "partial") {
    if (operator === "where") return isOfSummands(a) && sameLayout(a, b) ? a : null;
    // `mask` is a condition on the left, which every rank must know.
    if (operator === "mask") return a.kind === "replicated" && isOfSummands(b) ? b : null;
    if (operator === "+" || operator === "-") return isLinear(a, dtype) && sameLayout(a, b) ? a : null;
    if (operator === "*" && isLinear(a, dtype) && b.kind === "replicated") return a;
    if (operator === "*" && isLinear(b, dtype) && a.kind === "replicated") return b;
    return operator === "/" && isDivisible(a, dtype) && b.kind === "replicated" ? a : null;
  }
  if (sameLayout(a, b)) return a;
  // What every rank has, rank r has, too; it has no other rank's slice.
  if (a.kind === "replicated") return b;
  return b.kind === "replicated" ? a : null;
}

/** What would make the operation possible. */
export function elementwiseHelp(operator: string, a: Layout, b: Layout, left: string, right: string): string {
  const isSum = operator === "+" || operator === "-";
  const each = isSum ? ": every rank would add the other operand once" : "";
  if (a.kind === "partial" && b.kind !== "partial") return `convert the left side first, ${gatherOf(a, left)}${each}`;
  if (b.kind === "partial" && a.kind !== "partial") return `convert the right side first, ${gatherOf(b, right)}${each}`;
  if (a.kind === "partial") return `convert both sides first: ${gatherOf(a, left)} and ${gatherOf(b, right)}`;
  if (a.kind === "sharded" && b.kind === "sharded")
    return `bring them to one layout: all_to_all(${right}, dim: ${a.dim}), or all_gather(${right})`;
  if (a.kind === "on") return `give every rank the value: broadcast(${left})`;
  return b.kind === "on" ? `give every rank the value: broadcast(${right})` : "declare them with one layout";
}

const PARTS: Readonly<Record<FoldFunction, ReductionOp>> = {
  sum: "sum",
  mean: "avg",
  min: "min",
  max: "max",
  prod: "prod",
};

/** Layout of a fold along a dimension; null where the parts' folds are not the parts of the whole's. */
export function foldLayout(fn: FoldFunction, dim: number, l: Layout, dtype: DType): Layout | null {
  if (l.kind === "sharded" && l.dim === dim) return { kind: "partial", op: PARTS[fn] };
  if (l.kind !== "partial") return l;
  const commutes = fn === "sum" || fn === "mean" ? isLinear(l, dtype) : l.op === PARTS[fn];
  return commutes ? l : null;
}

/** Layout of tensors put one after the other along `dim`; null where they do not go together. */
export function concatLayout(a: Layout, b: Layout): Layout | null {
  if (sameLayout(a, b)) return a;
  const [whole, other] = a.kind === "replicated" ? [a, b] : [b, a];
  return whole.kind === "replicated" && (other.kind === "sharded" || other.kind === "local") ? other : null;
}

/** What would make the parts go together: each as every rank has it. */
export function concatHelp(a: Layout, b: Layout, left: string, right: string): string {
  const fixed = [
    conversionBetween(a, { kind: "replicated" }, left),
    conversionBetween(b, { kind: "replicated" }, right),
  ];
  return `bring them to one layout, as with ${fixed.filter((f) => f !== null).join(" and ")}`;
}
