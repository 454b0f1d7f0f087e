/** The library as a caller sees it, and the README's example as it stands there. */
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { compile, compileGraph, type CompileResult, connect, graph, graphToText, UsageError } from "../src/index.js";

const SOURCE = readFileSync(new URL("../kernels/all_reduce/one_shot.coll", import.meta.url), "utf8");

it("runs the README's example", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const example = /```ts\n([\s\S]*?)```/.exec(readme)![1]!;
  const body = example.replace(/^import .*$/m, "").replace(/\[0\]!/g, "[0]");
  const printed: unknown[] = [];
  const run = Object.getPrototypeOf(async () => {}).constructor as new (
    ...names: string[]
  ) => (...values: unknown[]) => Promise<void>;
  await new run("compile", "connect", "source", "console", body)(compile, connect, SOURCE, {
    log: (x: unknown) => printed.push(x),
  });
  expect(printed).toEqual(["4080"]);
});

it("runs the README's example of a graph", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, example] = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map((m) => m[1]!);
  const printed: string[] = [];
  const run = new Function("compileGraph", "graph", "graphToText", "console", example!.replace(/^import .*$/m, "") + "return program;"); // prettier-ignore
  const program = run(compileGraph, graph, graphToText, { log: (x: string) => printed.push(x) }) as CompileResult;
  expect(program.diagnostics).toEqual([]);
  expect(program.manifest!.inputs.map((t) => t.name)).toEqual(["a", "b"]);
  // Places of the same line differ in their columns: a node has the line, an expression its characters.
  const code = (result: CompileResult): string => result.cuda!.replace(/\/\/.*$|\/\*.*?\*\/|^#line.*$/gm, "");
  expect(code(compile(printed[0]!, { ranks: 4, dtype: "bf16" }))).toBe(code(program));
});

it("gives diagnostics instead of throwing for a wrong program", () => {
  const result = compile("collective broken(x: T[n] partial(sum)) -> y: T[n] replicated { y = x }", { ranks: 2 });
  expect(result.diagnostics.map((d) => d.code)).toContain("layout-mismatch");
  expect(result.cuda).toBeNull();
});

it("refuses tensors that do not fit", async () => {
  const group = await connect({ backend: "cpu", ranks: 2 });
  const kernel = await group.load(compile(SOURCE, { ranks: 2, dtype: "f32" }));
  const x = await group.symmetric("f32", [8]);
  const local = group.local("f32", [8]);
  await expect(kernel.run({ x }, { n: 8 })).rejects.toThrow(/needs a tensor 'y'/);
  await expect(kernel.run({ x, y: x }, { n: 9 })).rejects.toThrow(/has 8 elements on a rank; the dimensions ask for 9/);
  await expect(kernel.run({ x: local, y: x }, { n: 8 })).rejects.toThrow(/not in symmetric memory/);
  await expect(kernel.run({ x, y: x }, {})).rejects.toThrow(UsageError);
  await expect(kernel.run({ x, y: x }, { n: 8 })).rejects.toThrow(/'y' shares memory with 'x'/);
  const both = await group.symmetric("f32", [16]);
  await expect(kernel.run({ x: both.view(0, [8]), y: both.view(4, [8]) }, { n: 8 })).rejects.toThrow(/shares memory/);
  await kernel.run({ x: both.view(0, [8]), y: both.view(8, [8]) }, { n: 8 });
  await expect(group.load(compile(SOURCE, { ranks: 4 }))).rejects.toThrow(/compiled for 4 ranks; this group has 2/);
  await group.close();
});

it("refuses dimensions that do not divide, with the nearest that do", async () => {
  const group = await connect({ backend: "cpu", ranks: 4 });
  const text = readFileSync(new URL("../kernels/all_gather/push.coll", import.meta.url), "utf8");
  const kernel = await group.load(compile(text, { ranks: 4, dtype: "f32" }));
  const x = group.local("f32", [2]);
  const y = await group.symmetric("f32", [10]);
  await expect(kernel.run({ x, y }, { n: 10 })).rejects.toMatchObject({
    message: expect.stringMatching(/10 does not divide by 4: 'x' is sharded\(0\)/),
    help: expect.stringContaining("n=8 or n=12"),
  });
  await group.close();
});

// The suites that start collc as a process need it built, and skip where it is not.
it.runIf(process.env["CI"])("is built, with its addon, where CI runs", () => {
  for (const file of ["dist/src/cli/main.js", "build/Release/collc.node", "build/Release/fake-cuda/libcuda.so.1"])
    expect(existsSync(new URL(`../${file}`, import.meta.url)), file).toBe(true);
});
