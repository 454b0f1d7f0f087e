/**
 * Kernels that fold up rows in rounds, of which one thing each is wrong ("Rows" in docs/PROOF.md). Each is ordered, or nearly; of none is the answer said to be
 * right for every length, and an execution shows that it is wrong at one.
 */
import { describe, expect, it } from "vitest";
import type { CompileOptions } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { everyLength, proveAnswer } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { compileFile, LIBRARY } from "../kernels/library.js";

/** A row has one thread for each 32 of its elements, up to all 16 of a block; the block has as many rows as it has threads for. */
const MAPPING: CompileOptions["mapping"] = { elementThreads: 16, rowThreads: 16, elementBlocks: 4, busyBlocks: 4 };

/** Rows of one thread, of a few and of all; with elements left over and without; one row in a round and several. */
const AT: readonly DimValues[] = [
  { m: 6, n: 26 },
  { m: 10, n: 80 },
  { m: 2, n: 256 },
  { m: 2, n: 906 },
];

const NORM = "fused/all_reduce_rms_norm";
const SOFTMAX = "fused/softmax_over_ranks";

function textOf(name: string, ranks = 2, mapping = MAPPING): string {
  const file = LIBRARY.find((f) => f.name === name)!;
  const [variant] = compileFile(file, { ranks, dtype: "bf16", mapping }).variants;
  return printKernel(variant!.compiled.kernel!).replaceAll(/ loc\(\d+:\d+\)/g, "");
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
      expect(reasonOf(parseKernel(textOf(name, ranks, { ...MAPPING, algorithm })))).toBe(null);
  });
});

const norm = textOf(NORM);

describe("a norm", () => {
  it.each<readonly [string, readonly Edit[], RegExp]>([
    // -- whole rows
    ["a thread's terms are read too close to each other", [[/(%491 = binary %489, )%28 /, "$1%7 "]], /folded up once|not followed/],
    ["a row's parts are read short of the last", [[/( *)(%521 = reduce %2, )%520 /, '$1%900 = binary %520, %7 {fn="sub"} : index\n$1$2%900 ']], /folded up once|not followed/],
    ["a row begins in the one before", [[/(%488 = binary %486, )%30 /, "$1%28 "]], /folded up once|not followed/],
    ["only the first of a row's parts is read", [[/(%521 = reduce %2, )%520 /, "$1%7 "]], /folded up as a whole/],
    ["terms are added up twice, and others not at all", [[/(%331 = binary )%95, %330 /, "$1%91, %330 "]], /folded up once|stored once|not followed/],
    ["terms are added up again", [[/( *)%347 = binary (%346), %329 (.*)/, "$1%900 = binary %346, %329 $3\n$1%347 = binary %900, %329 $3"]], /folded up once|stored once|not followed/],
    ["what is left over is not added up", [[/(%426 = binary )%425, %422 (.*)/, "$1%425, %425 $2"]], /folded up once|not followed/],
    ["what is left over is put in place of all before it", [[/store %426, %424 /, "store %422, %424 "]], /folded up once|not followed/],
    ["rows are multiplied up", [[/(%521 = reduce .*fn=)"sum"/, '$1"prod"']], /folded up|another way/],
    // -- places
    ["all rows of a round have the norm of the first", [[/load %555 (\{buffer="folded_row"\})/, "load %2 $1"]], /several rows/],
    ["all columns have the weight of the first", [[/load %561 (\{buffer="weight"\})/, "load %2 $1"]], /several rows or columns/],
    ["all of a row is made of its first element", [[/load %562 (\{buffer="stream"\})/, "load %558 $1"]], /another place|several places/],
    ["an element is multiplied by another rank's", [[/(%422 = binary %421, )%421 /, "$1%415 "]], /several ways|not proved|not followed/],
    // -- what is stored
    ["the first of a row's elements are not stored", [[/for %2, (%87 \{map="serial", unordered=true\} \(%559\))/, "for %7, $1"]], /stored once/],
    ["the last row is left out", [[/( *)%85 = binary %19, /, '$1%900 = binary %19, %7 {fn="sub"} : index\n$1%85 = binary %900, ']], /stored once|left out/],
    ["the first round is left out", [[/for %2, (%33 \{map="blocks"\} \(%83\))/, "for %7, $1"]], /not counted from 0/],
    ["rows are left out, where they are no vectors", [[/(\n {4}for %2, %33 \{map="blocks"\}[\s\S]*?\n {4}\})(\n {4}block_sync)/, "\n    if %56 () {$1\n} () {\n}$2"]], /left out/],
    ["an element is stored again, as another number", [[/( *)store %572, %562 \{buffer="y"\}/, '$&\n$1store %563, %562 {buffer="y"}']], /stored once/],
    ["what is squared was there before it was stored", [[/( *)store %420, (%411) \{buffer="stream"\}\n( *)%421 = cast %420 /, '$1%900 = load $2 {buffer="stream"} : bf16\n$&'], [/%421 = cast %420 /, "%421 = cast %900 "]], /read before it is stored/],
    // -- shared memory
    ["a number is stored again, before it is squared", [[/( *)store %426, %424 \{buffer="parts_f32"\}/, '$&\n$1store %421, %424 {buffer="parts_f32"}']], /not followed/],
    ["some of a thread's sums are stored again", [[/( *)store %347, %225 \{buffer="parts_f32"\}/, '$&\n$1store %230, %225 {buffer="parts_f32"}']], /not followed/],
    ["what was just added up is added up again", [[/( *)store %426, %424 \{buffer="parts_f32"\}/, '$&\n$1%900 = load %424 {buffer="parts_f32"} : f32\n$1%901 = binary %900, %422 {fn="add"} : f32\n$1store %901, %424 {buffer="parts_f32"}']], /is read where/],
    ["sums of the round before are not cleared", [[/( *)store %347, %225 \{buffer="parts_f32"\}/, '$1%900 = load %225 {buffer="parts_f32"} : f32\n$1%901 = binary %900, %347 {fn="add"} : f32\n$1store %901, %225 {buffer="parts_f32"}']], /read before/],
    ["a row has what is left of another round's fold", [[/for %2, (%86 \{map="threads", unroll=1\} \(%526\))/, "for %7, $1"]], /read where nothing was stored/],
    // -- lengths, and the answer
    ["the mean is over as many as there are rows", [[/%8 = cast %6 /, "%8 = cast %5 "]], /made of a length/],
    ["the mean is over one element more", [[/%8 = cast %6 : f32/, '%900 = binary %6, %7 {fn="add"} : index\n    %8 = cast %900 : f32']], /made of a length/],
    ["a sum is said to be what is a mean", [[/fold\(mean, 1/, "fold(sum, 1"]], /another way/],
    ["columns are said to be folded up", [[/fold\(mean, 1/, "fold(mean, 0"]], /something else than rows/],
    ["another number is said to be folded up", [[/fold\(mean, 1, binary\(mul, #1, #1\)\)/, "fold(mean, 1, binary(mul, #1, input(residual)))"]], /not proved/],
    ["what is folded up is no square", [[/(= binary (%\d+), \2 \{fn=)"mul"/g, '$1"add"']], /several ways|not proved/],
    ["the root of something else", [[/%9 = const \{value=0.000001\}/, "%9 = const {value=0.5}"]], /not proved/],
  ])("%s: refused", (_, edits, reason) => {
    const kernel = edited(norm, edits);
    expect(reasonOf(kernel)).toMatch(reason);
    expect(isWrong(kernel)).toBe(true);
  }); // prettier-ignore

  it("blocks whose vectors add up strips in another order: refused, where each rank adds them up", () => {
    // Which rank has vectors goes with addresses.
    const edits: readonly Edit[] = [
      [/(%223 = binary %107, )%172 /, "$1%206 "],
      [/(%224 = binary %223, )%206 /, "$1%172 "],
    ];
    expect(reasonOf(edited(norm, edits))).toMatch(/different orders/);
    // Of rows that one rank has it does not matter.
    const scattered = textOf("fused/reduce_scatter_rms_norm");
    const sums = /(%(\d+) = binary %\d+, )(%\d+)( \{fn="add"\} : vec<8 x f32>\n *%\d+ = binary %\2, )(%\d+)( \{fn="add"\} : vec<8 x f32>\n *store %\d+, %\d+ \{buffer="parts_f32"\})/; // prettier-ignore
    expect(reasonOf(edited(scattered, [[sums, "$1$5$4$3$6"]]))).toBe(null);
  });

  it("ranks that begin with themselves to add up what all have: refused", () => {
    const four = textOf(NORM, 4);
    const numbers = new Map([0, 1, 2, 3].map((n) => [four.match(new RegExp(`(%\\d+) = const \\{value=${n}\\} : index`))![1]!, n])); // prettier-ignore
    expect(numbers.size).toBe(4);
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

const softmax = textOf(SOFTMAX);

describe("a softmax over ranks", () => {
  it.each<readonly [string, readonly Edit[], RegExp]>([
    ["what is added up is a maximum", [[/(%739 = reduce .*fn=)"sum"/, '$1"max"']], /folded up|several ways|in another way/],
    ["a rank's own maximum is the one of all", [[/load %[26], (%\d+ \{buffer="folded", remote=true\})/g, "load %363, $1"]], /does not have/],
    ["a round's first maximum is taken off all its rows", [[/load %633 (\{buffer="value"\})/, "load %373 $1"]], /several rows|another round's/],
    ["a maximum is divided by", [[/load %876 (\{buffer="value2"\})/, 'load %876 {buffer="value"}']], /several ways|not proved/],
    ["nothing is taken off what is added up", [[/binary (%\d+), %\d+ \{fn="sub"\}( : (?:f32|vec<8 x f32>))(?=[\s\S]*store .*\{buffer="folded2"\})/g, 'binary $1, $1 {fn="max"}$2']], /several ways|not proved/],
    ["rows are said to have a mean", [[/fold\(sum, 1/, "fold(mean, 1"]], /mean of a row that is cut|another way/],
  ])("%s: refused", (_, edits, reason) => {
    const kernel = edited(softmax, edits);
    expect(reasonOf(kernel)).toMatch(reason);
    expect(isWrong(kernel)).toBe(true);
  }); // prettier-ignore
});
