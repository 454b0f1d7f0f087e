/** What is `replicated` is equal bit for bit: the kernel once more, with values that know how they were rounded. */
import type { Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { SignatureTensor } from "../manifest.js";
import { DTYPES } from "../types/dtype.js";
import { evaluateExtent } from "../types/extent.js";
import type { Layout } from "../types/layout.js";
import { hasAxes, leaderOf } from "../types/mesh.js";
import type { Algebra, Number_ } from "./algebra.js";
import { execute } from "./execute.js";
import { dtypesOf, randomPlaces, storePlace, storesOf } from "./facts.js";
import type { MachineOptions } from "./machine.js";
import { indexOf } from "./places.js";
import { Fails } from "./results.js";
import { RoundingAlgebra } from "./rounding.js";

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
 * @throws Fails where two ranks round in different ways
 */
export function proveReplicas(kernel: Kernel, options: MachineOptions): void {
  const outputs = replicatedOutputs(kernel);
  if (outputs.length === 0) return;
  const fields = randomPlaces(kernel, options.seed ?? 0).plain;
  const difference = replicaThatDiffers(kernel, outputs, options, new RoundingAlgebra(dtypesOf(kernel), false, fields));
  if (difference === null) return;
  const algebra = new RoundingAlgebra(dtypesOf(kernel), true, fields);
  const { tensor, at, launch, first, other } = replicaThatDiffers(kernel, outputs, options, algebra)!;
  const places = storesOf(kernel, tensor.name).map((span) => storePlace(tensor.name, other.rank, launch, span));
  const shape = tensor.localShape.map((e) => evaluateExtent(e, options.dims));
  throw new Fails(
    "bits",
    `output '${tensor.name}'[${indexOf(at, shape).join(", ")}] is replicated, but rank ${first.rank} and rank ${other.rank} compute it in different ways, so that their bits differ`,
    places,
    [first, other].map(({ rank, value }) => `rank ${rank} has ${algebra.print(value)}`),
  );
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
): { tensor: SignatureTensor; at: number; launch: number; first: Replica; other: Replica } | null {
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
