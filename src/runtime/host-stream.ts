/** Streams of the emulation: one chain of steps a rank, each after the one before. */
import { notRecorded, RuntimeError, UsageError } from "./errors.js";
import type { CapturedGraph, GroupStream } from "./group.js";

/** A step of one rank; a kernel is a step of all. */
export interface HostStep {
  readonly ranks: readonly number[];
  /** @throws what the stream's `synchronize` throws. */
  readonly run: () => void | Promise<void>;
  /** Of a prepared run: the run, as whose step the recorded one is made anew. */
  readonly by?: { step(): HostStep };
}

export class HostStream implements GroupStream {
  #tails: Promise<void>[];
  #failure: { readonly error: unknown } | null = null;
  /** What is recorded instead of run, during a capture. */
  recorded: HostStep[] | null = null;

  readonly #onDestroy: () => void;

  constructor(world: number, onDestroy: () => void = () => {}) {
    this.#onDestroy = onDestroy;
    this.#tails = Array.from({ length: world }, () => Promise.resolve());
  }

  /** A wait in it ran out, so the waits after it give up too. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  enqueue(step: HostStep): void {
    if (this.recorded !== null) {
      this.recorded.push(step);
      return;
    }
    const done = Promise.all(step.ranks.map((rank) => this.#tails[rank]))
      .then(step.run)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      });
    for (const rank of step.ranks) this.#tails[rank] = done;
  }

  /** Waits for a rank's steps, or all, without asking how it went. */
  async settle(rank?: number): Promise<void> {
    await (rank === undefined ? Promise.all(this.#tails) : this.#tails[rank]);
  }

  async synchronize(): Promise<void> {
    requireNoRecording("waiting for a stream");
    await this.settle();
    const failure = this.#failure;
    this.#failure = null;
    if (failure !== null) throw failure.error;
  }

  async destroy(): Promise<void> {
    await this.settle();
    this.#onDestroy();
  }
}

let recording: HostStream | null = null;

/** @throws UsageError while a capture is under way, as on a GPU. */
export function requireNoRecording(what: string): void {
  if (recording === null) return;
  throw new UsageError(
    `${what} is not possible while a graph is being captured`,
    "do it before the capture; inside, only enqueue work on the stream that the capture gives",
  );
}

/** Records what `record` enqueues. */
export async function captureSteps(
  stream: HostStream,
  fallback: () => HostStream,
  record: (stream: GroupStream) => void | Promise<void>,
): Promise<CapturedGraph> {
  requireNoRecording("another capture");
  recording = stream;
  const steps: HostStep[] = (stream.recorded = []);
  try {
    await record(stream);
  } finally {
    recording = null;
    stream.recorded = null;
  }
  let isDestroyed = false;
  const launch = (on: HostStream): void => {
    if (isDestroyed) throw new RuntimeError("the graph was destroyed");
    for (const step of steps) on.enqueue(step);
  };
  return {
    nodes: steps.length,
    launch: (on) => {
      if (!(on instanceof HostStream)) throw new UsageError("the stream belongs to another backend");
      launch(on);
    },
    replay: async () => {
      const on = fallback();
      launch(on);
      await on.synchronize();
    },
    update: (run) => {
      if (isDestroyed) throw new RuntimeError("the graph was destroyed");
      const at = [...steps.keys()].filter((i) => steps[i]!.by === (run as unknown));
      if (at.length === 0) throw notRecorded();
      for (const i of at) steps[i] = steps[i]!.by!.step();
    },
    destroy: () => {
      isDestroyed = true;
    },
  };
}
