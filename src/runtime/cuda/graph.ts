/** CUDA graphs: work recorded once and replayed with one call. */
import { UsageError } from "../errors.js";
import { native, type GraphExecHandle, type StreamHandle } from "../native.js";

/** The stream that records now; captures are bound to this thread, so one at a time. */
let recording: StreamHandle | null = null;

/** Whether this stream is being recorded. */
export function isRecording(stream: StreamHandle): boolean {
  return recording === stream;
}

/**
 * For calls that would break a capture, before they do.
 * @param what begins the message: "allocating memory".
 * @throws UsageError while a capture is under way.
 */
export function requireNoCapture(what: string): void {
  if (recording === null) return;
  throw new UsageError(
    `${what} is not possible while a graph is being captured`,
    "do it before the capture; inside, only enqueue work on the stream that the capture gives",
  );
}

/** A recorded piece of work of one stream. */
export class CudaGraph {
  /** Number of operations in it. */
  readonly nodes: number;
  readonly #exec: GraphExecHandle;

  private constructor(exec: GraphExecHandle, nodes: number) {
    this.#exec = exec;
    this.nodes = nodes;
  }

  /**
   * Records what `enqueue` puts on the stream, without running it. `enqueue` must not wait or allocate. When it throws,
   * the capture ends and its error comes through.
   */
  static capture(stream: StreamHandle, enqueue: () => void): CudaGraph {
    begin(stream);
    try {
      enqueue();
    } catch (error) {
      throw abandon(stream, error);
    }
    return CudaGraph.#end(stream);
  }

  /** The same for an `enqueue` that is asynchronous. */
  static async captureAsync(stream: StreamHandle, enqueue: () => void | Promise<void>): Promise<CudaGraph> {
    begin(stream);
    try {
      await enqueue();
    } catch (error) {
      throw abandon(stream, error);
    }
    return CudaGraph.#end(stream);
  }

  static #end(stream: StreamHandle): CudaGraph {
    recording = null;
    const addon = native();
    const graph = addon.captureEnd(stream);
    try {
      const nodes = addon.graphNodeCount(graph);
      return new CudaGraph(addon.graphInstantiate(graph), nodes);
    } finally {
      addon.graphDestroy(graph);
    }
  }

  /** Enqueues one replay. */
  replay(stream: StreamHandle): void {
    native().graphLaunch(this.#exec, stream);
  }

  destroy(): void {
    native().graphExecDestroy(this.#exec);
  }
}

function begin(stream: StreamHandle): void {
  requireNoCapture("another capture");
  native().captureBegin(stream);
  recording = stream;
}

/** Ends a capture that failed. @returns what made it fail. */
function abandon(stream: StreamHandle, error: unknown): unknown {
  recording = null;
  try {
    native().graphDestroy(native().captureEnd(stream));
  } catch {
    // The capture was invalid; what invalidated it is the error to report.
  }
  return error;
}
