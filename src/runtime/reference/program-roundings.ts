/** What the roundings of a program come to at the data that it was given: where the signature alone allows too little. */
import {
  type DimValues,
  elementsOf,
  executionWork,
  type Kernel,
  type Manifest,
  roundedOutputs,
  type RoundedOutputs,
} from "../../compiler/index.js";
import { decodedInput, type InputReader } from "./inputs.js";
import { givenTo } from "./logical.js";

/** An element as the program means it, in float64, and how far its roundings may lead from it. */
export type ProgramElement = (
  output: string,
  rank: number,
  index: number,
) => { readonly value: number; readonly error: number } | null;

/** Elements that an execution goes through, up to which it is carried out once more: that takes some ten seconds. */
const MOST_WORK = 2 ** 23;

/**
 * The elements of each launch, of successive ones on the same memory. The program is carried out when somebody asks first.
 * Nobody is told anything of programs with too many elements, or that cannot be followed.
 *
 * @param readers the inputs of each launch
 */
export function programElements(
  kernel: Kernel,
  manifest: Manifest,
  dims: DimValues,
  readers: readonly InputReader[],
): (launch: number) => ProgramElement {
  const scalars = new Set(manifest.scalars.map(({ name }) => name));
  const tensors = new Map(manifest.inputs.map((t) => [t.name, { tensor: t, size: elementsOf(t.localShape, dims) }]));
  const given = (launch: number, name: string, rank: number, index: number): number => {
    if (scalars.has(name)) return givenTo(name, manifest, dims);
    const { tensor, size } = tensors.get(name)!;
    // After the last launch the caller writes inputs once more, which nobody reads.
    const read = readers[Math.min(launch, readers.length - 1)]!;
    const holder = Math.max(rank, 0);
    if (tensor.dtype === "i64") return Number(read(name, holder, index, index + 1)[0]!);
    return decodedInput(read, tensor, holder, size)[index]!;
  };
  let made: RoundedOutputs | null | undefined;
  const carriedOut = (): RoundedOutputs | null =>
    executionWork(kernel, dims) > MOST_WORK ? null : roundedOutputs(kernel, { dims, launches: readers.length, given });
  return (launch) => (output, rank, index) => {
    if (made === undefined) made = carriedOut();
    return made?.(launch, output, rank, index) ?? null;
  };
}
