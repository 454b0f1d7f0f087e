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
import { decode } from "../numbers/index.js";
import { decodedInput, type InputReader } from "./inputs.js";
import { givenTo } from "./logical.js";
import { Windows } from "./program-windows.js";

/** What the signature says of an element, and how far from it the element is. */
export interface SignatureElement {
  readonly value: number;
  readonly tolerance: number;
  /** Size of what it is made of, about: of a sum, of its terms. */
  readonly size: number;
  readonly distance: number;
}

/** An element as the program means it, in float64, and how far its roundings may lead from it. */
export interface RoundedElement {
  readonly value: number;
  readonly error: number;
}

/** Null where nothing is known. */
export type ProgramElement = (
  output: string,
  rank: number,
  index: number,
  says: SignatureElement,
) => RoundedElement | null;

/** Elements that an execution goes through, up to which it is carried out once more: that takes some ten seconds. */
const MOST_WORK = 2 ** 23;

/** The float64 evaluation of a program errs by so much of what is allowed for its roundings, at most. */
const NOISE = 2 ** -20;

/** Whether the program means what the signature says; where nothing is known of the error, as of what overflowed, it explains nothing. */
export function isMeant({ value, error }: RoundedElement, says: SignatureElement): boolean {
  return error > 0 && error < Infinity && Math.abs(value - says.value) <= says.tolerance + NOISE * error;
}

/** Whether a program is carried out once more as a whole, so that what its own roundings come to is known. */
export const isCarriedOut = (kernel: Kernel, dims: DimValues): boolean => executionWork(kernel, dims) <= MOST_WORK;

/**
 * The elements of each launch, of successive ones on the same memory. The program is carried out when somebody asks first: whole, or, where
 * it has too many elements for that, in parts (see {@link Windows}). Nobody is told anything of programs that cannot be followed.
 *
 * @param readers the inputs of each launch
 */
export function programElements(
  kernel: Kernel,
  manifest: Manifest,
  dims: DimValues,
  readers: readonly InputReader[],
): (launch: number) => ProgramElement {
  // After the last launch the caller writes inputs once more, which nobody reads.
  const readerOf = (launch: number): InputReader => readers[Math.min(launch, readers.length - 1)]!;
  const isWhole = isCarriedOut(kernel, dims);
  const scalars = new Set(manifest.scalars.map(({ name }) => name));
  const tensors = new Map(manifest.inputs.map((t) => [t.name, { tensor: t, size: elementsOf(t.localShape, dims) }]));
  const given = (launch: number, name: string, rank: number, index: number): number => {
    if (scalars.has(name)) return givenTo(name, manifest, dims);
    const { tensor, size } = tensors.get(name)!;
    const read = readerOf(launch);
    const holder = Math.max(rank, 0);
    if (isWhole && tensor.dtype !== "i64") return decodedInput(read, tensor, holder, size)[index]!;
    const element = read(name, holder, index, index + 1)[0]!;
    return typeof element === "bigint" ? Number(element) : decode(tensor.dtype, element);
  };
  if (!isWhole) {
    let windows: Windows | null = null;
    return (launch) => (output, rank, index, says) => {
      windows ??= new Windows({ kernel, manifest, dims, launches: readers.length, given });
      return windows.element(launch, output, rank, index, says);
    };
  }
  let made: RoundedOutputs | null | undefined;
  return (launch) => (output, rank, index) => {
    if (made === undefined) made = roundedOutputs(kernel, { dims, launches: readers.length, given });
    return made?.(launch, output, rank, index) ?? null;
  };
}
