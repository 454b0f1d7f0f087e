/**
 * The kernels behind signals: one thread block each, written on the compiler's prelude, so that they wait and give up
 * exactly as compiled collectives do.
 *
 * A signal is counted, not set: a sender adds 1 to its slot in the receiver's pad and never waits; a receiver draws the
 * next number from its own counter and waits until the slot has reached it. Nothing is reset, so a graph can be replayed.
 * A barrier writes the number of the meeting into every peer's pad. A wait that ran out takes its number back: the
 * next call on the same channel asks for the same signal again.
 *
 * Messages are counted likewise, in words of 64 bits, one for each peer. A wait for them that ran out says so and goes on: nothing
 * behind it on its stream may run without what it waits for. It ends when that comes, or when the host lets go of it.
 */
import { preludeText } from "../../compiler/index.js";
import { cubinOf } from "../program.js";
import { MachineError } from "../errors.js";
import {
  native,
  type DevicePointer,
  type FunctionHandle,
  type LaunchHandle,
  type ModuleHandle,
  type StreamHandle,
} from "../native.js";
import { archOf, describeDevice, explain } from "./device.js";
import { checkCubin } from "./launch.js";
import { StatusRecord } from "./status.js";

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
static __device__ __forceinline__ bool has_come(const u64* word, u64 wanted) {
  u64 seen;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(seen) : "l"(word) : "memory");
  return seen >= wanted;
}
extern "C" __global__ void __launch_bounds__(64)
collc_await_messages(const u64* words, u64* taken, u64 peers, u32 kind, u32 step, u32 rank, u64 timeout, u32* status) {
  const Watch w = {timeout, status, rank};
  const u32 p = threadIdx.x;
  const bool mine = (peers >> p & 1) != 0;
  const u64 wanted = mine ? taken[p] + 1 : 0;
  bool come = !mine;
  volatile u32* const let_go = status + ${StatusRecord.letGoWord};
  const bool vain = *let_go != 0;
  const u64 start = global_timer();
  while (!come && !vain && (timeout == 0 || global_timer() - start <= timeout)) come = has_come(words + p, wanted);
  if (!come && !vain) atomicOr(status + ${StatusRecord.missingWord} + (p >> 5), 1u << (p & 31));
  if (!__syncthreads_and(come || vain)) {
    if (p == 0) give_up(w, 0, kind, step, 0, 0, 0);
    while (!come && *let_go == 0) {
      __nanosleep(1000);
      come = has_come(words + p, wanted);
    }
  }
  if (mine && come) taken[p] = wanted;
  __syncthreads();
  __threadfence_system();
}
`;
}

const threads = { collc_put_signal: 32, collc_wait_signal: 32, collc_barrier: 128, collc_await_messages: 64 } as const;

/** Most ranks whose words {@link Primitives.prepareAwait} waits for. */
export const MOST_AWAITED = threads.collc_await_messages;
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
      collc_await_messages: get("collc_await_messages"),
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

  /**
   * A wait until the word of each of `peers` has reached the next number that `taken` has for it, to be enqueued any number of times, also
   * in a capture. One that has run out holds its stream until the words come, or {@link StatusRecord.letGo}.
   * @param wait.words one of 64 bits for each rank, and so is `taken`
   * @param wait.peers below {@link MOST_AWAITED}
   * @param wait.kind and `step`: for the record, as `buffer` and `slot`
   */
  prepareAwait(wait: {
    readonly words: DevicePointer;
    readonly taken: DevicePointer;
    readonly peers: readonly number[];
    readonly kind: number;
    readonly step: number;
    readonly rank: number;
    readonly timeoutNs: bigint;
    readonly status: DevicePointer;
  }): { enqueue(stream: StreamHandle): void; release(): void } {
    const { words, taken, peers, kind, step, rank, timeoutNs, status } = wait;
    const mask = peers.reduce((bits, peer) => bits | (1n << BigInt(peer)), 0n);
    const launch = this.#prepare("collc_await_messages", [words, taken, mask, kind, step, rank, timeoutNs, status]);
    return {
      enqueue: (stream) => native().launchPrepared(launch, stream),
      release: () => native().launchRelease(launch),
    };
  }

  #launch(name: PrimitiveName, stream: StreamHandle, values: readonly Argument[]): void {
    const launch = this.#prepare(name, values);
    try {
      native().launchPrepared(launch, stream);
    } finally {
      native().launchRelease(launch);
    }
  }

  #prepare(name: PrimitiveName, values: readonly Argument[]): LaunchHandle {
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
    return native().launchPrepare(this.#functions[name], [1, 1, 1], [threads[name], 1, 1], 0, false, bytes, offsets);
  }

  /** Nothing may be running them. */
  unload(): void {
    native().moduleUnload(this.#module);
  }
}
