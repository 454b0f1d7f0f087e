/** Arrangements that undo each other, and those that leave elements in the order in which ranks have divided them. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

const SIGNATURE = "collective f(x: T[m, n] partial(sum), b: T[n] replicated) -> y: T[m, n] replicated";

function compiled(value: string, signature = SIGNATURE) {
  const text = `${signature} {\n  y = ${value}\n}\n`;
  const result = compile(text, { ranks: 4, dtype: "bf16", mapping: { algorithm: "two_shot" } });
  expect(result.diagnostics).toEqual([]);
  return result;
}

/** What the kernel does, without what it is to be. */
const printedAfter = (pass: string, value: string): string => {
  const { kernel } = compiled(value).snapshots.find((s) => s.pass === pass)!;
  return printKernel(kernel, { spans: false }).split("  body {")[1]!;
};

const SUM = "gelu(all_reduce(x) + b)";

describe("one arrangement after another", () => {
  it.each([
    `transpose(transpose(${SUM}))`,
    `permute(${SUM}, 0, 1)`,
    `reshape(reshape(${SUM}, n, m), m, n)`,
    `reshape(reshape(permute(permute(reshape(${SUM}, m, n, 1), 1, 2, 0), 2, 0, 1), m * n), m, n)`,
    `gelu(transpose(transpose(all_reduce(transpose(transpose(x))))) + b)`,
  ])("%s moves nothing", (value) => {
    expect(printedAfter("simplify-tensors", value)).toBe(printedAfter("simplify-tensors", SUM));
  });

  it.each([`transpose(transpose(${SUM}))`, "gelu(transpose(transpose(all_reduce(transpose(transpose(x))))) + b)"])(
    "%s is to be what it is without",
    (value) => {
      const wanted = (v: string): unknown => compiled(v).manifest!.specification;
      expect(wanted(SUM)).toBeTruthy();
      expect(wanted(value)).toEqual(wanted(SUM));
    },
  );

  it("is one permute, of both orders", () => {
    const { kernel } = compiled(
      "permute(permute(x, 1, 2, 0), 1, 0, 2)",
      "collective f(x: T[a, b, c] replicated) -> y: T[c, b, a] replicated",
    ).snapshots.find((s) => s.pass === "simplify-tensors")!;
    const orders = kernel.body.ops.flatMap(({ name, attributes }) => (name === "permute" ? [attributes["order"]] : []));
    expect(orders).toEqual(["2,1,0"]);
  });
});

describe("a sum that ranks have divided", () => {
  const reshaped = "gelu(reshape(all_reduce(reshape(x, m * n)), m, n) + b)";

  it("stays divided in another shape", () => {
    const scratch = (value: string): number =>
      compiled(value).kernel!.buffers.filter((b) => b.role === "scratch").length;
    expect(scratch(reshaped)).toBe(0);
    expect(scratch(SUM)).toBe(0);
  });

  it.each([
    [1, 1],
    [3, 43],
    [64, 8],
  ])("is right with %i rows of %i", (m, n) => {
    const { kernel, manifest, source } = compiled(reshaped);
    const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
    const tensors = makeInputs(manifest!, { m, n }, 1);
    group.run(tensors, { m, n });
    expect(checkOutputs(manifest!, { m, n }, tensors, tensors)).toMatchObject({ correct: true });
  });
});
