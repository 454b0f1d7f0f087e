/**
 * A value that is used twice is one value: what a program costs to compile, print, prove, run and explain grows with its length,
 * not with the number of ways through it. As a tree, each of these programs has more than 2^40 nodes.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { trafficOf } from "../../src/bench/traffic.js";
import {
  compile,
  type Kernel,
  parseKernel,
  printKernel,
  someSpecification,
  type Specification,
  specificationsOf,
  tableOf,
} from "../../src/compiler/index.js";
import { findNvrtc } from "../../src/runtime/nvrtc.js";
import { collc, file, temporaryFolder } from "./support.js";

const folder = temporaryFolder();
const nvrtc = (await findNvrtc()).found;

const LENGTH = 60;
const lines = Array.from({ length: LENGTH }, (_, i) => `  let a${i + 1} = a${i} * 0.5 + a${i} * 0.25`);
const TENSORS = `collective chain(x: T[n] partial(sum)) -> y: T[n] replicated {
  let a0 = all_reduce(x)
${lines.join("\n")}
  y = a${LENGTH}
}
`;

const next = "x@((rank + 1) % world)[i]";
const nested = (depth: number): string => (depth === 0 ? next : `part(${nested(depth - 1)})`);
const ELEMENTS = `fn part(v) = v * 0.5 + v * 0.25
collective nested(x: T[n] local) -> y: T[n] local ensures y[i] == ${nested(40)} {
  for i in tiles(n) { y[i] = ${nested(40)} }
}
`;

describe.each([
  ["tensors", TENSORS],
  ["claims about elements", ELEMENTS],
])("%s", (name, text) => {
  const path = (): string => file(folder, `${name.replaceAll(" ", "_")}.coll`, text);

  test.each(["ast", "tensor", "rank", "device", "cuda"])("emit --stage %s", async (stage) => {
    const outcome = await collc(["emit", path(), "--ranks", "2", "--stage", stage]);
    expect(outcome.code, outcome.err).toBe(0);
    expect(outcome.out.length).toBeLessThan(2 ** 20);
  });

  test("run", async () => {
    const { code, out, err } = await collc(["run", path(), "--ranks", "2", "--dtype", "f32", "--dim", "n=640"]);
    expect(code, err).toBe(0);
    expect(out).toContain("✓ correct");
  });

  test("check", async () => {
    const { code, out, err } = await collc(["check", path(), "--ranks", "2"]);
    expect(code, err).toBe(0);
    expect(out).toContain("answer proved");
  });

  test("explain", async () => {
    const { code, err } = await collc(["explain", path(), "--ranks", "2", "--dim", "n=1024"]);
    expect(code, err).toBe(0);
  });

  test.skipIf(nvrtc === null)("build", async () => {
    const into = join(folder, name);
    const { code, err } = await collc(["build", path(), "--ranks", "2", "-o", into]);
    expect(code, err).toBe(0);
    expect(readFileSync(join(into, "manifest.json"), "utf8").length).toBeLessThan(2 ** 17);
  });

  test("the IR's text form, and back", () => {
    for (const { kernel } of compile(text, { ranks: 2 }).snapshots) {
      const printed = printKernel(kernel);
      const again = parseKernel(printed);
      expect(printKernel(again)).toBe(printed);
      expect(tableOf(again.specification)).toEqual(tableOf(kernel.specification));
    }
  });
});

test("parts that are read from text are shared as those that were printed", () => {
  const { kernel } = compile(TENSORS, { ranks: 2 });
  expect(sizeOf(parseKernel(printKernel(kernel!)))).toBeLessThan(LENGTH * 6);
});

/** Objects that the specification of the first output is made of. */
function sizeOf(kernel: Kernel): number {
  let size = 0;
  someSpecification(kernel.specification[0] as Specification, () => (size++, false));
  return size;
}

test("a manifest that was JSON means what it meant", () => {
  const { manifest } = compile(TENSORS, { ranks: 2 });
  const { specification } = JSON.parse(JSON.stringify(manifest)) as NonNullable<typeof manifest>;
  expect(tableOf(specificationsOf(specification))).toEqual(manifest!.specification);
});

test("a node must stand before those that refer to it", () => {
  const broken = { nodes: [{ kind: "unary", fn: "neg", a: 0 }], outputs: [0] } as const;
  expect(() => specificationsOf(broken)).toThrow(RangeError);
  expect(() => specificationsOf({ nodes: [], outputs: [0] })).toThrow(RangeError);
});

test("a value that is used twice moves once", () => {
  const { manifest } = compile(TENSORS, { ranks: 4, dtype: "f32" });
  expect(trafficOf(manifest!, { n: 1024 })).toEqual({ algorithmBytes: 4096, busBytes: 2 * 0.75 * 4096 });
});

test.each([
  ["a: f32[1, 2] sharded(1), b: f32[2, 1] sharded(0)", "all_reduce(a @ b)", 4],
  ["a: f32[2, 1] sharded(0)", "all_reduce(sum(a, dim: 0))", 4],
  // It is narrower before it is gathered, and from there on nobody needs more.
  ["a: f32[2, 1] sharded(0)", "bf16(all_gather(a))", 2],
  ["a: f32[2, 1] sharded(0)", "all_gather(a)", 4],
])("what goes into outputs of two dtypes moves once: %s, %s", (inputs, value, bytes) => {
  const [rows, isNarrow] = [value.includes("gather") ? 2 : 1, value.startsWith("bf16")];
  const text = `collective f(${inputs}) -> (y: bf16[${rows}, 1] replicated, z: ${isNarrow ? "bf16" : "f32"}[${rows}, 1] replicated) {
    let s = ${value}
    y = bf16(s)
    z = s
  }`;
  const { manifest } = compile(text, { ranks: 2 });
  expect(trafficOf(manifest!, {})!.busBytes).toBe(bytes);
});
