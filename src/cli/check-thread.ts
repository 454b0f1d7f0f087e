/** A thread of `collc check`, seen from the one that asks it. */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { errorOf, type Reply } from "./check-protocol.js";
import { expectShortRun } from "./short-run.js";

/** What a thread runs. */
const PATH = fileURLToPath(new URL(`./check-worker${extname(import.meta.url)}`, import.meta.url));

/** Threads run what is built; from TypeScript sources, as in tests, there are none. */
export const IS_BUILT = PATH.endsWith(".js");

/** The thread that was started before the command was loaded, until the command takes it. */
let early: CheckThread | null = null;

/** Starts the first thread, which loads the compiler while this one does. */
export function startEarly(): void {
  if (IS_BUILT && availableParallelism() > 1) early = new CheckThread();
}

/** A thread, started already where there is one. */
export function newThread(): CheckThread {
  const thread = early ?? new CheckThread();
  early = null;
  return thread;
}

/** Answers questions one after the other. */
export class CheckThread {
  private readonly worker: Worker;
  /** Who waits for an answer, in the order of the questions. */
  private readonly waiting: {
    readonly resolve: (value: unknown) => void;
    readonly reject: (error: unknown) => void;
  }[] = [];
  /** Why it answers no more. */
  private failure: Error | null = null;

  constructor() {
    expectShortRun();
    this.worker = new Worker(PATH);
    this.worker.on("error", (error) => this.fail(error as Error));
    this.worker.on("exit", (code) => this.fail(new Error(`a thread of collc check ended with ${code}`)));
    this.worker.on("message", (reply: Reply) => {
      const first = this.waiting.shift()!;
      if ("value" in reply) first.resolve(reply.value);
      else first.reject(errorOf(reply.error));
    });
  }

  /** @returns what the thread says to a question; throws what it has thrown, and if it has ended */
  ask(question: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.failure !== null) return reject(this.failure);
      this.waiting.push({ resolve, reject });
      this.worker.postMessage(question);
    });
  }

  /** Tells the thread what it does not answer. */
  tell(message: unknown): void {
    this.worker.postMessage(message);
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }

  private fail(error: Error): void {
    this.failure ??= error;
    for (const { reject } of this.waiting.splice(0)) reject(this.failure);
  }
}
