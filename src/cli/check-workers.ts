/** Answers many questions at once, a thread for each core. */
import { availableParallelism } from "node:os";
import { type CompileResult, packed, PROOF_MAPPING, withMapping } from "../compiler/index.js";
import { type Part, type Parts, partsOf } from "./check-parts.js";
import { type Introduction, LATER, type PartClaim, type Question, questionOf, TAKEN, takes } from "./check-protocol.js";
import { type CheckThread, IS_BUILT, newThread } from "./check-thread.js";
import { expectShortRun } from "./short-run.js";
import { inquire, type Inquiry, type Job, printedOf, Subject } from "./proofs.js";

/** A job, and the program as it ships. */
export interface Asked {
  readonly job: Job;
  readonly compiled: CompileResult;
}

/** The threads of a check. */
export class Inquirers {
  private readonly cores = availableParallelism();
  private readonly threads: CheckThread[] = [];
  /** Jobs of many that there was an introduction to. */
  private introduced = 0;
  /** Whole jobs that wait for a thread. */
  private readonly queue: (() => Promise<void>)[] = [];
  private readonly idle: CheckThread[] = [];
  /** Jobs that have been told of. */
  private readonly begun = new Set<Job>();

  /**
   * Starts threads before anybody knows what to ask them: a thread takes as long to start as a small proof, and this one
   * compiles meanwhile.
   */
  constructor(private readonly onStart: (job: Job) => void) {
    if (!IS_BUILT) return;
    expectShortRun();
    this.grow(Math.min(this.cores - 1, MOST_PARTS - 1));
  }

  private grow(count: number): void {
    while (this.threads.length < count) {
      const thread = newThread();
      this.threads.push(thread);
      this.idle.push(thread);
    }
  }

  /**
   * The jobs of one program.
   * @returns one inquiry a job, in the order of the jobs
   */
  async answer(asked: readonly Asked[]): Promise<Inquiry[]> {
    if (this.threads.length > 0 && asked.length <= this.few) return this.inParts(asked);
    const inquiries = new Array<Inquiry>(asked.length);
    const one = async (i: number): Promise<void> => void (inquiries[i] = await this.inquire(asked[i]!));
    await Promise.all(largestFirst(asked).map(one));
    return inquiries;
  }

  /** Jobs of which threads take parts; of more, each takes whole ones. */
  get few(): number {
    return 4 * this.cores;
  }

  /** A job that a thread begins while this one compiles those to come, and cannot hand out any; null where there is no thread. */
  ahead({ job, compiled }: Asked): Promise<Inquiry> | null {
    const [thread] = this.threads;
    if (thread === undefined) return null;
    this.start(job);
    const introduction = introductionTo({ job, compiled }, this.introduced++);
    thread.tell(introduction);
    return thread.ask(questionOf(introduction.number, "all")) as Promise<Inquiry>;
  }

  /** One job of many: by the first thread that has nothing else to do. */
  async inquire({ job, compiled }: Asked): Promise<Inquiry> {
    if (this.threads.length === 0) {
      // So that a key or a signal is noticed.
      await new Promise((resolve) => setImmediate(resolve));
      this.onStart(job);
      return inquire(job, withMapping(compiled, PROOF_MAPPING), printedOf(job, compiled));
    }
    this.grow(this.cores);
    // What waits is no more than that: what is compiled of all programs would fill the memory.
    const introduction = introductionTo({ job, compiled }, this.introduced++);
    return new Promise((resolve, reject) => {
      this.queue.push(async () => {
        const thread = this.idle.pop()!;
        this.onStart(job);
        thread.tell(introduction);
        await thread.ask(questionOf(introduction.number, "all")).then((value) => resolve(value as Inquiry), reject);
        this.idle.push(thread);
        this.serveQueue();
      });
      this.serveQueue();
    });
  }

  private serveQueue(): void {
    while (this.idle.length > 0 && this.queue.length > 0) void this.queue.shift()!();
  }

  /**
   * A few jobs, of which this thread and the others each take parts. The others begin with the first job, this one with the
   * last: so few jobs are compiled, and their code is warmed up, in more than one thread.
   */
  private async inParts(asked: readonly Asked[]): Promise<Inquiry[]> {
    const inquiries = new Array<Inquiry>(asked.length);
    const keep = (i: number) => (inquiry: Inquiry) => void (inquiries[i] = inquiry);
    const numbers = new Map<number, Asked>();
    const jobs = largestFirst(asked).map((i) => {
      const number = this.introduced++;
      numbers.set(number, asked[i]!);
      const introduction = introductionTo(asked[i]!, number);
      for (const thread of this.threads) thread.tell(introduction);
      return partsOf(asked[i]!.job, number, { hostile: [] }, this.threads.length + 1, keep(i));
    });
    const subjects = new Map<number, Subject>();
    const subjectOf = (number: number): Subject => {
      let subject = subjects.get(number);
      if (subject === undefined) {
        const { job, compiled } = numbers.get(number)!;
        subject = new Subject(job, withMapping(compiled, PROOF_MAPPING), printedOf(job, compiled));
        subjects.set(number, subject);
      }
      return subject;
    };
    await this.share(jobs, subjectOf);
    return inquiries;
  }

  /** @param subjectOf what this thread makes of a job, by number */
  private async share(jobs: readonly Parts[], subjectOf: (number: number) => Subject): Promise<void> {
    const claims = new Map<Part, PartClaim>();
    const left = new Set(jobs.flatMap(({ proofs, schedules, conclusion }) => [...proofs, ...schedules, conclusion]));
    const flags = new Int32Array(new SharedArrayBuffer(4 * left.size));
    for (const part of left) claims.set(part, { flags, place: claims.size });
    let failure: { readonly error: unknown } | null = null;
    let wake = (): void => {};
    const put = (part: Part): void => {
      const question: Question = { ...part.question, claim: claims.get(part)! };
      for (const thread of this.threads)
        thread
          .ask(question)
          .then(
            (value) => {
              if (value !== TAKEN && value !== LATER) done(part, value);
            },
            (error: unknown) => void (failure ??= { error }),
          )
          .finally(() => wake());
    };
    const jobOf = new Map(jobs.flatMap((job) => [...job.proofs, ...job.schedules].map((part) => [part, job])));
    const settled = (part: Part): void => {
      left.delete(part);
      const job = jobOf.get(part);
      if (job === undefined) return;
      // Who has not found it out itself has not been told.
      if (part === job.proofs[0]) job.proofs.slice(1).forEach(put);
      if (![...job.proofs, ...job.schedules].some((p) => left.has(p))) put(job.conclusion);
    };
    const done = (part: Part, value: unknown): void => {
      this.start(part.job);
      part.keep(value);
      settled(part);
    };
    // Questions are put to all threads before they are asked: this one, while it is busy, could not hand out the next. Schedules,
    // which nothing waits for, fill what proofs leave.
    for (const { proofs } of jobs) proofs.forEach(put);
    for (const { schedules } of jobs) schedules.forEach(put);
    const own = [
      ...jobs.toReversed().flatMap((job) => job.proofs),
      ...jobs.toReversed().flatMap((job) => job.schedules),
    ];
    const conclusions = new Map(jobs.map((job) => [job.conclusion, [...job.proofs, ...job.schedules]]));
    const isReady = (part: Part): boolean =>
      left.has(part) && part.isReady() && !conclusions.get(part)?.some((p) => left.has(p));
    while (left.size > 0) {
      // So that answers are heard, and a key or a signal is noticed.
      await new Promise((resolve) => setImmediate(resolve));
      if (failure !== null) throw (failure as { readonly error: unknown }).error;
      const next = [...conclusions.keys(), ...own].find((part) => isReady(part) && takes(claims.get(part)!));
      if (next === undefined) {
        if (left.size > 0) await new Promise<void>((resolve) => (wake = resolve));
      } else if (next.isNeeded()) done(next, next.here(subjectOf(next.question.number)));
      else settled(next);
    }
  }

  private start(job: Job): void {
    if (this.begun.has(job)) return;
    this.begun.add(job);
    this.onStart(job);
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.end()));
  }
}

/** Most parts of one job. */
const MOST_PARTS = 3;

function introductionTo({ job, compiled }: Asked, number: number): Introduction {
  return { about: "job", compiled: packed(compiled, PROOF_MAPPING), printed: printedOf(job, compiled), job, number };
}

/** Numbers of jobs, the largest first, so that none is left alone at the end. */
function largestFirst(asked: readonly Asked[]): number[] {
  return asked.map((_, i) => i).sort((a, b) => asked[b]!.job.request.ranks - asked[a]!.job.request.ranks);
}
