/** Answers many questions at once, a thread for each core. */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Proof } from "../compiler/index.js";
import type { HostileReport } from "../runtime/cpu/index.js";
import { CheckThread } from "./check-thread.js";
import {
  DEFAULT_SCHEDULES,
  inquire,
  type Inquiry,
  type Job,
  type ScheduleRequest,
  schedulesOf,
  Subject,
} from "./proofs.js";

/** What a thread is asked about one collective. */
export interface Query {
  /** The same for all questions about one job. */
  readonly number: number;
  readonly job: Job;
  readonly question: "all" | "orderings" | "answers" | "schedules";
  readonly schedule: ScheduleRequest;
}

/** A part of a job: this thread or another takes it, whichever is free. */
interface Part {
  readonly query: Query;
  readonly here: (subject: Subject) => unknown;
  readonly keep: (value: unknown) => void;
}

/** The threads of a check. */
export class Inquirers {
  private readonly path = fileURLToPath(new URL(`./check-worker${extname(import.meta.url)}`, import.meta.url));
  private readonly cores = availableParallelism();
  private readonly threads: CheckThread[] = [];

  /**
   * Starts threads before anybody knows what to ask them: a thread takes as long to start as a small proof, and this one
   * compiles meanwhile. Threads run what is built; from TypeScript sources, as in tests, there are none.
   */
  constructor() {
    if (this.path.endsWith(".js")) this.grow(Math.min(this.cores - 1, MOST_PARTS - 1));
  }

  private grow(count: number): void {
    while (this.threads.length < count) this.threads.push(new CheckThread(this.path));
  }

  /**
   * @param onStart called before a job is begun
   * @returns one inquiry a job, in the order of the jobs
   */
  async answer(jobs: readonly Job[], onStart: (job: Job) => void): Promise<Inquiry[]> {
    if (this.threads.length === 0) return inTurn(jobs, onStart);
    if (jobs.length < 2 * this.cores) return this.inParts(jobs, onStart);
    this.grow(this.cores);
    const inquiries = new Array<Inquiry>(jobs.length);
    const order = largestFirst(jobs);
    const serve = async (thread: CheckThread): Promise<void> => {
      for (let i = order.shift(); i !== undefined; i = order.shift()) {
        onStart(jobs[i]!);
        inquiries[i] = (await thread.ask(queryOf(jobs[i]!, i, "all"))) as Inquiry;
      }
    };
    await Promise.all(this.threads.map(serve));
    return inquiries;
  }

  /** A few jobs, of which this thread and the others each take parts. */
  private async inParts(jobs: readonly Job[], onStart: (job: Job) => void): Promise<Inquiry[]> {
    const found = jobs.map((): Found => ({}));
    const begun = new Set<Job>();
    const parts = largestFirst(jobs).flatMap((i) => partsOf(jobs[i]!, i, found[i]!));
    const subjects = new Map<number, Subject>();
    const subjectOf = (number: number): Subject => {
      let subject = subjects.get(number);
      if (subject === undefined) subjects.set(number, (subject = new Subject(jobs[number]!)));
      return subject;
    };
    const next = (): Part | undefined => {
      const part = parts.shift();
      if (part !== undefined && !begun.has(part.query.job)) onStart(part.query.job);
      if (part !== undefined) begun.add(part.query.job);
      return part;
    };
    const serve = async (thread: CheckThread): Promise<void> => {
      for (let part = next(); part !== undefined; part = next()) part.keep(await thread.ask(part.query));
    };
    const serveHere = async (): Promise<void> => {
      for (let part = next(); part !== undefined; part = next()) {
        // The other threads' questions are on their way before this thread is busy; and a key or a signal is noticed.
        await new Promise((resolve) => setImmediate(resolve));
        part.keep(part.here(subjectOf(part.query.number)));
      }
    };
    await Promise.all([serveHere(), ...this.threads.map(serve)]);
    return jobs.map((job, i) => {
      const { answers, orderings, hostile } = found[i]!;
      const claims = job.proves ? subjectOf(i).claims(answers!, orderings!) : null;
      // Nobody asked for schedules of what is wrong already; see `Job.schedule`.
      return subjectOf(i).inquiry(claims, schedulesOf(job, claims).schedules === 0 ? null : (hostile ?? null));
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.end()));
  }
}

/** What is known of a job so far. */
interface Found {
  orderings?: Proof;
  answers?: Proof;
  hostile?: HostileReport | null;
}

/** Most parts of one job. */
const MOST_PARTS = 3;

function partsOf(job: Job, number: number, found: Found): Part[] {
  const schedule = job.schedule ?? { schedules: DEFAULT_SCHEDULES, seed: 0 };
  const orderings: Part = {
    query: queryOf(job, number, "orderings"),
    here: (subject) => subject.orderings(),
    keep: (value) => void (found.orderings = value as Proof),
  };
  const answers: Part = {
    query: queryOf(job, number, "answers"),
    here: (subject) => subject.answers(),
    keep: (value) => void (found.answers = value as Proof),
  };
  const schedules: Part = {
    query: { ...queryOf(job, number, "schedules"), schedule },
    here: (subject) => subject.schedules(schedule),
    keep: (value) => void (found.hostile = value as HostileReport | null),
  };
  return [...(job.proves ? [orderings, answers] : []), ...(schedule.schedules > 0 ? [schedules] : [])];
}

function queryOf(job: Job, number: number, question: Query["question"]): Query {
  return { number, job, question, schedule: { schedules: 0, seed: 0 } };
}

/** Numbers of jobs, the largest first, so that none is left alone at the end. */
function largestFirst(jobs: readonly Job[]): number[] {
  return jobs.map((_, i) => i).sort((a, b) => jobs[b]!.request.ranks - jobs[a]!.request.ranks);
}

/** One after the other, here. */
async function inTurn(jobs: readonly Job[], onStart: (job: Job) => void): Promise<Inquiry[]> {
  const inquiries: Inquiry[] = [];
  for (const job of jobs) {
    onStart(job);
    inquiries.push(inquire(job));
    // So that a key or a signal is noticed.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return inquiries;
}
