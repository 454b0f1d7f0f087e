/** Input data for a collective that respects the layouts of its signature, the same in every process. */
import { evaluateExtent, type DimValues, type Manifest, type SignatureTensor } from "../../compiler/index.js";
import { membersFor } from "./logical.js";
import { allocate, encode, fillPoison, fillRandom, randomKey, type TypedArray } from "../numbers/index.js";

/** One rank's tensors by name; fits `CpuGroup.run`. */
export interface RankTensors {
  readonly inputs: Record<string, TypedArray>;
  readonly outputs: Record<string, TypedArray>;
}

/** Reads elements `from` … `to` (exclusive) of a rank's input. The caller does not change the result. */
export type InputReader = (name: string, rank: number, from: number, to: number) => TypedArray;

/** Elements one rank holds of a tensor. */
export function localLength(tensor: SignatureTensor, dims: DimValues): number {
  return tensor.localShape.reduce<number>((a, e) => a * evaluateExtent(e, dims), 1);
}

function keyOf(manifest: Manifest, name: string, seed: number, rank: number): number {
  const number = manifest.inputs.findIndex((t) => t.name === name);
  const tensor = manifest.inputs[number]!;
  // Replicated ones are equal on all ranks of a row of the mesh, or of the group.
  const row = tensor.layout.axis === undefined ? 0 : membersFor(tensor, manifest, rank)[0]!;
  return randomKey(seed, number, tensor.layout.kind === "replicated" ? -1 - row : rank);
}

/**
 * One rank's inputs, random (see `fillRandom` for the distribution), and its outputs, poisoned. Replicated inputs
 * are equal on all ranks; an input `on(r)` is filled everywhere, so that junk elsewhere is seen to be ignored.
 */
export function makeRankInputs(manifest: Manifest, dims: DimValues, seed: number, rank: number): RankTensors {
  const inputs: Record<string, TypedArray> = {};
  const outputs: Record<string, TypedArray> = {};
  for (const t of manifest.inputs)
    inputs[t.name] = fillInput(t, dims, allocate(t.dtype, localLength(t, dims)), keyOf(manifest, t.name, seed, rank));
  for (const t of manifest.outputs) outputs[t.name] = fillPoison(allocate(t.dtype, localLength(t, dims)));
  return { inputs, outputs };
}

/** Random elements, within the limits of the signature. */
function fillInput(t: SignatureTensor, dims: DimValues, into: TypedArray, key: number, start = 0): TypedArray {
  fillRandom(t.dtype, into, key, start);
  if (t.values === undefined) return into;
  const from = evaluateExtent(t.values.from, dims);
  const count = Math.max(1, evaluateExtent(t.values.to, dims) - from);
  const raw = allocate("u32", into.length);
  fillRandom("u32", raw, key, start);
  for (let i = 0; i < into.length; i++) into[i] = encode(t.dtype, from + (raw[i]! % count));
  return into;
}

/** The inputs and outputs of all ranks. */
export function makeInputs(manifest: Manifest, dims: DimValues, seed: number): RankTensors[] {
  return Array.from({ length: manifest.ranks }, (_, rank) => makeRankInputs(manifest, dims, seed, rank));
}

/** Reads what `makeInputs` would make, piece by piece: for a process that holds one rank of a large run. */
export function generatedInputs(manifest: Manifest, dims: DimValues, seed: number): InputReader {
  return (name, rank, from, to) => {
    const tensor = manifest.inputs.find((t) => t.name === name)!;
    const start = from - (from % 2);
    const into = allocate(tensor.dtype, to - start);
    return fillInput(tensor, dims, into, keyOf(manifest, name, seed, rank), start).subarray(from - start);
  };
}

/** Reads from arrays at hand. */
export function heldInputs(ranks: readonly { readonly inputs: Readonly<Record<string, TypedArray>> }[]): InputReader {
  return (name, rank, from, to) => ranks[rank]!.inputs[name]!.subarray(from, to);
}
