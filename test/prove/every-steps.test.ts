/**
 * Rows that are counted in one order and stored or read in another, and elements that share one of a block, at every length (2 and 4 of "Every length" in
 * docs/PROOF.md): programs of which that is proved, and programs and kernels with one thing wrong, of which nothing is claimed that an execution refutes.
 */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions, withMapping } from "../../src/compiler/index.js";
import type { Kernel, Op, Value } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { everyLength, PROOF_MAPPING, proveAnswer, proveOrdering } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { isAll } from "../scope.js";
import { printedMutantsOf } from "./printed-mutants.js";
import { changed, moved, withAttributes } from "./twins.js";

const lengths = (...all: readonly number[]): readonly DimValues[] => all.map((n) => ({ n }));
/** Of no element in a row, one, some, some that fill vectors, and some that fill all blocks. */
const LENGTHS = lengths(0, 4, 12, 64, 300, 864, 1708);

interface Reasons {
  readonly ordering: string | null;
  readonly answer: string | null;
}

/** Why the ordering and the answer are not shown; null of what is. */
function reasonsOf(kernel: Kernel, at = LENGTHS): Reasons {
  const { answer, ordering } = everyLength(kernel, at, (dims) => proveAnswer(kernel, { dims }));
  return {
    ordering: ordering.holds ? null : ordering.reason,
    answer: answer.holds ? null : answer.reason,
  };
}

const isWrong = (kernel: Kernel, claim: typeof proveAnswer | typeof proveOrdering, at: readonly DimValues[]): boolean =>
  at.some((dims) => claim(kernel, { dims }).status === "wrong");

/** Expects that what executions refute is not claimed, and that they refute something. */
function expectRefused(kernel: Kernel, reason: RegExp, at = LENGTHS): void {
  const { ordering, answer } = reasonsOf(kernel, at);
  expect(ordering ?? answer).toMatch(reason);
  const isUnordered = isWrong(kernel, proveOrdering, at);
  expect(isUnordered || isWrong(kernel, proveAnswer, at)).toBe(true);
  if (isUnordered) expect(ordering).not.toBe(null);
}

function compiled(text: string, mapping: CompileOptions["mapping"] = PROOF_MAPPING): Kernel {
  const { kernel, diagnostics } = compile(text, { ranks: 4, dtype: "bf16", mapping });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return kernel!;
}

/** Each rank's elements go to row `sent` of `found` on rank p, and row `from` of that to row `to`, in a loop over `k`. */
const gathered = (sent: string, to: string, from: string, rows = "world"): string => `
collective f(x: T[n] sharded(0)) -> y: T[n] replicated {
  scratch found: T[world, n / world]
  for p in ranks { for i in tiles(n / world) { found@p[${sent}, i] = x[i] } }
  for k, i in tiles(${rows}, n / world) { y[(${to}) * (n / world) + i] = found[${from}, i] }
}`;

const STORED = ["(world + rank - p) % world", "(rank + k) % world", "k"] as const;
const READ = ["(rank + p) % world", "k", "(k + rank) % world"] as const;
const BOTH = ["(rank + p) % world", "(k + 1) % world", "(k + 1 + rank) % world"] as const;
/** Of ranks as 2 × 2, one axis before the other. */
const EXCHANGED = ["rank % 2 * 2 + rank / 2", "k % 2 * 2 + k / 2", "k"] as const;

describe("rows in another order than they are counted in", () => {
  it.each([
    ["are stored", STORED],
    ["are read", READ],
    ["are stored and read", BOTH],
    ["are stored by two digits of their number", EXCHANGED],
    ["are stored by a remainder of a remainder", [STORED[0], "((rank + k + 4) % 8) % world", STORED[2]] as const],
  ])("%s: proved, as executed and as printed", (_, [sent, to, from]) => {
    const text = gathered(sent, to, from);
    expect(reasonsOf(compiled(text))).toEqual({ ordering: null, answer: null });
    expect(reasonsOf(compiled(text, {}))).toEqual({ ordering: null, answer: null });
  });

  it.each([
    ["stored one further", gathered(STORED[0], "(rank + k + 1) % world", "k"), /farther away/],
    ["stored the other way round", gathered(STORED[0], "(4 * rank + 3 * k) % world", "k"), /farther away/],
    ["read one further", gathered(READ[0], "k", "(k + rank + 1) % world"), /farther away/],
    ["read the other way round", gathered(READ[0], "k", "(3 * k + rank) % world"), /farther away/],
    ["stored in the order of other digits", gathered(EXCHANGED[0], "k % 2 + k / 2 * 2", "k"), /farther away/],
    ["two are stored in one", gathered(STORED[0], "(rank + 2 * k) % world", "k"), /may meet/],
    ["stored modulo fewer", gathered(STORED[0], "(rank + k) % 3", "k"), /may meet/],
    ["stored modulo more", gathered(STORED[0], "(rank + k) % 5", "k"), /may leave 'y'/],
    ["read modulo more", gathered(READ[0], "k", "(k + rank) % 5"), /may leave 'found'/],
    ["divided by more", gathered(EXCHANGED[0], "k % 2 * 2 + k / 3", "k"), /may meet/],
    ["one is left out", gathered(STORED[0], STORED[1], "k", "world - 1"), /before it is written/],
  ])("%s: refused", (_, text, reason) => expectRefused(compiled(text), reason));
});

/** Kernels of `f`, with one thing in its ops or in its text another. */
const replaced = (kernel: Kernel, from: RegExp, to: string): Kernel => {
  const text = printKernel(kernel).replaceAll(/ loc\(\d+:\d+\)/g, "");
  expect(text).toMatch(from);
  return parseKernel(text.replaceAll(new RegExp(from, "g"), to));
};

function makersIn(kernel: Kernel): ReadonlyMap<Value, Op> {
  const makers = new Map<Value, Op>();
  walkKernel(kernel, (op) => void op.results.forEach((v) => makers.set(v, op)));
  return makers;
}

/** Ops that divide what goes with elements by a constant. @param isOf of what is divided, by the op that makes it */
function divided(kernel: Kernel, fn: "div" | "rem", by: number, isOf: (maker: Op) => boolean): readonly Op[] {
  const makers = makersIn(kernel);
  return [...makers.values()].filter(({ attributes, operands: [of, length] }) => {
    const maker = makers.get(of!);
    const isByNumber = makers.get(length!)?.attributes["value"] === by;
    return attributes["fn"] === fn && isByNumber && maker !== undefined && isOf(maker);
  });
}

const isSum = ({ attributes }: Op): boolean => attributes["fn"] === "add";

describe("kernels of rows in another order", () => {
  const kernel = compiled(gathered(...STORED));
  const makers = makersIn(kernel);
  /** Of each loop over elements that there is one. */
  const rems = divided(kernel, "rem", 4, isSum).filter(({ operands: [sum] }) =>
    makers.get(sum!)!.operands.some((v) => makers.get(v)?.attributes["fn"] === "div"),
  );
  const left = new Set(divided(kernel, "rem", 8, () => true).map(({ results }) => results[0]));
  const tests = [...makers.values()].filter(({ name, operands }) => name === "compare" && left.has(operands[0]));

  it.each<readonly [name: string, twin: () => Kernel, reason: RegExp]>([
    [
      "one loop stores one row further",
      () => changed(kernel, rems.slice(-1), (op) => moved(op, 0, 1)),
      /element to element/,
    ],
    ["vectors do", () => changed(kernel, rems.slice(0, 1), (op) => moved(op, 0, 1)), /has gaps/],
    ["all do", () => changed(kernel, rems, (op) => moved(op, 0, 1)), /farther away/],
    [
      "one loop divides",
      () => changed(kernel, rems.slice(-1), (op) => withAttributes(op, { fn: "div" })),
      /element to element/,
    ],
    ["what is divided may be negative", () => changed(kernel, rems, (op) => moved(op, 0, -4)), /negative/],
    [
      "vectors go on into the next row",
      () => changed(kernel, tests, (op) => withAttributes(op, { fn: "ge" })),
      /vectors begin/,
    ],
    ["the output is shorter", () => replaced(kernel, /(buffer y: output bf16\[)n\]/, "$1sub(n, 1)]"), /may leave 'y'/],
  ])("%s: refused", (_, twin, reason) => {
    expectRefused(twin(), reason);
  });
});

describe("elements that share one of a block", () => {
  const file = LIBRARY.find(({ name }) => name === "all_reduce/quantised")!;
  const kernel = compileFile(file, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING }).kernel!;
  const BLOCKS = lengths(0, 128, 256, 640, 896, 1664);
  /** Of what a scale is of, in the loops that add up. */
  const divs = divided(kernel, "div", 128, isSum);

  it("the ordering is proved as it is, and the answer is not followed", () => {
    const { ordering, answer } = reasonsOf(kernel, BLOCKS);
    expect(ordering).toBe(null);
    expect(answer).toMatch(/rounds of one launch are others/);
  });

  it.each<readonly [name: string, twin: () => Kernel, reason: RegExp]>([
    ["the next one is read", () => changed(kernel, divs, (op) => moved(op, 0, 128)), /may leave 'scales/],
    ["blocks begin in the middle of others", () => changed(kernel, divs, (op) => moved(op, 0, 64)), /part of a row/],
    ["vectors have two", () => changed(kernel, divs, (op) => moved(op, 0, 127)), /vectors begin/],
    [
      "its number is that in the block",
      () => changed(kernel, divs, (op) => withAttributes(op, { fn: "rem" })),
      /element to element|backwards/,
    ],
    [
      "one loop reads the next",
      () => changed(kernel, divs.slice(0, 1), (op) => moved(op, 0, 128)),
      /not followed|element to element|not the same/,
    ],
    [
      "there is one less",
      () => replaced(kernel, /(buffer scales(?:_odd)?: scratch f32\[)div\(n, 128\)\]/, "$1sub(div(n, 128), 1)]"),
      /may leave 'scales/,
    ],
    ["one copy is for all launches", () => replaced(kernel, /"(wire|scales)_odd"/, '"$1"'), /may meet/],
  ])("%s: refused", (_, twin, reason) => {
    expectRefused(twin(), reason, BLOCKS);
  });

  it("what is stored where others read is refused", () => {
    const text = `collective f(x: T[n] local) -> y: T[n] local where n % 4 == 0 {
      scratch s: T[n]
      for i in tiles(n) { s[i] = x[i] }
      for i in tiles(n) { s[i] = s[i / 4] }
      for i in tiles(n) { y[i] = s[i] }
    }`;
    expectRefused(compiled(text), /may meet/);
  });
});

describe("mutants of kernels of the library", () => {
  const MAPPING: CompileOptions["mapping"] = { elementThreads: 16, rowThreads: 16, elementBlocks: 4, busyBlocks: 4 };

  it.each([
    ["all_gather/bruck", 4, lengths(4, 516, 4096, 4 * 1024 * 3 + 600), isAll ? 16 : 200],
    ["all_reduce/quantised", 2, lengths(128, 640, 4096, 6784), isAll ? 16 : 100],
  ] as const)("%s: of none is more claimed than executions show", { timeout: 3_600_000 }, (name, ranks, at, every) => {
    const file = LIBRARY.find((f) => f.name === name)!;
    const { kernel } = withMapping(compileFile(file, { ranks, dtype: "bf16", mapping: PROOF_MAPPING }), MAPPING);
    expect(reasonsOf(kernel!, at).ordering).toBe(null);
    const step = Number(process.env["MUTANTS_STEP"] ?? every);
    const mutants = printedMutantsOf(kernel!).filter((_, i) => i % step === 0);
    const wrong = mutants.filter(({ kernel: mutant }) => {
      const { ordering, answer } = reasonsOf(mutant, at);
      return (
        (ordering === null && isWrong(mutant, proveOrdering, at)) ||
        (answer === null && isWrong(mutant, proveAnswer, at))
      );
    });
    expect(wrong.map((m) => m.name)).toEqual([]);
    expect(mutants.length).toBeGreaterThanOrEqual(10);
  });
});
