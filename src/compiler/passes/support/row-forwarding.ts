/** Where a fold of a row takes just the elements that the loop before it stores, so that both can be one loop. */
import { isRemote, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js";
import { walk } from "../../ir/visit.js";
import type { Definitions } from "./analysis.js";
import { isRowFold } from "./row-folds.js";

/** A loop that a later fold can take its elements from. */
export interface Producer {
  readonly loop: Op;
  /** For each load of the fold that the loop stores the element of: the value stored. */
  readonly values: ReadonlyMap<Op, Value>;
}

/**
 * What of the tile loop `producer` the fold in the tile loop `user` can take as it is made; null if their elements differ, or
 * if the fold needs what other iterations of the producer stored.
 * @param rows variables of the loop over rows that both stand in, next to each other
 */
export function forwarding(producer: Op, user: Op, rows: readonly Value[], definitions: Definitions): Producer | null {
  const [made, used] = [producer.regions[0]!, user.regions[0]!];
  const at = used.ops.findIndex((o) => isRowFold(o, definitions));
  if (at < 0 || made.ops.some((o) => isRowFold(o, definitions))) return null;
  const fold = used.ops[at]!;
  if (fold.operands.some((v, i) => v !== producer.operands[i])) return null;
  const stored = new Map<string, Op | null>();
  eachAccess(made, (op, isTop) => {
    if (op.name !== "store") return;
    const name = text(op, "buffer");
    stored.set(name, isTop && !isRemote(op) && !stored.has(name) ? op : null);
  });
  const values = new Map<Op, Value>();
  const isElement = (op: Op, column: Value): boolean => {
    const { indices } = memoryOperands(op);
    return indices.length === rows.length + 1 && [...rows, column].every((v, d) => indices[d] === v);
  };
  let isFit = true;
  const inFold = new Set<Op>();
  walk(fold.regions[0]!, (op) => void inFold.add(op));
  eachAccess({ arguments: [], ops: used.ops.slice(0, at + 1) }, (op) => {
    const store = stored.get(text(op, "buffer"));
    if (op.name === "store") isFit = false;
    if (store === undefined) return;
    const isSame =
      store !== null &&
      inFold.has(op) &&
      !isRemote(op) &&
      isElement(store, made.arguments[0]!) &&
      isElement(op, fold.regions[0]!.arguments[0]!);
    if (isSame) values.set(op, memoryOperands(store).value!);
    else isFit = false;
  });
  // What the loop loads of its own stores is of other elements, perhaps.
  eachAccess(made, (op) => (isFit &&= op.name === "store" || !stored.has(text(op, "buffer"))));
  return isFit && values.size > 0 ? { loop: producer, values } : null;
}

function eachAccess(region: Region, visit: (op: Op, isTop: boolean) => void): void {
  walk(region, (op, parents) => {
    if (op.name === "load" || op.name === "store") visit(op, parents.length === 0);
  });
}
