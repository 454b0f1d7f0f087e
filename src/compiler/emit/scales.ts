/** CUDA text of scales: what multiplies the sums of a stage before they are added to an accumulator (`scaleA`, `scaleB` of an `mma`). */
import { bufferOf, type Op, text } from "../ir/module.js";
import { rowsPerScale } from "../ir/tile-window.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName } from "./names.js";

/** Scales of a stage in shared memory: how many there are, and how many rows or columns share one. */
interface ScalesText {
  readonly buffer: string;
  readonly count: number;
  readonly per: number;
}

export interface Scaling {
  readonly a: ScalesText | null;
  readonly b: ScalesText | null;
}

/** The scales that a product names; null where it names none. */
export function scalingOf(op: Op, m: number, n: number, out: CudaEmitter): Scaling | null {
  const [a, b] = [["scaleA", m] as const, ["scaleB", n] as const].map(([key, size]) => {
    if (!(key in op.attributes)) return null;
    const buffer = bufferOf(out.kernel, text(op, key));
    const per = rowsPerScale(size, buffer);
    return { buffer: buffer.name, count: size / per, per };
  }) as [ScalesText | null, ScalesText | null];
  return a === null && b === null ? null : { a, b };
}

/** How a function's name tells its scales. */
export function scaledName(scaled: Scaling | null): string {
  if (scaled === null) return "";
  return `_scaled${scaled.a === null ? "" : `_a${scaled.a.per}`}${scaled.b === null ? "" : `_b${scaled.b.per}`}`;
}

/** Scales of a thread's rows in sums that are still to be added. */
export const CARRIED: readonly string[] = ["s[0]", "s[1]"];

/** Loads the scales of a thread's rows, once they are there. */
export function rowScalesText({ a }: Scaling): string {
  if (a === null) return "";
  const row = (more: string): string => `sa[(t / 32 * 16 + t % 32 / 4${more}) / ${a.per}]`;
  return `  const u32 t = thread_here();\n  const float r0 = ${row("")}, r1 = ${row(" + 8")};`;
}

/** Scales of a thread's two rows in columns from `column` on. */
export function scalesText({ a, b }: Scaling, column: number): readonly string[] {
  const ofColumns = b === null ? "1.0f" : `sb[${Math.floor(column / b.per)}]`;
  return [0, 1].map((row) => (a === null ? ofColumns : b === null ? `r${row}` : `r${row} * ${ofColumns}`));
}

/** A stage's scales, as arguments of the function that multiplies it. */
export function scaleArguments({ a, b }: Scaling, stage: string): readonly string[] {
  return [a, b].flatMap((s) => (s === null ? [] : [`${bufferName(s.buffer)} + ${stage} * ${s.count}`]));
}

/** Its parameters: the scales of sums that are still to be added, and those of the stage's rows and columns. */
export function scaleParameters({ a, b }: Scaling): string {
  return `, float* s${a === null ? "" : ", const float* sa"}${b === null ? "" : ", const float* sb"}`;
}
