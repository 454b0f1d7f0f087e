/** Runs a compiled collective on a group, checks it against its signature, and times it. */
import { createHash } from "node:crypto";
import {
  DTYPES,
  elementsOf,
  evaluateExtent,
  hasProduct,
  type CompileResult,
  type DimValues,
  type Kernel,
  type Manifest,
  wayAt,
} from "../compiler/index.js";
import type { Group, Tensor, Timing, TimingOptions } from "../runtime/group.js";
import { allocate, bytesOf, fillPoison, type TypedArray } from "../runtime/numbers/index.js";
import {
  checkOutputs,
  type CheckResult,
  generatedInputs,
  isCarriedOut,
  makeRankInputs,
  programElements,
} from "../runtime/reference/index.js";
import { signatureOf } from "../runtime/shapes.js";
import { fromWire, toWire } from "./wire.js";

/** Compared with the reference where nobody says: all up to this many elements, then a sample. */
const checkedElements = 2 ** 24;
/** The same after the timed launches. */
const recheckedElements = 2 ** 18;
/** Multiplications that the reference of one output may cost at most, so that checking stays a matter of seconds. */
const checkedProducts = 2 ** 29;

/** What came out, the same on every rank of the group. */
export interface Execution {
  readonly check: Omit<CheckResult, "bitwiseEqualAcrossRanks">;
  /** Whether roundings of the program that the signature does not speak of were known of all elements; see `programElements`. */
  readonly knowsRoundings: boolean;
  /** Null where no output is replicated. */
  readonly bitwiseEqualAcrossRanks: boolean | null;
  /** Null when the result was wrong: then nobody wants to know how fast. */
  readonly timing: Timing | null;
}

export interface ExecuteOptions {
  readonly seed: number;
  readonly timing: TimingOptions;
  /** How much is compared with the reference: about this many elements of each output. Default 2^24. */
  readonly maxElements?: number;
  readonly onProgress?: (what: string, blocking: boolean) => void;
}

/** Tensors of the signature in the group's memory: inputs random, outputs poisoned. Collective. */
export async function makeTensors(
  group: Group,
  manifest: Manifest,
  dims: DimValues,
  seed: number,
): Promise<Record<string, Tensor>> {
  const tensors: Record<string, Tensor> = {};
  for (const t of signatureOf(manifest)) {
    const shape = t.localShape.map((e) => evaluateExtent(e, dims));
    const symmetric = manifest.symmetric.includes(t.name);
    tensors[t.name] = symmetric ? await group.symmetric(t.dtype, shape) : group.local(t.dtype, shape);
  }
  await fillTensors(group, manifest, dims, seed, tensors);
  return tensors;
}

/** Random inputs, poisoned outputs. Collective. */
async function fillTensors(
  group: Group,
  manifest: Manifest,
  dims: DimValues,
  seed: number,
  tensors: Readonly<Record<string, Tensor>>,
): Promise<void> {
  for (const rank of group.localRanks) {
    const data = makeRankInputs(manifest, dims, seed, rank);
    for (const [name, values] of Object.entries({ ...data.outputs, ...data.inputs }))
      tensors[name]!.write(values, rank);
  }
  // Nobody starts before everybody has written.
  await group.barrier();
}

/** Forgets what stands in outputs that are no inputs: what is compared next was stored since. Collective. */
async function poisonOutputs(
  group: Group,
  manifest: Manifest,
  dims: DimValues,
  tensors: Readonly<Record<string, Tensor>>,
): Promise<void> {
  for (const { name, dtype, localShape } of manifest.outputs) {
    if (manifest.inPlace.includes(name)) continue;
    const poison = fillPoison(allocate(dtype, elementsOf(localShape, dims)));
    for (const rank of group.localRanks) tensors[name]!.write(poison, rank);
  }
  await group.barrier();
}

/** Loads, runs once and checks, then times. Collective. @throws what the runtime throws. */
export async function execute(
  group: Group,
  compiled: CompileResult,
  dims: DimValues,
  options: ExecuteOptions,
): Promise<Execution> {
  const { onProgress = () => {} } = options;
  const blocking = group.backend === "cpu";
  onProgress("loading", false);
  const kernel = await group.load(compiled, { onProgress: (what) => onProgress(what, false) });
  const { manifest } = kernel;
  const tensors = await makeTensors(group, manifest, dims, options.seed);
  const isLarge = work(manifest, dims) > 2 ** 24;
  onProgress("running", blocking && isLarge);
  const start = performance.now();
  await kernel.run(tensors, dims);
  const runMs = performance.now() - start;
  onProgress("checking against the signature", isLarge);
  const asked = { ...options, kernel: wayAt(compiled, dims).kernel };
  let verdict = await verify(group, manifest, dims, tensors, asked);
  let timing: Timing | null = null;
  if (verdict.check.correct) {
    onProgress("timing", blocking && runMs * (options.timing.outer ?? 1) > 1000);
    const first = await outputDigest(group, manifest, tensors);
    await poisonOutputs(group, manifest, dims, tensors);
    timing = await kernel.time(tensors, dims, options.timing);
    // In place, each launch begins with what the one before left: what comes out of that is not known.
    if (manifest.inPlace.length > 0) {
      await fillTensors(group, manifest, dims, options.seed, tensors);
      await kernel.run(tensors, dims);
    }
    // Launch after launch without the host between them is what was timed, so that is what must be right: the same bits as before, or compared anew.
    const isAsBefore = String((await outputDigest(group, manifest, tensors)) === first);
    if (!(await group.exchange("as before", isAsBefore)).every((text) => text === "true")) {
      const after = await verify(group, manifest, dims, tensors, { ...asked, maxElements: recheckedElements });
      if (!after.check.correct || after.bitwiseEqualAcrossRanks === false) [verdict, timing] = [after, null];
    }
  }
  await kernel.unload();
  for (const tensor of Object.values(tensors)) await tensor.free();
  return { ...verdict, timing };
}

/** Compares the outputs of all ranks with the reference, and with each other. Collective. */
export async function verify(
  group: Group,
  manifest: Manifest,
  dims: DimValues,
  tensors: Readonly<Record<string, Tensor>>,
  {
    seed,
    maxElements = checkedElements,
    kernel,
  }: Pick<ExecuteOptions, "seed" | "maxElements"> & { kernel?: Kernel | null },
): Promise<Omit<Execution, "timing">> {
  const held: ({ outputs: Record<string, TypedArray> } | undefined)[] = Array.from(
    { length: group.world },
    () => undefined,
  );
  for (const rank of group.localRanks) {
    const outputs: Record<string, TypedArray> = {};
    for (const t of manifest.outputs) outputs[t.name] = await tensors[t.name]!.read(rank);
    held[rank] = { outputs };
  }
  const inputs = generatedInputs(manifest, dims, seed);
  const { bitwiseEqualAcrossRanks: _, ...own } = checkOutputs(checkable(manifest, group), dims, inputs, held, {
    maxElements: Math.min(maxElements, Math.floor(checkedProducts / productDepth(manifest, dims))),
    seed,
    ...(kernel ? { program: programElements(kernel, manifest, dims, [inputs])(0) } : {}),
  });
  const replicated = manifest.outputs.filter((t) => t.layout.kind === "replicated");
  const digests = held.filter((r) => r !== undefined).map((r) => digest(replicated.map((t) => r.outputs[t.name]!)));
  const all = (await group.exchange("check", toWire({ own, digests }))).map((text) =>
    fromWire<{ own: Check; digests: string[] }>(text),
  );
  const distinct = new Set(all.flatMap((one) => one.digests));
  return {
    check: all.map((one) => one.own).reduce(worse),
    knowsRoundings: kernel != null && isCarriedOut(kernel, dims),
    bitwiseEqualAcrossRanks: replicated.length === 0 ? null : distinct.size === 1,
  };
}

/** Multiplications behind one element of the outputs: the longest contraction of a specification with a product, else 1. */
function productDepth(manifest: Manifest, dims: DimValues): number {
  if (!hasProduct(manifest.specification)) return 1;
  return Math.max(1, ...manifest.inputs.map((t) => evaluateExtent(t.shape.at(-1)!, dims)));
}

/** A partial result is what all ranks' outputs add up to: out of reach where every rank is a process. */
function checkable(manifest: Manifest, group: Group): Manifest {
  if (group.localRanks.length === group.world) return manifest;
  const { nodes, outputs } = manifest.specification;
  const held = outputs.map((s, o) => (manifest.outputs[o]!.layout.kind === "partial" ? null : s));
  return { ...manifest, specification: { nodes, outputs: held } };
}

/** Of the outputs of all ranks at hand. */
async function outputDigest(
  group: Group,
  manifest: Manifest,
  tensors: Readonly<Record<string, Tensor>>,
): Promise<string> {
  const arrays: TypedArray[] = [];
  for (const rank of group.localRanks)
    for (const { name } of manifest.outputs) arrays.push(await tensors[name]!.read(rank));
  return digest(arrays);
}

function digest(arrays: readonly TypedArray[]): string {
  const hash = createHash("sha256");
  for (const array of arrays) hash.update(bytesOf(array));
  return hash.digest("hex");
}

type Check = Execution["check"];

/** Of two ranks' checks the one to report: a wrong one, else the larger error. */
function worse(a: Check, b: Check): Check {
  const unbounded = Math.max(a.unbounded, b.unbounded);
  if (a.correct !== b.correct) return { ...(a.correct ? b : a), unbounded };
  return { ...(b.maxError > a.maxError ? b : a), unbounded };
}

/** Elements touched, roughly: decides whether a wait is announced before it begins. */
function work(manifest: Manifest, dims: DimValues): number {
  const sizes = [...manifest.inputs, ...manifest.outputs].map((t) => elementsOf(t.localShape, dims));
  const product = hasProduct(manifest.specification) ? Math.max(...Object.values(dims), 1) : 1;
  return manifest.ranks * sizes.reduce((a, b) => a + b, 0) * product;
}

/** The dtype to print: the one that variables stand for, else that of the first tensor. */
export function dtypeOf(manifest: Manifest): string {
  const chosen = [...new Set(Object.values(manifest.dtypes))];
  return chosen.length > 0
    ? chosen.join(",")
    : ([...manifest.inputs, ...manifest.outputs][0]?.dtype ?? Object.keys(DTYPES)[0]!);
}
