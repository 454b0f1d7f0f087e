/** Flags, who signals and who waits, as a trace has them. */
import type { Op } from "../../ir/module.js";

/** Number of a strand in its trace. */
export type Strand = number;

/** What a strand is, beside its number. */
export interface StrandOf {
  readonly strand: Strand;
  readonly entity: number;
  readonly phase: number;
  readonly launch: number;
}

/** A signal or a wait. */
export interface FlagOperation extends StrandOf {
  /** Its number among all signals, or among all waits. */
  readonly id: number;
  /** The segment of its strand that it ends. */
  readonly segment: number;
  readonly flag: Flag;
  readonly value: number;
  readonly sys: boolean;
  readonly op: Op;
  /** Its place among the events. */
  readonly at: number;
  /** Segments that had started before it: those with lower numbers. */
  readonly before: number;
}

/**
 * What a signal does to its flag, and what it hands on: nothing, what its own strand did last, what was known as its launch began, or
 * all that it may.
 */
export interface SignalKind {
  readonly add: boolean;
  readonly sys: boolean;
  readonly hands: "nothing" | "itself" | "launches" | "everything";
}

export interface Signal extends FlagOperation {
  readonly acted: boolean;
  readonly add: boolean;
  readonly release: boolean;
  readonly hands: SignalKind["hands"];
}

export interface WaitKind {
  readonly sys: boolean;
  readonly acquire: boolean;
  /** What is learnt stays with the strand: the rest of its block does not know it when the phase ends. */
  readonly isAside: boolean;
}

const HANDS = { relaxed: "nothing", launch: "launches", release: "everything" } as const;

/** How an op signals, by its `mode`, `scope` and `order`. */
export function signalKind({ attributes: { mode, scope, order } }: Op): SignalKind {
  return { add: mode === "add", sys: scope === "sys", hands: HANDS[order as keyof typeof HANDS] };
}

/** A signal's order in a word. Packets and rings have no other than release. */
export function wordOf({ op }: Signal): string {
  return (op.attributes["order"] as string | undefined) ?? "release";
}

/** How an op waits, by its `scope` and `order`. */
export function waitKind({ attributes: { scope, order } }: Op): WaitKind {
  return { sys: scope === "sys", acquire: order === "acquire", isAside: false };
}

export interface Wait extends FlagOperation {
  readonly acquire: boolean;
  readonly isAside: boolean;
}

/** One flag of one rank. */
export interface Flag {
  readonly buffer: string;
  readonly owner: number;
  readonly slot: number;
  readonly signals: Signal[];
}
