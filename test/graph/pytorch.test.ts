/**
 * Graphs that collc's pass for torch.compile has dumped of a Llama's layer, by PyTorch 2.11 on 2 H200s (test/gpu/pytorch_layer.py): what
 * becomes of them, and that it computes what they say. `llama-8b` has 2048 tokens, and what NCCL took there; `llama-small` has 8. `llama-tokens`
 * has as many as a launch says: by PyTorch 2.13 for CPUs (test/python/inductor_rank.py).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  asFx,
  type FxArgument,
  type FxGraph,
  type FxNode,
  lower,
  type Lowered,
} from "../../src/compiler/graph/index.js";
import { machineFor } from "../../src/compiler/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { isAll } from "../scope.js";
import { expectLowered, expectRuns } from "./fx-support.js";

const KINDS = ["inference", "forward", "backward"] as const;

const read = (name: string): unknown => JSON.parse(readFileSync(join(import.meta.dirname, "dumps", `${name}.json`), "utf8")); // prettier-ignore
const dumped = (size: string, kind: string): FxGraph => asFx(read(`llama-${size}-${kind}`));

/** The region without attention and what places its gradient, which nothing here evaluates: their results are given. */
function evaluated(fx: FxGraph): FxGraph {
  const tuples = new Set(fx.nodes.filter((n) => n.target?.includes("scaled_dot_product") === true).map((n) => n.name));
  const isGiven = ({ target = "", args = [] }: FxNode): boolean =>
    target === "aten.select_scatter.default" ||
    (target === "getitem" && tuples.has((args[0] as { node: string }).node));
  const given = ({ name, shape, dtype, strides }: FxNode): FxNode => ({ name, op: "placeholder", shape: shape!, dtype: dtype!, ...(strides === undefined ? {} : { strides }) }); // prettier-ignore
  const unused = new Set(fx.nodes.filter((n) => n.target === "aten.full.default").map((n) => n.name));
  // Seeds of attention's dropout are no numbers of collc's.
  const seeds = new Set(fx.nodes.filter((n) => n.dtype === "torch.uint64" || n.dtype === "torch.int64").map((n) => n.name)); // prettier-ignore
  const isSeed = (a: unknown): boolean => typeof a === "object" && a !== null && "node" in a && seeds.has((a as { node: string }).node); // prettier-ignore
  const nodes = fx.nodes
    .filter((n) => !tuples.has(n.name) && !seeds.has(n.name) && !unused.has(n.name))
    .map((n) => (n.op === "call_function" && isGiven(n) ? given(n) : n))
    .map((n) => (n.op === "output" ? { ...n, args: [(n.args![0] as FxArgument[]).filter((a) => !isSeed(a))] } : n));
  return { ...fx, nodes };
}

describe("a layer of 8B, as it was measured", () => {
  const measured = read("llama-8b-measured") as Record<string, Record<string, number>>;
  const partition = (kind: string): Lowered =>
    lower(dumped("8b", kind), {
      ...{ ranks: 2, machine: machineFor("sm_90a", 2), caller: "kernels", measured: measured[kind]! },
      ...{ library: libraryFromDisk, resolve: importsFromDisk },
    });
  const programs = (l: Lowered): string[] =>
    l.parts.flatMap((p) => (p.kind === "program" ? [`${p.nodes[0]} to ${p.nodes.at(-1)}`] : []));

  test("a product beside a collective, norms, sums and conversions become programs; other products stay, and the report says why", () => {
    const lowered = partition("inference");
    expect(programs(lowered)).toEqual([
      "convert_element_type to all_gather_into_tensor",
      "mm_3 to add_1",
      "all_gather_into_tensor_1 to mm_4",
      "mm_6 to add_4",
    ]);
    expect(lowered.seconds).toBeLessThan(lowered.baseline);
    // A product of the gated pair is multiplied as far as parts of its rows have come, and with the other one beside it that takes as long as with that one behind it, but for a tenth of a microsecond; the gate itself takes longer in tiles, where nobody multiplies meanwhile, than as a kernel. Where a product is short, its gather goes with the norm before it instead:
    // what blocks send for a product takes from what they multiply.
    const products = lowered.edges.filter((e) => ["mm", "mm_1", "mm_2", "mm_4", "mm_5"].includes(e.to));
    expect(products.map((e) => [e.to, e.isFused])).toEqual([["mm", false], ["mm_1", false], ["mm_2", false], ["mm_4", true], ["mm_5", false]]); // prettier-ignore
    for (const e of products) expect(e.together! < e.apart!).toBe(e.isFused);
  });

  test("every collective of the gradient's graph is in a program, for NCCL was measured to be slower", () => {
    const lowered = partition("backward");
    expect(lowered.parts.filter((p) => p.kind === "program")).toHaveLength(4);
    expect(lowered.parts.some((p) => p.kind === "external" && p.by === "nccl")).toBe(false);
  });

  test("were NCCL faster, it would stay", () => {
    const fast = Object.fromEntries(Object.keys(measured["backward"]!).map((name) => [name, 1e-6]));
    const lowered = lower(dumped("8b", "backward"), { ranks: 2, caller: "kernels", measured: fast, library: libraryFromDisk, resolve: importsFromDisk }); // prettier-ignore
    expect(programs(lowered)).toEqual([]);
    const { why } = lowered.parts.find((p) => p.kind === "external" && p.by === "nccl") as { why: string };
    expect(why).toMatch(/^1\.00 µs was measured, [\d.]+ µs is predicted for collc's program$/);
  });

  test("a weight that nobody says is the same on every rank keeps its norm out of the program, which takes the sum alone", () => {
    const { nodes, ...rest } = dumped("8b", "inference");
    const unsaid = { ...rest, nodes: nodes.map(({ replicated: _, ...node }) => node) };
    const lowered = lower(unsaid, { ranks: 2, caller: "kernels", measured: measured["inference"]!, library: libraryFromDisk, resolve: importsFromDisk }); // prettier-ignore
    expect(programs(lowered)).toContain("mm_3 to add_1");
    const stays = lowered.edges.find((e) => e.to === "all_gather_into_tensor_1")!;
    expect(stays.why).toContain("may differ from rank to rank");
  });
});

test.each(isAll ? KINDS : (["forward"] as const))("a small layer, %s: computes what float64 says", (kind) => {
  const lowered = expectLowered(evaluated(dumped("small", kind)), { ranks: 2, fuse: "legal", caller: "kernels" });
  const programs = lowered.parts.filter((p) => p.kind === "program");
  expect(programs.length).toBeGreaterThan(0);
  // What is gathered, and goes to others as it is, too, is read once.
  for (const { inputs, nodes } of programs)
    expect(new Set(inputs.map((x) => x.tensor)).size, nodes.join(", ")).toBe(inputs.length);
});

test.each(isAll ? KINDS : (["backward"] as const))(
  "as many tokens as there are, %s: one program for all, which computes what float64 says",
  (kind) => {
    const fx = evaluated(dumped("tokens", kind));
    const lowered = lower(fx, { ranks: 2, fuse: "legal", caller: "kernels" });
    const programs = lowered.parts.filter((p) => p.kind === "program").length;
    expect(programs).toBeGreaterThan(0);
    expect([2, 5, 16].map((n0) => expectRuns(fx, lowered, { n0 }))).toEqual([programs, programs, programs]);
  },
);

test.runIf(isAll)("conversions of two process groups, though as large, are never in one program", () => {
  const fx = evaluated(dumped("small", "inference"));
  // What is scattered before it goes on to the gather: in one program where their group is one.
  const last = fx.nodes.findLast((n) => n.target?.includes("all_gather") === true)!;
  const areTogether = (group: string): boolean => {
    const nodes = fx.nodes.map((n) => (n === last ? { ...n, args: [...n.args!.slice(0, -1), group] } : n));
    const asked = { ranks: 2, fuse: "legal", caller: "kernels" } as const;
    const { parts } = lower({ ...fx, groups: { ...fx.groups, other: 2 }, nodes }, asked);
    return parts.some((p) => p.nodes.includes(last.name) && p.nodes.some((name) => name.startsWith("reduce_scatter")));
  };
  expect([areTogether("0"), areTogether("other")]).toEqual([true, false]);
});
