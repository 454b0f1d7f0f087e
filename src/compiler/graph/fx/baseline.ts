/** How long the caller's own way takes, node by node: a library's product, a kernel for each elementwise operation, collectives of NCCL. */
import { sizeOf } from "../arrays.js";
import { predictExchanges, predictOperation } from "../../machine/cost.js";
import type { Machine } from "../../machine/machines.js";
import type { Tuned } from "../../program/plan.js";
import { type DType, DTYPES, isDType } from "../../types/dtype.js";
import { type DimValues } from "../../types/extent.js";
import { type Core, type CoreNode, VIEW_OPS } from "./core.js";
import { CONVERTS } from "./fx.js";
import { sameShape, shapeAt } from "./sizes.js";

/** Seconds of FX nodes as measured by the caller, by name: they go before the model. */
export type Measured = Readonly<Record<string, number>>;

/** What conversions by themselves take, as measured on the machine. */
export interface MeasuredConversions {
  /** Where that was and when, for people. */
  readonly source: string;
  /** The plans of their programs. */
  readonly tuned: Tuned;
  /**
   * Seconds of collc's program, with that plan, and of NCCL; null where nobody has measured them.
   * @param elements of what the plan of the conversion goes by
   */
  readonly seconds: (conversion: string, dtype: DType, ranks: number, elements: number) => ConversionSeconds | null;
}

export interface ConversionSeconds {
  readonly own: number;
  readonly nccl: number | null;
}

/** Of a value on one rank. */
const bytesOf = ({ shape, dtype }: CoreNode, dims: DimValues): number =>
  sizeOf(shapeAt(shape, dims)) * (isDType(dtype) ? DTYPES[dtype].bytes : 1);

/** What reading a value takes of memory: of what is repeated, that which is there once. */
export function readBytes(id: string, core: Core, dims: DimValues): number {
  const node = core.nodes.get(id)!;
  return node.op === "repeat" ? readBytes(node.inputs[0] as string, core, dims) : bytesOf(node, dims);
}

/**
 * Operations that an element of a product leaves its accumulator by: it is taken, rounded and stored. cuBLAS, whose kernel it is, takes as long as collc: of 4096³, 2048×8192×2048 and
 * 2048×2048×8192 0.96 to 1.02 of it (`2026-11-28-1x-nvidia-h200-products.json`).
 */
const LEAVING = 3;

/**
 * Seconds of one FX node as a kernel of its own, by the one cost model (`machine/cost.ts`): for its bytes and its arithmetic, a round
 * trip to memory and what takes longest. Views take none. Of a conversion: its exchanges, in whichever way it is written; who can
 * compile it asks the model of its program instead.
 *
 * @param nodes its core nodes
 */
export function nodeSeconds(
  fx: string,
  nodes: readonly CoreNode[],
  core: Core,
  machine: Machine,
  ranks: number,
  dims: DimValues,
): number {
  const own = nodes.filter((n) => !VIEW_OPS.has(n.op) && n.op !== "placeholder" && n.op !== "number");
  if (own.length === 0) return 0;
  const made = new Set(own.map((n) => n.id));
  const reads = new Set(own.flatMap((n) => n.inputs.filter((x): x is string => typeof x === "string" && !made.has(x))));
  const conversions = own.filter((n) => CONVERTS.has(n.op));
  const [conversion] = conversions;
  if (conversion !== undefined) {
    const sourceOf = (n: CoreNode): CoreNode => core.nodes.get(n.inputs[0] as string)!;
    // Those of a list are exchanged together.
    const part = conversions.reduce((sum, n) => sum + Math.max(bytesOf(n, dims), bytesOf(sourceOf(n), dims)) / ranks, 0); // prettier-ignore
    // Summed, and given to all: what is scattered, or gathered, is moved once.
    const isSummedForAll = conversion.reduce !== undefined && sameShape(conversion.shape, sourceOf(conversion).shape);
    return predictExchanges(isSummedForAll ? [part, part] : [part], ranks, machine);
  }
  const operations = { scalarOps: 0, tensorOps: 0, accumulatorOps: 0 };
  for (const n of own) {
    if (n.op !== "matmul") continue;
    const elements = sizeOf(shapeAt(n.shape, dims));
    const depth = shapeAt(core.nodes.get(n.inputs[0] as string)!.shape, dims).at(-1)!;
    const isNarrow = isDType(n.dtype) && DTYPES[n.dtype].kind === "float" && DTYPES[n.dtype].bytes <= 2;
    // A multiplication and an addition are one operation of the scalar units.
    if (isNarrow) {
      operations.tensorOps += 2 * elements * depth;
      operations.accumulatorOps += LEAVING * elements;
    } else operations.scalarOps += elements * depth;
  }
  // Of what collc does not know, all parts, or itself where it is one tensor.
  const parts = own.filter((n) => n.op === "unknown" && n.id !== fx);
  const written = parts.length > 0 ? parts : [own.at(-1)!];
  const stored = written.reduce((sum, n) => sum + bytesOf(n, dims), 0);
  const loaded = [...reads].reduce((sum, x) => sum + readBytes(x, core, dims), 0);
  return predictOperation({ loaded, stored, ...operations }, machine);
}
