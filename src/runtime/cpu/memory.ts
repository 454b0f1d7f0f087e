/** Buffers a loaded kernel owns on every rank: they outlive launches, and grow when dimensions do. */
import type { Buffer } from "../../compiler/index.js";
import { allocate, copyInto, fillPoison, type TypedArray } from "../numbers/index.js";

interface Held {
  readonly whole: TypedArray;
  readonly written: Uint8Array;
}

/**
 * Scratch is poisoned when allocated, signal and state memory zeroed; neither is touched again, so that
 * launches see what earlier ones left behind, as on a GPU.
 */
export class PersistentMemory {
  private readonly held = new Map<string, Held>();

  /** The first `length` elements of rank `rank`'s buffer, and the record of which were ever written. */
  of(
    buffer: Pick<Buffer, "name" | "dtype" | "role" | "memory">,
    rank: number,
    length: number,
  ): { readonly array: TypedArray; readonly written: Uint8Array } {
    const key = `${buffer.memory ?? buffer.name}@${rank}`;
    let h = this.held.get(key);
    if (h === undefined || h.whole.length < length) {
      const whole = allocate(buffer.dtype, length);
      const written = new Uint8Array(length);
      if (buffer.role === "scratch") fillPoison(whole);
      if (h !== undefined) {
        copyInto(whole, h.whole);
        written.set(h.written);
      }
      h = { whole, written };
      this.held.set(key, h);
    }
    return { array: h.whole.subarray(0, length), written: h.written.subarray(0, length) };
  }

  /** All of a buffer as it is now, or undefined if no launch has needed it yet. */
  peek(name: string, rank: number): TypedArray | undefined {
    return this.held.get(`${name}@${rank}`)?.whole;
  }
}
