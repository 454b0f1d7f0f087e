/** CUDA graphs: work recorded once and replayed with one call. */
import { UsageError } from "../errors.js";
import { native, type GraphExecHandle, type GraphHandle, type StreamHandle } from "../native.js";

/** The stream that records now; captures are bound to this thread, so one at a time. */
let recording: StreamHandle | null = null;

/** A launch whose parameters may change after it was recorded. */
interface Changeable {
  intoGraph(exec: GraphExecHandle, node: bigint): void;
}

/** The nodes that launches have become in the capture that is under way. */
let launches = new Map<Changeable, bigint[]>();

/** Remembers which node of the graph a launch has just become, if its stream is being recorded. */
export function noteLaunch(launch: Changeable, stream: StreamHandle): void {
  if (recording !== stream) return;
  const node = native().captureNode(stream);
  if (node !== 0n) launches.set(launch, [...(launches.get(launch) ?? []), node]);
}

/** The nodes that launches have become in a graph of the caller's. */
export type LaunchNodes = ReadonlyMap<Changeable, readonly bigint[]>;

/**
 * Runs `launch` on a stream that the caller captures, and notes what it becomes there.
 * @throws UsageError where nobody captures the stream, and in a capture of ours, whose graph is updated by itself
 */
export function noted(stream: StreamHandle, launch: () => void): LaunchNodes {
  requireNoCapture("recording for a graph of your own");
  if (!native().streamIsCapturing(stream))
    throw new UsageError("the stream is not being captured", "begin the capture first; `launch` launches at once");
  recording = stream;
  launches = new Map();
  try {
    launch();
    return launches;
  } finally {
    recording = null;
  }
}

/** Gives launches that were noted the parameters that they have now, in the caller's executable graph. */
export function updateNoted(nodes: LaunchNodes, device: number, executable: bigint): void {
  const exec = native().graphExecBorrow(device, executable);
  try {
    for (const [launch, its] of nodes) for (const node of its) launch.intoGraph(exec, node);
  } finally {
    native().graphExecDestroy(exec);
  }
}

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
  /** Alive as long as the executable is: its nodes name what is changed there. */
  readonly #graph: GraphHandle;
  readonly #launches: ReadonlyMap<Changeable, readonly bigint[]>;

  private constructor(exec: GraphExecHandle, graph: GraphHandle, nodes: number) {
    this.#exec = exec;
    this.#graph = graph;
    this.#launches = launches;
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
      return new CudaGraph(addon.graphInstantiate(graph), graph, nodes);
    } catch (error) {
      addon.graphDestroy(graph);
      throw error;
    }
  }

  /** Gives a launch that was recorded the parameters that it has now, from the next replay on. @returns how often it was recorded */
  update(launch: Changeable): number {
    const nodes = this.#launches.get(launch) ?? [];
    for (const node of nodes) launch.intoGraph(this.#exec, node);
    return nodes.length;
  }

  /** Enqueues one replay. */
  replay(stream: StreamHandle): void {
    native().graphLaunch(this.#exec, stream);
  }

  destroy(): void {
    native().graphExecDestroy(this.#exec);
    native().graphDestroy(this.#graph);
  }
}

function begin(stream: StreamHandle): void {
  requireNoCapture("another capture");
  native().captureBegin(stream);
  launches = new Map();
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
