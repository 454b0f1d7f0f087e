/** What is `replicated` is equal bit for bit: the kernel once more, with values that know how they were rounded. */
import type { Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { SignatureTensor } from "../manifest.js";
import { scalarOf } from "../ir/types.js";
import { DTYPES, isDType, type ScalarKind } from "../types/dtype.js";
import { evaluateExtent } from "../types/extent.js";
import type { Layout } from "../types/layout.js";
import { hasAxes, leaderOf } from "../types/mesh.js";
import type { Algebra, Number_ } from "./algebra.js";
import { textOf } from "./difference.js";
import { compareAtData } from "./evaluate.js";
import { TooLarge } from "./exact.js";
import { execute } from "./execute.js";
import { computedInOf, dtypesOf, limitsOf, randomPlaces, rangesOf, storePlace, storesOf } from "./facts.js";
import type { MachineOptions } from "./machine.js";
import { indexOf } from "./places.js";
import { CannotTell, Fails } from "./results.js";
import { RoundingAlgebra } from "./rounding.js";
import { termsForAllData } from "./terms-for-all-data.js";

/** Outputs that several ranks hold alike, but perhaps not: they round, or see different inputs. */
function replicatedOutputs(kernel: Kernel): SignatureTensor[] {
  if (kernel.world === 1) return [];
  const views = kernel.inputs.some(({ layout }) => layout.kind === "local" || hasAxes(layout));
  const isShared = (layout: Layout): boolean =>
    layout.kind === "grid" ? layout.parts.some((p) => p.kind === "replicated") : layout.kind === "replicated";
  const isOne = ({ layout, dtype }: SignatureTensor): boolean =>
    isShared(layout) && (views || (DTYPES[dtype].kind === "float" && rounds(kernel)));
  return kernel.outputs.filter(isOne);
}

/** Whether something is rounded, which an order decides about, or a choice may be one between two zeros. */
function rounds(kernel: Kernel): boolean {
  let found = false;
  walkKernel(
    kernel,
    ({ name, attributes }) =>
      void (found ||= name === "mma" || name === "select" || ROUNDING.has(attributes["fn"] as string)),
  );
  return found;
}

const ROUNDING = new Set(["add", "sub", "mul", "div", "sum", "prod"]);

/**
 * Executes the kernel once more, with values that know how they were rounded: what is replicated must be so bit for bit.
 * @throws Fails where two ranks round in different ways, CannotTell where nothing tells whether whole numbers differ
 */
export function proveReplicas(kernel: Kernel, options: MachineOptions): void {
  const outputs = replicatedOutputs(kernel);
  if (outputs.length === 0) return;
  const fields = randomPlaces(kernel, options.seed ?? 0).plain;
  const difference = replicaThatDiffers(kernel, outputs, options, new RoundingAlgebra(dtypesOf(kernel), false, fields));
  if (difference === null) return;
  if (isWhole(kernel)) return proveWhole(kernel, outputs, options, difference);
  const algebra = new RoundingAlgebra(dtypesOf(kernel), true, fields);
  const shown = replicaThatDiffers(kernel, outputs, options, algebra)!;
  throw fails(kernel, options, shown, (value) => algebra.print(value), null);
}

/** Whether nothing is computed but whole numbers and conditions, which are not rounded. */
function isWhole(kernel: Kernel): boolean {
  const isFloat = (kind: ScalarKind): boolean => isDType(kind) && DTYPES[kind].kind === "float";
  let found = kernel.scalars.some(({ dtype }) => isFloat(dtype)) || kernel.buffers.some(({ dtype }) => isFloat(dtype));
  walkKernel(kernel, ({ results }) => void (found ||= results.some(({ type }) => isFloat(scalarOf(type)))));
  return !found;
}

/**
 * Whole numbers that are equal for all data have equal bits, however they are computed: members of fields do not tell for functions
 * such as quotients, so terms are looked into.
 * @throws Fails where some data tells them apart, CannotTell where nothing does and no rule says that they are equal
 */
function proveWhole(
  kernel: Kernel,
  outputs: readonly SignatureTensor[],
  options: MachineOptions,
  seen: Difference,
): void {
  const isScalar = (name: string): boolean => kernel.scalars.some((s) => s.name === name);
  try {
    const difference = replicaThatDiffers(kernel, outputs, options, termsForAllData(kernel, options));
    if (difference === null) return;
    const { first, other, tensor, launch } = difference;
    const [ranges, limits] = [rangesOf(kernel, options.dims), limitsOf(kernel, options.dims)];
    const atData = compareAtData(other.value, first.value, ranges, computedInOf(kernel), options.seed ?? 0, limits);
    if (atData !== "differ")
      throw new CannotTell(
        `output '${tensor.name}' is replicated, and rank ${first.rank} and rank ${other.rank} compute it in different forms, of which no rule says that they are equal`,
        storesOf(kernel, tensor.name)[0],
      );
    throw fails(kernel, options, difference, (value) => textOf(value, launch, isScalar), SAME_ELEMENTS);
  } catch (e) {
    if (!(e instanceof TooLarge)) throw e;
    throw fails(kernel, options, seen, () => "…", SAME_ELEMENTS);
  }
}

const SAME_ELEMENTS =
  "let all ranks compute it of the same elements, of peers where they are not their own, or let one rank compute it and give the result to all";

function fails(
  kernel: Kernel,
  { dims }: MachineOptions,
  { tensor, at, launch, first, other }: Difference,
  print: (value: Number_) => string,
  help: string | null,
): Fails {
  const places = storesOf(kernel, tensor.name).map((span) => storePlace(tensor.name, other.rank, launch, span));
  const shape = tensor.localShape.map((e) => evaluateExtent(e, dims));
  return new Fails(
    "bits",
    `output '${tensor.name}'[${indexOf(at, shape).join(", ")}] is replicated, but rank ${first.rank} and rank ${other.rank} compute it in different ways, so that their bits differ`,
    places,
    [first, other].map(({ rank, value }) => `rank ${rank} has ${print(value)}`).filter((line) => !line.endsWith(" …")),
    help,
  );
}

interface Difference {
  readonly tensor: SignatureTensor;
  readonly at: number;
  readonly launch: number;
  readonly first: Replica;
  readonly other: Replica;
}

interface Replica {
  readonly rank: number;
  readonly value: Number_;
}

function replicaThatDiffers(
  kernel: Kernel,
  outputs: readonly SignatureTensor[],
  options: MachineOptions,
  algebra: Algebra,
): Difference | null {
  const ended: Number_[][][][] = [];
  const isOne = (a: Number_, b: Number_): boolean =>
    typeof a === "number" && typeof b === "number" ? Object.is(a, b) : a === b || algebra.isSame(a, b);
  // What earlier launches left has no part in an answer that is right, and this is asked of no other.
  const machine = execute(kernel, { ...options, launches: 1 }, algebra, false, (m, rank, launch) => {
    (ended[launch] ??= [])[rank] = outputs.map((t) => m.memory[m.bufferNumber(t.name)]![rank]!.slice());
  });
  for (const [launch, ranks] of ended.entries())
    for (const [o, tensor] of outputs.entries())
      for (let rank = 0; rank < kernel.world; rank++) {
        const leader = hasAxes(tensor.layout) ? leaderOf(tensor.layout, kernel.mesh, rank) : 0;
        const [mine, its] = [ranks[rank]![o]!, ranks[leader]![o]!];
        for (let at = 0; at < machine.lengths[machine.bufferNumber(tensor.name)]!; at++) {
          const [value, known] = [mine[at], its[at]];
          // What nobody has written is no value; the answer says so where that matters.
          if (value === undefined || known === undefined || isOne(value, known)) continue;
          return { tensor, at, launch, first: { rank: leader, value: known }, other: { rank, value } };
        }
      }
  return null;
}
