/** What threads of `collc check` are asked, and what they say. */
import type { Job, ProofRequest, ScheduleRequest } from "./proofs.js";
import type { ProgramText } from "./source-file.js";

/** To compile what there will be questions about. */
export interface Preparation {
  readonly about: "compile";
  readonly program: ProgramText;
  readonly request: ProofRequest;
}

export interface Question {
  /** `all`: the whole inquiry. */
  readonly about: "all" | "orderings" | "answers" | "schedules";
  readonly job: Job;
  /** The same for all questions about one job. */
  readonly number: number;
  readonly schedule: ScheduleRequest;
  /** Null where nobody else is asked. */
  readonly claim: PartClaim | null;
}

/** A question that one thread alone is asked. */
export function questionOf(job: Job, number: number, about: Question["about"]): Question {
  return { about, job, number, schedule: { schedules: 0, seed: 0 }, claim: null };
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

/** Takes a part, if nobody has; says whether it did. */
export function takes({ flags, place }: PartClaim): boolean {
  return Atomics.compareExchange(flags, place, 0, 1) === 0;
}
