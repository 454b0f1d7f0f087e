/** The parts of a job that different threads can take: what holds everywhere, runs of schedules, the two proofs, and what they come to. */
import type { Everywhere, Proof } from "../compiler/index.js";
import type { HostileReport } from "../runtime/cpu/index.js";
import { type Found, type Question, questionOf } from "./check-protocol.js";
import { DEFAULT_SCHEDULES, type Inquiry, type Job, type Schedules, schedulesOf, type Subject } from "./proofs.js";

/** A part of a job: this thread or another takes it, whichever is free. */
export interface Part {
  readonly job: Job;
  readonly question: Question;
  readonly here: (subject: Subject) => unknown;
  readonly keep: (value: unknown) => void;
  /** Whether what it takes of the others but the conclusion has been found. */
  readonly isReady: () => boolean;
  /** Whether it still matters. */
  readonly isNeeded: () => boolean;
}

/** The parts of a job. */
export interface Parts {
  /** What holds everywhere; then the proofs at some lengths, which take it. */
  readonly proofs: readonly Part[];
  /** They take nothing of others. */
  readonly schedules: readonly Part[];
  /** It comes after all others. */
  readonly conclusion: Part;
}

/** Schedules in one part, at least: a thread's first one takes as long as the next four. */
const LEAST_SCHEDULES = 4;

/** At most: between parts a key or a signal is noticed. */
const MOST_SCHEDULES = 250;

/**
 * The parts of a job, each of which notes in `found` what comes out.
 * @param threads that take parts
 * @param keep takes the inquiry
 */
export function partsOf(
  job: Job,
  number: number,
  found: Found,
  threads: number,
  keep: (inquiry: Inquiry) => void,
): Parts {
  const always = (): boolean => true;
  const everywhere: Part = {
    job,
    question: questionOf(number, "everywhere"),
    here: (subject) => subject.everywhere(),
    keep: (value) => void (found.everywhere = value as Everywhere),
    isReady: always,
    isNeeded: always,
  };
  const proof = (about: "orderings" | "answers"): Part => ({
    job,
    question: { ...questionOf(number, about), found },
    here: (subject) => subject[about](found.everywhere!),
    keep: (value) => void (found[about] = value as Proof),
    isReady: () => found.everywhere !== undefined,
    isNeeded: always,
  });
  const proofs = job.proves ? [everywhere, proof("orderings"), proof("answers")] : [];
  const conclusion: Part = {
    job,
    question: { ...questionOf(number, "conclusion"), found },
    here: (subject) => conclude(subject, job, found),
    keep: (value) => keep(value as Inquiry),
    isReady: always,
    isNeeded: always,
  };
  return { proofs, schedules: schedulePartsOf(job, number, found, threads), conclusion };
}

function schedulePartsOf(job: Job, number: number, found: Found, threads: number): readonly Part[] {
  const all = job.schedule ?? { schedules: DEFAULT_SCHEDULES, seed: job.seed };
  const size = Math.min(Math.max(Math.ceil(all.schedules / threads), LEAST_SCHEDULES), MOST_SCHEDULES);
  const parts: Part[] = [];
  for (let first = 0; first < all.schedules; first += size) {
    const schedule = { schedules: Math.min(size, all.schedules - first), seed: all.seed + first };
    const place = parts.length;
    parts.push({
      job,
      question: { ...questionOf(number, "schedules"), schedule },
      here: (subject) => subject.schedules(schedule),
      keep: (value) => void (found.hostile[place] = value as Schedules | null),
      isReady: () => true,
      // They are taken in order: one that has failed was taken after all that count before it.
      isNeeded: () => !found.hostile.some((report) => (report?.lenient.failure ?? null) !== null),
    });
  }
  return parts;
}

export function conclude(subject: Subject, job: Job, { everywhere, answers, orderings, hostile }: Found): Inquiry {
  const claims = job.proves ? subject.claims(everywhere!, answers!, orderings!) : null;
  // Nobody asked for schedules of what is wrong already; see `Job.schedule`.
  return subject.inquiry(claims, schedulesOf(job, claims).schedules === 0 ? null : together(hostile));
}

/** What runs of successive schedules say together. */
function together(all: readonly (Schedules | null)[]): Schedules | null {
  const ran = all.filter((s) => s !== null);
  if (ran.length === 0) return null;
  return { strict: inTurn(ran.map((s) => s.strict)), lenient: inTurn(ran.map((s) => s.lenient)) };
}

/** Runs end with the first that fails. */
function inTurn(reports: readonly HostileReport[]): HostileReport {
  let sum: HostileReport = { schedules: 0, steps: 0, failure: null, unfinished: null };
  for (const { schedules, steps, failure, unfinished } of reports) {
    sum = {
      schedules: sum.schedules + schedules,
      steps: sum.steps + steps,
      failure,
      unfinished: sum.unfinished ?? unfinished,
    };
    if (failure !== null) break;
  }
  return sum;
}
