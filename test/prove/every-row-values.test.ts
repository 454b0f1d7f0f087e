/**
 * Kernels that fold up rows in rounds, of which one thing each is wrong ("Rows" in docs/PROOF.md). Each is ordered, or nearly; of none is the answer said to be
 * right for every length, and an execution shows that it is wrong at one.
 */
import { describe, expect, it } from "vitest";
import type { CompileOptions } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { everyLength, proveAnswer } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { rowsKernel } from "./rows/index.js";

/** Rows of more than 64 elements go strip by strip, of 128; shorter ones several together. Up to 8 classes of a row, which are one after that. */
const MAPPING: CompileOptions["mapping"] = { elementThreads: 16, rowThreads: 16, elementBlocks: 4, busyBlocks: 4 };

/** Rows of one class and of several, in one strip, in whole ones, in whole ones and a rest; one row and several rounds of them. */
const AT: readonly DimValues[] = [
  { m: 6, n: 26 },
  { m: 10, n: 80 },
  { m: 2, n: 256 },
  { m: 2, n: 906 },
];

const NORM = "fused/all_reduce_rms_norm";
const SOFTMAX = "fused/softmax_over_ranks";

function kernelOf(name: string, ranks: number, algorithm: "one_shot" | "two_shot"): Kernel {
  const file = LIBRARY.find((f) => f.name === name)!;
  return compileFile(file, { ranks, dtype: "bf16", mapping: { ...MAPPING, algorithm } }).kernel!;
}

function reasonOf(kernel: Kernel): string | null {
  const { answer } = everyLength(kernel, AT, (dims) => proveAnswer(kernel, { dims }));
  return answer.holds ? null : answer.reason;
}

const isWrong = (kernel: Kernel): boolean =>
  AT.some((dims) => [true, false].some((aligned) => proveAnswer(kernel, { dims, aligned }).status === "wrong"));

type Edit = readonly [RegExp, string];

function edited(text: string, edits: readonly Edit[]): Kernel {
  return parseKernel(
    edits.reduce((t, [from, to]) => {
      expect(t).toMatch(from);
      return t.replace(from, to);
    }, text),
  );
}

describe("as they are", () => {
  it.each([
    [NORM, 2],
    [NORM, 4],
    ["fused/reduce_scatter_rms_norm", 2],
    [SOFTMAX, 2],
    [SOFTMAX, 4],
  ] as const)("%s on %i ranks is right for every length", (name, ranks) => {
    for (const algorithm of ["one_shot", "two_shot"] as const)
      expect(reasonOf(kernelOf(name, ranks, algorithm))).toBe(null);
  });

  it.each(["norm", "norm-of-4", "scattered-norm", "softmax"])(
    "%s with a loop for short rows and one for long ones is right, too",
    (name) => {
      expect(reasonOf(parseKernel(rowsKernel(name)))).toBe(null);
    },
  );
});

const norm = rowsKernel("norm");

describe("a norm", () => {
  it.each<readonly [string, readonly Edit[], RegExp]>([
    // -- whole rows
    ["classes of a row are read too close to each other", [[/(%145 = binary %144, )%39 /, "$1%42 "]], /folded up once|not followed/],
    ["a class is read short of its last element", [[/(%141 = binary %140, )%40 /, "$1%2 "]], /folded up once|not followed/],
    ["a row begins in the one before", [[/(%138 = binary %136, )%35 /, "$1%39 "]], /folded up once|not followed/],
    ["only the first class is read", [[/reduce %2, %531 /, "reduce %2, %7 "]], /folded up once|as a whole|not followed/],
    ["a strip is added up twice, and one not at all", [[/(%455 = binary )%227, %454 /, "$1%223, %454 "]], /folded up once|stored once/],
    ["a strip is added up again", [[/( *)%471 = binary (%470), %453 (.*)/, "$1%900 = binary %470, %453 $3\n$1%471 = binary %900, %453 $3"]], /folded up once|stored once/],
    ["what lies behind whole strips is not added up", [[/(%527 = binary )%526, %525 (.*)/, "$1%526, %526 $2"]], /folded up once|not followed/],
    ["what lies behind whole strips is put in place of them", [[/store %527, %512 /, "store %525, %512 "]], /folded up once|not followed/],
    ["rows are multiplied up", [[/(%143 = reduce .*fn=)"sum"/, '$1"prod"']], /folded up|another way/],
    // -- places
    ["all rows of a round have the norm of the first", [[/load %204 (\{buffer="folded_row"\})/, "load %2 $1"]], /several rows/],
    ["all columns have the weight of the first", [[/load %205 (\{buffer="weight"\})/, "load %2 $1"]], /several rows or columns/],
    ["all of a row is made of its first element", [[/load %208 (\{buffer="stream"\})/, "load %207 $1"]], /another place|several places/],
    ["an element of the row before is squared", [[/(%133 = binary %132, )%132 /, "$1%125 "]], /several ways|not proved/],
    // -- what is stored
    ["the first element of a row is not stored", [[/for %2, (%59 \{map="threads", unroll=1\} \(%647\))/, "for %7, $1"]], /stored once/],
    ["the last row is left out, where rows are long", [[/( *)for %2, %19 (\{map="blocks"\} \(%219\))/, "$1%900 = binary %19, %7 {fn=\"sub\"} : index\n$1for %2, %900 $2"]], /several ways|left out/],
    ["rows are left out, where they are no vectors", [[/(\n {4}\} \(\) \{\n)( {6}for %2, %19 \{map="blocks"\}[\s\S]*?\n {6}\}\n)( {4}\}\n {4}block_sync)/, "$1if %73 () {\n$2} () {\n}\n$3"]], /left out/],
    ["an element is stored again, as another number", [[/( *)store %218, %208 \{buffer="y"\}/, '$&\n$1store %209, %208 {buffer="y"}']], /stored once/],
    ["what is squared was there before it was stored", [[/( *)store %131, (%122) \{buffer="stream"\}\n( *)%132 = cast %131 /, '$1%900 = load $2 {buffer="stream"} : bf16\n$&'], [/%132 = cast %131 /, "%132 = cast %900 "]], /read before it is stored/],
    // -- shared memory
    ["a number is stored again, before it is squared", [[/( *)store %133, %121 \{buffer="parts_f32"\}/, '$&\n$1store %132, %121 {buffer="parts_f32"}']], /not followed/],
    ["some of the strips' sums are stored again", [[/( *)store %471, %353 \{buffer="parts_f32"\}/, '$&\n$1store %354, %353 {buffer="parts_f32"}']], /not followed/],
    ["what was just added up is added up again", [[/( *)store %527, %512 \{buffer="parts_f32"\}/, '$&\n$1%900 = load %512 {buffer="parts_f32"} : f32\n$1%901 = binary %900, %525 {fn="add"} : f32\n$1store %901, %512 {buffer="parts_f32"}']], /is read where/],
    ["sums of the round before are not cleared", [[/( *)store %133, %121 \{buffer="parts_f32"\}/, '$1%900 = load %121 {buffer="parts_f32"} : f32\n$1%901 = binary %900, %133 {fn="add"} : f32\n$1store %901, %121 {buffer="parts_f32"}']], /read before/],
    ["a row has what is left of another round's fold", [[/\n *store %552, %546 \{buffer="folded_row"\}/, ""]], /read before/],
    // -- lengths, and the answer
    ["the mean is over as many as there are rows", [[/%8 = cast %6 /, "%8 = cast %5 "]], /made of a length/],
    ["the mean is over one element more", [[/%8 = cast %6 : f32/, '%900 = binary %6, %7 {fn="add"} : index\n    %8 = cast %900 : f32']], /made of a length/],
    ["a sum is said to be what is a mean", [[/fold\(mean, 1/, "fold(sum, 1"]], /another way/],
    ["columns are said to be folded up", [[/fold\(mean, 1/, "fold(mean, 0"]], /something else than rows/],
    ["another number is said to be folded up", [[/fold\(mean, 1, binary\(mul, #1, #1\)\)/, "fold(mean, 1, binary(mul, #1, input(residual)))"]], /not proved/],
    ["what is folded up is no square", [[/(%133 = binary %132, %132 \{fn=)"mul"/, '$1"add"'], ...["107", "120"].map((v): Edit => [new RegExp(`(%${v} = binary .*fn=)"mul"`), '$1"add"'])], /several ways|not proved/],
    ["the root of something else", [[/%9 = const \{value=0.000001\}/, "%9 = const {value=0.5}"]], /not proved/],
  ])("%s: refused", (_, edits, reason) => {
    const kernel = edited(norm, edits);
    expect(reasonOf(kernel)).toMatch(reason);
    expect(isWrong(kernel)).toBe(true);
  }); // prettier-ignore

  it("blocks whose vectors add up strips in another order: refused, where each rank adds them up", () => {
    // Which rank has vectors goes with addresses.
    const edits: readonly Edit[] = [
      [/(%351 = binary %235, )%300 /, "$1%334 "],
      [/(%352 = binary %351, )%334 /, "$1%300 "],
    ];
    expect(reasonOf(edited(norm, edits))).toMatch(/different orders/);
    // Of rows that one rank has it does not matter.
    const scattered = rowsKernel("scattered-norm");
    const sums = /(%(\d+) = binary %\d+, )(%\d+)( \{fn="add"\} : vec<8 x f32>\n *%\d+ = binary %\2, )(%\d+)( \{fn="add"\} : vec<8 x f32>\n *store %\d+, %\d+ \{buffer="parts_f32"\})/; // prettier-ignore
    expect(reasonOf(edited(scattered, [[sums, "$1$5$4$3$6"]]))).toBe(null);
  });

  it("ranks that begin with themselves to add up what all have: refused", () => {
    const peers = ["%2", "%7", "%35", "%8"];
    const four = rowsKernel("norm-of-4");
    const numbers = new Map([0, 1, 2, 3].map((n) => [four.match(new RegExp(`(%\\d+) = const \\{value=${n}\\} : index`))![1]!, n])); // prettier-ignore
    expect(numbers.size).toBe(peers.length);
    const rank = /(%\d+) = rank : index/.exec(four)![1]!;
    const world = /(%\d+) = const \{value=4\} : index/.exec(four)![1]!;
    const own = [...numbers].map(([v, n]) => `    %9${n}0 = binary ${rank}, ${v} {fn="add"} : index\n    %9${n}1 = binary %9${n}0, ${world} {fn="rem"} : index`); // prettier-ignore
    const begin = four.lastIndexOf("\n", four.indexOf('{buffer="x", bytes=16}'));
    const text = `${four.slice(0, begin)}\n${own.join("\n")}${four.slice(begin)}`.replaceAll(
      /load (%\d+), (%\d+ \{buffer="x", remote=true\})/g,
      (_, v: string, rest: string) => `load %9${numbers.get(v)!}1, ${rest}`,
    );
    const kernel = parseKernel(text);
    expect(reasonOf(kernel)).toMatch(/different orders/);
    expect(isWrong(kernel)).toBe(true);
  });
});

const softmax = rowsKernel("softmax");

describe("a softmax over ranks", () => {
  it.each<readonly [string, readonly Edit[], RegExp]>([
    ["what is added up is a maximum", [[/(%390 = reduce .*fn=)"sum"/, '$1"max"']], /folded up|several ways|in another way/],
    ["a rank's own maximum is the one of all", [[/load %[26], (%\d+ \{buffer="folded", remote=true\})/g, "load %308, $1"]], /does not have/],
    ["a round's first maximum is taken off all its rows", [[/load %373 (\{buffer="value"\})/, "load %319 $1"]], /several rows|another round's/],
    ["a maximum is divided by", [[/load %743 (\{buffer="value2"\})/, 'load %743 {buffer="value"}']], /several ways|not proved/],
    ["nothing is taken off what is added up", [[/(%380 = unary )%379 /, "$1%377 "], [/(%369 = unary )%368 /, "$1%366 "], [/(%358 = unary )%357 /, "$1%354 "]], /several ways|not proved/],
    ["rows are said to have a mean", [[/fold\(sum, 1/, "fold(mean, 1"]], /mean of a row that is cut|another way/],
  ])("%s: refused", (_, edits, reason) => {
    const kernel = edited(softmax, edits);
    expect(reasonOf(kernel)).toMatch(reason);
    expect(isWrong(kernel)).toBe(true);
  }); // prettier-ignore
});
