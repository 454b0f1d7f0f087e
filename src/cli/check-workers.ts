/** Answers many questions at once, a thread for each core. */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { CompileResult } from "../compiler/index.js";
import { type Found, type Part, partsOf, together } from "./check-parts.js";
import { type Preparation, type Question, questionOf, TAKEN, takes } from "./check-protocol.js";
import { CheckThread } from "./check-thread.js";
import { optimiseLater } from "./patient-compiler.js";
import { inquire, type Inquiry, type Job, type ProofRequest, schedulesOf, Subject } from "./proofs.js";
import type { ProgramText } from "./source-file.js";

/** A job, and the program as it ships. */
export interface Asked {
  readonly job: Job;
  readonly compiled: CompileResult;
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
    thread.ask({ about: "compile", program, request } satisfies Preparation).catch(() => {});
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
        await thread.ask(questionOf(job, 0, "all")).then((value) => resolve(value as Inquiry), reject);
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
    const start = (job: Job): void => {
      if (begun.has(job)) return;
      begun.add(job);
      this.onStart(job);
    };
    const flags = new Int32Array(new SharedArrayBuffer(4 * parts.length));
    const serve = (thread: CheckThread, part: Part, i: number): Promise<void> =>
      thread.ask({ ...part.question, claim: { flags, place: i } } satisfies Question).then((value) => {
        if (value === TAKEN) return;
        start(part.question.job);
        part.keep(value);
      });
    // All questions are put to all threads at once: this one, while it is busy, could not hand out the next.
    const served = Promise.all(this.threads.flatMap((thread) => parts.map((part, i) => serve(thread, part, i))));
    served.catch(() => {}); // told below, where it is waited for
    for (const [i, part] of parts.entries()) {
      // So that answers are heard, and a key or a signal is noticed.
      await new Promise((resolve) => setImmediate(resolve));
      if (!part.isNeeded()) Atomics.store(flags, i, 1);
      if (!takes({ flags, place: i })) continue;
      start(part.question.job);
      part.keep(part.here(subjectOf(part.question.number)));
    }
    await served;
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

/** Most parts of one job. */
const MOST_PARTS = 3;

/** Programs that a thread compiles before it is asked about them. */
const MOST_EXPECTED = 4;

/** Numbers of jobs, the largest first, so that none is left alone at the end. */
function largestFirst(asked: readonly Asked[]): number[] {
  return asked.map((_, i) => i).sort((a, b) => asked[b]!.job.request.ranks - asked[a]!.job.request.ranks);
}
