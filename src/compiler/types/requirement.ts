/** What the dimensions of a launch must fulfil, and what to say when they do not. */
import { type DimValues, evaluateExtent, type Extent, extentNames } from "./extent.js";

export type Relation = "eq" | "ne" | "lt" | "le" | "gt" | "ge";

/** `left relation right` must hold at a launch. `n % 4 == 0` is `{ left: mod(n, 4), relation: "eq", right: 0 }`. */
export interface Requirement {
  readonly left: Extent;
  readonly relation: Relation;
  readonly right: Extent;
  /** Why, for the error message: "x is sharded(0) over 4 ranks". */
  readonly reason: string;
}

const RELATIONS: Record<Relation, (a: number, b: number) => boolean> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

export const RELATION_SIGNS: Readonly<Record<Relation, string>> = {
  eq: "==",
  ne: "!=",
  lt: "<",
  le: "<=",
  gt: ">",
  ge: ">=",
};

export function relationHolds(relation: Relation, left: number, right: number): boolean {
  return RELATIONS[relation](left, right);
}

export function requirementHolds(r: Requirement, dims: DimValues): boolean {
  return relationHolds(r.relation, evaluateExtent(r.left, dims), evaluateExtent(r.right, dims));
}

/** `length` divides by `divisor`. */
export function divides(length: Extent, divisor: number, reason: string): Requirement {
  return { left: { op: "mod", a: length, b: divisor }, relation: "eq", right: 0, reason };
}

/** The length and the divisor of a requirement that `divides` made, or one that reads like it; null for others. */
export function divisorOf(r: Requirement): { readonly length: Extent; readonly divisor: number } | null {
  const { left, relation, right } = r;
  if (relation !== "eq" || right !== 0 || typeof left !== "object" || left.op !== "mod") return null;
  return typeof left.b === "number" ? { length: left.a, divisor: left.b } : null;
}

export interface BrokenRequirement {
  /** What does not hold, with the values: `n=10 does not divide by 4: …`. */
  readonly message: string;
  /** The nearest values of single dimensions with which everything holds. */
  readonly help: string;
}

/** The first requirement that the dimensions break, in words; null if they break none. */
export function brokenRequirement(requirements: readonly Requirement[], dims: DimValues): BrokenRequirement | null {
  const broken = requirements.find((r) => !requirementHolds(r, dims));
  if (broken === undefined) return null;
  const names = [...new Set([...extentNames(broken.left), ...extentNames(broken.right)])];
  const near = names.flatMap((name) => {
    const options = [-1, +1].flatMap((step) => nearestFit(requirements, dims, name, step as 1 | -1) ?? []);
    return options.length === 0 ? [] : [options.map((v) => `${name}=${v}`).join(" or ")];
  });
  const values = names.map((name) => `${name}=${dims[name]}`).join(", ");
  const division = divisorOf(broken);
  const what =
    division === null
      ? `${values} breaks ${broken.reason} (${evaluateExtent(broken.left, dims)} ${RELATION_SIGNS[broken.relation]} ${evaluateExtent(broken.right, dims)} does not hold)`
      : `${showDividend(division.length, values, dims)} does not divide by ${division.divisor}: ${broken.reason}`;
  const fallback = division === null ? "choose other dimensions" : `choose a multiple of ${division.divisor}`;
  return { message: what, help: near.length > 0 ? `the nearest that work: ${near.join("; ")}` : fallback };
}

function showDividend(length: Extent, values: string, dims: DimValues): string {
  return typeof length === "string" ? values : `${evaluateExtent(length, dims)} (${values})`;
}

/** The dimensions, with the `free` ones among them changed until the requirements hold, where that can be done. */
export function fitDims(
  requirements: readonly Requirement[],
  dims: DimValues,
  free: ReadonlySet<string>,
): Record<string, number> {
  const fitted: Record<string, number> = { ...dims };
  // Rules are few and independent in practice; a handful of rounds settles those that share a dimension.
  for (let round = 0; round < 4; round++)
    for (const rule of requirements) {
      const name = [...extentNames(rule.left), ...extentNames(rule.right)].find((each) => free.has(each));
      if (name === undefined || requirementHolds(rule, fitted)) continue;
      fitted[name] = nearestFit([rule], fitted, name, +1) ?? nearestFit([rule], fitted, name, -1) ?? fitted[name]!;
    }
  return fitted;
}

/** The nearest other value of one dimension, up or down, with which all requirements about it hold; null if none is near. */
export function nearestFit(
  requirements: readonly Requirement[],
  dims: DimValues,
  name: string,
  step: 1 | -1,
): number | null {
  const about = requirements.filter((r) => extentNames(r.left).has(name) || extentNames(r.right).has(name));
  for (let i = 1; i <= 65536; i++) {
    const value = dims[name]! + step * i;
    if (value <= 0) return null;
    if (about.every((r) => requirementHolds(r, { ...dims, [name]: value }))) return value;
  }
  return null;
}
