/** Programs with everything decided for a launch: their steps, one call each. */
import type { DimValues, Manifest } from "../compiler/index.js";
import { type CudaGraph, noted, PreparedLaunch, updateNoted } from "./cuda/index.js";
import type { DeviceStream, Watched } from "./device-stream.js";
import { RuntimeError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import type { GroupStream, PreparedRun, RecordedRun } from "./group.js";
import type { PreparedCall } from "./message-carrier.js";
import type { MessageLane, PlacedCall } from "./message-lane.js";
import { withNumbers } from "./shapes.js";

/** A program that is loaded. */
interface Launched extends Watched {
  readonly manifest: Manifest;
}

/** Steps with everything decided: a launch costs the driver's calls, and allocates nothing. */
export class PreparedProgram implements PreparedRun {
  private stream: DeviceStream | null = null;
  private isReleased = false;
  private readonly enqueueAll = (): void => this.enqueue(this.stream!);

  constructor(
    private readonly group: DeviceGroup,
    private readonly program: Launched,
    private readonly launches: readonly PreparedCall[],
    /** Where messages go on beside launches. */
    private readonly beside: { readonly lane: MessageLane; readonly placed: readonly PlacedCall[] } | null,
    private dims: DimValues,
  ) {}

  set(numbers: DimValues): void {
    this.requireHeld();
    this.dims = withNumbers(this.program.manifest, this.dims, numbers);
    for (const launch of this.launches) if (launch instanceof PreparedLaunch) launch.setNumbers(this.dims);
  }

  /** @returns how many of its launches the graph has */
  updateIn(graph: CudaGraph): number {
    this.requireHeld();
    return this.launches.reduce((n, launch) => (launch instanceof PreparedLaunch ? n + graph.update(launch) : n), 0);
  }

  record(stream: GroupStream): RecordedRun {
    this.requireHeld();
    const nodes = noted(this.group.ownStream(stream).handle, () => this.launch(stream));
    return {
      update: (executable) => {
        this.requireHeld();
        updateNoted(nodes, this.group.device, executable);
      },
    };
  }

  private requireHeld(): void {
    if (this.isReleased) throw new RuntimeError("the prepared launch was released");
  }

  launch(stream: GroupStream): void {
    this.requireHeld();
    const own = this.group.ownStream(stream);
    this.stream = own;
    this.group.turns.pass(own, own.isRecording, this.enqueueAll);
    own.watch(this.program);
  }

  /** On a stream that has its turn. */
  enqueue(stream: DeviceStream): void {
    if (this.beside !== null) this.beside.lane.enqueue(stream.handle, this.beside.placed);
    else for (const launch of this.launches) launch.enqueue(stream.handle);
  }

  release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    for (const launch of this.launches) launch.release();
  }
}
