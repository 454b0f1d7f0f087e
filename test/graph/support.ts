/** Runs compiled graphs on emulated ranks, and compares them with the float64 reference of the graph. */
import { expect } from "vitest";
import {
  type CompileResult,
  type DimValues,
  type Layout,
  printLayout,
  type SignatureTensor,
} from "../../src/compiler/index.js";
import { type Dense, sizeOf } from "../../src/compiler/graph/arrays.js";
import { evaluateGraph } from "../../src/compiler/graph/evaluate.js";
import type { Graph } from "../../src/compiler/graph/index.js";
import { DTYPES } from "../../src/compiler/types/dtype.js";
import { evaluateExtent } from "../../src/compiler/types/extent.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import {
  allocate,
  decodeInto,
  encodeArray,
  fillPoison,
  mix32,
  type TypedArray,
} from "../../src/runtime/numbers/index.js";

/** Eighths from -2 to 2, the same for the same key: exact in each dtype of floats, and so are short sums of their products. */
export function eighths(key: number, count: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => ((mix32(key * 7919 + i + 1) >>> 0) % 33) / 8 - 2);
}

/** How far a result may be from the reference: so many roundings of its dtype, of the largest element. */
const ROUNDINGS = 8;

export function expectClose(
  dtype: keyof typeof DTYPES,
  got: ArrayLike<number>,
  want: Dense,
  what: string,
  by = ROUNDINGS,
): void {
  const largest = want.data.reduce((a, b) => Math.max(a, Math.abs(b)), 1);
  // Sums in f32 have errors of their own, however wide the dtype.
  const tolerance = largest * by * (DTYPES[dtype].epsilon + 64 * DTYPES.f32.epsilon);
  expect(got.length, what).toBe(want.data.length);
  let worst = -1;
  for (let i = 0; i < got.length; i++)
    if (!(Math.abs(got[i]! - want.data[i]!) <= tolerance)) {
      worst = i;
      break;
    }
  if (worst >= 0) throw new Error(`${what}: element ${worst} is ${got[worst]}, not ${want.data[worst]} ± ${tolerance}`);
}

/** Launches twice, and compares each time. @param dims as at a launch */
export function expectGraphRuns(graph: Graph, compiled: CompileResult, dims: DimValues, key = 1): void {
  const { kernel, manifest, source, diagnostics } = compiled;
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  const { ranks } = manifest!;
  // The manifest has outputs in an order of its own.
  const names = compiled.checked!.syntax.outputs.map((t) => t.name.text);
  const outputOf = (i: number): SignatureTensor => manifest!.outputs.find((t) => t.name === names[i])!;
  const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true, seed: key });
  for (const launch of [0, 1]) {
    const held: Record<string, Float64Array[]> = {};
    const inputs = Array.from({ length: ranks }, (): Record<string, TypedArray> => ({}));
    const outputs = Array.from({ length: ranks }, (): Record<string, TypedArray> => ({}));
    manifest!.inputs.forEach((t, i) => {
      const count = sizeOf(t.localShape.map((e) => evaluateExtent(e, dims)));
      held[graph.inputs[i]!.id] = Array.from({ length: ranks }, (_, rank) => {
        const own = classOf(t.layout, rank, manifest!.mesh);
        const numbers = eighths(key + 31 * launch + 101 * i + 1009 * own, count);
        inputs[rank]![t.name] = encodeArray(t.dtype, numbers);
        return decodeInto(t.dtype, inputs[rank]![t.name]!, new Float64Array(count));
      });
    });
    // What is changed in place is one memory.
    for (const t of manifest!.outputs.filter((o) => manifest!.inPlace.includes(o.name)))
      outputs.forEach((o, rank) => (o[t.name] = inputs[rank]![t.name]!));
    for (const t of manifest!.outputs.filter((o) => !manifest!.inPlace.includes(o.name)))
      for (const o of outputs)
        o[t.name] = fillPoison(allocate(t.dtype, sizeOf(t.localShape.map((e) => evaluateExtent(e, dims)))));
    group.run(
      inputs.map((own, rank) => ({ inputs: own, outputs: outputs[rank]! })),
      dims,
    );
    const declared = {
      ...graph,
      outputs: graph.outputs.map((o, i) => ({
        ...o,
        layout: o.layout ?? printLayout(outputOf(i).layout),
        shape: o.shape ?? outputOf(i).shape,
      })),
    };
    const wanted = evaluateGraph(declared, ranks, dims, held, manifest!.mesh);
    graph.outputs.forEach((_, i) => {
      const t = outputOf(i);
      const { parts, layout, logical } = wanted[graph.outputs[i]!.id]!;
      const got = outputs.map((o) => decodeInto(t.dtype, o[t.name]!, new Float64Array(o[t.name]!.length)));
      const what = `${graph.name}, ${ranks} ranks, ${JSON.stringify(dims)}, launch ${launch}, ${t.name}`;
      if (layout.startsWith("partial(sum)"))
        return expectClose(
          t.dtype,
          logical.data.map((_, j) => got.reduce((a, g) => a + g[j]!, 0)),
          logical,
          what,
          ROUNDINGS * ranks,
        );
      parts.forEach((part, rank) => part !== null && expectClose(t.dtype, got[rank]!, part, `${what}, rank ${rank}`));
    });
  }
}

/** Ranks that hold the same have the same number. */
function classOf(
  layout: Layout,
  rank: number,
  mesh: readonly { readonly name: string; readonly size: number }[],
): number {
  if (layout.kind === "replicated" && layout.axis === undefined) return 0;
  if (layout.kind !== "grid" && layout.axis === undefined) return rank;
  const parts = layout.kind === "grid" ? layout.parts : [layout];
  let [rest, number] = [rank, 0];
  for (const { name, size } of mesh.toReversed()) {
    const isSame = parts.some((p) => p.axis === name && p.kind === "replicated");
    number = number * size + (isSame ? 0 : rest % size);
    rest = Math.floor(rest / size);
  }
  return number;
}
