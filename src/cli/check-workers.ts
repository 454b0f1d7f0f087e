/** Answers many questions at once, a thread for each core. */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { CompileResult, Proof } from "../compiler/index.js";
import type { HostileReport } from "../runtime/cpu/index.js";
import { CheckThread } from "./check-thread.js";
import { optimiseLater } from "./patient-compiler.js";
import {
  DEFAULT_SCHEDULES,
  inquire,
  type Inquiry,
  type Job,
  type ProofRequest,
  type ScheduleRequest,
  schedulesOf,
  Subject,
} from "./proofs.js";
import type { ProgramText } from "./source-file.js";

/** What a thread is asked. */
export type Query =
  /** Nothing yet: to compile what it will be asked about. */
  | { readonly question: "compile"; readonly program: ProgramText; readonly request: ProofRequest }
  | {
      readonly question: "all" | "orderings" | "answers" | "schedules";
      readonly job: Job;
      /** The same for all questions about one job. */
      readonly number: number;
      readonly schedule: ScheduleRequest;
    };

/** A job, and the program as it ships. */
export interface Asked {
  readonly job: Job;
  readonly compiled: CompileResult;
}

/** A part of a job: this thread or another takes it, whichever is free. */
interface Part {
  readonly job: Job;
  readonly number: number;
  readonly query: Query;
  readonly here: (subject: Subject) => unknown;
  readonly keep: (value: unknown) => void;
  /** Whether it still matters; without it, it does. */
  readonly isNeeded?: () => boolean;
}

/** The threads of a check. */
export class Inquirers {
  private readonly path = fileURLToPath(new URL(`./check-worker${extname(import.meta.url)}`, import.meta.url));
  private readonly cores = availableParallelism();
  private readonly threads: CheckThread[] = [];
  private expected = 0;
  /** Whole jobs that wait for a thread. */
  private readonly queue: (() => Promise<void>)[] = [];
  private readonly idle: CheckThread[] = [];

  /**
   * Starts threads before anybody knows what to ask them: a thread takes as long to start as a small proof, and this one
   * compiles meanwhile. Threads run what is built; from TypeScript sources, as in tests, there are none.
   */
  constructor(private readonly onStart: (job: Job) => void) {
    if (!this.path.endsWith(".js")) return;
    optimiseLater();
    this.grow(Math.min(this.cores - 1, MOST_PARTS - 1));
  }

  private grow(count: number): void {
    while (this.threads.length < count) {
      const thread = new CheckThread(this.path);
      this.threads.push(thread);
      this.idle.push(thread);
    }
  }

  /** Tells the threads what they will be asked about, for each the next one; no more than a few. */
  expect(program: ProgramText, request: ProofRequest): void {
    if (this.expected >= MOST_EXPECTED * this.threads.length) return;
    const thread = this.threads[this.expected++ % this.threads.length]!;
    // What goes wrong is said again when the thread is asked.
    thread.ask({ question: "compile", program, request } satisfies Query).catch(() => {});
  }

  /**
   * The jobs of one program.
   * @returns one inquiry a job, in the order of the jobs
   */
  async answer(asked: readonly Asked[]): Promise<Inquiry[]> {
    if (this.threads.length > 0 && asked.length <= 4 * this.cores) return this.inParts(asked);
    const inquiries = new Array<Inquiry>(asked.length);
    const one = async (i: number): Promise<void> =>
      void (inquiries[i] = await this.inquire(asked[i]!.job, asked[i]!.compiled));
    await Promise.all(largestFirst(asked).map(one));
    return inquiries;
  }

  /** One job of many: by the first thread that has nothing else to do. */
  async inquire(job: Job, compiled: CompileResult | null = null): Promise<Inquiry> {
    if (this.threads.length === 0) {
      // So that a key or a signal is noticed.
      await new Promise((resolve) => setImmediate(resolve));
      this.onStart(job);
      return inquire(job, compiled);
    }
    this.grow(this.cores);
    return new Promise((resolve, reject) => {
      this.queue.push(async () => {
        const thread = this.idle.pop()!;
        this.onStart(job);
        await thread.ask(queryOf(job, 0, "all")).then((value) => resolve(value as Inquiry), reject);
        this.idle.push(thread);
        this.serveQueue();
      });
      this.serveQueue();
    });
  }

  private serveQueue(): void {
    while (this.idle.length > 0 && this.queue.length > 0) void this.queue.shift()!();
  }

  /** A few jobs, of which this thread and the others each take parts. */
  private async inParts(asked: readonly Asked[]): Promise<Inquiry[]> {
    const found = asked.map((): Found => ({ hostile: [] }));
    const begun = new Set<Job>();
    const parts = largestFirst(asked).flatMap((i) => partsOf(asked[i]!.job, i, found[i]!, this.threads.length + 1));
    const subjects = new Map<number, Subject>();
    const subjectOf = (number: number): Subject => {
      let subject = subjects.get(number);
      if (subject === undefined)
        subjects.set(number, (subject = new Subject(asked[number]!.job, asked[number]!.compiled)));
      return subject;
    };
    const next = (): Part | undefined => {
      let part = parts.shift();
      while (part?.isNeeded?.() === false) part = parts.shift();
      if (part !== undefined && !begun.has(part.job)) this.onStart(part.job);
      if (part !== undefined) begun.add(part.job);
      return part;
    };
    const serve = async (thread: CheckThread): Promise<void> => {
      for (let part = next(); part !== undefined; part = next()) part.keep(await thread.ask(part.query));
    };
    const serveHere = async (): Promise<void> => {
      for (let part = next(); part !== undefined; part = next()) {
        // The other threads' questions are on their way before this thread is busy; and a key or a signal is noticed.
        await new Promise((resolve) => setImmediate(resolve));
        part.keep(part.here(subjectOf(part.number)));
      }
    };
    // Each has its next question before it has answered the last: this thread, while busy, hears no answer.
    await Promise.all([serveHere(), ...[...this.threads, ...this.threads].map(serve)]);
    return asked.map(({ job }, i) => {
      const { answers, orderings, hostile } = found[i]!;
      const claims = job.proves ? subjectOf(i).claims(answers!, orderings!) : null;
      // Nobody asked for schedules of what is wrong already; see `Job.schedule`.
      return subjectOf(i).inquiry(claims, schedulesOf(job, claims).schedules === 0 ? null : together(hostile));
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
  /** One for each run of schedules, in order. */
  readonly hostile: HostileReport[];
}

/** Most parts of one job. */
const MOST_PARTS = 3;

/** Programs that a thread compiles before it is asked about them. */
const MOST_EXPECTED = 4;

/** Schedules in one part, at least: a thread's first one takes as long as the next four. */
const LEAST_SCHEDULES = 4;

/** At most: between parts a key or a signal is noticed. */
const MOST_SCHEDULES = 250;

/** @param threads that take parts, this one included */
function partsOf(job: Job, number: number, found: Found, threads: number): Part[] {
  const orderings: Part = {
    job,
    number,
    query: queryOf(job, number, "orderings"),
    here: (subject) => subject.orderings(),
    keep: (value) => void (found.orderings = value as Proof),
  };
  const answers: Part = {
    job,
    number,
    query: queryOf(job, number, "answers"),
    here: (subject) => subject.answers(),
    keep: (value) => void (found.answers = value as Proof),
  };
  const all = job.schedule ?? { schedules: DEFAULT_SCHEDULES, seed: 0 };
  const size = Math.min(Math.max(Math.ceil(all.schedules / threads), LEAST_SCHEDULES), MOST_SCHEDULES);
  const schedules: Part[] = [];
  for (let first = 0; first < all.schedules; first += size) {
    const schedule = { schedules: Math.min(size, all.schedules - first), seed: all.seed + first };
    const place = schedules.length;
    schedules.push({
      job,
      number,
      query: { ...queryOf(job, number, "schedules"), schedule },
      here: (subject) => subject.schedules(schedule),
      keep: (value) => void (found.hostile[place] = value as HostileReport),
      isNeeded: () => !found.hostile.some((report) => report.failure !== null),
    });
  }
  return [...(job.proves ? [orderings, answers] : []), ...schedules];
}

/** What runs of successive schedules say together: they end with the first that fails. */
function together(reports: readonly HostileReport[]): HostileReport | null {
  let sum: HostileReport | null = null;
  for (const report of reports) {
    const before: HostileReport = sum ?? { schedules: 0, steps: 0, failure: null };
    const { schedules, steps, failure } = report;
    sum = { schedules: before.schedules + schedules, steps: before.steps + steps, failure };
    if (failure !== null) break;
  }
  return sum;
}

/** Numbers of jobs, the largest first, so that none is left alone at the end. */
function largestFirst(asked: readonly Asked[]): number[] {
  return asked.map((_, i) => i).sort((a, b) => asked[b]!.job.request.ranks - asked[a]!.job.request.ranks);
}

function queryOf(job: Job, number: number, question: "all" | "orderings" | "answers" | "schedules") {
  return { question, job, number, schedule: { schedules: 0, seed: 0 } } satisfies Query;
}
