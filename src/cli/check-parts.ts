/** The parts of a job that different threads can take: the two proofs, and runs of schedules. */
import type { Proof } from "../compiler/index.js";
import type { HostileReport } from "../runtime/cpu/index.js";
import { type Question, questionOf } from "./check-protocol.js";
import { DEFAULT_SCHEDULES, type Job, type Subject } from "./proofs.js";

/** What is known of a job so far. */
export interface Found {
  orderings?: Proof;
  answers?: Proof;
  /** One for each run of schedules, in order. */
  /** Null for schedules that could not run. */
  readonly hostile: (HostileReport | null)[];
}

/** A part of a job: this thread or another takes it, whichever is free. */
export interface Part {
  readonly question: Question;
  readonly here: (subject: Subject) => unknown;
  readonly keep: (value: unknown) => void;
  /** Whether it still matters. */
  readonly isNeeded: () => boolean;
}

/** Schedules in one part, at least: a thread's first one takes as long as the next four. */
const LEAST_SCHEDULES = 4;

/** At most: between parts a key or a signal is noticed. */
const MOST_SCHEDULES = 250;

/**
 * The parts of a job, each of which notes in `found` what comes out.
 * @param threads that take parts
 */
export function partsOf(job: Job, number: number, found: Found, threads: number): Part[] {
  const orderings: Part = {
    question: questionOf(job, number, "orderings"),
    here: (subject) => subject.orderings(),
    keep: (value) => void (found.orderings = value as Proof),
    isNeeded: () => true,
  };
  const answers: Part = {
    question: questionOf(job, number, "answers"),
    here: (subject) => subject.answers(),
    keep: (value) => void (found.answers = value as Proof),
    isNeeded: () => true,
  };
  const all = job.schedule ?? { schedules: DEFAULT_SCHEDULES, seed: job.seed };
  const size = Math.min(Math.max(Math.ceil(all.schedules / threads), LEAST_SCHEDULES), MOST_SCHEDULES);
  const schedules: Part[] = [];
  for (let first = 0; first < all.schedules; first += size) {
    const schedule = { schedules: Math.min(size, all.schedules - first), seed: all.seed + first };
    const place = schedules.length;
    schedules.push({
      question: { ...questionOf(job, number, "schedules"), schedule },
      here: (subject) => subject.schedules(schedule),
      keep: (value) => void (found.hostile[place] = value as HostileReport | null),
      // They are taken in order: one that has failed was taken after all that count before it.
      isNeeded: () => !found.hostile.some((report) => (report?.failure ?? null) !== null),
    });
  }
  return [...(job.proves ? [orderings, answers] : []), ...schedules];
}

/** What runs of successive schedules say together: they end with the first that fails. */
export function together(reports: readonly (HostileReport | null)[]): HostileReport | null {
  let sum: HostileReport | null = null;
  for (const report of reports) {
    if (report === null) continue;
    const before: HostileReport = sum ?? { schedules: 0, steps: 0, failure: null };
    const { schedules, steps, failure } = report;
    sum = { schedules: before.schedules + schedules, steps: before.steps + steps, failure };
    if (failure !== null) break;
  }
  return sum;
}
