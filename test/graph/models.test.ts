// Whole models as one graph: dozens of layers that are alike, and far deeper than calls nest.
import { expect, test } from "vitest";
import { lower, type Lowered } from "../../src/compiler/graph/index.js";
import { Dump } from "./fx-support.js";

const RANKS = 4;
const [TOKENS, WIDTH, INNER] = [2048, 4096, 3584];

/** Layers of a tensor-parallel MLP behind a norm, tokens cut among the ranks between them. */
function model(layers: number): ReturnType<Dump["graph"]> {
  const d = new Dump(RANKS, "bfloat16", "model");
  let x = d.input("x", [TOKENS / RANKS, WIDTH]);
  for (let i = 0; i < layers; i++) {
    const [up, down] = [d.input(`up_${i}`, [WIDTH, INNER]), d.input(`down_${i}`, [INNER, WIDTH])];
    const squares = d.call("aten.mean.dim", [d.pointwise("mul", x, x), [-1], true], [TOKENS / RANKS, 1]);
    const normed = d.pointwise("mul", x, d.pointwise("rsqrt", squares));
    const inner = d.pointwise("silu", d.mm(d.gather(normed), up));
    x = d.pointwise("add", d.scatter(d.mm(inner, down)), x);
  }
  return d.graph(x);
}

const withoutNumbers = (names: readonly string[]): string => names.map((name) => name.replace(/_\d+$/, "")).join(" + ");

// What is undecided is compared again for what has changed alone, and what is alike is compiled once: else this takes an hour.
test.for(["nodes", "kernels"] as const)(
  "sixty layers become what one becomes, and share its programs: %s",
  (caller) => {
    const [two, three, all] = [2, 3, 60].map((layers) => lower(model(layers), { ranks: RANKS, caller })) as [Lowered, Lowered, Lowered]; // prettier-ignore
    const steps = (l: Lowered): string[] => l.parts.map((p) => `${p.kind} ${withoutNumbers(p.nodes)}`);
    const long = steps(all);
    expect(new Set(long)).toEqual(new Set(steps(two)));
    expect(long.length - two.parts.length).toBe(58 * (three.parts.length - two.parts.length));
    expect(long.filter((s) => s.startsWith("program")).length).toBeGreaterThanOrEqual(120);
    const programs = all.parts.flatMap((p) => (p.kind === "program" ? [p] : []));
    const compiled = new Set(programs.map((p) => p.compiled));
    expect(compiled.size).toBeLessThanOrEqual(6);
    for (const { graph, compiled: made, inputs, outputs } of programs) {
      // Parameters are of the program that is shared, tensors of the layer.
      expect(inputs.map((b) => b.name)).toEqual(made.manifest!.inputs.map((t) => t.name));
      expect(inputs.map((b) => b.id)).toEqual(graph.inputs.map((t) => t.id));
      expect(outputs.map((b) => b.id)).toEqual(graph.outputs.map((t) => t.id));
    }
    const tensors = programs.flatMap((p) => p.outputs.map((b) => b.tensor));
    expect(new Set(tensors).size).toBe(tensors.length);
    expect(all.edges.length - two.edges.length).toBe(58 * (three.edges.length - two.edges.length));
  },
);

test("four thousand operations one behind the other", () => {
  const d = new Dump(RANKS, "bfloat16", "deep");
  let x = d.gather(d.input("x", [256, 64]));
  for (let i = 0; i < 4000; i++) x = d.call("custom.step.default", [x], [256 * RANKS, 64]);
  const { parts, edges } = lower(d.graph(d.reduce(x)), { ranks: RANKS });
  expect(parts.length).toBe(4002);
  expect(edges.map((e) => e.isFused)).toEqual([false, false]);
});
