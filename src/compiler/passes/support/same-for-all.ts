/**
 * Accesses that are the same for all peers: one part of an outbox is then for all of them. It is stored once, and every message leaves from
 * it; so a step says by its structure that a rank tells several others the same (`program/broadcasts.ts`).
 */
import type { Builder } from "../../ir/builder.js";
import { isRemote, memoryOperands, type Op, text, type Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { copyOp, Substitution, walk } from "../../ir/visit.js";
import type { Definitions } from "./analysis.js";
import type { Plan } from "./message-plans.js";
import { boundsOf } from "./nests.js";

type Loops = Pick<Plan, "access" | "path" | "collapsed" | "leads" | "variables">;

/**
 * The loop over peers of a store, where each of its iterations stores one value in one place, whoever the peer is: what it stores can
 * be stored before it. Null where there is none.
 */
export function loopOverPeers(
  { access, path, collapsed, leads, variables }: Loops,
  definitions: Definitions,
): Op | null {
  const at = path.findIndex(({ op }) => op === collapsed || leads.includes(op));
  if (at < 0) return null;
  const loop = path[at]!.op;
  const inside = path.slice(at).map(({ op }) => op);
  const isOverPeers = (op: Op): boolean => op === collapsed || leads.includes(op);
  if (inside.some((op) => op.name === "for" && !isOverPeers(op))) return null;
  if (variables.some((v) => v.part !== null || inside.includes(v.loop))) return null;
  const isAlways = inside.every((op) => op.name === "for");
  const isSteady = isSteadyIn(loop, isAlways, definitions);
  return isSteady(memoryOperands(access).value!) ? loop : null;
}

/** Whether a load asks each owner for the same, whichever rank it is that reads. @param varying values that differ from rank to rank */
export function isAskedAlike(
  { access, path, collapsed, leads, variables }: Loops,
  varying: ReadonlySet<Value>,
): boolean {
  const { peer, indices } = memoryOperands(access);
  const asked = [
    ...path.filter(({ op }) => op.name === "if").map(({ op }) => op.operands[0]!),
    ...leads.flatMap((op) => op.operands),
    ...variables.flatMap(({ loop, d, part }) => [...boundsOf(loop, d), ...(typeof part === "object" && part !== null ? [part] : [])]), // prettier-ignore
    ...(collapsed === null ? [peer!] : []),
    ...indices,
  ];
  return !asked.some((v) => varying.has(v));
}

/** A value of a loop over peers as it is before the loop. */
export function beforeLoop(v: Value, loop: Op, definitions: Definitions, build: Builder, outside: Substitution): Value {
  const own = definedIn(loop);
  const values = new Substitution(outside);
  const emit = (wanted: Value): void => {
    if (!own.has(wanted) || values.get(wanted) !== wanted) return;
    const op = definitions.of(wanted)!;
    op.operands.forEach(emit);
    copyOp(op, build, values);
  };
  emit(v);
  return values.get(v);
}

/** Whether a value is the same before a loop as in all its iterations, and may be computed there. */
function isSteadyIn(loop: Op, isAlways: boolean, definitions: Definitions): (v: Value) => boolean {
  const own = definedIn(loop);
  const stored = new Set<string>();
  walk({ arguments: [], ops: [loop] }, (op) => {
    if (op.name === "store") stored.add(text(op, "buffer"));
  });
  return function isSteady(v): boolean {
    if (!own.has(v)) return true;
    const op = definitions.of(v);
    if (op === undefined || op.regions.length > 0) return false;
    const isRead = op.name === "load" && isAlways && !isRemote(op) && !stored.has(text(op, "buffer"));
    return (isRead || definitionOf(op.name).effect === "pure") && op.operands.every(isSteady);
  };
}

/** Variables and results of a loop and all that it holds. */
function definedIn(loop: Op): ReadonlySet<Value> {
  const found = new Set<Value>();
  walk({ arguments: [], ops: [loop] }, (op) => {
    for (const v of [...op.results, ...op.regions.flatMap((r) => r.arguments)]) found.add(v);
  });
  return found;
}
