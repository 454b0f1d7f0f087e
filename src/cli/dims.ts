/** Values for a collective's dimensions: defaults, and what a person gave, checked with help. */
import {
  brokenRequirement,
  choiceOf,
  launchesOf,
  DTYPES,
  elementsOf,
  fitDims,
  hasProduct,
  workOfRank,
  type CompileResult,
  type Kernel,
  isParameter,
  type DimValues,
  type Manifest,
} from "../compiler/index.js";
import { bytes } from "../bench/format.js";
import { UsageError } from "../runtime/errors.js";
import { checkScalars, someScalars } from "../runtime/shapes.js";
import { suggestion } from "./suggest.js";

type Dims = Pick<Manifest, "collective" | "dims" | "requirements" | "inputs" | "outputs" | "specification">;

/** Elements of a default dimension. Products are slow to emulate, so they get smaller ones there. */
const defaults = { vector: 2 ** 20, matrix: 1024, emulatedProduct: 256 } as const;

/** Elements of a whole tensor that the defaults stay below: tensors of many dimensions, and of blocks of a fixed length, get shorter ones. */
const largest = { device: 2 ** 26, emulated: 2 ** 22, emulatedProduct: 2 ** 19 } as const;

/** Operations on elements that all ranks may have at default dimensions: the emulation goes through as many, and so does the reference. */
const MOST_OPERATIONS = 2 ** 27;

/** As many operations take as long as to emulate one thread from one point of synchronisation to the next, if it does nothing there. */
const OPERATIONS_OF_STRETCH = 8;

/**
 * The dimensions of a run: `given`, and defaults for the rest, changed until they fit.
 * @param emulated the cpu backend runs it.
 * @param operations of all ranks at dimensions, where they may be many more than tensors have elements: then the defaults are shorter.
 * @throws UsageError for names the collective does not have, and for values that a requirement forbids.
 */
export function chooseDims(
  manifest: Dims,
  given: DimValues,
  emulated: boolean,
  operations: ((dims: DimValues) => number) | null = null,
): Record<string, number> {
  for (const name of Object.keys(given)) {
    if (manifest.dims.includes(name)) continue;
    throw new UsageError(
      `${manifest.collective} has no dimension '${name}'`,
      suggestion(name, manifest.dims, "dimensions"),
    );
  }
  const free = new Set(manifest.dims.filter((name) => given[name] === undefined));
  const defaults = defaultsFor(manifest, given, emulated);
  const fit = (shorter: number): Record<string, number> => {
    const lengths = Object.entries(defaults).map(([name, n]) => [name, Math.max(1, n / shorter)]);
    return fitDims(manifest.requirements, { ...Object.fromEntries(lengths), ...given }, free);
  };
  let dims = fit(1);
  for (let shorter = 1; operations !== null && free.size > 0 && shorter <= 2 ** 20;) {
    const asked = operations(dims);
    if (asked <= MOST_OPERATIONS) break;
    // To find that there are too many to count takes seconds.
    shorter *= asked === Infinity ? 16 : 2;
    dims = fit(shorter);
  }
  const broken = brokenRequirement(manifest.requirements, dims);
  if (broken === null) return dims;
  // A requirement may ask for much less.
  for (let shorter = 2; free.size > 0 && shorter <= 2 ** 20; shorter *= 2) {
    const fewer = fit(shorter);
    if (brokenRequirement(manifest.requirements, fewer) === null) return fewer;
  }
  throw new UsageError(broken.message, broken.help);
}

/**
 * Operations on elements at dimensions, of a program that holds loops along lengths: in loops over elements, as `sum(k in 0..i)`, where a prefix
 * of each element takes as many steps as there are pairs of them, or around such loops, with all ranks' meetings in them. Null for any other program.
 */
export function operationsOf({ checked, kernel }: CompileResult): ((dims: DimValues) => number) | null {
  if (checked === null || kernel === null || !holdsLongLoops(checked.syntax.body)) return null;
  const last = kernel.world - 1;
  return (dims) => {
    const { stretches, grid } = workAt(kernel, last, dims) ?? { stretches: [], grid: Infinity };
    const ofElements = stretches.reduce((sum, { scalarOps }) => sum + scalarOps, 0);
    const ofThreads = grid * kernel.blockThreads * Math.max(1, stretches.length) * OPERATIONS_OF_STRETCH;
    return kernel.world * (ofElements + ofThreads);
  };
}

/** Null where ranks meet too often for anybody to count. */
function workAt(kernel: Kernel, rank: number, dims: DimValues): ReturnType<typeof workOfRank> | null {
  try {
    return workOfRank(kernel, rank, dims);
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

function holdsLongLoops(part: unknown): boolean {
  if (typeof part !== "object" || part === null) return false;
  const { kind, range } = part as { kind?: string; range?: { kind: string; to?: unknown } };
  if (kind === "serial" && isOfLengths(range?.kind === "bounds" ? range.to : range)) return true;
  return Object.values(part).some(holdsLongLoops);
}

/** Whether a bound names something: a length, or what may be made of one. */
function isOfLengths(bound: unknown): boolean {
  if (typeof bound !== "object" || bound === null) return false;
  const { kind, name } = bound as { kind?: string; name?: string };
  return (kind === "name" && name !== "world") || Object.values(bound).some(isOfLengths);
}

/**
 * The numbers that a run is given: `given`, and defaults for the rest, which are neither 0 nor 1, so that it matters whether they count.
 * @throws UsageError for names the collective does not have, and for values that their dtypes do not have.
 */
export function chooseScalars(manifest: Manifest, given: DimValues = {}): Record<string, number> {
  const names = manifest.scalars.map(({ name }) => name);
  for (const name of Object.keys(given))
    if (!names.includes(name))
      throw new UsageError(`${manifest.collective} takes no number '${name}'`, suggestion(name, names, "numbers"));
  const numbers = { ...someScalars(manifest), ...given };
  checkScalars(manifest, numbers);
  return numbers;
}

function defaultsFor(manifest: Dims, given: DimValues, emulated: boolean): Record<string, number> {
  const tensors = [...manifest.inputs, ...manifest.outputs];
  const kind = tensors.every((t) => t.shape.length <= 1)
    ? "vector"
    : emulated && hasProduct(manifest.specification)
      ? "emulatedProduct"
      : "matrix";
  const limit = largest[kind === "emulatedProduct" ? kind : emulated ? "emulated" : "device"];
  const withLength = (n: number): Record<string, number> => Object.fromEntries(manifest.dims.map((name) => [name, n]));
  let length: number = defaults[kind];
  const isTooLarge = (dims: DimValues): boolean => tensors.some(({ shape }) => elementsOf(shape, dims) > limit);
  while (length > 1 && isTooLarge({ ...withLength(length), ...given })) length /= 2;
  return withLength(length);
}

/**
 * What `collc check --dim` asks of one of several collectives: the lengths of its own dimensions; undefined for none.
 * @throws UsageError where a requirement forbids them, whatever the other dimensions are.
 */
export function askedDims(manifest: Dims, given: DimValues | undefined): DimValues | undefined {
  const asked = Object.entries(given ?? {}).filter(([name]) => manifest.dims.includes(name));
  if (asked.length === 0) return undefined;
  const lengths = Object.fromEntries(asked);
  const free = new Set(manifest.dims.filter((name) => lengths[name] === undefined));
  const ones = Object.fromEntries(manifest.dims.map((name) => [name, 1]));
  const broken = brokenRequirement(
    manifest.requirements,
    fitDims(manifest.requirements, { ...ones, ...lengths }, free),
  );
  if (broken !== null) throw new UsageError(broken.message, broken.help);
  return lengths;
}

/**
 * What a run keeps besides the tensors themselves, in bytes an element of one rank's tensors: values of inputs and the
 * reference, which is computed in float64. Measured as resident memory of all_reduce at 10 and 40 million elements.
 */
const bytesOfReference = 10;

/**
 * Sizes that no memory holds are a slip of the keyboard, and deserve better than a process that the kernel kills.
 * @param ranksHere how many ranks' tensors lie in this machine's main memory.
 * @throws UsageError
 */
export function checkMemory(
  manifest: Manifest,
  dims: DimValues,
  ranksHere: number,
  available = process.availableMemory(),
): void {
  const launched = new Set(launchesOf(choiceOf(manifest, dims)).map(({ kernel }) => manifest.kernels[kernel]!));
  const own = [...launched].flatMap(({ buffers }) => buffers.filter((b) => !isParameter(b)));
  const memories = new Map([...manifest.inputs, ...manifest.outputs].map((t) => [t.name, t]));
  const given = [...memories.values()].map((t) => ({ shape: t.localShape, dtype: t.dtype }));
  const sizes = [...given, ...own].map(({ shape, dtype }) => {
    const elements = elementsOf(shape, dims);
    return { elements, bytes: elements * DTYPES[dtype].bytes };
  });
  const tensors = sizes.reduce((sum, { bytes: b }) => sum + b, 0) * ranksHere;
  const needed = tensors + bytesOfReference * Math.max(0, ...sizes.map(({ elements }) => elements));
  if (needed <= available && sizes.every(({ elements }) => elements < 2 ** 32)) return;
  const asked = Object.entries(dims).map(([name, n]) => `${name}=${n}`);
  throw new UsageError(
    `${asked.join(", ")} asks for ${bytes(needed)} of memory, of which ${bytes(tensors)} are tensors of ${ranksHere} ` +
      `rank${ranksHere === 1 ? "" : "s"}; this machine has ${bytes(available)} left`,
    "choose smaller dimensions with --dim, or fewer ranks",
  );
}
