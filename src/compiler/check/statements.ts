/** Statements of explicit algorithms. */
import type { Expression, Statement } from "../ast/nodes.js";
import { printPeer } from "../ast/print.js";
import { diagnostic, type Label } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import type { CheckedTensor } from "./checked.js";
import {
  BOOL,
  checkElement,
  checkIndices,
  describe,
  INDEX,
  isLiteral,
  kindOfName,
  mismatch,
  requireIndex,
} from "./elements.js";
import { checkDomain, checkRankNumber } from "./ranges.js";
import type { DType } from "../types/dtype.js";
import { extent, sameExtent } from "../types/extent.js";
import type { Checking, MaybeType } from "./scope.js";

type Assignment = Extract<Statement, { kind: "assign" }>;
type Loop = Extract<Statement, { kind: "for" }>;

/** Where a statement stands. */
export interface Place {
  readonly depth: number;
  /** The loop over ranks or peers around it. */
  readonly unordered: Loop | null;
  /** Loops around it. */
  readonly loops: number;
  /** The tiles loop around it. */
  readonly tiles: Loop | null;
  /** The enclosing condition or loop that differs from rank to rank. */
  readonly varies: Span | null;
  /** The enclosing condition or loop that data decides about. */
  readonly byData: Span | null;
  /** Tile variables that enclosing conditions depend on: they may pick a single iteration. */
  readonly guarded: ReadonlySet<string>;
}

/** The top of a body. */
export const TOP: Place = {
  depth: 0,
  loops: 0,
  unordered: null,
  tiles: null,
  varies: null,
  byData: null,
  guarded: new Set(),
};

function checkBlock(body: readonly Statement[], c: Checking, at: Place): void {
  c.inScope(() => {
    for (const s of body) checkStatement(s, c, at);
  });
}

export function checkStatement(s: Statement, c: Checking, at: Place): void {
  switch (s.kind) {
    case "let":
      return checkLet(s, c);
    case "scratch": // its name was entered before the body was looked at
      if (at.depth > 0) c.report(diagnostic("scratch-in-block", s.span, { name: s.name.text }));
      return;
    case "barrier":
      return checkBarrier(s.span, c, at);
    case "signal":
    case "wait":
      return checkSignal(s, c, at);
    case "if": {
      const type = checkElement(s.condition, c);
      if (type !== null && type !== BOOL && type.kind !== "bool") mismatch(c, s.condition.span, "a condition", type);
      c.refuseScalar(s.condition, "choose values with where(condition, a, b), which computes both");
      const varies = at.varies ?? (c.varies(s.condition) ? s.condition.span : null);
      const byData = at.byData ?? (c.readsData(s.condition) ? s.condition.span : null);
      const inside = {
        ...at,
        depth: at.depth + 1,
        varies,
        byData,
        guarded: c.tilesIn(s.condition, new Set(at.guarded)),
      };
      checkBlock(s.then, c, inside);
      checkBlock(s.otherwise, c, inside);
      return;
    }
    case "for":
      return checkLoop(s, c, at);
    case "assign":
      return checkAssignment(s, c, at);
  }
}

function checkLet(s: Extract<Statement, { kind: "let" }>, c: Checking): void {
  const type = checkElement(s.value, c);
  const varies = c.varies(s.value);
  const extent = type?.kind === "index" ? c.extentOf(s.value) : null;
  const scalar = c.scalarIn(s.value);
  const isData = c.readsData(s.value);
  const known = { varies, isData, extent, scalar, tiles: c.tilesIn(s.value), isLiteral: isLiteral(s.value, c) };
  c.define(s.name, { kind: "let", type, ...known });
}

function checkSignal(s: Extract<Statement, { kind: "signal" | "wait" }>, c: Checking, at: Place): void {
  checkRankNumber(s.peer, c);
  if (at.tiles !== null) {
    const labels = [{ span: at.tiles.over.span, text: "the tiles loop" }];
    c.report(diagnostic("sync-in-tiles", s.span, { what: s.kind }, { labels }));
  } else if (at.byData !== null || c.readsData(s.peer)) {
    const labels = [{ span: at.byData ?? s.peer.span, text: "data decides" }];
    c.report(diagnostic("sync-by-data", s.span, { what: s.kind }, { labels }));
  } else if (s.peer.kind === "name" && s.peer.name === "rank") c.report(diagnostic("wait-for-itself", s.span, {}));
}

function checkBarrier(span: Span, c: Checking, at: Place): void {
  if (at.tiles !== null) {
    const labels = [{ span: at.tiles.over.span, text: "the tiles loop" }];
    c.report(diagnostic("barrier-in-tiles", span, {}, { labels }));
  } else if (at.unordered !== null) {
    const domain = at.unordered.over.kind === "ranks" && !at.unordered.over.includeSelf ? "peers" : "ranks";
    const labels = [{ span: at.unordered.over.span, text: "in any order" }];
    c.report(diagnostic("barrier-in-unordered-loop", span, { domain }, { labels }));
  } else if (at.varies !== null) {
    const labels = [{ span: at.varies, text: "this differs from rank to rank" }];
    c.report(diagnostic("barrier-may-hang", span, {}, { labels }));
  }
}

/** Deeper than anybody writes; and what orders accesses looks at the inside of a loop twice, so time doubles. */
const MAX_LOOPS = 10;

function checkLoop(s: Loop, c: Checking, at: Place): void {
  const loops = at.loops + 1;
  if (loops > MAX_LOOPS) {
    const help = "these are loops: let one of them count for several";
    return void c.report(diagnostic("too-deep", s.over.span, { limit: MAX_LOOPS }, { help }));
  }
  checkDomain(s.over, c);
  const isTiles = s.over.kind === "tiles";
  if (isTiles && at.tiles !== null) {
    const labels = [{ span: at.tiles.over.span, text: "the outer one" }];
    c.report(diagnostic("nested-tiles", s.over.span, {}, { labels }));
  }
  const wanted = s.over.kind === "tiles" ? s.over.ranges.length : 1;
  const found = s.variables.length;
  if (wanted !== found) {
    const parameters = { found: count(found, "variable"), wanted: count(wanted, "range") };
    c.report(diagnostic("wrong-variable-count", s.variables[0]?.span ?? s.span, parameters));
  }
  // Which variable was one too many is not known, so none is missed in an index.
  const guarded = wanted === found ? at.guarded : new Set([...at.guarded, ...s.variables.map((v) => v.text)]);
  const boundsVary = c.varies(s.over);
  const outer = c.tilesIn(s.over);
  c.inScope(() => {
    for (const v of s.variables) {
      const tiles = isTiles ? new Set([...outer, v.text]) : outer;
      c.define(v, { kind: "loop variable", type: INDEX, varies: boundsVary || s.over.kind !== "serial", tiles });
    }
    const varies = at.varies ?? (boundsVary ? s.over.span : null);
    const byData = at.byData ?? (c.readsData(s.over) ? s.over.span : null);
    checkBlock(s.body, c, {
      ...at,
      depth: at.depth + 1,
      loops,
      unordered: s.over.kind === "ranks" ? s : at.unordered,
      tiles: at.tiles ?? (isTiles ? s : null),
      varies,
      byData,
      guarded,
    });
  });
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

function checkAssignment(s: Assignment, c: Checking, at: Place): void {
  const { text: name } = s.target;
  const type = checkElement(s.value, c);
  if (s.peer !== null) checkRankNumber(s.peer, c);
  const areIndices = (s.indices ?? []).map((i) => requireIndex(i, c)).every(Boolean);
  const tensor = c.tensors.get(name);
  if (tensor === undefined) return reportNoTarget(s, c);
  if (!checkWritable(tensor, s, c)) return;
  if (s.indices === null) {
    const help = `give the element's index: ${name}${printPeer(s.peer)}[i]`;
    c.report(diagnostic("missing-index", s.target.span, { name }, { help }));
    return;
  }
  if (c.faulty.has(name)) return;
  if (!checkIndices(tensor, s.indices, { start: s.span.start, end: endOfTarget(s) }, c)) return;
  if (at.tiles === null) c.report(diagnostic("store-outside-tiles", s.span, {}));
  else if (areIndices) checkSameElement(s, at.tiles, c, at);
  checkStored(s.value, type, tensor.dtype, c);
  if (type?.kind === "index" && tensor.dtype !== "bool" && !isLiteral(s.value, c)) {
    const parameters = { left: `an element of '${name}'`, right: describe(type), cast: tensor.dtype };
    c.report(diagnostic("needs-cast", s.value.span, parameters, { help: `cast it: ${tensor.dtype}(…)` }));
  }
}

/** Conditions are stored as truth values, and nothing else is. */
export function checkStored(e: Expression, type: MaybeType, dtype: DType, c: Checking): void {
  if (type?.kind === "bool" && dtype !== "bool") {
    const help = `say what number it is: ${dtype}(…) makes it 0 or 1`;
    c.report(diagnostic("type-mismatch", e.span, { wanted: "a value", found: describe(type) }, { help }));
  } else if (dtype === "bool" && type !== null && type.kind !== "bool" && !isLiteral(e, c)) {
    const help = "compare it, as in `v > 0`, or cast it: bool(…) is whether it differs from 0";
    c.report(diagnostic("type-mismatch", e.span, { wanted: "a condition", found: describe(type) }, { help }));
  }
}

function endOfTarget(s: Assignment): number {
  const last = s.indices?.at(-1)?.span ?? s.peer?.span ?? s.target.span;
  return s.indices === null ? last.end : last.end + 1;
}

/** Reports a target that is no tensor. */
export function reportNoTarget(s: Assignment, c: Checking): void {
  const { text: name, span } = s.target;
  const kind = kindOfName(name, c);
  if (kind === null) return void c.unknownName(name, span);
  const binding = c.find(name);
  const labels: Label[] = binding === undefined ? [] : [{ span: binding.span, text: "defined here" }];
  if (s.peer !== null) c.report(diagnostic("not-remote", span, { name, kind }, { labels }));
  else c.report(diagnostic("assign-to-value", span, { name, kind }, { labels }));
}

/** Notes what is assigned; reports an input. */
export function checkWritable(tensor: CheckedTensor, s: Assignment, c: Checking): boolean {
  const { name } = tensor;
  c.assigned.add(name);
  if (tensor.role !== "input") return true;
  const labels = [{ span: tensor.span, text: "declared as an input" }];
  c.report(diagnostic("assign-to-input", s.target.span, { name }, { labels }));
  return false;
}

/** Warns where iterations of a tiles loop differ in variables that the place stored to does not depend on. */
function checkSameElement(s: Assignment, loop: Loop, c: Checking, at: Place): void {
  const used = new Set(at.guarded);
  for (const e of [...(s.indices ?? []), ...(s.peer === null ? [] : [s.peer])]) c.tilesIn(e, used);
  const missing = loop.variables.filter((v, d) => !used.has(v.text) && !isOnce(loop, d, c));
  if (missing.length === 0) return;
  const variables = missing.map((v) => `'${v.text}'`).join(" and ");
  const labels = missing.map((v) => ({ span: v.span, text: "not part of the index" }));
  c.report(diagnostic("same-element", { start: s.span.start, end: endOfTarget(s) }, { variables }, { labels }));
}

/** Whether a variable of a tiles loop has one value, whatever the dimensions are. */
function isOnce({ over }: Loop, d: number, c: Checking): boolean {
  const range = over.kind === "tiles" ? over.ranges[d] : undefined;
  if (range?.kind !== "bounds") return false;
  const [from, to] = [range.from === null ? 0 : c.extentOf(range.from), c.extentOf(range.to)];
  return from !== null && to !== null && sameExtent(extent("sub", to, from), 1);
}
