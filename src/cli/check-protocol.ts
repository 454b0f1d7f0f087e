/** What threads of `collc check` are asked, and what they say. */
import type { Everywhere, Kernel, Packed, Proof } from "../compiler/index.js";
import type { Job, ScheduleRequest, Schedules } from "./proofs.js";

/** What there will be questions about. */
export interface Introduction {
  readonly about: "job";
  /** As proofs want it. */
  readonly compiled: Packed;
  /** See `printedOf`: to copy it takes a tenth of the time that the passes to it take. */
  readonly printed: Kernel | null;
  readonly job: Job;
  /** By which questions name it. */
  readonly number: number;
}

/** What is known of a job so far. */
export interface Found {
  everywhere?: Everywhere;
  orderings?: Proof;
  answers?: Proof;
  /** One for each run of schedules, in order; null for schedules that could not run. */
  readonly hostile: (Schedules | null)[];
}

export interface Question {
  /** `all`: the whole inquiry. `conclusion`: what the others come to. */
  readonly about: "all" | "everywhere" | "orderings" | "answers" | "schedules" | "conclusion";
  /** Of a job that there was an introduction to. */
  readonly number: number;
  readonly schedule: ScheduleRequest;
  /** What a proof or a conclusion is drawn from. */
  readonly found: Found;
  /** Null where nobody else is asked. */
  readonly claim: PartClaim | null;
}

/** A question that one thread alone is asked. */
export function questionOf(number: number, about: Question["about"]): Question {
  return { about, number, schedule: { schedules: 0, seed: 0 }, found: { hostile: [] }, claim: null };
}

/** What a thread answers. */
export type Reply = { readonly value: unknown } | { readonly error: Thrown };

/** An error as plain data: a clone of one has lost its fields, which the report of a bug is made of. */
export interface Thrown {
  readonly message: string;
  readonly stack: string | undefined;
  /** Those that are text. */
  readonly fields: Readonly<Record<string, string>>;
}

/** What a thread has thrown, for another. */
export function thrown(error: unknown): Thrown {
  if (!(error instanceof Error)) return { message: String(error), stack: undefined, fields: {} };
  const fields = Object.entries(error).filter((field): field is [string, string] => typeof field[1] === "string");
  return { message: error.message, stack: error.stack, fields: Object.fromEntries(fields) };
}

/** The error again, but for its class. */
export function errorOf({ message, stack, fields }: Thrown): Error {
  return Object.assign(new Error(message), fields, { stack });
}

/** One of a list of flags that all threads share: 1 when somebody has taken what it stands for. */
export interface PartClaim {
  readonly flags: Int32Array;
  readonly place: number;
}

/** What a thread says to a question that another has taken. */
export const TAKEN = "taken";

/** What a thread says to a question about a proof, where nobody has told it what that takes. */
export const LATER = "later";

/** Takes a part, if nobody has; says whether it did. */
export function takes({ flags, place }: PartClaim): boolean {
  return Atomics.compareExchange(flags, place, 0, 1) === 0;
}
