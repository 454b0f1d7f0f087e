/**
 * The conditions of the theorem that are questions with an answer each ("Every length" in docs/PROOF.md), by name. Each is asked through
 * one function, so that a test can leave one out and show what would then be claimed that is wrong: that none is there for nothing.
 */
import type { Span } from "../../source.js";

export const CONDITIONS = [
  /** Lengths and data have no part in synchronisation. */
  "steady",
  /** Blocks synchronise alike. */
  "alike",
  /** Loops count through an interval. */
  "digits",
  /** The intervals of several loops join. */
  "joined",
  /** Vectors lie where vectors may, in their buffers. */
  "vectors",
  /** Their buffers begin where vectors may. */
  "starts",
  /** Each element is stored by the block of its rows. */
  "rows",
  /** Accesses lie inside their buffers. */
  "inside",
  /** What elements are counted by is not 0. */
  "divisors",
  /** What meets is ordered. */
  "ordered",
  /** Threads of a block that go through rows together touch no element but in phases that a meeting of the block parts. */
  "phases",
  /** What a block touches in a round is of the rows of that round. */
  "own rows",
  /** What is folded up of a row is each of its elements, once. */
  "whole rows",
  /** What elements are made of lies in their row and in their column. */
  "one row",
  /** Each element of a round's rows is stored, once. */
  "stored once",
  /** Loops over blocks go through all rows. */
  "all rows",
  /** Ranks that make the same row fold it up in one order. */
  "one order",
  /** Packets carry the number of the launch, on all ranks alike. */
  "epochs",
  /** Each packet is stored once and taken once. */
  "taken",
  /** No packets are waited for in a circle. */
  "progress",
  /** A flag that is waited for where packets are has one block that sets it. */
  "one signaller",
  /** Strips that a loop goes through cover what they are cut from. */
  "strips",
  /** Callers come before and after. */
  "callers",
  /** What is specified goes element by element. */
  "elementwise",
  /** What is read was written. */
  "written",
  /** Each kind of element is proved at some shape. */
  "kinds",
  /** Of two formulas that a proved shape cannot tell apart none is taken for the other. */
  "told apart",
] as const;

export type Condition = (typeof CONDITIONS)[number];

/** Why something is not shown for every length. */
export class NotShown extends Error {
  constructor(
    readonly reason: string,
    readonly span: Span,
    /** The condition that is not shown; null where it has no name. */
    readonly condition: Condition | null = null,
  ) {
    super(reason);
  }
}

let left: Condition | null = null;

/** Whether a condition is one: all are, but for one that a test leaves out. */
export function isAsked(condition: Condition): boolean {
  return condition !== left;
}

/** @throws NotShown where a condition does not hold */
export function demand(condition: Condition, holds: boolean, reason: string, span: Span): void {
  if (!holds && isAsked(condition)) throw new NotShown(reason, span, condition);
}

/** What comes out without one of the conditions: nothing that is true. For tests. */
export function without<T>(condition: Condition, of: () => T): T {
  left = condition;
  try {
    return of();
  } finally {
    left = null;
  }
}
