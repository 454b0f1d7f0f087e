/** A thread of `collc check`, seen from the one that asks it. */
import { Worker } from "node:worker_threads";
import { errorOf, type Reply } from "./check-protocol.js";

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

  /** @param path of the module that the thread runs */
  constructor(path: string) {
    this.worker = new Worker(path);
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
