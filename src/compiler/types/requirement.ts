/** What the dimensions of a launch must fulfil, and what to say when they do not. */
import { type DimValues, evaluateExtent, type Extent, extentNames, sameExtent } from "./extent.js";
import { isMultipleOf } from "./normal-form.js";

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

/** Whether so many divide a length in all launches: its form says so, or a requirement about it or one of its factors. */
export function isKnownMultiple(length: Extent, divisor: number, requirements: readonly Requirement[]): boolean {
  if (isMultipleOf(length, divisor)) return true;
  const isRequired = requirements.some((r) => {
    const held = divisorOf(r);
    return held !== null && held.divisor % divisor === 0 && sameExtent(held.length, length);
  });
  if (isRequired || typeof length !== "object" || length.op !== "mul") return isRequired;
  return [length.a, length.b].some((factor) => isKnownMultiple(factor, divisor, requirements));
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
  const names = namesIn(broken);
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

/** Changes of single dimensions that `fitDims` makes at most: conditions that dimensions share may need several rounds. */
const MOST_CHANGES = 64;

/**
 * The dimensions, with the `free` ones among them changed until the requirements hold, where that can be done by changing
 * one after the other. Whoever needs to know asks `brokenRequirement` of what comes out.
 */
export function fitDims(
  requirements: readonly Requirement[],
  dims: DimValues,
  free: ReadonlySet<string>,
): Record<string, number> {
  const fitted: Record<string, number> = { ...dims };
  const seen = new Set<string>();
  for (let change = 0; change < MOST_CHANGES; change++) {
    const broken = requirements.find((r) => !requirementHolds(r, fitted));
    if (broken === undefined) return fitted;
    const names = namesIn(broken).filter((name) => free.has(name));
    const near = (rules: readonly Requirement[]): readonly [string, number][] =>
      names.flatMap((name) => {
        const found = nearestFit(rules, fitted, name, +1) ?? nearestFit(rules, fitted, name, -1);
        return found === null || seen.has(stateOf(fitted, name, found)) ? [] : [[name, found] as const];
      });
    // What all rules about a dimension allow; else what this one does, and the others get their turn.
    const [next] = [...near(requirements), ...near([broken])];
    if (next === undefined) return fitted;
    seen.add(stateOf(fitted, ...next));
    fitted[next[0]] = next[1];
  }
  return fitted;
}

function stateOf(dims: DimValues, name: string, value: number): string {
  return JSON.stringify({ ...dims, [name]: value });
}

const namesIn = (r: Requirement): string[] => [...new Set([...extentNames(r.left), ...extentNames(r.right)])];

/** No dimension is longer: sizes in bytes stay exact numbers. */
const LONGEST = 2 ** 40;
/** Values that are tried one after the other, if no divisor asks for more. */
const NEIGHBOURS = 65536;
/** The same where some rule seems to hold nowhere in that direction. */
const FEW_NEIGHBOURS = 1024;

/** The nearest other value of one dimension, up or down, with which all requirements about it hold; null if none is found. */
export function nearestFit(
  requirements: readonly Requirement[],
  dims: DimValues,
  name: string,
  step: 1 | -1,
): number | null {
  const about = requirements.filter((r) => extentNames(r.left).has(name) || extentNames(r.right).has(name));
  const holds = (r: Requirement, value: number): boolean => requirementHolds(r, { ...dims, [name]: value });
  const isAllowed = (value: number): boolean => about.every((r) => holds(r, value));
  const congruence = congruenceOf(about, name);
  if (congruence === null) return null;
  const divisors = about.map((r) => divisorOf(r)?.divisor ?? 1);
  const ordered = about.filter((r) => divisorOf(r) === null && congruentTo(r, name) === null);
  let value = dims[name]! + step;
  let isSteady = true;
  // Over what an inequality or an equation excludes in one go, as those of products and far constants do.
  for (let jump = 0; jump < 32; jump++) {
    const next = ordered.map((r) => firstAllowed((v) => holds(r, v), gapOf(r, dims, name), value, step));
    if (next.includes(null)) {
      isSteady = false;
      break;
    }
    const furthest = step > 0 ? Math.max(value, ...(next as number[])) : Math.min(value, ...(next as number[]));
    if (furthest === value) break;
    value = furthest;
  }
  // Only those values in between that all moduli together allow.
  const { rest, modulus } = congruence;
  const missing = step > 0 ? rest - value : value - rest;
  value += step * (((missing % modulus) + modulus) % modulus);
  const most = Math.max(NEIGHBOURS, 2 * divisors.reduce((a, b) => Math.max(a, b), 1));
  const tries = isSteady ? Math.min(2 ** 22, most) : FEW_NEIGHBOURS;
  for (let i = 0; i < tries && value > 0 && value <= LONGEST; i++, value += step * modulus)
    if (isAllowed(value)) return value;
  return null;
}

/** What a dimension leaves when it is divided by a number. */
interface Congruence {
  readonly rest: number;
  readonly modulus: number;
}

/** Of a rule that says what a dimension by itself leaves; null for others. */
function congruentTo({ left, relation, right }: Requirement, name: string): Congruence | null {
  if (relation !== "eq" || typeof right !== "number" || typeof left !== "object" || left.op !== "mod") return null;
  const { a, b: modulus } = left;
  if (typeof modulus !== "number" || modulus <= 0) return null;
  if (a === name) return { rest: right, modulus };
  // Of what is a number more or less.
  if (typeof a !== "object" || a.a !== name || typeof a.b !== "number" || (a.op !== "add" && a.op !== "sub"))
    return null;
  if (right < 0 || right >= modulus) return { rest: right, modulus };
  const rest = (a.op === "add" ? right - a.b : right + a.b) % modulus;
  return { rest: rest < 0 ? rest + modulus : rest, modulus };
}

/** All that rules say of what a dimension leaves, as one (Chinese remainders); null where they contradict each other. */
function congruenceOf(rules: readonly Requirement[], name: string): Congruence | null {
  let all: Congruence = { rest: 0, modulus: 1 };
  for (const rule of rules) {
    const one = congruentTo(rule, name);
    if (one === null) continue;
    if (one.rest < 0 || one.rest >= one.modulus) return null;
    const common = greatestCommon(all.modulus, one.modulus);
    if ((all.rest - one.rest) % common !== 0) return null;
    const modulus = (all.modulus / common) * one.modulus;
    // Beyond this, what is left of the rules is tried as before.
    if (modulus > MOST_MODULUS) continue;
    let { rest } = all;
    while (rest % one.modulus !== one.rest) rest += all.modulus;
    all = { rest, modulus };
  }
  return all;
}

/** A rest is found by steps of one modulus through the other, so both are limited. */
const MOST_MODULUS = 2 ** 24;

/** The greatest common divisor of two whole numbers of any sign, not negative; of 0 and another it is the other. */
export function greatestCommon(a: number, b: number): number {
  return b === 0 ? Math.abs(a) : greatestCommon(b, a % b);
}

/** How far the left side is above the right one, by the value of one dimension. */
function gapOf({ left, right }: Requirement, dims: DimValues, name: string): (value: number) => number {
  return (value) => {
    const at = { ...dims, [name]: value };
    return evaluateExtent(left, at) - evaluateExtent(right, at);
  };
}

/**
 * The first value from `from` on, up or down, that a relation allows, or that the sides have come past each other at;
 * null if the search, with growing steps, finds none. Between the steps the sides are taken to grow or to fall steadily.
 */
function firstAllowed(
  isAllowed: (value: number) => boolean,
  gap: (value: number) => number,
  from: number,
  step: 1 | -1,
): number | null {
  if (from < 1) return null;
  if (isAllowed(from)) return from;
  const side = Math.sign(gap(from));
  const isReached = (v: number): boolean => isAllowed(v) || Math.sign(gap(v)) === -side;
  let before = 0;
  for (let far = 1; ; far *= 2) {
    const value = from + step * far;
    if (value < 1 && from + step * before <= 1) return null;
    if (value > LONGEST) return null;
    const reached = Math.min(far, step < 0 ? from - 1 : far);
    if (!isReached(from + step * reached)) {
      before = reached;
      continue;
    }
    let [low, high] = [before, reached];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (isReached(from + step * middle)) high = middle;
      else low = middle;
    }
    return from + step * high;
  }
}
