/**
 * Kernels whose blocks go through rows in rounds that break one condition of the theorem each ("Rounds" in docs/PROOF.md). None is said to be ordered for every
 * length, and most are not at one.
 */
import { describe, expect, it } from "vitest";
import type { Kernel, Op, Region } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { everyLength, PROOF_MAPPING, proveOrdering } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { edited } from "./mutants.js";
import { rowsKernel } from "./rows/index.js";

const SHAPES: readonly DimValues[] = [
  { m: 2, n: 10 },
  { m: 14, n: 8 },
  { m: 14, n: 16 },
  { m: 8, n: 100 },
];

const NAMES = ["fused/softmax_over_ranks", "fused/reduce_scatter_rms_norm", "fused/all_reduce_rms_norm"];

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

describe.each(NAMES)("%s", (name) => {
  const kernel = kernelOf(name);

  it("is ordered for every length as it is", () => expect(reasonOf(kernel)).toBeNull());

  it("is not without one of its meetings, whichever", () => {
    const meetings = meetingsIn(kernel.body);
    expect(meetings.length).toBeGreaterThanOrEqual(5);
    const unseen: number[] = [];
    for (const [i, meeting] of meetings.entries()) {
      const mutant = edited(kernel, meeting, () => []);
      expect(reasonOf(mutant), `meeting ${i}`).not.toBeNull();
      if (!isWrong(mutant)) unseen.push(i);
    }
    expect(unseen).toEqual([]);
  });
});

const softmax = rowsKernel("softmax-of-few-threads");

const MEETING = /(%80 = cast %79 : f32\n(?:.*\n)*?)( *)block_sync/;

it.each<readonly [string, readonly (readonly [RegExp, string])[], RegExp, "wrong" | "refused"]>([
  [
    "the first row of a round is one of the round before",
    [[/%58 = binary %57, %20 \{fn="mul"\}/, '%58 = binary %57, %22 {fn="mul"}']],
    /another round's/,
    "wrong",
  ],
  ["another round's sum is read", [[/load %743 (\{buffer="value"\})/, "load %741 $1"]], /another round's/, "wrong"],
  ["a round has more rows than are left", [[/(%60 = .*fn=)"min"/, '$1"max"']], /another round's|leave 'x'/, "wrong"],
  [
    "there are more rounds than rows",
    [[/(%23 = binary )%9, %22 /, "$1%9, %20 "]],
    /is not followed|rounds|too many ways/,
    "refused",
  ],
  [
    "rows of a round take more shared memory than there is",
    [[/parts_f32: shared f32\[32\]/, "parts_f32: shared f32[31]"]],
    /leave 'parts_f32'/,
    "wrong",
  ],
  ["all threads store one place", [[/store %72, %65 /, "store %72, %2 "]], /another thread stores/, "wrong"],
  [
    "all rows of a round go to the first",
    [[/store %120, %118 /, "store %120, %58 "]],
    /another thread stores/,
    "wrong",
  ],
  [
    "vectors of threads overlap",
    [[/%65 = binary %64, %14 /, "%65 = binary %64, %38 "]],
    /vectors begin|not followed|another thread stores|parts of rows/,
    "refused",
  ],
  [
    "single elements are stored that vectors store, too",
    [[/for %63, %61 /, "for %2, %61 "]],
    /another thread stores/,
    "wrong",
  ],
  [
    "a vector begins where a row does, wherever that is",
    [[/%52 = binary %49, %51 \{fn="and"\}/, '%52 = compare %2, %2 {fn="eq"}']],
    /vectors (may|begin)|parts of rows|not followed/,
    "refused",
  ],
  [
    "threads meet in a loop over threads",
    [[/(store %72, %65 .*)/, "$1\nblock_sync"]],
    /decide about synchronisation/,
    "refused",
  ],
  [
    "threads meet in the first round alone",
    [
      [
        MEETING,
        `$1%901 = compare %57, %2 {fn="eq"} : bool
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
        /(\n {4}if %21 \(\) \{)/,
        `
    for %2, %9 {map="blocks"} (%900) {
      for %2, %6 {map="threads"} (%901) {
        %902 = binary %900, %901 {fn="add"} : index
        %903 = const {value=0} : f32
        store %903, %902 {buffer="folded"}
      }
    }$1`,
      ],
      [/store %120, %118 \{buffer="folded"\}/, 'store %120, %118 {buffer="value"}'],
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
