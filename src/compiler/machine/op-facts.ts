/** What single ops do, whoever runs them: operations on elements, bytes of a tile, packets, waits, counts. */
import { bufferOf, type Kernel, type Op, type Region, text } from "../ir/module.js";
import { productShape } from "../ir/tile-window.js";
import { lanesOf, scalarOf } from "../ir/types.js";
import { DTYPES, isDType } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";

/** Additions that a function takes as long as, about: it goes through the special function unit, or through a few steps. */
const SLOW: Readonly<Record<string, number>> = {
  exp: 8, exp2: 6, expm1: 16, log: 8, log1p: 16, sqrt: 12, rsqrt: 8, sin: 24, cos: 24, tanh: 12, erf: 20,
  gelu: 24, silu: 16, sigmoid: 16, floor: 2, ceil: 2, round: 2, trunc: 2,
}; // prettier-ignore
const DIVISION = 12;
/** Taking an 8-bit float apart, or making one. */
const EIGHTH = 6;

/** Operations of the scalar units on elements, counted as additions; of a product of tiles see {@link productOps}. */
export function elementOps(op: Op): number {
  const fn = op.attributes["fn"] as string | undefined;
  switch (op.name) {
    case "select":
      return lanesOf(op.results[0]!.type);
    case "unary":
      return lanesOf(op.results[0]!.type) * (SLOW[fn!] ?? 1);
    case "binary":
    case "compare":
      return lanesOf(op.operands[0]!.type) * (fn === "div" ? DIVISION : 1);
    case "cast": {
      const [from, to] = [op.operands[0]!, op.results[0]!];
      return lanesOf(to.type) * ([from, to].some((v) => isNarrow(scalarOf(v.type))) ? EIGHTH : 1);
    }
    default:
      return 0;
  }
}

/**
 * Operations on elements that leave an accumulator, loads and stores of them included. Of a function, whose steps for eight elements go beside each other, half: gelu of 2048×8192
 * elements of a product of a depth of 1024 takes 19 µs of 124, and silu beside products agrees (2×H200, 2026-11).
 */
export function accumulatorOps(op: Op): number {
  if (op.name === "load" || op.name === "store") return lanesOf((op.results[0] ?? op.operands[0]!).type);
  return op.name === "unary" ? elementOps(op) / 2 : elementOps(op);
}

function isNarrow(kind: string): boolean {
  return isDType(kind) && DTYPES[kind].kind === "float" && DTYPES[kind].bytes === 1;
}

/**
 * Operations of a product of tiles: a multiplication and an addition are two of the tensor cores, counted as of 16 bits, of
 * which they do half as many as of 8; one of the scalar units.
 */
export function productOps(op: Op, kernel: Kernel): { readonly scalar: number; readonly tensor: number } {
  const { m, k, columns, products, unit } = productShape(op, kernel);
  const { bytes } = DTYPES[bufferOf(kernel, text(op, "a")).dtype];
  const all = m * columns * k * products;
  return unit === "scalar" ? { scalar: all, tensor: 0 } : { scalar: 0, tensor: all * bytes };
}

/** Bytes of a tile that `copy_tile` loads. It is cut off where its source ends. @param limit of its rows or columns */
export function tileBytes(op: Op, kernel: Kernel, dims: DimValues, limit: number | null): number {
  const [from, to] = [bufferOf(kernel, text(op, "from")), bufferOf(kernel, text(op, "to"))];
  const [, ...sizes] = to.shape.map((e) => evaluateExtent(e, dims));
  const limited = op.attributes["limit"] === "rows" ? 0 : 1;
  if (limit !== null) sizes[limited] = Math.min(sizes[limited]!, limit);
  const whole = from.shape.slice(-2).map((e) => evaluateExtent(e, dims));
  return Math.min(sizes[0]!, whole[0]!) * Math.min(sizes[1]!, whole[1]!) * DTYPES[from.dtype].bytes;
}

/** Whether a branch only counts what outlives the launch, and keeps it in registers. */
export function isBookkeeping(region: Region, kernel: Kernel): boolean {
  return region.ops.every((op) => {
    if (op.regions.length > 0) return false;
    if (op.name !== "load" && op.name !== "store") return op.results.length > 0;
    return ["state", "register"].includes(bufferOf(kernel, text(op, "buffer")).role);
  });
}
