/** What ranks say to each other in one step, signal by signal and wait by wait, and whether some rank would stay behind there. */
import type { Op } from "../../ir/module.js";
import { Laggards, type Stop } from "./laggards.js";
import type { Order } from "./order.js";
import type { RankValues } from "./rank-values.js";
import { isWord } from "./sync-ops.js";

/** A word of a rank to a peer, or one that it waits for. */
export interface Word {
  readonly name: "notify" | "await";
  /** Null where it is not known. */
  readonly peer: number | null;
}

/** Of each rank its words, in their order. */
export type Words = ReadonlyMap<number, readonly Word[]>;

/** Of a notify or await that all ranks come to. */
export function wordsOf(op: Op, values: readonly RankValues[]): Words {
  return new Map(values.map((v) => [v.rank, [wordOf(op, v)]]));
}

/** Of a condition that differs from rank to rank; null where it is not known, or holds anything else. */
export function wordsIn(op: Op, values: readonly RankValues[]): Words | null {
  const words = new Map<number, readonly Word[]>();
  for (const v of values) {
    const condition = v.number(op.operands[0]!);
    if (condition === null) return null;
    const { ops } = op.regions[condition !== 0 ? 0 : 1]!;
    if (!ops.every(isWord)) return null;
    words.set(
      v.rank,
      ops.map((inner) => wordOf(inner, v)),
    );
  }
  return words;
}

function wordOf({ name, operands }: Op, values: RankValues): Word {
  return { name: name as Word["name"], peer: values.number(operands[0]!) };
}

/** The stops of ranks that say their words one by one. @param say what a word of a rank does */
export function sayings(words: Words, say: (rank: number, word: Word) => unknown): Stop[] {
  const most = Math.max(...[...words.values()].map((of) => of.length));
  return Array.from({ length: most }, (_, k) => (rank: number) => {
    const word = words.get(rank)?.[k];
    return word === undefined ? undefined : say(rank, word);
  });
}

/** Whether some rank would stay behind for these words where none is. */
export function wouldStay(words: Words, ranks: readonly number[], order: Order): boolean {
  const counts = new Map<string, number>();
  const open = (from: number, to: number): number =>
    counts.get(`${from}>${to}`) ?? order.openNotifies(from, to) ?? Infinity;
  const laggards = new Laggards(ranks);
  const all = sayings(words, (rank, { name, peer }) => {
    if (peer === null) return;
    const [from, to] = name === "notify" ? [rank, peer] : [peer, rank];
    if (name === "await" && open(from, to) === 0) return "stays";
    counts.set(`${from}>${to}`, open(from, to) + (name === "notify" ? 1 : -1));
  });
  for (const stop of all) laggards.come(stop);
  return laggards.areThere;
}
