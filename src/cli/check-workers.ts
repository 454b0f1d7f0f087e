/** Answers many questions at once, a thread for each core. */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { type CompileResult, packed, PROOF_MAPPING, withMapping } from "../compiler/index.js";
import { conclusionOf, firstPartsOf, type Part, proofPartsOf } from "./check-parts.js";
import { type Found, type Introduction, type Question, questionOf, TAKEN, takes } from "./check-protocol.js";
import { CheckThread } from "./check-thread.js";
import { optimiseLater } from "./patient-compiler.js";
import { inquire, type Inquiry, type Job, Subject } from "./proofs.js";

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
  /** Jobs of many that there was an introduction to. */
  private introduced = 0;
  /** Whole jobs that wait for a thread. */
  private readonly queue: (() => Promise<void>)[] = [];
  private readonly idle: CheckThread[] = [];
  /** Jobs that have been told of. */
  private readonly begun = new Set<Job>();

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

  /**
   * The jobs of one program.
   * @returns one inquiry a job, in the order of the jobs
   */
  async answer(asked: readonly Asked[]): Promise<Inquiry[]> {
    if (this.threads.length > 0 && asked.length <= 4 * this.cores) return this.inParts(asked);
    const inquiries = new Array<Inquiry>(asked.length);
    const one = async (i: number): Promise<void> => void (inquiries[i] = await this.inquire(asked[i]!));
    await Promise.all(largestFirst(asked).map(one));
    return inquiries;
  }

  /** One job of many: by the first thread that has nothing else to do. */
  async inquire({ job, compiled }: Asked): Promise<Inquiry> {
    if (this.threads.length === 0) {
      // So that a key or a signal is noticed.
      await new Promise((resolve) => setImmediate(resolve));
      this.onStart(job);
      return inquire(job, withMapping(compiled, PROOF_MAPPING));
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

  /** A few jobs, of which this thread and the others each take parts. */
  private async inParts(asked: readonly Asked[]): Promise<Inquiry[]> {
    const order = largestFirst(asked);
    const found = asked.map((): Found => ({ hostile: [] }));
    const subjects = new Map<number, Subject>();
    for (const i of order) {
      const introduction = introductionTo(asked[i]!, i);
      for (const thread of this.threads) thread.tell(introduction);
    }
    const inquiries = new Array<Inquiry>(asked.length);
    const keep = (i: number) => (inquiry: Inquiry) => void (inquiries[i] = inquiry);
    const threads = this.threads.length + 1;
    // Each round takes what those before it have found.
    const rounds: readonly ((i: number) => readonly Part[])[] = [
      (i) => firstPartsOf(asked[i]!.job, i, found[i]!, threads),
      (i) => proofPartsOf(asked[i]!.job, i, found[i]!),
      (i) => [conclusionOf(asked[i]!.job, i, found[i]!, keep(i))],
    ];
    for (const partsOf of rounds) await this.share(asked, subjects, order.map(partsOf));
    return inquiries;
  }

  /**
   * Parts that this thread and the others take, each of which one of them does. The others begin with the first job, this one
   * with the last: so few jobs are compiled, and their code is warmed up, in more than one thread.
   * @param subjects what this thread has made of jobs, by number
   * @param jobs parts of each, of which those before a part are taken before it
   */
  private async share(
    asked: readonly Asked[],
    subjects: Map<number, Subject>,
    jobs: readonly (readonly Part[])[],
  ): Promise<void> {
    const subjectOf = (number: number): Subject => {
      let subject = subjects.get(number);
      if (subject === undefined) {
        const { job, compiled } = asked[number]!;
        subjects.set(number, (subject = new Subject(job, withMapping(compiled, PROOF_MAPPING))));
      }
      return subject;
    };
    const start = (job: Job): void => {
      if (this.begun.has(job)) return;
      this.begun.add(job);
      this.onStart(job);
    };
    const places = new Map(jobs.flat().map((part, i) => [part, i]));
    const flags = new Int32Array(new SharedArrayBuffer(4 * places.size));
    const serve = (thread: CheckThread, part: Part, place: number): Promise<void> =>
      thread.ask({ ...part.question, claim: { flags, place } } satisfies Question).then((value) => {
        if (value === TAKEN) return;
        start(part.job);
        part.keep(value);
      });
    // All questions are put to all threads at once: this one, while it is busy, could not hand out the next.
    const served = Promise.all(
      this.threads.flatMap((thread) => [...places].map(([part, place]) => serve(thread, part, place))),
    );
    served.catch(() => {}); // told below, where it is waited for
    for (const part of jobs.toReversed().flat()) {
      // So that answers are heard, and a key or a signal is noticed.
      await new Promise((resolve) => setImmediate(resolve));
      const place = places.get(part)!;
      if (!part.isNeeded()) Atomics.store(flags, place, 1);
      if (!takes({ flags, place })) continue;
      start(part.job);
      part.keep(part.here(subjectOf(part.question.number)));
    }
    await served;
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.end()));
  }
}

/** Most parts of one job. */
const MOST_PARTS = 3;

function introductionTo({ job, compiled }: Asked, number: number): Introduction {
  return { about: "job", compiled: packed(compiled, PROOF_MAPPING), job, number };
}

/** Numbers of jobs, the largest first, so that none is left alone at the end. */
function largestFirst(asked: readonly Asked[]): number[] {
  return asked.map((_, i) => i).sort((a, b) => asked[b]!.job.request.ranks - asked[a]!.job.request.ranks);
}
