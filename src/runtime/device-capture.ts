/** Graphs recorded on a group's stream. */
import { CudaGraph } from "./cuda/index.js";
import { type DeviceStream, type Watched } from "./device-stream.js";
import { PreparedProgram } from "./prepared-program.js";
import { notRecorded, RuntimeError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import type { CapturedGraph, GroupStream, PreparedRun } from "./group.js";

/** See {@link Group.capture}. */
export async function captureGraph(
  group: DeviceGroup,
  record: (stream: GroupStream) => void | Promise<void>,
): Promise<CapturedGraph> {
  // Its own stream, which lives as long as the graph: waits that were recorded report through it.
  const stream = group.stream();
  try {
    await group.prepareSignals();
    const graph = await CudaGraph.captureAsync(stream.handle, () => record(stream));
    return new RecordedGraph(group, graph, stream);
  } catch (error) {
    await stream.destroy();
    throw error;
  }
}

class RecordedGraph implements CapturedGraph {
  readonly #watched: readonly Watched[];
  /** Where the next replay goes: `launch` allocates nothing. */
  #target: DeviceStream | null = null;
  readonly #replay = (): void => this.graph.replay(this.#target!.handle);
  #isDestroyed = false;

  constructor(
    private readonly group: DeviceGroup,
    private readonly graph: CudaGraph,
    private readonly stream: DeviceStream,
  ) {
    this.#watched = stream.watched;
    group.own(this.#release);
  }

  get nodes(): number {
    return this.graph.nodes;
  }

  update(run: PreparedRun): void {
    if (this.#isDestroyed) throw new RuntimeError("the graph was destroyed");
    const found = run instanceof PreparedProgram ? run.updateIn(this.graph) : 0;
    if (found === 0) throw notRecorded();
  }

  launch(stream: GroupStream): void {
    if (this.#isDestroyed) throw new RuntimeError("the graph was destroyed");
    const own = this.group.ownStream(stream);
    this.#target = own;
    this.group.turns.pass(own, false, this.#replay);
    for (const watched of this.#watched) own.watch(watched);
  }

  async replay(): Promise<void> {
    const stream = this.group.defaultStream;
    this.launch(stream);
    await stream.synchronize("the replay of a graph");
  }

  destroy(): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    void this.#release();
  }

  /** Also what the group does when it closes. */
  readonly #release = async (): Promise<void> => {
    this.#isDestroyed = true;
    this.group.disown(this.#release);
    this.graph.destroy();
    await this.stream.destroy();
  };
}
