/** Kernels of rows and columns that break one condition of the theorem each ("Every length" in docs/PROOF.md), as in `every-conditions.test.ts`. */
import { expect, it } from "vitest";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { everyLength, PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { compileFile, LIBRARY } from "../kernels/library.js";

const SHAPES: readonly DimValues[] = [
  { m: 4, n: 4 },
  { m: 8, n: 48 },
];

function textOf(name: string): string {
  const file = LIBRARY.find((f) => f.name === name)!;
  const { kernel } = compileFile(file, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING });
  return printKernel(kernel!).replaceAll(/ loc\(\d+:\d+\)/g, "");
}

const [pull, push, transposed, bias] = [
  "all_to_all",
  "all_to_all/push",
  "all_to_all/transposed",
  "fused/all_reduce_bias_gelu",
].map(textOf) as [string, string, string, string];

function reasonOf(text: string, shapes = SHAPES): string | null {
  const kernel = parseKernel(text);
  const { answer, ordering } = everyLength(kernel, shapes, (dims) => proveAnswer(kernel, { dims }));
  if (!ordering.holds) return ordering.reason;
  return answer.holds ? null : answer.reason;
}

const replaced = (text: string, edits: readonly (readonly [RegExp, string])[]): string =>
  edits.reduce((t, [from, to]) => {
    expect(t).toMatch(from);
    return t.replace(from, to);
  }, text);

it.each([
  ["all_to_all as it is", pull, [], null],
  ["all_to_all/push as it is", push, [], null],
  ["all_to_all/transposed as it is", transposed, [], null],
  ["a bias is added as it is", bias, [], null],
  [
    "a row may have no elements",
    bias,
    [
      [/(%18 = binary )%16, %17 /, "$1%16, %3 "],
      [/(buffer [xy]: \w+ bf16\[)m, n\]/g, "$1add(m, m), add(n, 2)]"],
    ],
    /no elements/,
  ],
  [
    "rows are counted by another length",
    transposed,
    [
      [/(%40 = binary %39, )%31 /, "$1%6 "],
      [/(%42 = binary %39, )%31 /, "$1%6 "],
    ],
    /element to element/,
  ],
  [
    "rows and columns of one count are of two lengths",
    transposed,
    [[/(%42 = binary %39, )%31 /, "$1%6 "]],
    /element to element/,
  ],
  [
    "there are more iterations than ranks",
    pull,
    [
      [/require mod\(m, 2\) eq 0/, "require mod(m, 4) eq 0"],
      [/\n *(%10 = binary %5, )%3 /, "\n%900 = const {value=4} : index\n$1%900 "],
    ],
    /each rank in turn/,
  ],
  ["the last iteration is short", pull, [[/ *require mod\(m, 2\)[^\n]*\n/, ""]], /each rank in turn/],
  ["what is read in rows is written", transposed, [[/(load %\d+ \{buffer=)"x"/g, '$1"y"']], /may meet/],
  [
    "a movement begins within a row",
    transposed,
    [
      [/(buffer y: output bf16\[)n, /, "$1add(n, 64), "],
      [/%(39|54) = binary (%\d+, %\d+) (.*)/g, '%9$1 = binary $2 $3\n%$1 = binary %9$1, %19 {fn="add"} : index'],
    ],
    /part of a row/,
  ],
  [
    "what is read is shorter",
    bias,
    [[/buffer bias: input bf16\[n\]/, "buffer bias: input bf16[div(n, 2)]"]],
    /may leave 'bias'/,
  ],
  [
    "there is a row less",
    transposed,
    [[/buffer x: input bf16\[m, /, "buffer x: input bf16[sub(m, 1), "]],
    /may leave 'x'/,
  ],
  [
    "vectors go on into the next row",
    bias,
    [
      [/(%33 = binary %30, )%32 /, "$1%30 "],
      [/(%36 = binary %33, )%35 /, "$1%33 "],
    ],
    /vectors begin/,
  ],
  [
    "rows are read from the last to the first",
    transposed,
    [[/%(45|60) = binary (%\d+, %\d+) (.*)/g, '%9$1 = binary $2 $3\n%$1 = binary %6, %9$1 {fn="sub"} : index']],
    /backwards/,
  ],
  [
    "another element of the bias",
    bias,
    [[/load %50 (\{buffer="bias")/, "load %2 $1"]],
    /element to element|not the same/,
  ],
] as const)("%s", (_, text, edits, reason) => {
  const found = reasonOf(replaced(text, edits));
  if (reason === null) expect(found).toBe(null);
  else expect(found).toMatch(reason);
});

it("of two formulas that agree at all elements of a proved shape, none is taken for the other", () => {
  // With one element in each row of what ranks hold, what is transposed lies where it lay.
  expect(reasonOf(transposed, [{ m: 2, n: 2 }])).toMatch(/no proved shape/);
  expect(reasonOf(transposed, [{ m: 2, n: 64 }])).toMatch(/no proved shape/);
  expect(reasonOf(transposed, [{ m: 4, n: 4 }])).toBe(null);
});

it("one product of lengths is no other", () => {
  // Of chunks of all elements nothing is said that only holds where there is a column.
  expect(reasonOf(bias, [{ m: 0, n: 5 }])).toMatch(/no proved shape/);
});
