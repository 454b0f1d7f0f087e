/** What the roundings of a program come to at the data that it was given: where the signature alone allows too little. */
import {
  type DimValues,
  elementsOf,
  DTYPES,
  executionWork,
  fitDims,
  type Kernel,
  type Manifest,
  roundedOutputs,
  type RoundedOutputs,
  specificationsOf,
} from "../../compiler/index.js";
import { isNarrowFloat, SMALLEST_STEP } from "../numbers/index.js";
import { decodedInput, type InputReader } from "./inputs.js";
import { givenTo, membersFor } from "./logical.js";

/** What the signature says of an element. */
export interface SignatureElement {
  readonly value: number;
  /** Of a sum over ranks: the sum of its parts' magnitudes. */
  readonly size: number | null;
}

/** An element as the program means it, in float64, and how far its roundings may lead from it. */
export type ProgramElement = (
  output: string,
  rank: number,
  index: number,
  signature: SignatureElement,
) => { readonly value: number; readonly error: number } | null;

/** Elements that an execution goes through, up to which it is carried out once more: that takes some ten seconds. */
const MOST_WORK = 2 ** 23;

/** The same of an execution that shows what becomes of one rank's part of a sum. */
const MOST_WORK_OF_PART = 2 ** 17;

/**
 * The elements of each launch, of successive ones on the same memory. The program is carried out when somebody asks first.
 * Of programs with too many elements those that add up an input over ranks are known by `errorOfParts`, of others nothing is said, nor of those
 * that cannot be followed.
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
  if (executionWork(kernel, dims) > MOST_WORK) {
    let parts: ErrorOfParts | null | undefined;
    return () =>
      (_output, _rank, _index, { value, size }) => {
        if (parts === undefined) parts = errorOfParts(kernel, manifest, dims);
        return parts === null || size === null ? null : { value, error: parts.relative * size + parts.absolute };
      };
  }
  let made: RoundedOutputs | null | undefined;
  return (launch) => (output, rank, index) => {
    if (made === undefined) made = roundedOutputs(kernel, { dims, launches: readers.length, given });
    return made?.(launch, output, rank, index) ?? null;
  };
}

/** An error of at most `relative` times the sum of the parts' magnitudes, and `absolute`. */
interface ErrorOfParts {
  readonly relative: number;
  readonly absolute: number;
}

/** A part that no float has all digits of. */
const PART = 4 / 3;

/**
 * What roundings come to in a program whose one output is the sum of its one input over ranks. Each rank's part goes through as many
 * of them whatever the others' are: what each comes to alone, seen where there are few elements, they come to at most together, since roundings
 * of a sum of parts are no larger than those of all parts by themselves. Null of other programs, and where the sum is none.
 */
function errorOfParts(kernel: Kernel, manifest: Manifest, dims: DimValues): ErrorOfParts | null {
  const [input, output] = [manifest.inputs[0]!, manifest.outputs[0]!];
  const says = specificationsOf(manifest.specification)[0] ?? null;
  const isSum = says?.kind === "input" && input.layout.kind === "partial" && input.layout.op === "sum";
  if (!isSum || manifest.inputs.length * manifest.outputs.length !== 1 || manifest.scalars.length > 0) return null;
  const few = fewElements(kernel, manifest, dims);
  if (few === null) return null;
  let relative = 0;
  for (let part = 0; part < manifest.ranks; part++) {
    const given = (_launch: number, _name: string, rank: number): number => (rank === part ? PART : 0);
    const made = roundedOutputs(kernel, { dims: few, launches: 1, given });
    if (made === null) return null;
    for (let rank = 0; rank < manifest.ranks; rank++)
      for (let i = 0; i < elementsOf(output.localShape, few); i++) {
        const element = made(0, output.name, rank, i);
        if (element === null) continue;
        const wanted = membersFor(input, manifest, rank).includes(part) ? PART : 0;
        if (!(Math.abs(element.value - wanted) <= element.error)) return null;
        relative = Math.max(relative, element.error / PART);
      }
  }
  // What lies below the smallest step of a dtype is lost at each rounding, of each part.
  const { dtype } = input;
  const steps = Math.ceil(relative / DTYPES[dtype].epsilon) * manifest.ranks;
  return { relative, absolute: isNarrowFloat(dtype) ? (steps * SMALLEST_STEP[dtype]) / 2 : 0 };
}

/** Dimensions of a launch with few elements; null where the requirements allow none. */
function fewElements(kernel: Kernel, manifest: Manifest, dims: DimValues): DimValues | null {
  for (let less = 2; less <= 2 ** 40; less *= 2) {
    const wanted = Object.fromEntries(manifest.dims.map((name) => [name, Math.max(1, Math.ceil(dims[name]! / less))]));
    const few = fitDims(manifest.requirements, wanted, new Set(manifest.dims));
    if (executionWork(kernel, few) <= MOST_WORK_OF_PART) return few;
    if (manifest.dims.every((name) => few[name]! === 1)) return null;
  }
  return null;
}
