/**
 * The kernels behind signals: one thread block each, written on the compiler's prelude, so that they wait and give up
 * exactly as compiled collectives do.
 *
 * A signal is counted, not set: a sender adds 1 to its slot in the receiver's pad and never waits; a receiver draws the
 * next number from its own counter and waits until the slot has reached it. Nothing is reset, so a graph can be replayed.
 * A barrier writes the number of the meeting into every peer's pad. A wait that ran out takes its number back: the
 * next call on the same channel asks for the same signal again.
 */
import { preludeText } from "../../compiler/index.js";
import { cubinOf } from "../program.js";
import { MachineError } from "../errors.js";
import { native, type DevicePointer, type FunctionHandle, type ModuleHandle, type StreamHandle } from "../native.js";
import { archOf, describeDevice, explain } from "./device.js";
import { checkCubin } from "./launch.js";

/** `kind` in the status record of a wait that ran out. */
export const waitKinds = ["signal", "barrier"] as const;

/** The text that NVRTC compiles. */
export function primitivesText(): string {
  return `${preludeText(new Set(["types", "signals"]))}
static __device__ __forceinline__ bool wait_for(const u32* flag, u32 wanted, const Watch& w, u32 peer, u32 kind, u32 slot) {
  u64 start = 0;
  for (u32 spins = 1;; spins++) {
    u32 seen;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    if ((int)(seen - wanted) >= 0) return true;
    if ((spins & 255u) != 0) continue;
    const u64 now = global_timer();
    if (start == 0) start = now;
    const bool late = w.timeout != 0 && now - start > w.timeout;
    if (late) give_up(w, peer, kind, slot, wanted, seen, 0);
    if (late || *(volatile u32*)w.status != 0) return false;
  }
}
extern "C" __global__ void __launch_bounds__(32) collc_put_signal(u32* slot) {
  __threadfence_system();
  if (threadIdx.x == 0) signal_add_release_sys(slot, 1u);
}
extern "C" __global__ void __launch_bounds__(32)
collc_wait_signal(const u32* slot, u32* taken, u32 peer, u32 index, u32 rank, u64 timeout, u32* status) {
  const Watch w = {timeout, status, rank};
  if (threadIdx.x == 0) {
    const u32 ticket = atomicAdd(taken, 1u) + 1u;
    if (!wait_for(slot, ticket, w, peer, 0, index)) atomicSub(taken, 1u);
  }
  __syncwarp();
  __threadfence_system();
}
extern "C" __global__ void __launch_bounds__(128)
collc_barrier(u32* const* pads, u32* epoch, u32 offset, u32 rank, u32 world, u64 timeout, u32* status) {
  const Watch w = {timeout, status, rank};
  const u32 wanted = *epoch + 1u;
  __threadfence_system();
  int arrived = 1;
  for (u32 p = threadIdx.x; p < world; p += blockDim.x) signal_set_release_sys(pads[p] + offset + rank, wanted);
  for (u32 p = threadIdx.x; p < world; p += blockDim.x)
    arrived &= wait_for(pads[rank] + offset + p, wanted, w, p, 1, offset + p);
  if (__syncthreads_and(arrived) && threadIdx.x == 0) *epoch = wanted;
  __threadfence_system();
}
`;
}

const threads = { collc_put_signal: 32, collc_wait_signal: 32, collc_barrier: 128 } as const;
type PrimitiveName = keyof typeof threads;

/** A parameter: a bigint is an address or a time of 8 bytes, a number a word of 4. */
type Argument = bigint | number;

/** The kernels, loaded on one device. */
export class Primitives {
  readonly #module: ModuleHandle;
  readonly #functions: Readonly<Record<PrimitiveName, FunctionHandle>>;

  private constructor(device: number, cubin: Uint8Array) {
    checkCubin(cubin);
    const addon = native();
    this.#module = explain(() => addon.moduleLoad(device, cubin));
    const get = (name: PrimitiveName): FunctionHandle => {
      const fn = addon.functionGet(this.#module, name);
      // Loads its code now. At its first launch the driver would wait for the kernels that run, and one of them may be
      // waiting for this one.
      addon.functionAttributes(fn);
      return fn;
    };
    this.#functions = {
      collc_put_signal: get("collc_put_signal"),
      collc_wait_signal: get("collc_wait_signal"),
      collc_barrier: get("collc_barrier"),
    };
  }

  /** Compiles them, or takes them from the cache. @throws MachineError without NVRTC. */
  static async load(device: number): Promise<Primitives> {
    const description = describeDevice(device);
    if (description.computeMajor < 7)
      throw new MachineError(`GPU ${device} (${description.name}) is too old for signals at system scope`);
    return new Primitives(device, await cubinOf(primitivesText(), archOf(description)));
  }

  /** Adds 1 to a slot of a peer's pad. Enqueued. */
  putSignal(stream: StreamHandle, slot: DevicePointer): void {
    this.#launch("collc_put_signal", stream, [slot]);
  }

  /** Waits until `slot` has reached the next number of the counter `taken`. Enqueued. */
  waitSignal(
    stream: StreamHandle,
    wait: {
      readonly slot: DevicePointer;
      readonly taken: DevicePointer;
      readonly peer: number;
      /** Of the slot, for the message. */
      readonly index: number;
      readonly rank: number;
      readonly timeoutNs: bigint;
      readonly status: DevicePointer;
    },
  ): void {
    const { slot, taken, peer, index, rank, timeoutNs, status } = wait;
    this.#launch("collc_wait_signal", stream, [slot, taken, peer, index, rank, timeoutNs, status]);
  }

  /** Meets all ranks. `pads`: every rank's pad, a table in device memory; `offset`: words to the channel's slots. */
  barrier(
    stream: StreamHandle,
    meeting: {
      readonly pads: DevicePointer;
      readonly epoch: DevicePointer;
      readonly offset: number;
      readonly rank: number;
      readonly world: number;
      readonly timeoutNs: bigint;
      readonly status: DevicePointer;
    },
  ): void {
    const { pads, epoch, offset, rank, world, timeoutNs, status } = meeting;
    this.#launch("collc_barrier", stream, [pads, epoch, offset, rank, world, timeoutNs, status]);
  }

  #launch(name: PrimitiveName, stream: StreamHandle, values: readonly Argument[]): void {
    const offsets: number[] = [];
    let size = 0;
    for (const value of values) {
      const width = typeof value === "bigint" ? 8 : 4;
      size = Math.ceil(size / width) * width;
      offsets.push(size);
      size += width;
    }
    const bytes = new Uint8Array(size);
    const view = new DataView(bytes.buffer);
    values.forEach((value, i) => {
      if (typeof value === "bigint") view.setBigUint64(offsets[i]!, value, true);
      else view.setUint32(offsets[i]!, value, true);
    });
    const addon = native();
    const fn = this.#functions[name];
    const launch = addon.launchPrepare(fn, [1, 1, 1], [threads[name], 1, 1], 0, false, bytes, offsets);
    try {
      addon.launchPrepared(launch, stream);
    } finally {
      addon.launchRelease(launch);
    }
  }

  /** Nothing may be running them. */
  unload(): void {
    native().moduleUnload(this.#module);
  }
}
