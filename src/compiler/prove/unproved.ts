/** What the proofs of a kernel did not come past: statements that no shape led to, and constants that matter at other lengths. */
import type { Kernel } from "../ir/module.js";
import type { Span } from "../source.js";
import type { DimValues } from "../types/extent.js";
import type { Claims, Proof, ProveOptions } from "./claims.js";
import { type Coverage, type Unreached, unreachedOf, untaken } from "./coverage.js";
import type { Lengths } from "./known-memory.js";
import { LONGEST } from "./search.js";
import { constantsBeyond, lengthBeyond } from "./shapes.js";

/** A constant on whose other side nothing was proved. */
export interface Beyond {
  readonly span: Span;
  readonly constant: number;
  /** A length at which it matters. */
  readonly at: DimValues | null;
}

/**
 * What no shape leads to, with one reason for each place: what never runs says more than the condition before it, and lengths that
 * are known to lead there more than where a constant comes into reach. Where lengths were asked for, nothing is claimed of others.
 */
export function notLookedAt(
  kernel: Kernel,
  { program, shapes }: ProveOptions,
  { idle }: Coverage,
  { answers }: Proof,
  beyond: readonly Beyond[],
): Pick<Claims, "unreached" | "beyond"> {
  if (program == null) return { unreached: [], beyond: [] };
  const accesses = unreachedOf(kernel, program, idle);
  // Which data leads to a place is no question of lengths.
  if (shapes !== undefined) return { unreached: accesses.filter((a) => a.isByData), beyond: [] };
  const proved = answers.flatMap((a) => (a.status === "proved" ? [a.claim.dims] : []));
  const ways = proved.length === 0 ? [] : untaken(program, proved);
  const wayAt = (b: Beyond): Unreached | undefined =>
    ways.find(({ span }) => span.start <= b.span.start && b.span.end <= span.end);
  const isByAccess = ({ at }: Unreached): boolean => accesses.some((a) => JSON.stringify(a.at) === JSON.stringify(at));
  const isByConstant = (w: Unreached): boolean => w.at === null && beyond.some((b) => wayAt(b) === w);
  return {
    unreached: [
      ...accesses,
      ...ways.filter((w, i) => !isByAccess(w) && !isByConstant(w) && ways.findIndex((v) => isSame(v, w)) === i),
    ],
    beyond: beyond.flatMap((b) => {
      const way = wayAt(b);
      if (way === undefined) return [b];
      // Where no length was found that leads there, none of those that were tried is named.
      const isTried = b.at !== null && Object.values(b.at).every((n) => n <= LONGEST);
      return way.at !== null ? [] : [isTried ? { ...b, at: null } : b];
    }),
  };
}

function isSame(a: Unreached, b: Unreached): boolean {
  return a.span.start === b.span.start && a.span.end === b.span.end && a.what === b.what;
}

/**
 * Constants of the program that matter only at other lengths than those that were proved. Where lengths were asked for, nothing is claimed of others.
 * @param allowed of each dimension, what the signature says
 */
export function beyondOf(
  kernel: Kernel,
  { program, shapes }: ProveOptions,
  { answers }: Proof,
  allowed: Lengths,
): Beyond[] {
  if (program === undefined || program === null || shapes !== undefined) return [];
  const proved = answers.filter((a) => a.status === "proved").map((a) => a.claim.dims);
  const places = new Map<string, Beyond>();
  for (const threshold of constantsBeyond(program, proved)) {
    const { span, constant } = threshold;
    const found = lengthBeyond(kernel, program, threshold);
    const isAllowed = Object.entries(found ?? {}).every(([name, n]) => n <= (allowed[name]?.[1] ?? Infinity));
    // Of one dimension alone, no length that there may be comes past it.
    if (!isAllowed && kernel.dims.length === 1) continue;
    const at = isAllowed ? found : null;
    const key = at === null ? `${span.start}-${span.end}` : `${constant} ${JSON.stringify(at)}`;
    if (!places.has(key)) places.set(key, { span, constant, at });
  }
  return [...places.values()];
}
