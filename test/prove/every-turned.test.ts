/** Products of factors whose rows and columns change places are proved for every length; and twins of their kernels that are wrong are not, which executions show to be wrong. */
import { describe, expect, it } from "vitest";
import { compile, withMapping } from "../../src/compiler/index.js";
import { type Kernel, type Op } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { everyLength, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { isAll } from "../scope.js";
import { changed, Executions, moved, type Twin, variantOf, withAttributes } from "./twins.js";

const LEFT = "collective f(a: T[k, m] local, b: T[k, n] local) -> c: T[m, n] local { c = transpose(a) @ b }";
const RIGHT = "collective f(a: T[m, k] local, b: T[n, k] local) -> c: T[m, n] local { c = a @ transpose(b) }";
const BOTH = "collective f(a: T[k, m] local, b: T[n, k] local) -> c: T[m, n] local { c = transpose(a) @ transpose(b) }";
const SUMS = "a: T[m, k] sharded(1), b: T[n, k] sharded(1)";
const SHARED: readonly (readonly [name: string, text: string, way: string])[] = [
  [
    "packets to all ranks",
    `${SUMS}) -> c: T[m, n] replicated { c = all_reduce(a @ transpose(b)) }`,
    "one_shot+packets",
  ],
  ["tiles to all ranks", `${SUMS}) -> c: T[m, n] replicated { c = all_reduce(a @ transpose(b)) }`, "two_shot"],
  [
    "tiles to their ranks",
    `${SUMS}) -> c: T[m, n] sharded(0) { c = reduce_scatter(a @ transpose(b), dim: 0) }`,
    "two_shot",
  ],
];

const PROVED = { answer: { holds: true }, ordering: { holds: true } };
const kernelOf = (text: string): ReturnType<typeof compile> => compile(text, { ranks: 2, dtype: "bf16" });
const SHORT: readonly DimValues[] = [{ m: 8, k: 4, n: 24 }];

describe("products of factors that are turned", () => {
  it.each([
    ["the left one", LEFT],
    ["the right one", RIGHT],
    ["both", BOTH],
  ])("%s, are proved for every length, as printed and as executed", (_, text) => {
    const compiled = kernelOf(text);
    expect(everyLength(compiled.kernel!, SHORT)).toMatchObject(PROVED);
    expect(everyLength(withMapping(compiled, PROOF_MAPPING).kernel!, SHORT)).toMatchObject(PROVED);
  });

  for (const ranks of isAll ? [2, 4, 8] : [2, 4])
    it.each(SHARED)(`that ranks add up, %s, are proved for every length on ${ranks}`, (_, text, way) => {
      expect(everyLength(variantOf(text, ranks, way).kernel!, [{ m: 4 * ranks, k: 2 * ranks, n: 24 }])).toMatchObject(
        PROVED,
      );
    });
});

const SHAPES: readonly DimValues[] = [
  { m: 4, k: 80, n: 8 },
  { m: 8, k: 83, n: 8 },
  { m: 20, k: 54, n: 24 },
  { m: 37, k: 43, n: 72 },
  { m: 16, k: 16, n: 16 },
];
const executions = new Executions(SHAPES, SHORT);
const [left, right] = [LEFT, RIGHT].map((text) => withMapping(kernelOf(text), PROOF_MAPPING).kernel!) as [
  Kernel,
  Kernel,
];

function copies(kernel: Kernel, from: string): readonly Op[] {
  const found: Op[] = [];
  walkKernel(kernel, (op) => void (op.name === "copy_tile" && op.attributes["from"] === from && found.push(op)));
  return found;
}

/** The two places at which a tile begins are exchanged. */
const exchanged = ({ operands: [row, column, ...others], ...op }: Op): readonly Op[] => [
  { ...op, operands: [column!, row!, ...others] },
];

const TWINS: readonly Twin[] = [
  [
    "a tile of the left factor begins where its rows and columns are exchanged",
    () => changed(left, copies(left, "a"), exchanged),
    /of its place in the depth|another place/,
  ],
  [
    "a tile of the right factor does",
    () => changed(right, copies(right, "b"), exchanged),
    /of its place in the depth|another place/,
  ],
  [
    "a tile begins one further along the depth",
    () => changed(right, copies(right, "b"), (op) => moved(op, 1, 1)),
    /of its place in the depth/,
  ],
  [
    "a tile begins one further along the columns",
    () => changed(right, copies(right, "b"), (op) => moved(op, 0, 1)),
    /another place/,
  ],
  [
    "rows of the depth that are not there hold anything",
    () => changed(left, copies(left, "a"), (op) => withAttributes(op, { spare: true })),
    /not zero/,
  ],
  [
    "rows of the depth of the right factor do",
    () => changed(left, copies(left, "b"), (op) => withAttributes(op, { spare: true })),
    /not zero/,
  ],
];

describe("twins that are wrong", () => {
  it.each(TWINS)("%s", (_, twin, reason) => executions.expectWrong(twin(), reason));

  it.each([
    ["the left one", LEFT, LEFT.replace("transpose(a)", "a")],
    ["the right one", RIGHT, RIGHT.replace("transpose(b)", "b")],
  ])("%s is turned, and the answer is of what is not", (_, own, text) => {
    // Of matrices that have as many rows as columns, one or the other may be meant.
    const square = (t: string): string => t.replaceAll(/\b[mnk]\b(?=[,\]])/g, "m");
    const [made, meant] = [withMapping(kernelOf(square(own)), PROOF_MAPPING), kernelOf(square(text))];
    const wrong: Kernel = { ...made.kernel!, specification: meant.kernel!.specification };
    const claim = everyLength(wrong, [{ m: 16 }]);
    expect(claim.answer).toMatchObject({ holds: false });
    expect(new Executions([{ m: 16 }, { m: 24 }], [{ m: 16 }]).refute(wrong)).toBe(true);
  });

  it("ranks have other parts of a factor than are multiplied", () => {
    const { kernel } = variantOf(SHARED[2]![1], 2, "two_shot");
    const other: Kernel = {
      ...kernel!,
      inputs: kernel!.inputs.map((t) => (t.name === "b" ? { ...t, layout: { kind: "sharded", dim: 0 } } : t)),
    };
    expect(everyLength(other, [{ m: 8, k: 4, n: 24 }]).answer).toMatchObject({ holds: false });
  });
});
