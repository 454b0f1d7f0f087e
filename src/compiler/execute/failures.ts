/** How an execution or its analysis ends before its time. */
import type { Span } from "../source.js";

/** Who did something, and where it is in the source. */
export interface Place {
  readonly rank: number;
  /** -1 for the caller, who works on the stream before and after the launches. */
  readonly block: number;
  /** Launch, from 0. For the caller: the launch that follows. */
  readonly launch: number;
  readonly span: Span;
  /** "load of 'x'[3] on rank 1". */
  readonly what: string;
  /** The element that is touched, by its linear index, where it lies in memory of a rank. */
  readonly element?: { readonly buffer: string; readonly owner: number; readonly index: number };
  /** "iteration 1 of the ranks loop": which iteration it is, where that is known. */
  readonly iteration?: string;
}

export type WrongKind =
  /** An output element is not what the signature says. */
  | "answer"
  /** Ranks hold a replicated output that is not equal bit for bit. */
  | "bits"
  /** Two conflicting accesses that nothing orders. */
  | "race"
  /** A wait that nobody satisfies. */
  | "deadlock"
  /** A flag is set back, so that a wait may miss it. */
  | "lost-signal"
  /** A flag ends higher than any wait asks for. */
  | "unmatched-signal"
  /** Blocks wait for blocks that may not be resident. */
  | "residency"
  /** An access outside its buffer, or not aligned. */
  | "bounds"
  /** What the signature claims reads what there is not. */
  | "claim";

/** Thrown when a kernel does what cannot be followed. */
export class CannotTell extends Error {
  /** @param span null where the whole kernel is meant */
  constructor(
    message: string,
    readonly span: Span | null = null,
  ) {
    super(message);
  }
}

/** Thrown where an execution is longer than what can be held of one: a shorter one may tell. */
export class TooMuch extends CannotTell {}

/** Thrown when the execution itself fails. */
export class Fails extends Error {
  constructor(
    readonly kind: WrongKind,
    message: string,
    readonly places: readonly Place[],
    readonly witness: readonly string[] = [],
    readonly help: string | null = null,
  ) {
    super(message);
  }
}
