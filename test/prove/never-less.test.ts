/** What is less at no length is no way that a proof has to go. */
import { describe, expect, it } from "vitest";
import { compile, programOf, PROOF_MAPPING } from "../../src/compiler/index.js";
import { bufferOf, memoryOperands } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { isNeverLess, isNeverPast } from "../../src/compiler/prove/never-less.js";
import { followedIn } from "../../src/compiler/prove/outcomes.js";
import { findings, prove } from "../../src/compiler/prove/index.js";

/** Whether the first side of the first `min` is never less than the second, and the other way round. */
function sidesOf(expression: string, ranks: number, signature = "n", where = ""): readonly [boolean, boolean] {
  const condition = where === "" ? "" : `where ${where}`;
  const text = `collective f(x: T[${signature}] local) -> y: T[${signature}] local ${condition} {
    for i in tiles(n) { y[i] = x[${expression}] } }`;
  const { snapshots, diagnostics } = compile(text, { ranks, dtype: "f32", mapping: PROOF_MAPPING });
  const program = programOf(snapshots);
  if (program === null) throw new Error(diagnostics.map((d) => d.message).join());
  const { makers } = followedIn(program);
  const found: [boolean, boolean][] = [];
  walkKernel(program, (op) => {
    if (op.name !== "binary" || op.attributes["fn"] !== "min") return;
    const [a, b] = op.operands as [never, never];
    found.push([isNeverLess(a, b, program, makers), isNeverLess(b, a, program, makers)]);
  });
  return found[0]!;
}

/** Whether the index of the first load is never below 0, and never at the end of a tensor of that length. */
function insideOf(index: string, length: string, ranks: number): readonly [boolean, boolean] {
  const text = `collective f(x: T[${length}] local, z: T[n] local) -> y: T[n] local {
    for p in ranks { for i in tiles(n / 4) { y[i] = x[${index}] } } }`;
  const { snapshots, diagnostics } = compile(text, { ranks, dtype: "f32", mapping: PROOF_MAPPING });
  const program = programOf(snapshots);
  if (program === null) throw new Error(diagnostics.map((d) => d.message).join());
  const { makers } = followedIn(program);
  const found: [boolean, boolean][] = [];
  walkKernel(program, (op) => {
    if (op.name !== "load") return;
    const [at] = memoryOperands(op).indices;
    const [end] = bufferOf(program, "x").shape;
    found.push([isNeverPast(at!, null, program, makers), isNeverPast(at!, end!, program, makers)]);
  });
  return found[0]!;
}

/** The same by trying. */
function tried(less: (n: number, i: number, rank: number) => boolean, ranks: number): boolean {
  for (let n = 0; n < 40; n++)
    for (let i = 0; i < n; i++) for (let rank = 0; rank < ranks; rank++) if (less(n, i, rank)) return false;
  return true;
}

describe("one number is less than another at no length", () => {
  it("where quotients of a length by the number of ranks begin", () => {
    // On two ranks, the second part begins before the end; on three it need not: 2 * 2 of 3.
    expect(sidesOf("min(rank * ((n + 1) / 2), n - 1)", 2)).toEqual([false, false]);
    expect(sidesOf("min(rank * ((n + 1) / 2), n)", 2)).toEqual([false, true]);
    expect(sidesOf("min(rank * ((n + 2) / 3), n)", 3)).toEqual([false, false]);
  });

  it("where the signature says that lengths divide", () => {
    const halves = "min(min(rank * ((n + 1) / 2), n) + (n + 1) / 2, n)";
    const sideOf = (text: string): readonly [boolean, boolean] => sidesOf(text, 2, "n", "n % 2 == 0");
    // Of an odd length, both parts together are longer.
    expect(sidesOf("min(rank * ((n + 1) / 2) + (n + 1) / 2, n)", 2)).toEqual([false, false]);
    expect(sideOf("min(rank * ((n + 1) / 2) + (n + 1) / 2, n)")).toEqual([false, true]);
    expect(sideOf("min(rank * ((n + 2) / 2) + (n + 2) / 2, n)")).toEqual([false, false]);
    expect(sideOf(halves)[1]).toBe(true);
  });

  it("as trying says", () => {
    for (const [text, a, b] of [
      ["min(i, n - 1)", (n, i) => i, (n) => n - 1],
      ["min(i, n)", (n, i) => i, (n) => n],
      ["min(i / 3, i)", (n, i) => Math.trunc(i / 3), (n, i) => i],
      ["min((n - 1 - i) / 2, n)", (n, i) => Math.trunc((n - 1 - i) / 2), (n) => n],
      ["min((i - n) / 2 + n, n)", (n, i) => Math.trunc((i - n) / 2) + n, (n) => n],
      ["min(i % 4, 3)", (n, i) => i % 4, () => 3],
      ["min(i % 4, 2)", (n, i) => i % 4, () => 2],
      ["min(rank / 2, rank)", (n, i, rank) => Math.trunc(rank / 2), (n, i, rank) => rank],
      ["min(rank % 2 * n, n)", (n, i, rank) => (rank % 2) * n, (n) => n],
      ["min(2 * i - n, i)", (n, i) => 2 * i - n, (n, i) => i],
    ] as [string, (n: number, i: number, rank: number) => number, (n: number, i: number, rank: number) => number][]) {
      const [first, second] = sidesOf(text, 4);
      const less = tried((n, i, rank) => a(n, i, rank) < b(n, i, rank), 4);
      const greater = tried((n, i, rank) => b(n, i, rank) < a(n, i, rank), 4);
      // What happens at a length that was tried is not never.
      expect([text, first && !less, second && !greater]).toEqual([text, false, false]);
    }
  });

  it("and an index leaves its dimension at no length, as trying says", () => {
    type At = (n: number, i: number, rank: number, p: number) => number;
    const quarter = (n: number): number => Math.floor(n / 4);
    const whole = (n: number): number => n;
    for (const [index, length, at, end, isKnown] of [
      ["i", "n / 4", (_n, i) => i, quarter, true],
      ["i + 1", "n / 4", (_n, i) => i + 1, quarter, false],
      ["i", "n", (_n, i) => i, whole, true],
      ["p * (n / 4) + i", "n", (n, i, _rank, p) => p * quarter(n) + i, whole, true],
      ["rank * (n / 4) + i", "n", (n, i, rank) => rank * quarter(n) + i, whole, true],
      ["p * (n / 4) + i", "4 * (n / 4)", (n, i, _rank, p) => p * quarter(n) + i, (n) => 4 * quarter(n), false],
      ["(p + 1) * (n / 4) + i", "n", (n, i, _rank, p) => (p + 1) * quarter(n) + i, whole, false],
      ["p * (i - n) + n", "n + 1", (n, i, _rank, p) => p * (i - n) + n, (n) => n + 1, false],
      ["(n + 3) / 4 - 1 - i", "n / 4 + 1", (n, i) => Math.floor((n + 3) / 4) - 1 - i, (n) => quarter(n) + 1, false],
    ] as [string, string, At, (n: number) => number, boolean][]) {
      const [below, past] = insideOf(index, length, 4);
      const isSo = (is: (n: number, i: number, rank: number, p: number) => boolean): boolean => {
        for (let n = 0; n < 40; n++)
          for (let i = 0; i < quarter(n); i++)
            for (let rank = 0; rank < 4; rank++) for (let p = 0; p < 4; p++) if (is(n, i, rank, p)) return true;
        return false;
      };
      const isBelow = isSo((...all) => at(...all) < 0);
      const isPast = isSo((n, ...all) => at(n, ...all) >= end(n));
      expect([index, below && isBelow, past && isPast]).toEqual([index, false, false]);
      if (isKnown) expect([index, below, past]).toEqual([index, true, true]);
    }
  });

  it("and nobody is warned of it: a plain product and its sum over ranks", () => {
    const text =
      "collective f(x: T[m, k] sharded(1), w: T[k, n] sharded(0)) -> y: T[m, n] replicated { y = all_reduce(x @ w) }";
    const made = compile(text, { ranks: 2, dtype: "bf16", mapping: { ...PROOF_MAPPING, algorithm: "two_shot" } });
    expect(findings(prove(made)).map(({ message }) => message)).toEqual([]);
  });
});
