/** Values for a collective's dimensions: defaults, and what a person gave, checked with help. */
import { totalmem } from "node:os";
import { DTYPES, evaluateExtent, extentNames, printExtent, type DimValues, type Manifest } from "../compiler/index.js";
import { bytes } from "../bench/format.js";
import { MachineError, UsageError } from "../runtime/errors.js";
import { suggestion } from "./suggest.js";

type DivisibilityRule = Manifest["divisibility"][number];
type Dims = Pick<Manifest, "collective" | "dims" | "divisibility" | "inputs" | "outputs" | "specification">;

/** Elements of a default dimension. Products are slow to emulate, so they get smaller ones there. */
const defaults = { vector: 2 ** 20, matrix: 1024, emulatedProduct: 256 } as const;

/**
 * The dimensions of a run: `given`, and defaults for the rest, rounded up so that they divide.
 * @param emulated the cpu backend runs it.
 * @throws UsageError for names the collective does not have, and for values that a rule forbids.
 */
export function chooseDims(manifest: Dims, given: DimValues, emulated: boolean): Record<string, number> {
  for (const name of Object.keys(given)) {
    if (manifest.dims.includes(name)) continue;
    throw new UsageError(
      `${manifest.collective} has no dimension '${name}'`,
      suggestion(name, manifest.dims, "dimensions"),
    );
  }
  const dims = { ...Object.fromEntries(manifest.dims.map((name) => [name, defaultFor(manifest, emulated)])), ...given };
  const free = new Set(manifest.dims.filter((name) => given[name] === undefined));
  // Rules are few and independent in practice; a handful of rounds settles those that share a dimension.
  for (let round = 0; round < 4; round++)
    for (const rule of manifest.divisibility) {
      const name = [...extentNames(rule.dividend)].find((each) => free.has(each));
      if (name === undefined || holds(rule, dims)) continue;
      dims[name] = nearby(manifest, dims, name, +1, [rule]) ?? dims[name]!;
    }
  checkRules(manifest, dims);
  return dims;
}

function defaultFor(manifest: Dims, emulated: boolean): number {
  const tensors = [...manifest.inputs, ...manifest.outputs];
  if (tensors.every((t) => t.shape.length <= 1)) return defaults.vector;
  const multiplies = JSON.stringify(manifest.specification).includes('"matmul"');
  return emulated && multiplies ? defaults.emulatedProduct : defaults.matrix;
}

const holds = (rule: DivisibilityRule, dims: DimValues): boolean =>
  evaluateExtent(rule.dividend, dims) % rule.divisor === 0;

/** @throws UsageError naming the dimensions, the reason, and the nearest values that are possible. */
function checkRules(manifest: Dims, dims: DimValues): void {
  const broken = manifest.divisibility.find((rule) => !holds(rule, dims));
  if (broken === undefined) return;
  const names = [...extentNames(broken.dividend)];
  const values = names.map((name) => `${name}=${dims[name]}`).join(", ");
  const value = evaluateExtent(broken.dividend, dims);
  const what =
    names.length === 1 && printExtent(broken.dividend) === names[0]
      ? values
      : `${printExtent(broken.dividend)} = ${value} (${values})`;
  const near = names.map((name) => {
    const options = [nearby(manifest, dims, name, -1), nearby(manifest, dims, name, +1)].filter((v) => v !== null);
    return options.length === 0 ? null : options.map((v) => `${name}=${v}`).join(" or ");
  });
  const usable = near.filter((line) => line !== null);
  throw new UsageError(
    `${what} does not divide by ${broken.divisor}: ${broken.reason}`,
    usable.length > 0 ? `the nearest that work: ${usable.join("; ")}` : `choose a multiple of ${broken.divisor}`,
  );
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

/** The nearest value of one dimension, up or down, with which all rules about it hold; null if none is near. */
function nearby(
  manifest: Dims,
  dims: DimValues,
  name: string,
  step: 1 | -1,
  rules?: readonly DivisibilityRule[],
): number | null {
  const about = (rules ?? manifest.divisibility).filter((rule) => extentNames(rule.dividend).has(name));
  for (let i = 1; i <= 65536; i++) {
    const value = dims[name]! + step * i;
    if (value <= 0) return null;
    const changed = { ...dims, [name]: value };
    if (about.every((rule) => holds(rule, changed))) return value;
  }
  return null;
}
