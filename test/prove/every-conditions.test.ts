/** Kernels that break one condition of the theorem each ("Every length" in docs/PROOF.md): none is held to be right at every length. */
import { expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import {
  type Box,
  explore,
  factors,
  type Form,
  parameter,
  quotient,
  substituted,
  Undecided,
} from "../../src/compiler/prove/every/forms.js";
import { everyLength, PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { compileFile, LIBRARY } from "../kernels/library.js";

function textOf(name: string): string {
  const file = LIBRARY.find((f) => f.name === name)!;
  const { kernel } = compileFile(file, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING });
  return plainText(kernel!);
}

function plainText(kernel: Kernel): string {
  return printKernel(kernel).replaceAll(/ loc\(\d+:\d+\)/g, "");
}

/** The reason why the ordering or the answer of an edited kernel is not shown; null where both are. */
function reasonOf(text: string): string | null {
  const { answer, ordering } = everyLength(parseKernel(text), [{ n: 2 }, { n: 854 }]);
  if (!ordering.holds) return ordering.reason;
  return answer.holds ? null : answer.reason;
}

const [oneShot, pull, tree] = ["all_reduce/one_shot", "reduce_scatter/pull", "broadcast/tree"];

it.each([oneShot, pull, tree])("%s as it is holds for every length", (name) => {
  expect(reasonOf(textOf(name))).toBe(null);
});

const LAST_EXCHANGE =
  /(\n {4}for [^\n]*\n {6}signal[^\n]*\n {4}\})(\n {4}for [^\n]*\n(?: {6}%[^\n]*\n)* {6}wait[^\n]*\n {4}\})(?![\s\S]*signal)/;

it.each([
  ["threads leave gaps", oneShot, /(%\d+ = binary %35, )%22 /, "$1%16 ", /gaps/],
  ["threads store elements twice", oneShot, /for %2, %26 (\{map="threads"\} \(%54\))/, "for %2, %22 $1", /gaps/],
  ["the remainder begins early", oneShot, /for %51, %17 /, "for %28, %17 ", /leave some out/],
  [
    "blocks take other rows at odd addresses",
    oneShot,
    /for %2, %17 \{map="blocks"\} \(%63\) \{\n\s*%64 = binary %63, %16 \{fn="mul"\} : index\n\s*for %2, %16 /,
    `%900 = const {value=16} : index
      %901 = binary %17, %3 {fn="mul"} : index
      for %2, %901 {map="blocks"} (%63) {
        %64 = binary %63, %900 {fn="mul"} : index
        for %2, %900 `,
    /rows|which block/,
  ],
  [
    "the tail computes something else",
    oneShot,
    /(%93 = binary %90, %92 \{fn=)"add"/,
    '$1"max"',
    /not the same|the distance/,
  ],
  ["the output is shorter", oneShot, /buffer y: output bf16\[n\]/, "buffer y: output bf16[div(n, 2)]", /may leave 'y'/],
  ["a length decides who waits", oneShot, /for %2, %3 (\{map="threads"\} \(%13\))/, "for %2, %5 $1", /synchronisation/],
  ["nobody waits at the end", oneShot, LAST_EXCHANGE, "$1", /the last wait is for|nobody waits for it/],
  ["nobody waits and nobody signals at the end", oneShot, LAST_EXCHANGE, "", /caller/],
  [
    "nobody tests where vectors begin",
    pull,
    /%32 = binary %29, %31 \{fn="and"\}/,
    '%32 = binary %29, %29 {fn="and"}',
    /vectors begin/,
  ],
  [
    "what is sent is not waited for",
    tree,
    /\n {4}for [^\n]*\n(?: {6}%[^\n]*\n)* {6}if [^\n]*\n {8}wait[^\n]*\n {6}\} \(\) \{\n {6}\}\n {4}\}/,
    "",
    /orders|waits|caller/,
  ],
] as const)("%s", (_, name, from, to, reason) => {
  const text = textOf(name);
  expect(text).toMatch(from);
  expect(reasonOf(text.replace(from, to))).toMatch(reason);
});

it("elements of a kind that no proved shape has", () => {
  // Where there are no elements, nothing is shown of any.
  const { answer, ordering } = everyLength(parseKernel(textOf(oneShot)), [{ n: 0 }, { n: 1 }]);
  expect([answer.holds, ordering.holds]).toEqual([true, true]);
  expect(everyLength(parseKernel(textOf(oneShot)), [{ n: 0 }]).answer.holds).toBe(false);
});

/** The same of a kernel as it is printed, whose answer is proved on the way. */
function printedReasonOf(text: string, shapes: readonly DimValues[] = [{ n: 2 }, { n: 854 }]): string | null {
  const kernel = parseKernel(text);
  const { answer, ordering } = everyLength(kernel, shapes, (dims) => proveAnswer(kernel, { dims }));
  if (!ordering.holds) return ordering.reason;
  return answer.holds ? null : answer.reason;
}

const odd = "reduce_scatter/push";

it.each([
  ["as it is", /^/, "", null],
  [
    "a third launch is as the second",
    /(%\d+ = binary %\d+, )%\d+( \{fn="rem"\} : index\n\s*%\d+ = const \{value=1\} : u32)/,
    "$1%900$2",
    /what goes with the element/,
  ],
  ["launches are counted by twos", /(%\d+ = const \{value=)1(\} : u32)/, "$12$2", /data decides what is touched/],
  ["both launches use one box", /"inbox_odd"/g, '"inbox"', /orders|meet/],
  ["a peer is left out", /for %2, %3 (\{map="serial"\} \(%34\))/, "for %14, %3 $1", /peers go with the block/],
  // What even launches do is behind that.
  [
    "odd launches take a maximum",
    /fn="add"(\} : (?:vec<8 x f32>|f32))(?=[\s\S]*if %235[\s\S]*if %235)/g,
    'fn="max"$1',
    /not proved at n=4/,
  ],
  ["a peer has another's part", /(%37 = binary )%36, /, "$1%13, ", /farther away/],
] as const)("in two boxes in turn: %s", (_, from, to, reason) => {
  const file = LIBRARY.find((f) => f.name === odd)!;
  const whole = plainText(compileFile(file, { ranks: 2, dtype: "bf16", mapping: { elementBlocks: 32 } }).kernel!);
  expect(whole).toMatch(from);
  const text = whole
    .replace(from, to)
    .replace("%900", "%904")
    .replace(/(\n\s*%0 = block)/, "\n    %904 = const {value=3} : index$1");
  const found = printedReasonOf(text, [{ n: 4 }, { n: 854 }]);
  if (reason === null) expect(found).toBe(null);
  else expect(found).toMatch(reason);
});

const printed = plainText(
  compileFile(
    LIBRARY.find((f) => f.name === oneShot)!,
    { ranks: 2, dtype: "bf16", mapping: { elementBlocks: 32 } },
  ).kernel!,
);

it.each([
  ["as it is", /^/, "", null],
  ["the tail is dropped", /for %17, %21 (\{map="blocks"\} \(%73\))/, "for %21, %21 $1", /not the same/],
  ["vectors overlap", /(%36 = binary %35, )%22 /, "$1%3 ", /gaps/],
  ["a strip has one row too few", /(%27 = binary %1, )%3 /, "$1%18 ", /twice|gaps|leave some out/],
  ["a thread too few", /for %2, %26 (\{map="threads"\} \(%35\))/, "for %18, %26 $1", /gaps|leave some out/],
  ["block 0 does not wait", /for %2, %3 (\{map="threads"\} \(%13\))/, "for %2, %0 $1", /alike/],
  ["all blocks wait in one row", /(%14 = binary )%10, %13 /, "$1%13, %13 ", /alike|nobody satisfies/],
  ["two blocks have one row of flags", /(%10 = binary )%0, %3 \{fn="mul"\}/, '$1%0, %3 {fn="div"}', /alike/],
  ["a block's count is not kept", /(%111 = const \{value=)32\}/, "$131}", /alike/],
  ["counts are kept by other blocks", /(%113 = binary %112, )%1 /, "$1%3 ", /alike/],
  [
    "sums are in another order on all ranks, which is as right",
    /(binary )(%\d+), (%\d+)( \{fn="add"\} : (?:vec<8 x f32>|f32))/g,
    "$1$3, $2$4",
    null,
  ],
  [
    "maxima for sums",
    /fn="add"(\} : (?:vec<8 x f32>|f32))/g,
    'fn="max"$1',
    /not proved at n=2: output 'y'\[0\] on rank 0: lacks rank 0's x\[0\], .*, has max\(/,
  ],
] as const)("as printed: %s", (_, from, to, reason) => {
  expect(printed).toMatch(from);
  const found = printedReasonOf(printed.replace(from, to));
  if (reason === null) expect(found).toBe(null);
  else expect(found).toMatch(reason);
});

it("what one rank tests says nothing of where another's elements are", () => {
  const file = LIBRARY.find((f) => f.name === pull)!;
  const { kernel } = compileFile(file, { ranks: 4, dtype: "bf16", mapping: PROOF_MAPPING });
  const text = plainText(kernel!);
  // Shards begin at n · rank / 4, which is a number of its own for each rank.
  const cut = text.replace(
    /(%8 = binary )%6, %7 \{fn="mul"\} : index/,
    '%901 = binary %6, %5 {fn="mul"} : index\n$1%901, %3 {fn="div"} : index',
  );
  // Rank 3 takes vectors where rank 2 might.
  const mixed = cut.replace(
    /(%\d+ = binary )%8, (%\d+ \{fn="rem"\})/,
    '%902 = const {value=2} : index\n%903 = binary %6, %902 {fn="min"} : index\n%904 = binary %903, %5 {fn="mul"} : index\n%905 = binary %904, %3 {fn="div"} : index\n$1%905, $2',
  );
  expect([cut, mixed]).not.toContain(text);
  expect(mixed).not.toBe(cut);
  const orderedOf = (edited: string): string | null => {
    const { ordering } = everyLength(parseKernel(edited), [{ n: 4 }, { n: 856 }]);
    return ordering.holds ? null : ordering.reason;
  };
  expect(orderedOf(cut)).toBe(null);
  expect(orderedOf(mixed)).toMatch(/vector/);
});

/** Sums of bf16 that are kept in f32: a vector of as many elements takes two accesses there. */
const KEPT = `collective kept(x: bf16[n] partial(sum), z: bf16[n] replicated) -> y: bf16[n] replicated
  ensures y[i] == (sum(p in ranks) x@p[i]) * z[i] {
  scratch own: f32[n]
  for i in tiles(n) { own[i] = sum(p in ranks) x@p[i] }
  for i in tiles(n) { y[i] = own[i] * z[i] }
}`;

it.each([
  ["where one access may begin", 16, null],
  ["where two of half the length may begin", 8, /'own' begins where vectors begin/],
])("vectors of several accesses begin %s", (_, bytes, reason) => {
  const { kernel } = compile(KEPT, { ranks: 2, mapping: PROOF_MAPPING });
  const text = plainText(kernel!);
  const [test] = /aligned \{buffer="own", bytes=16\}/.exec(text) ?? [""];
  expect(test).not.toBe("");
  expect(kernel!.buffers.some(({ name, dtype }) => name === "own" && dtype === "f32")).toBe(true);
  const found = reasonOf(text.replaceAll(test, test.replace("16", String(bytes))));
  if (reason === null) expect(found).toBe(null);
  else expect(found).toMatch(reason);
});

it("loops that go through as many elements in rounds of other lengths are followed together", () => {
  const text = `collective vote(x: bool[n] local, w: f32[n] local) -> (y: bool[n] local, c: f32[n] local)
    ensures y[i] == x[i]
    ensures c[i] == where(x[i], w[i], 0.0) {
    for i in tiles(n) { y[i] = x[i] }
    for i in tiles(n) { c[i] = where(x[i], w[i], 0.0) }
  }`;
  const printed = plainText(compile(text, { ranks: 2 }).kernel!);
  // Four rows at once, and two.
  expect(printed.match(/"serial"/g)).toHaveLength(2);
  expect(new Set(printed.match(/= binary %1, %\d+ \{fn="mul"\}/g)).size).toBeGreaterThan(1);
  expect(printedReasonOf(printed)).toBe(null);
});

it("what is divided by rounds comes to what it comes to for each number of them", () => {
  let divided = 0;
  // a rounds of 2 · grid, b of another below one of them; and so on.
  for (const [f, by] of [
    [{ "a*grid": 2, b: 1 }, 4],
    [{ "a*grid": 2, b: 1 }, 6],
    [{ "a*grid": 6, b: 1 }, 4],
    [{ "a*grid": 2, b: 2 }, 4],
    [{ "a*grid": 2, b: 1, grid: 2 }, 4],
    [{ "a*grid": 3, b: 1 }, 2],
  ] as [Record<string, number>, number][]) {
    const form = new Map(Object.entries(f));
    const box: Box = {
      ranges: new Map([
        ["grid", { low: 1, high: Infinity }],
        ["a", { low: 0, high: Infinity }],
        ["b", { low: 0, high: Infinity, below: new Map([["grid", 2]]) }],
      ]),
      names: new Map([["a", parameter("a")], ["b", parameter("b")], ["grid", parameter("grid")]]), // prettier-ignore
    };
    const look = (part: Box): void => {
      const own = substituted(form, part.names);
      let result: Form;
      try {
        result = quotient(own, new Map([["grid", by]]), part.ranges);
      } catch (e) {
        if (e instanceof Undecided) return;
        throw e;
      }
      divided++;
      const names = [...part.ranges.keys()].filter((name) => name !== "grid");
      const at = (g: Form, values: Record<string, number>): number =>
        [...g].reduce((sum, [key, k]) => sum + factors(key).reduce((x, name) => x * values[name]!, k), 0);
      const tryAll = (values: Record<string, number>, left: readonly string[]): void => {
        const [name, ...rest] = left;
        if (name === undefined) {
          expect(at(result, values)).toBe(Math.floor(at(own, values) / (by * values["grid"]!)));
          return;
        }
        const { low, high, below } = part.ranges.get(name)!;
        const end = Math.min(high, low + 5, below === undefined ? Infinity : at(below, values) - 1);
        for (let v = low; v <= end; v++) tryAll({ ...values, [name]: v }, rest);
      };
      for (const grid of [1, 2, 3, 5]) tryAll({ grid }, names);
    };
    explore(box, 200, look);
  }
  expect(divided).toBeGreaterThan(6);
});
