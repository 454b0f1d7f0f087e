/** Input data for a collective that respects the layouts of its signature, the same in every process. */
import {
  elementsOf,
  DTYPES,
  evaluateExtent,
  greatestCommon,
  hasAxes,
  leaderOf,
  type DimValues,
  type DType,
  type Manifest,
  type SignatureTensor,
} from "../../compiler/index.js";
import {
  allocate,
  decodeInto,
  elementOf,
  fillPoison,
  fillRandom,
  randomKey,
  textKey,
  type TypedArray,
} from "../numbers/index.js";

/** One rank's tensors by name; fits `CpuGroup.run`. */
export interface RankTensors {
  readonly inputs: Record<string, TypedArray>;
  readonly outputs: Record<string, TypedArray>;
}

/** Reads elements `from` … `to` (exclusive) of a rank's input. The caller does not change the result. */
export type InputReader = (name: string, rank: number, from: number, to: number) => TypedArray;

/** Elements one rank holds of a tensor. */
export function localLength(tensor: SignatureTensor, dims: DimValues): number {
  return elementsOf(tensor.localShape, dims);
}

const programKeys = new WeakMap<Manifest, number>();

/** Of what the program computes, not of how it does: the same data for each mapping and arch. */
function programKey(manifest: Manifest): number {
  let key = programKeys.get(manifest);
  if (key === undefined) {
    const { collective, dtypes, specification } = manifest;
    programKeys.set(manifest, (key = textKey(JSON.stringify([collective, dtypes, specification]))));
  }
  return key;
}

/** Different for each program, input, seed and rank: tensors and programs have nothing in common. */
function keyOf(manifest: Manifest, name: string, seed: number, rank: number): number {
  const tensor = manifest.inputs.find((t) => t.name === name)!;
  // Replicated ones are equal on all ranks of a row of the mesh, or of the group.
  const { layout } = tensor;
  const whose = hasAxes(layout) ? leaderOf(layout, manifest.mesh, rank) : layout.kind === "replicated" ? -1 : rank;
  return randomKey(seed, programKey(manifest), textKey(name), whose);
}

/**
 * One rank's inputs, random (see `fillRandom` for the distribution; a few floats are up to 8 times as large), and its outputs, poisoned. Replicated inputs
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
  if (DTYPES[t.dtype].kind === "float") addOutliers(t.dtype, into, key, start);
  if (t.values === undefined) return into;
  const from = evaluateExtent(t.values.from, dims);
  const count = Math.max(1, evaluateExtent(t.values.to, dims) - from);
  for (let i = 0; i < into.length; i++) into[i] = elementOf(t.dtype, from + chosen(key, start + i, count));
  return into;
}

/** Of each run of so many elements, ends and another may be larger than all that is uniform. */
const RUN = 64;

/**
 * Makes a few floats 2, 4 or 8 times as large: the first and the last of a run more often than others. Where a row's scale or
 * maximum leaves an end of the row out, the value there is far beyond it, and not as large as its neighbours.
 */
function addOutliers(dtype: DType, into: TypedArray, key: number, start: number): void {
  const enlarge = (i: number, bits: number): void => {
    const at = i - start;
    if (at < 0 || at >= into.length || (bits & 1) === 1) return;
    const [value] = decodeInto(dtype, into.subarray(at, at + 1), new Float64Array(1));
    into[at] = elementOf(dtype, value! * 2 ** (1 + ((bits >> 1) % 3)));
  };
  for (let run = Math.floor(start / RUN); run * RUN < start + into.length; run++) {
    const bits = randomKey(key, run, 3);
    enlarge(run * RUN, bits & 15);
    enlarge(run * RUN + RUN - 1, (bits >>> 4) & 15);
    if ((bits >>> 8) % 4 === 0) enlarge(run * RUN + 1 + ((bits >>> 10) % (RUN - 2)), (bits >>> 16) & 14);
  }
}

/**
 * One of `count` choices for element i. Every other run of `count` elements has each of them once, so that what routes,
 * with a choice for each rank, leaves none out; the runs between are random, with choices that are taken twice and not at all.
 */
function chosen(key: number, i: number, count: number): number {
  const run = Math.floor(i / count);
  if (run % 2 === 1) return randomKey(key, i) % count;
  // The step has no divisor in common with the count, so that it leads to each choice.
  let step = 1 + (randomKey(key, run, 1) % count);
  while (greatestCommon(step, count) !== 1) step++;
  return (randomKey(key, run, 2) + (i % count) * step) % count;
}

/** The inputs and outputs of all ranks. */
export function makeInputs(manifest: Manifest, dims: DimValues, seed: number): RankTensors[] {
  return Array.from({ length: manifest.ranks }, (_, rank) => makeRankInputs(manifest, dims, seed, rank));
}

/** Reads what `makeInputs` would make, piece by piece: for a process that holds one rank of a large run. */
export function generatedInputs(manifest: Manifest, dims: DimValues, seed: number): InputReader {
  // Elements of a column are read one by one.
  const tensors = new Map(
    manifest.inputs.map((tensor) => [
      tensor.name,
      { tensor, keys: Array.from({ length: manifest.ranks }, (_, r) => keyOf(manifest, tensor.name, seed, r)) },
    ]),
  );
  return (name, rank, from, to) => {
    const { tensor, keys } = tensors.get(name)!;
    const start = from - (from % 2);
    const into = allocate(tensor.dtype, to - start);
    return fillInput(tensor, dims, into, keys[rank]!, start).subarray(from - start);
  };
}

/** Reads from arrays at hand. */
export function heldInputs(ranks: readonly { readonly inputs: Readonly<Record<string, TypedArray>> }[]): InputReader {
  return (name, rank, from, to) => ranks[rank]!.inputs[name]!.subarray(from, to);
}

const decoded = new WeakMap<InputReader, Map<string, Float64Array>>();

/** All elements of one rank's input as numbers, kept for whoever asks the reader again. */
export function decodedInput(
  read: InputReader,
  { name, dtype }: Pick<SignatureTensor, "name" | "dtype">,
  rank: number,
  size: number,
): Float64Array {
  let arrays = decoded.get(read);
  if (arrays === undefined) decoded.set(read, (arrays = new Map()));
  const key = `${name} ${rank}`;
  let array = arrays.get(key);
  if (array === undefined)
    arrays.set(key, (array = decodeInto(dtype, read(name, rank, 0, size), new Float64Array(size))));
  return array;
}

/** Elements that are read and decoded together. */
const BLOCK = 1 << 10;

/** Elements of an input that is too long to be decoded whole, of which those that are asked for one after the other lie close to each other. */
export class InputBlocks {
  /** By rank, the block that was asked for last. */
  private readonly blocks: { readonly start: number; readonly values: Float64Array }[] = [];

  constructor(
    private readonly read: InputReader,
    private readonly tensor: Pick<SignatureTensor, "name" | "dtype">,
    private readonly size: number,
  ) {}

  readonly at = (rank: number, index: number): number => {
    const known = this.blocks[rank];
    if (known !== undefined && index >= known.start && index < known.start + known.values.length)
      return known.values[index - known.start]!;
    const start = index - (index % BLOCK);
    const end = Math.min(start + BLOCK, this.size);
    const { name, dtype } = this.tensor;
    const values = decodeInto(dtype, this.read(name, rank, start, end), new Float64Array(end - start));
    this.blocks[rank] = { start, values };
    return values[index - start]!;
  };
}
