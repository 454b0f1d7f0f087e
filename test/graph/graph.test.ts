/** The library's door for compilers: graphs, their text, their schema, and what they compile to. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { compile, parseProgram, printDiagnostics, printKernel, SourceFile, toJson } from "../../src/compiler/index.js";
import { asGraph, compileGraph, dim, type Graph, graph, GRAPH_OPS, graphFromText, graphSchema, graphToText } from "../../src/compiler/graph/index.js"; // prettier-ignore
import { brokenRequirement } from "../../src/compiler/types/requirement.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { tensorPrograms } from "../fuzz/tensor-programs.js";
import { expectGraphRuns } from "./support.js";
import { isAll, turned } from "../scope.js";

const ROOT = join(import.meta.dirname, "../..");

/** Two layers of a gated, tensor-parallel MLP. */
function mlp(): Graph {
  const g = graph("mlp", { doc: "A gated layer, its tokens cut among the ranks." }).require(
    dim.mod!("m", "world"),
    "eq",
    0,
  );
  const x = g.input("x", "T", ["m", "k"], "sharded(0)");
  const up = g.input("up", "T", ["k", dim.mul("world", "f")], "sharded(1)");
  const gate = g.input("gate", "T", ["k", dim.mul("world", "f")], "sharded(1)");
  const down = g.input("down", "T", [dim.mul("world", "f"), "k"], "sharded(0)");
  const all = g.allGather(x, "all");
  const h = g.mul(g.unary("silu", g.matmul(all, gate)), g.matmul(all, up), "h");
  return g.output("y", g.reduceScatter(g.matmul(h, down, "product"), 0)).build();
}

/** Collectives of tensor expressions alone. */
const programs =
  ["kernels", ...readdirSync(join(ROOT, "kernels"), { withFileTypes: true }).filter((e) => e.isDirectory()).map((e) => `kernels/${e.name}`)] // prettier-ignore
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder))
        .filter((n) => n.endsWith(".coll"))
        .map((n) => join(folder, n)),
    ) // prettier-ignore
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, file), "utf8");
      const { program } = parseProgram(new SourceFile(file, text));
      return program.collectives
        .filter(
          (c) =>
            c.ensures.length === 0 &&
            c.body.every((s) => s.kind === "let" || (s.kind === "assign" && s.indices === null)),
        ) // prettier-ignore
        .map((c) => ({ file, text, collective: c.name.text }));
    });

describe("the text of a graph", () => {
  test("both ways say which option is missing", () => {
    const bare = undefined as unknown as { ranks: number };
    expect(() => graphToText(mlp(), bare)).toThrow("options must be an object, not undefined");
    expect(() => graphFromText("", bare)).toThrow("options must be an object, not undefined");
    expect(() => graphFromText("", {} as typeof bare)).toThrow("the option 'ranks' is missing");
  });

  test("is what a person would write, one line a node", () => {
    expect(graphToText(mlp(), { ranks: 4, dtype: "bf16" })).toMatchInlineSnapshot(`
      "/// A gated layer, its tokens cut among the ranks.
      collective mlp(x: T[m, k] sharded(0), up: T[k, world * f] sharded(1), gate: T[k, world * f] sharded(1), down: T[world * f, k] sharded(0)) -> y: T[m, k] sharded(0)
        where m % world == 0
      {
        let all = all_gather(x)
        let matmul_1 = all @ gate
        let silu_1 = silu(matmul_1)
        let matmul_2 = all @ up
        let h = silu_1 * matmul_2
        let product = h @ down
        let reduce_scatter_1 = reduce_scatter(product, dim: 0)
        y = reduce_scatter_1
      }
      "
    `);
  });

  test.for(programs.map((program, turn) => ({ ...program, turn })))(
    "$file $collective: graph, text and graph again",
    ({ file, text, collective, turn }) => {
      for (const ranks of turned([2, 4], turn)) {
        const { graph: made } = graphFromText(text, { ranks, collective, file, resolve: importsFromDisk });
        const printed = graphToText(made!, { ranks });
        expect(graphFromText(printed, { ranks }).graph).toEqual(made);
        // The same text as JSON, and the same kernel by either door.
        expect(asGraph(JSON.parse(JSON.stringify(made)))).toEqual(made);
        const options = { ranks };
        const [a, b] = [compileGraph(made!, options), compile(printed, options)];
        expect(printKernel(a.kernel!, { spans: false })).toBe(printKernel(b.kernel!, { spans: false }));
      }
    },
  );

  test("finds the programs of the library", () => expect(programs.length).toBeGreaterThan(10));

  test("names of other compilers become names of the language", () => {
    const g = graph("odd");
    const x = g.input("L_self_.weight", "f32", ["n"], "partial(sum)");
    g.output("sum", g.allReduce(x, "all-reduce/1"));
    const text = graphToText(g.build(), { ranks: 2 });
    expect(text).toContain("let v_all_reduce_1 = all_reduce(v_L_self__weight)");
    expect(compileGraph(g.build(), { ranks: 2 }).diagnostics).toEqual([]);
  });

  test("what is no graph is refused, with the reason", () => {
    const loop = "collective f(x: T[n] local) -> y: T[n] local { for i in tiles(n) { y[i] = x[i] } }";
    expect(() => graphFromText(loop, { ranks: 2 })).toThrow(/'f' is no graph: it says how the data moves/);
    const mean = "collective f(x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) / world }";
    expect(() => graphFromText(mean, { ranks: 2 })).toThrow(/'f' is no graph: it computes with the number of ranks/);
  });
});

describe("compiling a graph", () => {
  test.for([2, 4])("a layer on %i ranks is what float64 says", (ranks) => {
    const compiled = compileGraph(mlp(), { ranks, dtype: "f32" });
    expectGraphRuns(mlp(), compiled, { m: 4 * ranks, k: 12, f: 8 });
  });

  test("a conversion alone is done by the library", () => {
    const g = graph("all_reduce");
    g.output("y", g.allReduce(g.input("x", "T", ["n"], "partial(sum)")));
    const compiled = compileGraph(g.build(), { ranks: 4, dtype: "bf16", library: libraryFromDisk, resolve: importsFromDisk }); // prettier-ignore
    expect(compiled.ways).toContain("all_reduce/two_shot");
    expect(compiled.manifest!.plan.choices.length).toBeGreaterThan(1);
  });

  test("several outputs, views, numbers, dtypes and a reshape", () => {
    const g = graph("several").require(dim.mod!("m", "world"), "eq", 0);
    const x = g.input("x", "f32", ["m", dim.mul(2, "n")], "replicated");
    const left = g.slice(x, [{}, { to: "n" }]);
    const right = g.slice(x, [{}, { from: "n" }]);
    const turned = g.concat([g.neg(right), g.mul(left, 0.5)], 1);
    g.output("rotated", turned);
    g.output("rows", g.reduce("max", g.permute(turned, [1, 0]), 0), { layout: "sharded(1)" });
    g.output("flat", g.cast(g.reshape(x, [dim.mul(dim.mul(2, "n"), "m")]), "bf16"));
    g.output("chosen", g.where(g.compare("gt", x, 0.25), x, -1));
    const made = g.build();
    for (const ranks of [1, 2, 3]) expectGraphRuns(made, compileGraph(made, { ranks }), { m: 6, n: 5 });
  });

  test("axes of a mesh: data- and tensor-parallel in one graph", () => {
    const g = graph("grid", { mesh: ["dp", "tp"] }).require("m", "ge", 1);
    const x = g.input("x", "f32", [dim.mul("world", "m"), "k"], "sharded(0, dp) replicated(tp)");
    const up = g.input("up", "f32", ["k", dim.mul("world", "n")], "replicated(dp) sharded(1, tp)");
    const down = g.input("down", "f32", [dim.mul("world", "n"), "k"], "replicated(dp) sharded(0, tp)");
    const h = g.node("silu", [g.matmul(x, up)], { id: "h" });
    g.output("y", g.node("all_reduce", [g.matmul(h, down)], { over: "tp" }));
    const grad = g.input(
      "grad",
      "f32",
      [dim.mul("world", "m"), dim.mul("world", "n")],
      "partial(sum, dp) sharded(1, tp)",
    );
    g.output("shard", g.node("reduce_scatter", [grad], { dim: 0, over: "dp" }));
    const made = g.build();
    const text = graphToText(made, { ranks: 6, mesh: { dp: 2, tp: 3 } });
    expect(text).toContain("x: f32[world * m, k] sharded(0, dp) replicated(tp)");
    expect(graphToText(graphFromText(text, { ranks: 6 }).graph!, { ranks: 6 })).toBe(text);
    for (const [dp, tp] of [[2, 3], [3, 2], [2, 2]] as const) expectGraphRuns(made, compileGraph(made, { ranks: dp * tp, mesh: { dp, tp } }), { m: 2, k: 5, n: 4 }); // prettier-ignore
  });

  test("powers, and a causal mask made of indices", () => {
    const g = graph("masked");
    const x = g.input("x", "f32", ["m", "n"], "partial(sum)");
    const scores = g.allReduce(x, "scores");
    const rows = g.node("iota", [], { shape: ["m", 1], dim: 0 });
    const seen = g.compare("ge", rows, g.node("iota", [], { shape: ["n"] }));
    g.output("y", g.where(seen, g.node("pow", [g.unary("abs", scores), 1.5]), -1));
    const made = g.build();
    const text = graphToText(made, { ranks: 2 });
    expect(text).toContain("let iota_1 = iota(m, 1, dim: 0)");
    expect(graphToText(graphFromText(text, { ranks: 2 }).graph!, { ranks: 2 })).toBe(text);
    expectGraphRuns(made, compileGraph(made, { ranks: 2 }), { m: 5, n: 7 });
  });

  test("in place, read before it is changed", () => {
    const g = graph("step").require(dim.mod!("n", "world"), "eq", 0);
    const [w, grad] = [g.input("w", "f32", ["n"], "replicated"), g.input("grad", "f32", ["n"], "partial(sum)")];
    const next = g.sub(w, g.mul(g.allReduce(grad), 0.5));
    g.output("w", next).output("twice", g.mul(w, 2));
    const made = g.build();
    const text = graphToText(made, { ranks: 2 });
    expect(graphFromText(text, { ranks: 2 }).graph).toEqual(graphFromText(graphToText(graphFromText(text, { ranks: 2 }).graph!, { ranks: 2 }), { ranks: 2 }).graph); // prettier-ignore
    const compiled = compileGraph(made, { ranks: 2 });
    expect(compiled.manifest!.inPlace).toEqual(["w"]);
    expectGraphRuns(made, compiled, { n: 6 });
  });

  test("a number of the launch", () => {
    const g = graph("normed");
    const x = g.input("x", "f32", ["m", "n"], "partial(sum)");
    const [eps, scale] = [g.scalar("eps", "f32"), g.scalar("scale", "f32")];
    const h = g.allReduce(x);
    const squares = g.reduce("mean", g.mul(h, h), 1);
    g.output("y", g.mul(g.mul(h, g.unary("rsqrt", g.add(squares, eps))), scale));
    const made = g.build();
    expect(graphFromText(graphToText(made, { ranks: 2 }), { ranks: 2 }).graph).toMatchObject({ scalars: made.scalars });
    expectGraphRuns(made, compileGraph(made, { ranks: 2 }), { m: 3, n: 8, eps: 0.5, scale: 3 });
  });

  test("generated graphs are what float64 says", () => {
    let count = 0;
    for (const { text, ranks, shapes } of fc.sample(tensorPrograms(), { numRuns: isAll ? 60 : 18, seed: 15 })) {
      const { graph: made } = graphFromText(text, { ranks });
      expect(graphFromText(graphToText(made!, { ranks }), { ranks }).graph).toEqual(made);
      const compiled = compileGraph(made!, { ranks, dtype: "f32" });
      for (const dims of shapes.slice(0, 1))
        if (brokenRequirement(compiled.manifest!.requirements, dims) === null) {
          const numbers = Object.fromEntries((made!.scalars ?? []).map(({ id }, i) => [id, i + 0.5]));
          expectGraphRuns(made!, compiled, { ...dims, ...numbers }, ++count);
        }
    }
    expect(count).toBeGreaterThan(isAll ? 40 : 10);
  });

  test("diagnostics name the node", () => {
    const g = graph("wrong");
    const x = g.input("x", "f32", ["m", "n"], "partial(sum)");
    const bias = g.input("bias", "f32", ["n"], "replicated");
    g.output("y", g.allReduce(g.add(x, bias, "linear.bias"), "sum_up"));
    const { diagnostics, source } = compileGraph(g.build(), { ranks: 2 });
    expect(diagnostics.map((d) => toJson(d, source))).toMatchObject([
      { code: "operand-layouts", node: "linear.bias", line: 2 },
    ]);
    expect(printDiagnostics(diagnostics, source)).toContain("wrong.coll:2:3 (node 'linear.bias')");
  });

  test("the CUDA text points at the line of the node", () => {
    const { cuda, source } = compileGraph(mlp(), { ranks: 2, dtype: "bf16" });
    const line = source.text.split("\n").findIndex((l) => l.includes("let product =")) + 1;
    expect(cuda).toContain(`mlp.coll:${line}`);
  });
});

describe("the schema", () => {
  test("is the file that is published", () => {
    const published = JSON.parse(readFileSync(join(ROOT, "schemas/graph.schema.json"), "utf8"));
    expect(published, "the language has changed: npm run schemas").toEqual(graphSchema());
  });

  test("is a schema, and takes graphs", () => {
    const validate = new Ajv2020({
      strict: true,
      strictRequired: false,
      allowUnionTypes: true,
      strictTypes: false,
    }).compile(graphSchema());
    expect(validate(mlp())).toBe(true);
    expect(validate({ ...mlp(), format: "other" })).toBe(false);
  });

  const node = (extra: object): unknown => ({ ...mlp(), nodes: [{ id: "n", op: "relu", inputs: ["x"], ...extra }], outputs: [{ id: "y", value: "n" }] }); // prettier-ignore
  test.for<[string, unknown, RegExp]>([
    ["an unknown operation", node({ op: "rellu" }), /node 'n': there is no operation 'rellu'/],
    ["an operand too many", node({ inputs: ["x", "x"] }), /node 'n': inputs: 'relu' takes at most 1/],
    ["an attribute too many", node({ dim: 1 }), /node 'n': 'relu' has no 'dim'/],
    ["a missing one", node({ op: "sum" }), /node 'n': 'dim' is missing for 'sum'/],
    ["an operand that is not there", node({ inputs: ["z"] }), /node 'n' is made of 'z', which is no input/],
    ["a node before its operand", node({ inputs: ["n"] }), /node 'n' is made of 'n', which stands behind it/],
    ["no outputs", { ...mlp(), outputs: [] }, /the graph: outputs: it must have at least 1/],
    ["no graph", 7, /the graph: it must be an object/],
  ])("says what is wrong with %s", ([, value, message]) => expect(() => asGraph(value)).toThrow(message));

  test("says so of what is no number, and of a vector that is to be transposed", () => {
    const g = graph("f");
    const x = g.input("x", "T", ["n"], "replicated");
    expect(() => g.add(x, NaN)).toThrow("node 'add_1' takes NaN, which is no number of a graph");
    g.output("y", g.transpose(x));
    const { diagnostics } = compileGraph(g.build(), { ranks: 2, dtype: "f32" });
    expect(diagnostics.map((d) => d.message)).toEqual([
      "transpose does not fit: it swaps the last two dimensions, and the tensor has 1",
    ]);
  });

  test("has every operation of the language", () => {
    expect(Object.keys(GRAPH_OPS)).toEqual(
      expect.arrayContaining(["add", "matmul", "gelu", "all_to_all", "permute", "where", "max"]),
    );
  });
});
