/** Device memory with bounds: plain allocations, and the status record that the host and kernels share. */
import { RuntimeError } from "../errors.js";
import { native, type DevicePointer, type HostAllocation, type StreamHandle } from "../native.js";
import { explain, requireDevice } from "./device.js";

/** A stretch of device memory. Copies are checked against its bounds; `free` frees it if it owns it. */
export class DeviceMemory {
  readonly device: number;
  readonly pointer: DevicePointer;
  readonly bytes: number;
  #free: (() => void) | null;

  /** A view of memory that something else owns, such as a symmetric allocation. */
  static view(device: number, pointer: DevicePointer, bytes: number): DeviceMemory {
    return new DeviceMemory(device, pointer, bytes, null);
  }

  /** Allocates, not zeroed, aligned to 256 bytes. @throws MachineError when the device is full. */
  static allocate(device: number, bytes: number): DeviceMemory {
    requireDevice(device);
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new RuntimeError(`cannot allocate ${bytes} bytes`);
    // The driver refuses zero; an empty tensor still deserves an address.
    const pointer = explain(() => native().memoryAlloc(device, Math.max(bytes, 1)));
    return new DeviceMemory(device, pointer, bytes, () => native().memoryFree(pointer));
  }

  private constructor(device: number, pointer: DevicePointer, bytes: number, free: (() => void) | null) {
    this.device = device;
    this.pointer = pointer;
    this.bytes = bytes;
    this.#free = free;
  }

  /** Writes `source` at byte `offset`; complete on return, not ordered after work on streams. */
  write(source: ArrayBufferView, offset = 0): void {
    native().copyToDevice(this.device, this.#at(offset, source.byteLength), source);
  }

  /** Reads into `target` from byte `offset`; complete on return, not ordered after work on streams. */
  read<T extends ArrayBufferView>(target: T, offset = 0): T {
    native().copyFromDevice(this.device, target, this.#at(offset, target.byteLength));
    return target;
  }

  /** Enqueues {@link write}; `source` must not change until the promise settles. */
  writeAsync(stream: StreamHandle, source: ArrayBufferView, offset = 0): Promise<void> {
    return native().copyToDeviceAsync(stream, this.#at(offset, source.byteLength), source);
  }

  /** Enqueues {@link read}; `target` holds the bytes when the promise settles. */
  readAsync(stream: StreamHandle, target: ArrayBufferView, offset = 0): Promise<void> {
    return native().copyFromDeviceAsync(stream, target, this.#at(offset, target.byteLength));
  }

  /** Sets every byte, or `bytes` of them from `offset`; complete on return. */
  fill(byte: number, offset = 0, bytes = this.bytes - offset): void {
    native().memorySet(this.device, this.#at(offset, bytes), byte, bytes);
  }

  /** Frees the memory. The caller has made sure that nothing uses it. @throws RuntimeError the second time. */
  free(): void {
    if (this.#free === null) throw new RuntimeError("device memory was freed before, or is not owned");
    const free = this.#free;
    this.#free = null;
    free();
  }

  #at(offset: number, bytes: number): DevicePointer {
    if (!Number.isSafeInteger(offset) || offset < 0 || bytes < 0 || offset + bytes > this.bytes) {
      throw new RuntimeError(`${bytes} bytes at ${offset} lie outside device memory of ${this.bytes} bytes`);
    }
    return this.pointer + BigInt(offset);
  }
}

/** What a kernel wrote when a wait ran out; see the manifest's `status` parameter. */
export interface WaitFailure {
  readonly rank: number;
  readonly peer: number;
  /** Index into the manifest's buffers. */
  readonly buffer: number;
  readonly slot: number;
  readonly wanted: number;
  readonly seen: number;
  /** Line in the `.coll` file. */
  readonly line: number;
}

/** The 16-word record that kernels write when a wait runs out: pinned host memory, readable at any time. */
export class StatusRecord {
  static readonly words = 16;
  readonly pointer: DevicePointer;
  readonly #allocation: HostAllocation;
  readonly #words: Uint32Array;

  constructor(device: number) {
    requireDevice(device);
    this.#allocation = explain(() => native().hostAlloc(device, StatusRecord.words * 4));
    this.pointer = this.#allocation.pointer;
    this.#words = new Uint32Array(this.#allocation.buffer);
  }

  /** The failure that was recorded, or null. Read it when the stream is done. */
  read(): WaitFailure | null {
    const [failed, rank, peer, buffer, slot, wanted, seen, line] = this.#words;
    if (!failed) return null;
    return {
      rank: rank! | 0,
      peer: peer! | 0,
      buffer: buffer! | 0,
      slot: slot!,
      wanted: wanted!,
      seen: seen!,
      line: line!,
    };
  }

  /** Zero again, as every launch needs it. */
  clear(): void {
    this.#words.fill(0);
  }

  free(): void {
    native().hostFree(this.#allocation.handle);
  }
}
