// What the cases of backends share: small exact values, device memory, waits with an end.
import { DeviceMemory } from "../../../dist/src/runtime/cuda/memory.js";
import { native } from "../../../dist/src/runtime/native.js";
import { allocate, byteLength, decodeArray, encodeArray } from "../../../dist/src/runtime/numbers/index.js";

/** Element i of rank r: small whole numbers, whose sums are exact in every dtype for up to 8 ranks. */
export const valueOf = (rank, i) => (i * 3 + rank * 5 + ((i >> 4) % 3)) % 8;

export function check(condition, message) {
  if (!condition) throw new Error(message);
}

export async function mustThrow(action, pattern) {
  let error = null;
  try {
    await action();
  } catch (e) {
    error = e;
  }
  if (error === null) throw new Error(`no error came; wanted ${pattern}`);
  if (!pattern.test(error.message)) throw new Error(`another error came: ${error.message}; wanted ${pattern}`);
  return error;
}

/** Numbers as elements of a dtype, in a view that copies take. */
export const encoded = (dtype, numbers) => encodeArray(dtype, Float64Array.from(numbers));

export function readBack(memory, dtype, count, offset = 0) {
  return Array.from(decodeArray(dtype, memory.read(allocate(dtype, count), offset)));
}

/** Compares whole arrays and says where they first differ. */
export function same(actual, wanted, what) {
  check(actual.length === wanted.length, `${what}: ${actual.length} elements, not ${wanted.length}`);
  for (let i = 0; i < wanted.length; i++) {
    if (actual[i] !== wanted[i]) throw new Error(`${what}: element ${i} is ${actual[i]}, not ${wanted[i]}`);
  }
}

export const range = (n) => Array.from({ length: n }, (_, i) => i);

/** Waits for a stream; throws when it takes longer. */
export async function settle(stream, what, timeoutMs = 20_000) {
  if (!(await native().streamSynchronize(stream, timeoutMs))) {
    throw new Error(`${what}: the stream is busy after ${timeoutMs} ms`);
  }
}

export const viewOf = (allocation) => DeviceMemory.view(allocation.device, allocation.localPointer, allocation.bytes);

export { byteLength, DeviceMemory, native };
