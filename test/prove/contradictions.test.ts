/** What is asked for where something else is so, and happens there at no length, is no way that a proof has to go. */
import { describe, expect, it } from "vitest";
import { compile, programOf, PROOF_MAPPING } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { isContradiction } from "../../src/compiler/prove/contradictions.js";
import { findings, prove } from "../../src/compiler/prove/index.js";
import { followedIn, outcomesOf } from "../../src/compiler/prove/outcomes.js";

type Numbers = readonly [i: number, n: number, rank: number];
type Row<X> = readonly [text: string, at: (...v: Numbers) => X];

const RANKS = 3;

// prettier-ignore
const CONDITIONS: readonly Row<boolean>[] = [
  ["i == n - 1", (i, n) => i === n - 1],
  ["i + 1 < n", (i, n) => i + 1 < n],
  ["2 * i >= n", (i, n) => 2 * i >= n],
  ["i / 3 == n / 3", (i, n) => Math.trunc(i / 3) === Math.trunc(n / 3)],
  ["i < 4 and rank == 0", (i, _n, rank) => i < 4 && rank === 0],
  ["i < 4 or i > n - 3", (i, n) => i < 4 || i > n - 3],
  ["not (i != rank or n < 2 * rank)", (i, n, rank) => !(i !== rank || n < 2 * rank)],
  ["min(i, rank) == rank", (i, _n, rank) => Math.min(i, rank) === rank],
];

// prettier-ignore
const SIDES: readonly (readonly [Row<number>, Row<number>])[] = [
  [["i + 1", (i) => i + 1], ["n - 1", (_i, n) => n - 1]],
  [["i", (i) => i], ["rank", (_i, _n, rank) => rank]],
  [["2 * i", (i) => 2 * i], ["n", (_i, n) => n]],
  [["3 * (n / 3)", (_i, n) => 3 * Math.trunc(n / 3)], ["i", (i) => i]],
  [["i + 3", (i) => i + 3], ["n - 1 + rank", (_i, n, rank) => n - 1 + rank]],
  // Quotients by what is no number: of three parts of equal length, two, and of two that leave some out.
  [["i / ((n + 2) / 3)", (i, n) => Math.trunc(i / Math.trunc((n + 2) / 3))], ["2", () => 2]],
  [["i / ((n + 2) / 3)", (i, n) => Math.trunc(i / Math.trunc((n + 2) / 3))], ["1", () => 1]],
  [["i / (n / 3 + 1)", (i, n) => Math.trunc(i / (Math.trunc(n / 3) + 1))], ["2", () => 2]],
  [["i / (n / 4 + 1)", (i, n) => Math.trunc(i / (Math.trunc(n / 4) + 1))], ["2", () => 2]],
  [["(i - n) / 2 + n", (i, n) => Math.trunc((i - n) / 2) + n], ["n - 1", (_i, n) => n - 1]],
];

function programWith(condition: string, a: string, b: string): Kernel {
  const text = `collective f(x: T[n] local) -> y: T[n] local {
    for i in tiles(n) { y[i] = where(${condition}, 0, x[min(${a}, ${b})]) } }`;
  const { snapshots, diagnostics } = compile(text, { ranks: RANKS, dtype: "f32", mapping: PROOF_MAPPING });
  const program = programOf(snapshots);
  if (program === null) throw new Error(diagnostics.map((d) => d.message).join());
  return program;
}

/** By trying, on short lengths. */
function happens(what: (...v: Numbers) => boolean): boolean {
  for (let n = 0; n < 16; n++)
    for (let i = 0; i < n; i++) for (let rank = 0; rank < RANKS; rank++) if (what(i, n, rank)) return true;
  return false;
}

describe("tests that contradict each other at every length", () => {
  it("are none that hold at a length that is tried, and most of those that hold at none", () => {
    let [never, found] = [0, 0];
    for (const [condition, holds] of CONDITIONS)
      for (const [[a, first], [b, second]] of SIDES) {
        const program = programWith(condition, a, b);
        const { makers } = followedIn(program);
        for (const { where, parents, tests } of outcomesOf(program).all) {
          const side = /^where the (first|second) operand is the lesser one$/.exec(where)?.[1];
          // The minimum in the condition has sides, too.
          if (side === undefined || tests.length < 2) continue;
          const isLess = (...v: Numbers): boolean => (side === "first" ? first(...v) < second(...v) : second(...v) < first(...v)); // prettier-ignore
          const isTried = happens((...v) => !holds(...v) && isLess(...v));
          const isNever = isContradiction(program, makers, parents, tests);
          expect(isNever && isTried, `${condition}: ${where} of ${a}, ${b}`).toBe(false);
          if (!isTried) never++;
          if (isNever) found++;
        }
      }
    expect(never).toBeGreaterThan(10);
    expect(found).toBeGreaterThan(0.6 * never);
  });

  it("are not warned of: an edge that is chosen, and an index that is kept inside where it is", () => {
    const text = `collective after(x: T[n] local, edge: T[1] local) -> y: T[n] local
      where n >= 1
      ensures y[i] == where(i == n - 1, edge[0], x[i + 1]) {
      for i in tiles(n) { y[i] = where(i == n - 1, edge[0], x[min(i + 1, n - 1)]) }
    }`;
    const made = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
    expect(findings(prove(made)).map(({ message }) => message)).toEqual([]);
  });

  it("are not warned of: which part an element is in, of parts whose length is written out", () => {
    const warned = (part: string, owner: string): string[] => {
      const text = `fn part(n) = ${part}
        collective f(x: T[n] partial(sum)) -> y: T[n] replicated where n >= 1 {
        scratch own: f32[n]
        for p in ranks { for i in tiles(chunk(n, rank)) { own@p[i] = sum(q in ranks) x@q[i] } }
        for i in tiles(n) { y[i] = own@(${owner})[i] }
      }`;
      const { snapshots, ...made } = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
      return findings(prove(made, { program: programOf(snapshots) })).map(({ code }) => code);
    };
    const [chunks, even] = ["(n + 64 * world - 1) / (64 * world) * 64", "(n + world - 1) / world"];
    expect(warned(chunks, "min(i / part(n), world - 1)")).toEqual([]);
    expect(warned(even, "i / part(n) % world")).toEqual([]);
    // Of shorter ones there is something behind the last.
    expect(warned("(n + 2) / 3", "min(i / part(n), world - 1)")).toEqual([]);
  });
});
