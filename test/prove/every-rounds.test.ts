/**
 * Kernels whose blocks go through rows in rounds that break one condition of the theorem each ("Rounds" in docs/PROOF.md). None is said to be ordered for every
 * length, and most are not at one.
 */
import { describe, expect, it } from "vitest";
import type { Kernel, Op, Region } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { everyLength, PROOF_MAPPING, proveOrdering } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { edited } from "./mutants.js";

const SHAPES: readonly DimValues[] = [
  { m: 2, n: 10 },
  { m: 14, n: 8 },
  { m: 14, n: 16 },
  { m: 8, n: 100 },
  // Rows of several threads each, and whole vectors of them are left over.
  { m: 6, n: 144 },
];

const SOFTMAX = "fused/softmax_over_ranks";

/** Kernels, and how often a block meets in an iteration of each of their loops over blocks. */
const KERNELS: readonly (readonly [string, number])[] = [
  [SOFTMAX, 12],
  ["fused/reduce_scatter_rms_norm", 5],
  ["fused/all_reduce_rms_norm", 5],
];

function kernelOf(name: string): Kernel {
  const file = LIBRARY.find((f) => f.name === name)!;
  return compileFile(file, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING }).kernel!;
}

function reasonOf(kernel: Kernel): string | null {
  const { ordering } = everyLength(kernel, SHAPES);
  return ordering.holds ? null : ordering.reason;
}

function isWrong(kernel: Kernel): boolean {
  return SHAPES.some((dims) => proveOrdering(kernel, { dims }).status === "wrong");
}

/** Meetings in loops over blocks. */
function meetingsIn({ ops }: Region, isInBlocks = false): readonly Op[] {
  return ops.flatMap((op) => {
    if (op.name === "block_sync") return isInBlocks ? [op] : [];
    const isIn = isInBlocks || op.attributes["map"] === "blocks";
    return op.regions.flatMap((r) => meetingsIn(r, isIn));
  });
}

describe.each(KERNELS)("%s", (name, count) => {
  const kernel = kernelOf(name);

  it("is ordered for every length as it is", () => expect(reasonOf(kernel)).toBeNull());

  it("is not without one of its meetings, whichever", () => {
    const meetings = meetingsIn(kernel.body);
    expect(meetings).toHaveLength(count);
    const unseen: number[] = [];
    for (const [i, meeting] of meetings.entries()) {
      const mutant = edited(kernel, meeting, () => []);
      expect(reasonOf(mutant), `meeting ${i}`).not.toBeNull();
      if (!isWrong(mutant)) unseen.push(i);
    }
    expect(unseen).toEqual([]);
  });
});

const softmax = printKernel(kernelOf(SOFTMAX)).replaceAll(/ loc\(\d+:\d+\)/g, "");

/** The first meeting of a round. */
const MEETING = /(store %201, %142 \{buffer="parts_f32"\}\n(?:.*\n)*?)( *)block_sync/;

it.each<readonly [string, readonly (readonly [RegExp, string])[], RegExp, "wrong" | "refused"]>([
  [
    "the first row of a round is one of the round before",
    [[/(%64 = binary %63, )%18 /, "$1%20 "]],
    /another round's/,
    "wrong",
  ],
  ["another round's sum is read", [[/load %876 (\{buffer="value2"\})/, "load %873 $1"]], /another round's/, "wrong"],
  ["a round has more rows than are left", [[/(%66 = .*fn=)"min"/, '$1"max"']], /another round's|leave 'x'/, "wrong"],
  ["there are more rounds than rows", [[/(%21 = binary %9, )%20 /, "$1%18 "]], /is not followed|rounds/, "refused"],
  [
    "rows of a round take more shared memory than there is",
    [[/parts_f32: shared f32\[32\]/, "parts_f32: shared f32[31]"]],
    /leave 'parts_f32'/,
    "wrong",
  ],
  ["all threads store one place", [[/store %141, %82 /, "store %141, %2 "]], /another thread stores/, "wrong"],
  [
    "all rows of a round go to the first",
    [[/store %355, %359 /, "store %355, %64 "]],
    /another thread stores/,
    "wrong",
  ],
  [
    "vectors of threads overlap",
    [[/(%82 = binary %81, )%14 /, "$1%10 "]],
    /vectors begin|not followed|another thread stores|parts of rows/,
    "refused",
  ],
  [
    "single elements are stored that vectors store, too",
    [[/for %213, (%204 .*\(%228\))/, "for %2, $1"]],
    /another thread stores/,
    "wrong",
  ],
  [
    "a vector begins where a row does, wherever that is",
    [[/%42 = binary %39, %41 \{fn="and"\}/, '%42 = compare %2, %2 {fn="eq"}']],
    /vectors (may|begin)|parts of rows|not followed/,
    "refused",
  ],
  [
    "threads meet in a loop over threads",
    [[/(store %141, %82 .*)/, "$1\nblock_sync"]],
    /decide about synchronisation/,
    "refused",
  ],
  [
    "threads meet in the first round alone",
    [
      [
        MEETING,
        `$1%901 = compare %63, %2 {fn="eq"} : bool
if %901 () {
block_sync
} () {
}`,
      ],
    ],
    /decide about synchronisation/,
    "wrong",
  ],
  [
    "a block waits for a peer in each round",
    [
      [
        MEETING,
        `$1block_sync
for %2, %3 {map="threads"} (%900) {
%901 = binary %2, %900 {fn="add"} : index
wait %4, %901, %900 {buffer="flags", scope="sys", order="acquire"}
}`,
      ],
    ],
    /decide about synchronisation|synchronises|synchronise alike/,
    "refused",
  ],
  [
    "blocks give word of what they stored before rounds that some of them do not have",
    [
      [
        /(\n {4}for %2, %22 \{map="blocks"\} \(%63\))/,
        `
    for %2, %9 {map="blocks"} (%900) {
      for %2, %6 {map="threads"} (%901) {
        %902 = binary %900, %901 {fn="add"} : index
        %903 = const {value=0} : f32
        store %903, %902 {buffer="folded"}
      }
    }$1`,
      ],
      [/store %355, %359 \{buffer="folded"\}/, 'store %355, %359 {buffer="value"}'],
    ],
    /nothing orders/,
    "wrong",
  ],
])("%s", (_, edits, reason, outcome) => {
  const text = edits.reduce((t, [from, to]) => {
    expect(t).toMatch(from);
    return t.replace(from, to);
  }, softmax);
  const kernel = parseKernel(text);
  expect(reasonOf(kernel)).toMatch(reason);
  if (outcome === "wrong") expect(isWrong(kernel)).toBe(true);
});
