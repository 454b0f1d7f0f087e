/** Which layout follows from which: the rules of matrix products and elementwise operations. */
import { type Layout, sameLayout } from "../types/layout.js";
import { gatherOf } from "./functions.js";

/** Sums and averages are linear: scaling and adding the parts scales and adds the whole. */
export function isLinear(l: Layout): boolean {
  return l.kind === "partial" && (l.op === "sum" || l.op === "avg");
}

/** Layout of a matrix product; null where ranks lack what they need. */
export function productLayout(a: Layout, b: Layout): Layout | null {
  const isWhole = (l: Layout): boolean => l.kind === "replicated";
  if (isWhole(a) && isWhole(b)) return { kind: "replicated" };
  if (a.kind === "local" && (isWhole(b) || b.kind === "local")) return a;
  if (isWhole(a) && b.kind === "local") return b;
  if (a.kind === "sharded" && a.dim === 0 && isWhole(b)) return a;
  if (isWhole(a) && b.kind === "sharded" && b.dim === 1) return b;
  if (a.kind === "sharded" && a.dim === 1 && b.kind === "sharded" && b.dim === 0) return { kind: "partial", op: "sum" };
  if (isLinear(a) && isWhole(b)) return a;
  return isWhole(a) && isLinear(b) ? b : null;
}

/** What would make the product possible. @param contracted the dimension both sides share, as written. */
export function productHelp(a: Layout, b: Layout, left: string, right: string, contracted: string): string {
  if (a.kind === "partial") return `convert the left side first: ${gatherOf(a, left)} @ ${right}`;
  if (b.kind === "partial") return `convert the right side first: ${left} @ ${gatherOf(b, right)}`;
  const cutLeft = a.kind === "sharded" && a.dim === 1;
  const cutRight = b.kind === "sharded" && b.dim === 0;
  if (cutLeft && !cutRight)
    return `dimension '${contracted}' is cut on the left only: gather it, all_gather(${left}, dim: 1) @ ${right}, or declare '${right}' sharded(0)`;
  if (cutRight && !cutLeft)
    return `dimension '${contracted}' is cut on the right only: gather it, ${left} @ all_gather(${right}, dim: 0), or declare '${left}' sharded(1)`;
  if (a.kind === "sharded" && b.kind === "sharded")
    return `both sides are cut, so each rank has one block of the result: gather one, as in all_gather(${left}, dim: ${a.dim}) @ ${right}`;
  const [bad, name] = a.kind === "on" ? [a, left] : [b, right];
  return `convert it first: ${gatherOf(bad, name) ?? name}`;
}

/** Layout of an elementwise operation of two tensors; null where they do not go together. */
export function elementwiseLayout(operator: string, a: Layout, b: Layout): Layout | null {
  if (a.kind === "partial" || b.kind === "partial") {
    if ((operator === "+" || operator === "-") && isLinear(a) && sameLayout(a, b)) return a;
    if (operator === "*" && isLinear(a) && b.kind === "replicated") return a;
    if (operator === "*" && isLinear(b) && a.kind === "replicated") return b;
    return operator === "/" && isLinear(a) && b.kind === "replicated" ? a : null;
  }
  if (sameLayout(a, b)) return a;
  if (a.kind === "on" || b.kind === "on") return null;
  if (a.kind === "replicated") return b;
  return b.kind === "replicated" ? a : null;
}

/** What would make the operation possible. */
export function elementwiseHelp(operator: string, a: Layout, b: Layout, left: string, right: string): string {
  const isSum = operator === "+" || operator === "-";
  const each = isSum ? ": every rank would add the other operand once" : "";
  if (a.kind === "partial") return `convert the left side first, ${gatherOf(a, left)}${each}`;
  if (b.kind === "partial") return `convert the right side first, ${gatherOf(b, right)}${each}`;
  if (a.kind === "sharded" && b.kind === "sharded")
    return `bring them to one layout: all_to_all(${right}, dim: ${a.dim}), or all_gather(${right})`;
  if (a.kind === "on") return `give every rank the value: broadcast(${left})`;
  return b.kind === "on" ? `give every rank the value: broadcast(${right})` : "declare them with one layout";
}
