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
}

/** The threads of a check. */
export class Inquirers {
  private readonly path = fileURLToPath(new URL(`./check-worker${extname(import.meta.url)}`, import.meta.url));
  private readonly cores = availableParallelism();
  private readonly threads: CheckThread[] = [];
  /** Of each thread: done with what it was told to compile. */
  private readonly expecting: Promise<unknown>[] = [];
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

  /** Tells a thread what it will be asked about, if one has not been told yet. */
  expect(program: ProgramText, request: ProofRequest): void {
    const thread = this.threads[this.expecting.length];
    if (thread === undefined) return;
    const done = thread.ask({ question: "compile", program, request } satisfies Query);
    done.catch(() => {}); // said again when the thread is asked
    this.expecting.push(done);
  }

  /**
   * The jobs of one program.
   * @returns one inquiry a job, in the order of the jobs
   */
  async answer(asked: readonly Asked[]): Promise<Inquiry[]> {
    if (this.threads.length > 0 && asked.length < 2 * this.cores) return this.inParts(asked);
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
    await Promise.all(this.expecting);
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
    const found = asked.map((): Found => ({}));
    const begun = new Set<Job>();
    const parts = largestFirst(asked).flatMap((i) => partsOf(asked[i]!.job, i, found[i]!));
    const subjects = new Map<number, Subject>();
    const subjectOf = (number: number): Subject => {
      let subject = subjects.get(number);
      if (subject === undefined)
        subjects.set(number, (subject = new Subject(asked[number]!.job, asked[number]!.compiled)));
      return subject;
    };
    const next = (): Part | undefined => {
      const part = parts.shift();
      if (part !== undefined && !begun.has(part.job)) this.onStart(part.job);
      if (part !== undefined) begun.add(part.job);
      return part;
    };
    const serve = async (thread: CheckThread, i: number): Promise<void> => {
      const part = next();
      await this.expecting[i];
      for (let p = part; p !== undefined; p = next()) p.keep(await thread.ask(p.query));
    };
    const serveHere = async (): Promise<void> => {
      for (let part = next(); part !== undefined; part = next()) {
        // The other threads' questions are on their way before this thread is busy; and a key or a signal is noticed.
        await new Promise((resolve) => setImmediate(resolve));
        part.keep(part.here(subjectOf(part.number)));
      }
    };
    await Promise.all([serveHere(), ...this.threads.map(serve)]);
    return asked.map(({ job }, i) => {
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
  const schedules: Part = {
    job,
    number,
    query: { ...queryOf(job, number, "schedules"), schedule },
    here: (subject) => subject.schedules(schedule),
    keep: (value) => void (found.hostile = value as HostileReport | null),
  };
  return [...(job.proves ? [orderings, answers] : []), ...(schedule.schedules > 0 ? [schedules] : [])];
}

/** Numbers of jobs, the largest first, so that none is left alone at the end. */
function largestFirst(asked: readonly Asked[]): number[] {
  return asked.map((_, i) => i).sort((a, b) => asked[b]!.job.request.ranks - asked[a]!.job.request.ranks);
}

function queryOf(job: Job, number: number, question: "all" | "orderings" | "answers" | "schedules") {
  return { question, job, number, schedule: { schedules: 0, seed: 0 } } satisfies Query;
}
