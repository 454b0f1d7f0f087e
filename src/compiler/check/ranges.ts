/** Ranges and domains of loops and reductions. */
import type { Domain, Expression, RangeExpression } from "../ast/nodes.js";
import { printExpression } from "../ast/print.js";
import { diagnostic } from "../diagnostics/create.js";
import { nearest } from "../diagnostics/suggest.js";
import { requireIndex } from "./elements.js";
import { showExtent } from "./extents.js";
import type { Checking } from "./scope.js";

export function checkDomain(d: Domain, c: Checking): void {
  if (d.kind === "ranks" && d.axis !== null) c.axis(d.axis);
  if (d.kind === "tiles") for (const r of d.ranges) checkRange(r, c);
  if (d.kind !== "serial") return;
  if (d.range.kind !== "bounds" || d.range.from !== null) return checkRange(d.range, c);
  const { to } = d.range;
  const text = printExpression(to);
  const slip = to.kind === "name" && !c.isKnown(text) ? nearest(text, ["ranks", "peers"]) : null;
  if (slip !== null)
    return void c.report(diagnostic("unknown-name", d.span, { name: text }, { help: didYouMean(slip) }));
  // `for p in rank` is more often a slip for `ranks` than a loop up to rank, so both ends are asked for.
  const help = text === "rank" ? didYouMean("ranks") : undefined;
  if (requireIndex(to, c)) c.report(diagnostic("not-a-range", d.span, { text }, { help }));
}

function didYouMean(keyword: string): string {
  return `did you mean \`${keyword}\`?`;
}

/** Checks a range; shards add their rule of divisibility. */
export function checkRange(r: RangeExpression, c: Checking): void {
  if (r.kind === "bounds") {
    if (r.from !== null) requireIndex(r.from, c);
    requireIndex(r.to, c);
    return;
  }
  const isIndex = requireIndex(r.length, c);
  const pieces = checkParts(r, c);
  if (r.parts === null) checkRankNumber(r.rank, c);
  else requireIndex(r.rank, c);
  if (r.kind === "chunk" || !isIndex || pieces === null) return;
  const length = c.extentOf(r.length);
  if (length === null) {
    const what = c.varies(r.length) ? "the rank" : "a loop";
    c.report(diagnostic("shard-length", r.length.span, { what }));
    return;
  }
  const shown = showExtent(length);
  c.requireDivisible(length, pieces, `shard(${shown}, …) cuts ${shown} into ${pieces} equal parts`, r.length.span);
}

/** The number of pieces, which is known when the collective is compiled; null after a reported error. */
function checkParts(r: Extract<RangeExpression, { kind: "shard" | "chunk" }>, c: Checking): number | null {
  if (r.parts === null) return c.world;
  if (!requireIndex(r.parts, c)) return null;
  const pieces = c.extentOf(r.parts);
  if (typeof pieces === "number" && pieces >= 1) return pieces;
  return c.report(diagnostic("not-constant", r.parts.span, { what: "the number of pieces" }));
}

/** An index that names a rank; a constant one must exist. */
export function checkRankNumber(e: Expression, c: Checking): void {
  requireIndex(e, c);
  const rank = c.extentOf(e);
  if (typeof rank === "number" && (rank < 0 || rank >= c.world))
    c.report(diagnostic("no-such-rank", e.span, { rank, world: c.world }));
}
