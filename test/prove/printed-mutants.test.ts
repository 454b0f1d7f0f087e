/**
 * What is claimed of the kernel that is printed, held against kernels that passes did not make: each op of it in turn is another,
 * or missing. None is claimed to be right, or ordered, for every length that is not at one of some lengths.
 */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions, type DimValues, withMapping } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import {
  everyLength,
  PROOF_MAPPING,
  programOf,
  proofShapes,
  prove,
  proveOrdering,
  proveAnswer,
} from "../../src/compiler/prove/index.js";
import { isAll } from "../scope.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { printedMutantsOf } from "./printed-mutants.js";

/** Not so many threads that lengths which fill all blocks twice are too long to execute. */
const PRINTED: CompileOptions["mapping"] = { elementThreads: 16, rowThreads: 16, elementBlocks: 4, busyBlocks: 4 };

/** Lengths with tails and without, of one block and of all, of several rounds. */
const LENGTHS = [1, 129, 2 * 4 * 128 * 2, 3 * 4 * 128 * 2 + 128 + 21];

const NAMES = [
  "all_reduce/one_shot",
  "reduce_scatter/pull",
  "all_gather/push",
  "broadcast/tree",
  "all_reduce/two_shot",
  "all_gather/pull",
  "reduce_scatter/ring",
  "all_reduce/push",
  "all_to_all",
  "all_to_all/push",
  "all_to_all/transposed",
];

/** The same of rows: few and many, short and long, with vectors and without. */
const ROWS: readonly DimValues[] = [
  { m: 2, n: 2 },
  { m: 6, n: 10 },
  { m: 10, n: 272 },
  { m: 52, n: 160 },
];

function shapesOf(name: string, { dims }: Kernel): readonly DimValues[] {
  if (dims.length > 1) return ROWS;
  return LENGTHS.map((n) => ({ n: n * (/scatter|gather/.test(name) ? 2 : 1) }));
}

/** Every so many mutants are tried, so that some seconds are enough; with 1, which takes an hour, all. */
const STEPS: Readonly<Record<string, number>> = {
  "all_reduce/one_shot": 5,
  "reduce_scatter/ring": 24,
  "all_reduce/push": 24,
  all_to_all: 12,
  "all_to_all/push": 24,
  "all_to_all/transposed": 4,
};
/** Loops through strips and peers have few ops. */
const STEP_OF_COPIES = 6;

/** A program that says no way has several. */
const WRITTEN: CompileOptions["mapping"] = { transfers: "written", protocol: "barrier" };
const PACKETS: CompileOptions["mapping"] = { transfers: "staged", protocol: "packet" };
/** Loops that copy engines may carry out go through strips and peers together. */
const COPIES: CompileOptions["mapping"] = { copies: "engine" };

const stepOf = (name: string, mapping: CompileOptions["mapping"]): number =>
  Number(process.env["MUTANTS_STEP"] ?? (mapping === COPIES ? STEP_OF_COPIES : (STEPS[name] ?? 12)));

const KERNELS: readonly { readonly name: string; readonly mapping: CompileOptions["mapping"] }[] = [
  ...NAMES.map((name) => ({ name, mapping: {} })),
  ...[WRITTEN, PACKETS].map((mapping) => ({ name: "fused/all_reduce_bias_gelu", mapping })),
  ...["all_reduce/one_shot", "all_reduce/two_shot", "reduce_scatter/push"].map((name) => ({ name, mapping: PACKETS })),
  ...["all_gather/pull", "all_to_all/push"].map((name) => ({ name, mapping: COPIES })),
];

describe("kernels that differ from the one that was proved", () => {
  for (const { name, mapping } of KERNELS.slice(0, isAll ? KERNELS.length : 1))
    it(`${name}${mapping === PACKETS ? " by packets" : mapping === COPIES ? " by copies" : ""}`, () => {
      const file = LIBRARY.find((f) => f.name === name)!;
      const small = compileFile(file, { ranks: 2, dtype: "bf16", mapping: { ...PROOF_MAPPING, ...mapping } });
      const printed = withMapping(small, { ...PRINTED, ...mapping }).kernel!;
      const shapes = proofShapes(small.kernel!, "answer", programOf(small.snapshots));
      const claimsOf = (kernel: typeof printed): readonly boolean[] => {
        const { answer, ordering } = everyLength(kernel, shapes, (dims) => proveAnswer(kernel, { dims }));
        return [answer.holds && ordering.holds, ordering.holds];
      };
      expect(claimsOf(printed)).toEqual([true, true]);
      const wrong: string[] = [];
      let claimed = 0;
      const mutants = printedMutantsOf(printed).filter((_, i) => i % stepOf(name, mapping) === 0);
      for (const mutant of mutants) {
        const [isRight, isOrdered] = claimsOf(mutant.kernel);
        if (!isOrdered) continue;
        if (isRight) claimed++;
        const [at, { kernel }] = [shapesOf(name, printed), mutant];
        if (!isRight) {
          if (at.some((dims) => proveOrdering(kernel, { dims }).status !== "proved")) wrong.push(mutant.name);
          continue;
        }
        const { answer, ordering } = prove({ kernel }, { shapes: at });
        if (answer.status !== "proved" || ordering.status !== "proved") wrong.push(mutant.name);
      }
      expect(wrong).toEqual([]);
      // Else it would show little.
      expect(mutants.length).toBeGreaterThanOrEqual(25);
      expect(claimed).toBeLessThan(mutants.length / 4);
    });
});

/**
 * A loop of which each iteration stores several runs of elements, as far apart as all blocks have: what one of them stores may lack the
 * block that the others go by.
 */
describe("kernels whose loops store several runs of elements", () => {
  const PROGRAMS = [
    [
      "a sum and what all have",
      "x: T[n] partial(sum), r: T[n] replicated) -> y: T[n] replicated { y = all_reduce(x) + r }",
    ],
    ["what is gathered", "x: T[n] sharded(0)) -> y: T[n] replicated { y = all_gather(x, dim: 0) * 2.0 }"],
  ] as const;
  it.each(PROGRAMS)("%s: of no operand that is another is more claimed than executions show", (_, text) => {
    const whole = compile(`collective f(${text}`, { ranks: 2, dtype: "bf16" });
    for (const compiled of [whole.variants[0]!.compiled, whole.variants.at(-1)!.compiled]) {
      const { kernel } = withMapping(compiled, PROOF_MAPPING);
      const mutants = printedMutantsOf(kernel!).filter(({ name }) => /^binary .*operand 0$/.test(name));
      expect(mutants.length).toBeGreaterThan(20);
      const wrong = mutants
        .filter(({ kernel: k }) => everyLength(k, [{ n: 32 }]).answer.holds)
        .filter(({ kernel: k }) => [42, 432].some((n) => proveAnswer(k, { dims: { n } }).status === "wrong"));
      expect(wrong.map((m) => m.name)).toEqual([]);
    }
  });
});

/** Kernels that go through rows in rounds, of which the ordering alone is claimed: how many rows a round has, and rows that it goes through in parts. */
const FOLDED: readonly DimValues[] = [
  { m: 2, n: 2 },
  { m: 6, n: 10 },
  { m: 52, n: 10 },
  { m: 70, n: 24 },
  { m: 12, n: 160 },
  { m: 10, n: 272 },
];

const FOLDING: Readonly<Record<string, number>> = {
  "fused/softmax_over_ranks": 60,
  "fused/reduce_scatter_rms_norm": 60,
  "fused/all_reduce_rms_norm": 60,
};

describe("kernels that differ from one that goes through rows in rounds", () => {
  for (const [name, step] of Object.entries(FOLDING).slice(0, isAll ? Infinity : 1))
    it(name, () => {
      const file = LIBRARY.find((f) => f.name === name)!;
      const small = compileFile(file, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING });
      const printed = withMapping(small, PRINTED).kernel!;
      const shapes = proofShapes(small.kernel!, "answer", programOf(small.snapshots));
      const claimOf = (kernel: typeof printed): readonly boolean[] => {
        const { answer, ordering } = everyLength(kernel, shapes, (dims) => proveAnswer(kernel, { dims }));
        return [answer.holds && ordering.holds, ordering.holds];
      };
      expect(claimOf(printed)).toEqual([true, true]);
      const by = Number(process.env["MUTANTS_STEP"] ?? step);
      const mutants = printedMutantsOf(printed).filter((_, i) => i % by === 0);
      const wrong = mutants.filter(({ kernel }) => {
        const [isRight, isOrdered] = claimOf(kernel);
        return FOLDED.some(
          (dims) =>
            (isOrdered && proveOrdering(kernel, { dims }).status !== "proved") ||
            (isRight && proveAnswer(kernel, { dims }).status !== "proved"),
        );
      });
      expect(wrong.map((m) => m.name)).toEqual([]);
      expect(mutants.length).toBeGreaterThanOrEqual(25);
    });
});
