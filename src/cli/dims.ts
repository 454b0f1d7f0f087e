/** Values for a collective's dimensions: defaults, and what a person gave, checked with help. */
import { totalmem } from "node:os";
import {
  brokenRequirement,
  DTYPES,
  evaluateExtent,
  fitDims,
  type DimValues,
  type Manifest,
} from "../compiler/index.js";
import { bytes } from "../bench/format.js";
import { MachineError, UsageError } from "../runtime/errors.js";
import { suggestion } from "./suggest.js";

type Dims = Pick<Manifest, "collective" | "dims" | "requirements" | "inputs" | "outputs" | "specification">;

/** Elements of a default dimension. Products are slow to emulate, so they get smaller ones there. */
const defaults = { vector: 2 ** 20, matrix: 1024, emulatedProduct: 256 } as const;

/**
 * The dimensions of a run: `given`, and defaults for the rest, changed until they fit.
 * @param emulated the cpu backend runs it.
 * @throws UsageError for names the collective does not have, and for values that a requirement forbids.
 */
export function chooseDims(manifest: Dims, given: DimValues, emulated: boolean): Record<string, number> {
  for (const name of Object.keys(given)) {
    if (manifest.dims.includes(name)) continue;
    throw new UsageError(
      `${manifest.collective} has no dimension '${name}'`,
      suggestion(name, manifest.dims, "dimensions"),
    );
  }
  const chosen = {
    ...Object.fromEntries(manifest.dims.map((name) => [name, defaultFor(manifest, emulated)])),
    ...given,
  };
  const free = new Set(manifest.dims.filter((name) => given[name] === undefined));
  const dims = fitDims(manifest.requirements, chosen, free);
  const broken = brokenRequirement(manifest.requirements, dims);
  if (broken !== null) throw new UsageError(broken.message, broken.help);
  return dims;
}

function defaultFor(manifest: Dims, emulated: boolean): number {
  const tensors = [...manifest.inputs, ...manifest.outputs];
  if (tensors.every((t) => t.shape.length <= 1)) return defaults.vector;
  const multiplies = JSON.stringify(manifest.specification).includes('"matmul"');
  return emulated && multiplies ? defaults.emulatedProduct : defaults.matrix;
}

/**
 * Sizes that no memory holds are a slip of the keyboard, and deserve better than an allocation that fails.
 * @param ranksHere how many ranks' tensors lie in this machine's main memory.
 * @throws MachineError
 */
export function checkMemory(manifest: Manifest, dims: DimValues, ranksHere: number): void {
  const sizes = [...manifest.inputs, ...manifest.outputs].map((t) => {
    const elements = t.localShape.reduce<number>((n, e) => n * evaluateExtent(e, dims), 1);
    return { elements, bytes: elements * DTYPES[t.dtype].bytes };
  });
  const needed = sizes.reduce((sum, { bytes: b }) => sum + b, 0) * ranksHere;
  if (needed <= totalmem() && sizes.every(({ elements }) => elements < 2 ** 32)) return;
  const given = Object.entries(dims).map(([name, n]) => `${name}=${n}`);
  throw new MachineError(
    `${given.join(", ")} asks for ${bytes(needed)} of tensors; this machine has ${bytes(totalmem())} of memory`,
    "choose smaller dimensions with --dim, or fewer ranks",
  );
}
