/** Products of operands that were made wider: tensor cores take them as they were, and what is summed over ranks is as exact as it says. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult, withMapping } from "../../src/compiler/index.js";
import { type Op, text } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { collc, file, temporaryFolder } from "../cli/support.js";

const program = (body: string, dtypes: readonly [a: string, b: string] = ["bf16", "bf16"]): string =>
  `collective f(a: ${dtypes[0]}[m, k] sharded(0), b: ${dtypes[1]}[k, n] replicated) -> c: f32[m, n] sharded(0) {
  ${body}
}`;

/** Dtypes that the products' factors are loaded as. */
function factorsOf({ snapshots }: CompileResult): readonly string[] {
  const kernel = snapshots.find(({ pass }) => pass === "lower-tensors")!.kernel;
  const found = new Set<string>();
  walkKernel(kernel, (op: Op, parents) => {
    if (op.name === "load" && parents.some(({ name }) => name === "contract"))
      found.add(kernel.buffers.find(({ name }) => name === text(op, "buffer"))!.dtype);
  });
  return [...found].sort();
}

describe("f32 of both operands", () => {
  it.each([
    ["c = f32(a) @ f32(b)"],
    ["let w = f32(b)\n  c = f32(a) @ w"],
    ["c = f32(a) @ transpose(f32(transpose(b)))"],
    ["c = transpose(transpose(f32(b)) @ transpose(f32(a)))"],
    ["c = f32(DTYPE(a + a)) @ f32(b)"],
  ])("%s", (body) => {
    for (const dtype of ["bf16", "f16"]) {
      const compiled = compile(program(body.replace("DTYPE", dtype), [dtype, dtype]), { ranks: 2 });
      expect(compiled.diagnostics).toEqual([]);
      expect(factorsOf(compiled)).toEqual([dtype]);
      expect(compiled.cuda).toContain("wgmma");
      const { answer, ordering } = prove(withMapping(compiled, PROOF_MAPPING));
      expect([answer.status, ordering.status]).toEqual(["proved", "proved"]);
    }
  });

  it.each([
    ["c = f32(a) @ f32(b)", ["bf16", "f16"]],
    ["c = (f32(a) + 1.0) @ f32(b)", ["bf16", "bf16"]],
    // What is computed is kept in f32: rounded to bf16, it would be another value.
    ["c = f32(a + a) @ f32(b)", ["bf16", "bf16"]],
    ["c = f32(a) @ f32(b)", ["f8e4m3", "f8e4m3"]],
    ["c = f32(a) @ b", ["bf16", "f32"]],
  ] as const)("%s of %j stays a product of f32", (body, dtypes) => {
    const compiled = compile(program(body, dtypes), { ranks: 2 });
    expect(compiled.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    expect(factorsOf(compiled)).toContain("f32");
  });
});

describe("parts of a product that ranks add up", () => {
  const folder = temporaryFolder();
  const tolerance = async (product: string): Promise<number> => {
    const path = file(
      folder,
      "f.coll",
      `collective f(a: bf16[m, k] sharded(1), b: bf16[k, n] sharded(0)) -> c: f32[m, n] replicated { c = ${product} }`,
    );
    const { out } = await collc(["run", path, "--backend", "cpu", "--ranks", "2", "--dim", "m=32", "--dim", "n=32", "--dim", "k=256", "--iters", "1", "--json"]); // prettier-ignore
    const result = JSON.parse(out) as { correct: boolean; tolerance: number };
    expect(result.correct).toBe(true);
    return result.tolerance;
  };

  it("may be rounded to the operands' dtype, and not to the inputs' where that is narrower", async () => {
    expect(await tolerance("all_reduce(f32(a) @ f32(b))")).toBeLessThan(0.01);
    expect(await tolerance("f32(all_reduce(a @ b))")).toBeGreaterThan(0.02);
  });
});
