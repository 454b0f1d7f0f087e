/**
 * Kernels whose blocks go through rows, as the compiler makes them, with one operand in the rounds that is another one: a number, an index, what is
 * stored or where. Whichever it is, what is said of every length is true at lengths where it is executed.
 */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions } from "../../src/compiler/index.js";
import type { Kernel, Op, Region, Value } from "../../src/compiler/ir/module.js";
import { printType } from "../../src/compiler/ir/types.js";
import { problemsOf } from "../../src/compiler/ir/verify.js";
import { everyLength, proveAnswer, proveOrdering } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { isAll } from "../scope.js";
import { edited } from "./mutants.js";

/** A long row has threads enough for their parts to be folded to more than one. */
const MAPPING: CompileOptions["mapping"] = {
  ...{ elementThreads: 32, rowThreads: 32, elementBlocks: 4, busyBlocks: 4 },
  rowBlocks: { threads: 32, each: 1 },
};

/** Rows shorter than a vector, of a vector for each thread and less than another, of more, of as many as a block has threads for, and longer ones. */
const AT: readonly DimValues[] = [
  { m: 6, n: 26 },
  { m: 9, n: 4 },
  { m: 10, n: 80 },
  { m: 2, n: 256 },
  { m: 2, n: 906 },
];

const alone = (body: string): Kernel =>
  compile(`collective f(x: T[m, n] replicated, w: T[n] replicated) -> y: T[m, n] replicated { ${body} }`, {
    ...{ ranks: 2, dtype: "bf16", mapping: MAPPING },
  }).kernel!;

const library = (name: string): Kernel =>
  compileFile(
    LIBRARY.find((f) => f.name === name)!,
    { ranks: 2, dtype: "bf16", mapping: MAPPING },
  ).kernel!;

const KERNELS: readonly (readonly [string, () => Kernel])[] = [
  ["a norm", () => alone("y = x / sqrt(mean(x * x, dim: 1) + 0.00001) * w")],
  ["what is more than the least", () => alone("y = x - min(x, dim: 1)")],
  ["a norm of sums", () => library("fused/all_reduce_rms_norm")],
];

/** Of each kernel, so many mutants are tried; of 400 with half as many threads, which take a quarter of an hour, none was wrong that was said to be right (2026-12-01). */
const TRIED = isAll ? 100 : 24;

/** An op in the rounds, and values of the type of an operand that stand before it. */
interface Place {
  readonly op: Op;
  readonly operand: number;
  readonly others: readonly Value[];
}

function placesIn(kernel: Kernel): readonly Place[] {
  const places: Place[] = [];
  const visit = ({ arguments: own, ops }: Region, before: readonly Value[], isIn: boolean): void => {
    const known = [...before, ...own];
    for (const op of ops) {
      if (isIn)
        for (const [operand, value] of op.operands.entries()) {
          const others = known.filter((v) => v !== value && printType(v.type) === printType(value.type));
          if (others.length > 0) places.push({ op, operand, others });
        }
      const isRounds = isIn || op.attributes["map"] === "blocks";
      for (const region of op.regions) visit(region, known, isRounds);
      known.push(...op.results);
    }
  };
  visit(kernel.body, [], false);
  return places;
}

/** Numbers below `n`, the same in each run. */
function drawn(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

describe.each(KERNELS)("%s", (_, make) => {
  it("is right for every length, and no mutant is that is wrong", { timeout: 3_600_000 }, () => {
    const kernel = make();
    const claimed = (k: Kernel): { readonly ordering: boolean; readonly answer: boolean } => {
      const { ordering, answer } = everyLength(k, AT, (dims) => proveAnswer(k, { dims }));
      return { ordering: ordering.holds, answer: answer.holds };
    };
    expect(claimed(kernel)).toEqual({ ordering: true, answer: true });
    const places = placesIn(kernel);
    const draw = drawn(12);
    const wrong: string[] = [];
    let refused = 0;
    for (let n = 0; n < TRIED; n++) {
      const { op, operand, others } = places[draw(places.length)]!;
      const other = others[draw(others.length)]!;
      const operands = op.operands.map((v, i) => (i === operand ? other : v));
      const mutant = edited(kernel, op, (o) => [{ ...o, operands }]);
      if (problemsOf(mutant).length > 0) continue;
      const says = claimed(mutant);
      if (!says.ordering || !says.answer) refused++;
      const isWrong = (prove: typeof proveAnswer | typeof proveOrdering): boolean =>
        AT.some((dims) => [true, false].some((aligned) => prove(mutant, { dims, aligned }).status === "wrong"));
      const name = `${n}: operand ${operand} of ${op.name} ${JSON.stringify(op.attributes)}`;
      if (says.ordering && isWrong(proveOrdering)) wrong.push(`ordering, ${name}`);
      if (says.answer && isWrong(proveAnswer)) wrong.push(`answer, ${name}`);
    }
    expect(wrong).toEqual([]);
    expect(refused).toBeGreaterThan(TRIED / 3);
  });
});
