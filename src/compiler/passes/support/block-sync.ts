/** Where the threads of a block stand together already, so that a block_sync would order nothing. */
import { type Op, text } from "../../ir/module.js";
import { walk } from "../../ir/visit.js";
import { definitionOf } from "../../ir/ops.js";
import type { Definitions } from "./analysis.js";

/**
 * Whether after these ops no thread has touched memory since the block last met. `fromStart`: the ops are the first of
 * the kernel; what the rank did before it, the stream has ordered. `counters`: registers, and state that each thread reads for itself.
 */
export function isSynced(ops: readonly Op[], fromStart: boolean, counters: readonly string[]): boolean {
  const isQuiet = (op: Op): boolean =>
    op.name === "load" || op.name === "store"
      ? counters.includes(text(op, "buffer"))
      : definitionOf(op.name).effect === "pure";
  for (const [i, op] of [...ops.entries()].reverse()) {
    if (op.name === "block_sync") return true;
    if (isQuiet(op)) continue;
    if (op.name === "if") {
      const before = isSynced(ops.slice(0, i), fromStart, counters);
      return op.regions.every((r) => isSynced(r.ops, before, counters));
    }
    const isBlockWide = op.name === "for" && op.attributes["map"] !== "threads";
    // A loop may have no iteration: then what stands before counts.
    if (!isBlockWide || !op.regions.every((r) => r.ops.every(isQuiet) || isSynced(r.ops, false, counters)))
      return false;
  }
  return fromStart;
}

/** Ops at which the threads of a block meet, but for a barrier around the launch. */
const MEETS = new Set(["barrier", "notify", "await", "roles"]);

/** Whether the threads of a block meet somewhere in these ops, whatever the lengths are. */
export function surelyMeets(ops: readonly Op[], definitions: Definitions): boolean {
  return ops.some((op) => {
    if (MEETS.has(op.name)) return op.attributes["scope"] !== "launch";
    if (op.name === "if") return op.regions.every((r) => surelyMeets(r.ops, definitions));
    if (op.name !== "for" || op.attributes["map"] !== "serial") return false;
    const [lo, hi] = op.operands.map((v) => definitions.constant(v));
    return lo !== undefined && hi !== undefined && lo < hi && surelyMeets(op.regions[0]!.ops, definitions);
  });
}

/** Whether ops touch no memory but counters: what is known behind them is what was known before. */
export function isUntouched(ops: readonly Op[], counters: readonly string[]): boolean {
  let isSo = true;
  walk({ arguments: [], ops: [...ops] }, ({ name, attributes }) => {
    if (name === "load" || name === "store") isSo &&= counters.includes(attributes["buffer"] as string);
    else isSo &&= name === "signal" || ["pure", "control"].includes(definitionOf(name).effect);
  });
  return isSo;
}

/**
 * Whether the next iteration of a loop over blocks might touch shared memory that some thread still needs in this one: its first
 * ops write, or write over, what the last ones use, and the block meets nowhere in between. Buffers that are never in use
 * together lie over each other. If the loop is not `alone`, the next to touch shared memory may be another one.
 */
export function meetsBetweenIterations(
  iteration: readonly Op[],
  shared: ReadonlySet<string>,
  isAlone: boolean,
): boolean {
  const uses = iteration.map((op) => usesOf(op, shared));
  const [first, last] = [iteration.findIndex(isMeeting), iteration.findLastIndex(isMeeting)];
  const life = (name: string): [number, number] => [
    uses.findIndex((u) => u.has(name)),
    uses.findLastIndex((u) => u.has(name)),
  ];
  const isOver = (a: string, b: string): boolean => a === b || life(a)[1] < life(b)[0] || life(b)[1] < life(a)[0];
  const now = uses.slice(last + 1).flatMap((u) => [...u]);
  const next = uses.slice(0, first < 0 ? uses.length : first).flatMap((u) => [...u]);
  if (!isAlone) return now.length > 0;
  return now.some(([a, writesA]) => next.some(([b, writesB]) => (writesA || writesB) && isOver(a, b)));
}

function isMeeting(op: Op): boolean {
  return op.name === "block_sync";
}

/** Names of the buffers that an op uses, and whether it writes them. */
function usesOf(op: Op, among: ReadonlySet<string>): Map<string, boolean> {
  const found = new Map<string, boolean>();
  walk({ arguments: [], ops: [op] }, (o) => {
    if (o.name !== "load" && o.name !== "store") return;
    const name = text(o, "buffer");
    if (among.has(name)) found.set(name, found.get(name) === true || o.name === "store");
  });
  return found;
}
