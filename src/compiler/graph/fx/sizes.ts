/**
 * Sizes that only a launch knows, and the dimensions of programs that stand for them. What must divide, by what the graph itself says
 * (a reduce_scatter of s0 rows over 4 ranks), is a multiple of a dimension: s0 = 4·s0_by_4, so that a rank's rows are s0_by_4,
 * and no length is rounded.
 */
import { UsageError } from "../../../errors.js";
import { type DimValues, evaluateExtent, type Extent, extent, extentNames, sameExtent } from "../../types/extent.js";
import { isPolynomial, polynomialOf } from "../../types/normal-form.js";
import {
  divides,
  divisorOf,
  fitDims,
  greatestCommon,
  type Requirement,
  requirementHolds,
} from "../../types/requirement.js";
import { conversionOf, type FxGraph, isRef, withLengths } from "./fx.js";
import { named, positional } from "./parameters.js";

export interface Dimensions {
  /** The graph with dimensions in the place of sizes. */
  readonly fx: FxGraph;
  /** By dimension, what it is of the graph's sizes. */
  readonly of: Readonly<Record<string, Extent>>;
  /** On the graph's sizes: their limits, and what must divide. */
  readonly guards: readonly Requirement[];
  /** Sizes that times and memory are given for: hints, as near as the guards allow. */
  readonly at: DimValues;
}

/** What a size is taken to be that has no hint. */
const USUAL = 1024;

/** Dimensions for the sizes of a graph. @throws UsageError where no sizes are allowed */
export function dimensionsOf(fx: FxGraph): Dimensions {
  const sizes = Object.entries(fx.sizes ?? {});
  const factors = new Map(sizes.map(([name]) => [name, 1]));
  const reasons = new Map<string, string>();
  const nameOf = (size: string): string => {
    const factor = factors.get(size)!;
    if (factor === 1) return size;
    let name = `${size}_by_${factor}`;
    while (factors.has(name) || fx.nodes.some((n) => n.name === name)) name += "_";
    return name;
  };
  const replaced = (e: Extent): Extent => substitute(e, (name) => extent("mul", factors.get(name)!, nameOf(name)));
  const facts = divisions(fx);
  // What one division says may decide another.
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const { length, divisor, reason } of facts) {
      const found = multipleIn(replaced(length), divisor);
      const size = sizes.map(([name]) => name).find((name) => nameOf(name) === found?.name);
      if (found === null || size === undefined) continue;
      factors.set(size, factors.get(size)! * found.by);
      if (!reasons.has(size)) reasons.set(size, reason);
      isChanged = true;
    }
  }
  const guards = sizes.flatMap(([name, { min = 0, max }]): Requirement[] => [
    ...(min > 0 ? [{ left: name, relation: "ge" as const, right: min, reason: `the graph is for ${name} >= ${min}` }] : []), // prettier-ignore
    ...(max === undefined ? [] : [{ left: name, relation: "le" as const, right: max, reason: `the graph is for ${name} <= ${max}` }]), // prettier-ignore
    ...(factors.get(name) === 1 ? [] : [divides(name, factors.get(name)!, reasons.get(name)!)]),
  ]);
  const usual = Object.fromEntries(sizes.map(([name, { min = 0, max = Infinity, hint }]) => [name, hint ?? Math.min(max, Math.max(min, USUAL))])); // prettier-ignore
  const at = fitDims(guards, usual, new Set(factors.keys()));
  const broken = guards.find((g) => !requirementHolds(g, at));
  if (broken !== undefined) throw new UsageError(`the graph's sizes can be none: ${broken.reason}`, "widen the limits under sizes"); // prettier-ignore
  for (const { name, shape = [] } of fx.nodes) {
    const elements = shape.reduce<number>((product, e) => product * evaluateExtent(e, at), 1);
    if (elements <= Number.MAX_SAFE_INTEGER) continue;
    const where = sizes.length === 0 ? "" : ` at ${Object.entries(at).map(([size, n]) => `${size} = ${n}`).join(", ")}`; // prettier-ignore
    throw new UsageError(`node '${name}' has ${elements} elements${where}, more than numbers can count`, `at most ${Number.MAX_SAFE_INTEGER} fit: make its shape, or the hints under sizes, smaller`); // prettier-ignore
  }
  return {
    fx: withLengths(fx, replaced),
    of: Object.fromEntries(sizes.map(([name]) => [nameOf(name), extent("div", name, factors.get(name)!)])),
    guards,
    at,
  };
}

/** Conversions that cut what a rank has. */
const CUT: ReadonlySet<string> = new Set(["reduce_scatter", "all_to_all"]);

/** Of a program with some of the dimensions: what each is, and what must hold of the graph's sizes so that it can be launched. */
export function launchOf(
  { of, guards }: Dimensions,
  names: readonly string[],
  requirements: readonly Requirement[],
): { readonly dims: Readonly<Record<string, Extent>>; readonly guards: readonly Requirement[] } {
  const dims = Object.fromEntries(names.map((name) => [name, of[name]!]));
  const sizes = new Set(Object.values(dims).flatMap((e) => [...extentNames(e)]));
  const put = (e: Extent): Extent => substitute(e, (name) => of[name]!);
  const own = requirements.map((r) => ({ ...r, left: put(r.left), right: put(r.right) }));
  return { dims, guards: [...guards.filter((g) => [...extentNames(g.left)].some((n) => sizes.has(n))), ...own] };
}

/** What divides where the graph runs at all: rows that a conversion cuts, and what the caller says. */
function divisions(fx: FxGraph): { length: Extent; divisor: number; reason: string }[] {
  const said = (fx.holds ?? []).flatMap((r) => {
    const division = divisorOf({ ...r, reason: "" });
    return division === null ? [] : [{ ...division, reason: "the caller says so" }];
  });
  const cut = fx.nodes.flatMap((node) => {
    const { name, target = "" } = node;
    const placed = CUT.has(conversionOf(target) ?? "") ? positional(node) : "";
    if (typeof placed === "string") return [];
    const { input, inputs = input, group_name: group } = named(placed);
    const ranks = typeof group === "string" && Object.hasOwn(fx.groups, group) ? fx.groups[group] : undefined;
    if (ranks === undefined) return [];
    return [inputs ?? null].flat().flatMap((x) => {
      const rows = isRef(x) ? fx.nodes.find((n) => n.name === x.node)?.shape?.[0] : undefined;
      return rows === undefined ? [] : [{ length: rows, divisor: ranks, reason: `'${name}' cuts it among ${ranks} ranks` }]; // prettier-ignore
    });
  });
  return [...said, ...cut];
}

/** The one dimension that must be a multiple of more than 1 for a length to divide; null where there is none, or it is not known which. */
function multipleIn(length: Extent, divisor: number): { readonly name: string; readonly by: number } | null {
  const terms = [...polynomialOf(length)].filter(([, factor]) => factor % divisor !== 0);
  const [[name, factor] = ["", 0]] = terms;
  if (terms.length !== 1 || name === "" || /[*(]/.test(name)) return null;
  return { name, by: divisor / greatestCommon(factor, divisor) };
}

/** An extent with others in the place of names; sums of products are written out. */
export function substitute(e: Extent, of: (name: string) => Extent): Extent {
  const put = (x: Extent): Extent =>
    typeof x === "number" ? x : typeof x === "string" ? of(x) : extent(x.op, put(x.a), put(x.b));
  const made = put(e);
  if (typeof made !== "object" || !isPolynomial(made)) return made;
  return [...polynomialOf(made)].reduce<Extent>((sum, [product, factor]) => {
    const factors = product === "" ? [] : product.split("*");
    const term = factors.reduce<Extent>((x, name) => extent("mul", x, name), Math.abs(factor));
    return factor < 0 && sum !== 0 ? extent("sub", sum, term) : extent("add", sum, factor < 0 ? extent("mul", -1, term) : term); // prettier-ignore
  }, 0);
}

/** The same extent, with sums of products written out. */
export const tidy = (e: Extent): Extent => substitute(e, (name) => name);

/** Whether lengths differ by a number, so that they are not equal, whatever the launch says. */
export const isOther = (a: Extent, b: Extent): boolean =>
  typeof tidy(extent("sub", a, b)) === "number" && !sameExtent(a, b);

/**
 * Names among the lengths of tensors that ranks exchange, which are as long on all of them. What stands beside another name
 * that may differ, as in s0·s1 rows, may differ.
 */
export function commonNames(lengths: readonly Extent[]): ReadonlySet<string> {
  const known = new Set<string>();
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const e of lengths) {
      const [name, ...others] = [...extentNames(e)].filter((n) => !known.has(n));
      if (name === undefined || others.length > 0 || !isPolynomial(e)) continue;
      const holding = [...polynomialOf(e).keys()].map((p) => p.split("*").filter((n) => n === name).length);
      if (holding.reduce((a, b) => a + b) !== 1) continue;
      known.add(name);
      isChanged = true;
    }
  }
  return known;
}

export const sameShape = (a: readonly Extent[], b: readonly Extent[]): boolean =>
  a.length === b.length && a.every((n, d) => sameExtent(n, b[d]!));

/** A shape at a launch. */
export const shapeAt = (shape: readonly Extent[], dims: DimValues): number[] =>
  shape.map((e) => evaluateExtent(e, dims));
