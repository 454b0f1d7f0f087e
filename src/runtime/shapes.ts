/** Sizes and signatures: what every backend checks before it launches. */
import {
  brokenRequirement,
  type LaunchDType,
  DTYPE_NAMES,
  DTYPES,
  type DimValues,
  type DType,
  elementsOf,
  isDType,
  type Manifest,
  nearest,
} from "../compiler/index.js";
import { UsageError } from "./errors.js";
import type { Tensor } from "./group.js";

export function bytesOfShape(dtype: DType, shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1) * DTYPES[dtype].bytes;
}

/** The manifest's tensors that callers give, in order. */
export function signatureOf(manifest: Manifest): Manifest["inputs"] {
  return [...manifest.inputs, ...manifest.outputs.filter(({ name }) => !manifest.inPlace.includes(name))];
}

/**
 * Checks what a launch is given besides tensors.
 * @throws UsageError when a dimension or a number has no value, is none of the collective's, or breaks a requirement.
 */
export function checkDims(manifest: Manifest, dims: DimValues): void {
  const known = [...manifest.dims, ...manifest.scalars.map(({ name }) => name)];
  const unknown = Object.keys(dims).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const near = nearest(unknown, known);
    throw new UsageError(
      `${manifest.collective} has no dimension '${unknown}'${manifest.scalars.length > 0 ? ", nor such a number" : ""}`,
      near === null ? `it has ${known.join(", ") || "none"}` : `did you mean '${near}'?`,
    );
  }
  checkScalars(manifest, dims);
  for (const name of manifest.dims) {
    const value = dims[name];
    if (value === undefined)
      throw new UsageError(`dimension '${name}' of ${manifest.collective} has no value`, `give it: { ${name}: … }`);
    if (!Number.isSafeInteger(value) || value < 0)
      throw new UsageError(`dimension '${name}' cannot be ${value}`, "a dimension is a whole number, 0 or more");
  }
  const broken = brokenRequirement(manifest.requirements, dims);
  if (broken !== null) throw new UsageError(broken.message, broken.help);
}

/** @throws UsageError when a number of the launch has no value, or one that its dtype does not have. */
export function checkScalars({ scalars, collective }: Manifest, given: DimValues): void {
  for (const { name, dtype } of scalars) {
    const value = given[name];
    if (value === undefined)
      throw new UsageError(`the number '${name}' of ${collective} has no value`, `give it: { ${name}: … }`);
    const [least, most] = SCALAR_LIMITS[dtype];
    const isWhole = dtype === "f32" || Number.isInteger(value);
    // Infinities are numbers of f32, and so are clip's bounds of those who do not clip.
    const isInside = (value >= least && value <= most) || (dtype === "f32" && Math.abs(value) === Infinity);
    if (!isWhole || !isInside)
      throw new UsageError(
        `the number '${name}' cannot be ${value}`,
        `it is ${dtype}: ${dtype === "f32" ? "a float" : `a whole number from ${least} to ${most}`}`,
      );
  }
}

/** Dimensions and numbers of a launch with other numbers. @throws UsageError for what is no number of the collective, or none of its dtype */
export function withNumbers(manifest: Manifest, dims: DimValues, numbers: DimValues): DimValues {
  const known = manifest.scalars.map(({ name }) => name);
  const unknown = Object.keys(numbers).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(
      `${manifest.collective} has no number '${unknown}' of the launch`,
      known.length === 0 ? "it has none" : `it has ${known.join(", ")}; dimensions need a launch of their own`,
    );
  const all = { ...dims, ...numbers };
  checkScalars(manifest, all);
  return all;
}

const SCALAR_LIMITS: Readonly<Record<LaunchDType, readonly [number, number]>> = {
  f32: [-3.4028234663852886e38, 3.4028234663852886e38],
  i32: [-(2 ** 31), 2 ** 31 - 1],
  u32: [0, 2 ** 32 - 1],
};

/** Values for a collective's numbers where nobody gives any: neither 0 nor 1, so that it matters whether they count. */
export function someScalars({ scalars }: Pick<Manifest, "scalars">): Record<string, number> {
  return Object.fromEntries(scalars.map(({ name, dtype }) => [name, dtype === "f32" ? 0.5 : 3]));
}

/** @throws UsageError for a tensor that is not among the parameters: a misspelt one would be left out in silence. */
function requireKnown(manifest: Manifest, tensors: Readonly<Record<string, Tensor>>): void {
  const known = signatureOf(manifest).map((p) => p.name);
  const unknown = Object.keys(tensors).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const missing = known.filter((name) => !Object.hasOwn(tensors, name));
  const near = nearest(unknown, missing.length > 0 ? missing : known);
  throw new UsageError(
    `${manifest.collective} takes no tensor '${unknown}'`,
    near === null ? `it takes ${known.join(", ")}` : `did you mean '${near}'?`,
  );
}

/** @throws UsageError when a tensor is missing, not a parameter, of another dtype, too short, or out of peers' reach but needed there. */
export function checkTensors(manifest: Manifest, tensors: Readonly<Record<string, Tensor>>, dims: DimValues): void {
  requireKnown(manifest, tensors);
  checkDims(manifest, dims);
  for (const parameter of signatureOf(manifest)) {
    const { name } = parameter;
    const tensor = tensors[name];
    if (tensor === undefined)
      throw new UsageError(
        `${manifest.collective} needs a tensor '${name}'`,
        `it takes ${signatureOf(manifest)
          .map((p) => p.name)
          .join(", ")}`,
      );
    if (tensor.dtype !== parameter.dtype)
      throw new UsageError(`'${name}' holds ${tensor.dtype}; the kernel was compiled for ${parameter.dtype}`);
    const wanted = elementsOf(parameter.localShape, dims);
    if (tensor.length !== wanted)
      throw new UsageError(`'${name}' has ${tensor.length} elements on a rank; the dimensions ask for ${wanted}`);
    if (manifest.symmetric.includes(name) && !tensor.symmetric)
      throw new UsageError(
        `peers access '${name}', which is not in symmetric memory`,
        "make it with group.symmetric(dtype, shape)",
      );
  }
  // But for what is declared in place, kernels are compiled for separate tensors: a rank could overwrite what a peer has yet to read.
  for (const output of manifest.outputs)
    for (const other of signatureOf(manifest))
      if (other.name !== output.name && tensors[output.name]!.overlaps(tensors[other.name]!))
        throw new UsageError(
          `'${output.name}' shares memory with '${other.name}'`,
          `give every parameter memory of its own; to change '${other.name}' in place, name it as an output: -> ${other.name}: …`,
        );
}

/** A group, as far as it matters for whose memory a tensor's parts lie in. */
export interface Ranks {
  readonly name: string;
  readonly ranks: readonly number[];
}

/** @throws UsageError for a tensor of other ranks than the group's: its parts lie elsewhere than the group looks for them. */
export function requireSameRanks(group: Ranks, owner: Ranks, what: string): void {
  if (group.ranks.length === owner.ranks.length && group.ranks.every((rank, i) => rank === owner.ranks[i])) return;
  throw new UsageError(
    `${what} belongs to group "${owner.name}" of ranks ${owner.ranks.join(", ")}, not to "${group.name}" of ranks ${group.ranks.join(", ")}`,
    `allocate it with group "${group.name}"`,
  );
}

/** @throws UsageError for what is no dtype of Coll. */
export function requireDType(dtype: string): void {
  if (!isDType(dtype)) throw new UsageError(`there is no dtype '${dtype}'`, `choose one of ${DTYPE_NAMES.join(", ")}`);
}
