/** Device memory with bounds. */
import { RuntimeError } from "../errors.js";
import { native, type DevicePointer, type StreamHandle } from "../native.js";
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
