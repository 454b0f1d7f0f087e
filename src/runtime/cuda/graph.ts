/** CUDA graphs: work recorded once and replayed with one call. */
import { native, type GraphExecHandle, type StreamHandle } from "../native.js";

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
    const addon = native();
    addon.captureBegin(stream);
    try {
      enqueue();
    } catch (error) {
      try {
        addon.graphDestroy(addon.captureEnd(stream));
      } catch {
        // The capture was invalid; what invalidated it is the error to report.
      }
      throw error;
    }
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
