/** Products of whole numbers of 8 bits: what is between them and what is stored has 32 bits, in memory, too. */
import { expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile, type CompileResult } from "../../src/compiler/index.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { turned } from "../scope.js";

const WHOLE = "x: T[m, k] replicated, w: T[k, n] replicated";
const SUMMED = "x: T[m, k] sharded(1), w: T[k, n] sharded(0)";

/** Inputs, layout of the output, its value, and dtypes of scratch in i8. */
const PROGRAMS: readonly (readonly [
  inputs: string,
  layout: string,
  value: string,
  scratch: Readonly<Record<string, string>>,
])[] = [
  [WHOLE, "replicated", "((x + x) @ w) / 3", { value: "i32" }],
  [WHOLE, "replicated", "(x @ transpose(transpose(w) + transpose(w))) / 3", { value: "i32" }],
  // What is cast wraps there.
  [WHOLE, "replicated", "(T(x + x) @ w) / 3", { value: "i8" }],
  [`${WHOLE}, v: T[n, n] replicated`, "replicated", "((x @ w) @ v) / 3", { value: "i32" }],
  ["x: T[m, k] partial(sum), w: T[k, n] replicated", "replicated", "(all_reduce(x) @ w) / 3", { value: "i32" }],
  [
    "x: T[m, k] sharded(0), w: T[k, n] replicated",
    "replicated",
    "(all_gather(x * 3) @ w) / 7",
    { gathered: "i32", value: "i32" },
  ],
  [SUMMED, "sharded(0)", "reduce_scatter(x @ w, dim: 0) / 3", { stage: "i32" }],
  [SUMMED, "replicated", "max(all_reduce(x @ w), 3)", { stage: "i32" }],
  // A sum that is stored wraps all the same, so that its parts may: they travel in 8 bits.
  [SUMMED, "sharded(0)", "reduce_scatter(x @ w, dim: 0)", { stage: "i8" }],
];

it.each(PROGRAMS.map((program, turn) => [...program, turn] as const))(
  "%s -> %s: %s",
  (inputs, layout, value, scratch, turn) => {
    const text = `collective f(${inputs}) -> y: T[m, n] ${layout} {\n  y = ${value}\n}\n`;
    const compiled = (dtype: "i8" | "u8"): CompileResult => compile(text, { ranks: 2, dtype, mapping: PROOF_MAPPING });
    const kept = compiled("i8").kernel!.buffers.filter((b) => b.role === "scratch");
    expect(Object.fromEntries(kept.map((b) => [b.name, b.dtype]))).toMatchObject(scratch);
    for (const dtype of turned(["i8", "u8"] as const, turn)) {
      const { kernel, manifest, source } = compiled(dtype);
      const claims = prove({ kernel: kernel! }, { shared: sharedLayout(kernel!) });
      expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
      const dims = { m: 6, n: 10, k: 14 };
      const data = makeInputs(manifest!, dims, 3);
      new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true }).run(data, dims);
      expect(checkOutputs(manifest!, dims, data, data)).toMatchObject({ correct: true, maxError: 0 });
    }
  },
);
