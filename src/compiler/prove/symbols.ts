/** What the text of a kernel calls where values stand for data. */
import { CannotTell } from "../execute/failures.js";
import type { SymbolHelpers } from "../execute/domains/symbols.js";
import type { Op } from "../ir/module.js";
import type { Number_ } from "./algebra.js";
import type { ProofMachine } from "./machine.js";
import { sumOf } from "./sums.js";
import { binaryOf, castOf, compareOf, OPAQUE, selectOf, unaryOf } from "./values.js";

/** A number that decides control flow or an address. */
function known(value: Number_, why: string, op: Op | null): number {
  if (typeof value === "number") return value;
  throw new CannotTell(why, op?.span);
}

function refuse(why: string, op: Op): never {
  throw new CannotTell(why, op.span);
}

/** One element of a rank's memory; what nobody has written has a name of its own. */
export function elementOf(
  machine: ProofMachine,
  memory: Number_[],
  buffer: number,
  owner: number,
  index: number,
): Number_ {
  return memory[index] ?? unwritten(machine, buffer, owner, index);
}

function unwritten({ algebra, kernel }: ProofMachine, buffer: number, owner: number, index: number): Number_ {
  return algebra?.poison(kernel.buffers[buffer]!.name, owner, index) ?? OPAQUE;
}

/** What a fold came to on a rank in a launch, lane by lane, by the indices that it depends on. */
function foldsOf({ folds }: ProofMachine, op: Op, rank: number, launch: number): Map<string, readonly Number_[]> {
  let ranks = folds.get(op);
  if (ranks === undefined) folds.set(op, (ranks = []));
  const known = ranks[rank];
  if (known !== undefined && known.launch === launch) return known.results;
  const results = new Map<string, readonly Number_[]>();
  ranks[rank] = { launch, results };
  return results;
}

export const SYMBOL_HELPERS: SymbolHelpers = {
  OPAQUE,
  known,
  refuse,
  unwritten,
  binaryOf,
  unaryOf,
  compareOf,
  selectOf,
  castOf,
  foldsOf,
  sumOf,
};
