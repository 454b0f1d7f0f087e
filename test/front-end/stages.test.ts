/** What becomes of three collectives that are in no library, from the source to CUDA, as goldens. */
import { describe, expect, test } from "vitest";
import { compile, printKernel } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { COLLECTIVES } from "./collectives.js";
import { expectGolden } from "./helpers.js";

describe.each(Object.entries(COLLECTIVES))("%s", (name, text) => {
  const result = compile(text, { file: `${name}.coll`, ranks: 4, dtype: "bf16" });

  test("has no diagnostics", () => {
    expect(result.diagnostics).toEqual([]);
  });

  test("IR as it comes from the source", () => {
    expectGolden(`${name}/lowered.ir`, printKernel(result.snapshots[0]!.kernel, { spans: false }));
  });

  test("IR at the rank level", () => {
    const atRank = result.snapshots.filter((s) => s.kernel.level === "rank").at(-1)!;
    expectGolden(`${name}/rank.ir`, printKernel(atRank.kernel, { spans: false }));
  });

  test("IR at the device level", () => {
    expectGolden(`${name}/device.ir`, printKernel(result.kernel!, { spans: false }));
  });

  test("CUDA", () => {
    expectGolden(`${name}/kernel.cu`, result.cuda!);
  });
});

/** The same program under other names. */
function renamed(text: string, names: Readonly<Record<string, string>>): string {
  return text.replace(/[A-Za-z_]\w*/g, (word) => (Object.hasOwn(names, word) ? names[word]! : word));
}

test("other names change nothing but names", () => {
  const names = {
    loudest: "one_shot",
    samples: "x",
    peak: "y",
    own: "stage",
    rows: "n",
    r: "i",
    other: "p",
  };
  const back = Object.fromEntries(Object.entries(names).map(([a, b]) => [b, a]));
  const strip = (cuda: string): string => renamed(cuda, back).replace(/\/\/.*$/gm, "");
  const one = compile(COLLECTIVES.loudest, { file: "a.coll", ranks: 4, dtype: "f16" });
  const two = compile(renamed(COLLECTIVES.loudest, names), { file: "a.coll", ranks: 4, dtype: "f16" });
  expect(two.diagnostics).toEqual([]);
  expect(printKernel(two.kernel!, { spans: false }).split("\n").length).toBe(
    printKernel(one.kernel!, { spans: false }).split("\n").length,
  );
  expect(strip(two.cuda!).length).toBeGreaterThan(1000);
});

test("the tensor-level one is right, against the reference made from its text", () => {
  const { kernel, manifest, source } = compile(COLLECTIVES.layer, { ranks: 4, dtype: "f32" });
  const dims = { m: 20, k: 24, n: 12 };
  const ranks = makeInputs(manifest!, dims, 1);
  new CpuGroup(kernel!, manifest!, { source }).run(ranks, dims);
  expect(checkOutputs(manifest!, dims, ranks, ranks)).toMatchObject({ correct: true, unspecified: [] });
});
