/** Copies that a program gives the copy engines, on emulated ranks: a step between launches has them, or one beside them (`messages.ts`). */
import {
  type Copy,
  type CopyEnd,
  type DimValues,
  elementsOf,
  type ProgramMemory,
  rowsOf,
} from "../../compiler/index.js";
import type { Tensor } from "../group.js";
import { hostTensor } from "../host-primitives.js";
import { copyInto, type TypedArray } from "../numbers/index.js";
import type { PersistentMemory } from "./memory.js";

/** What copies go between. */
interface HeldByProgram {
  readonly tensors: Readonly<Record<string, Tensor>>;
  readonly memory: PersistentMemory;
  readonly wanted: readonly ProgramMemory[];
}

/** @param written what is known of the elements of the target's tensors, if anything is */
export function copyRows(copy: Copy, held: HeldByProgram, dims: DimValues, written: Map<string, Uint8Array>): void {
  const found = rowsOf(copy, dims);
  if (found === null) return;
  const { rows, length, from, to } = found;
  const source = placeOf(copy.from, held, dims).array;
  const target = placeOf(copy.to, held, dims);
  const shadow = target.written ?? written.get(copy.to.tensor) ?? new Uint8Array(target.array.length);
  if (target.written === null) written.set(copy.to.tensor, shadow);
  for (let row = 0; row < rows; row++) {
    const start = from.offset + row * from.pitch;
    const first = to.offset + row * to.pitch;
    copyInto(target.array.subarray(first), source.subarray(start, start + length));
    shadow.fill(1, first, first + length);
  }
}

function placeOf(
  { tensor, rank, isMemory }: CopyEnd,
  { tensors, memory, wanted }: HeldByProgram,
  dims: DimValues,
): { readonly array: TypedArray; readonly written: Uint8Array | null } {
  if (isMemory !== true) return { array: hostTensor(tensors[tensor]!).of(rank), written: null };
  const { name, dtype, shape, counts } = wanted.find((m) => m.name === tensor)!;
  return memory.of({ name, dtype, role: counts === true ? "state" : "scratch" }, rank, elementsOf(shape, dims));
}
