/**
 * Products on each rank alone are proved for every length; and twins of their kernels that are wrong, some of them at few lengths, are not, which executions show
 * to be wrong. `COLLC_TESTS=all` looks at every mutant of one kernel.
 */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions, withMapping } from "../../src/compiler/index.js";
import type { Kernel, Op } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { everyLength, proveAnswer, proveOrdering, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { isAll } from "../scope.js";
import { edited } from "./mutants.js";
import { printedMutantsOf } from "./printed-mutants.js";
import { changed as changedIn, moved, withAttributes } from "./twins.js";

const OPTIONS: CompileOptions = { ranks: 2, dtype: "bf16" };
const ROWS = "a: T[m, k] sharded(0), b: T[k, n] replicated";
const COLUMNS = "a: T[m, k] replicated, b: T[k, n] sharded(1)";

/** Programs, all of which are proved: what each rank has, and what it makes of it. */
const PROVED: readonly (readonly [name: string, layouts: string, body: string])[] = [
  ["a product of rows", `${ROWS}) -> c: T[m, n] sharded(0)`, "a @ b"],
  ["a product of columns", `${COLUMNS}) -> c: T[m, n] sharded(1)`, "a @ b"],
  ["a product of parts of the depth", "a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] partial(sum)", "a @ b"], // prettier-ignore
  ["a product of each rank", "a: T[m, k] local, b: T[k, n] local) -> c: T[m, n] local", "a @ b"],
  ["a product in f32", "a: T[m, k] replicated, b: T[k, n] replicated, s: f32) -> c: f32[m, n] replicated", "relu(a @ b) * s"], // prettier-ignore
  ["a product with bias", `${COLUMNS}, v: T[n] sharded(0)) -> c: T[m, n] sharded(1)`, "gelu(a @ b + v)"],
  ["a product with a residual", `${ROWS}, r: T[m, n] sharded(0)) -> c: T[m, n] sharded(0)`, "r + a @ b"],
  ["a product of a literal depth", "a: T[m, 512] sharded(0), b: T[512, n] replicated) -> c: T[m, n] sharded(0)", "a @ b"], // prettier-ignore
];

const textOf = (layouts: string, body: string): string => `collective f(${layouts} { c = ${body} }`;

describe("products on each rank alone", () => {
  it.each(PROVED)("%s is proved for every length, as printed and as executed", (_, layouts, body) => {
    const printed = compile(textOf(layouts, body), OPTIONS);
    expect(printed.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    // Where both the depth and the number of blocks are known, pieces are a number that says nothing of how they were made.
    const kernels = [
      printed.kernel!,
      ...(layouts.includes("512") ? [] : [withMapping(printed, PROOF_MAPPING).kernel!]),
    ];
    for (const kernel of kernels)
      expect(everyLength(kernel, [])).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
  });

  it.each([
    ["a product of parts, of which more is made than its sum", "a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] partial(sum)", "(a @ b) * 2.0"], // prettier-ignore
    ["a product whose batches are rows", "a: T[h, m, k] replicated, b: T[k, n] replicated) -> c: T[h, m, n] replicated", "a @ b"], // prettier-ignore
    [
      "a product with a residual of other places",
      `${ROWS}, r: T[n, m] sharded(1)) -> c: T[m, n] sharded(0)`,
      "a @ b + transpose(r)",
    ],
  ])("%s is not claimed", (_, layouts, body) => {
    const { kernel } = compile(textOf(layouts, body), OPTIONS);
    expect(everyLength(kernel!, []).answer.holds).toBe(false);
  });
});

const executed = withMapping(compile(textOf(PROVED[0]![1], PROVED[0]![2]), OPTIONS), PROOF_MAPPING).kernel!;

/** Shapes at which tiles are wide and narrow, whole and not, and share their depth or do not. */
const SHAPES: readonly DimValues[] = [
  { m: 4, n: 8, k: 40 },
  { m: 6, n: 7, k: 43 },
  { m: 20, n: 19, k: 27 },
  { m: 34, n: 37, k: 19 },
  { m: 20, n: 40, k: 17 },
  { m: 34, n: 17, k: 43 },
];

/** Whether an execution refutes a kernel at one of the shapes. */
function isRefuted(kernel: Kernel): boolean {
  return SHAPES.some((dims) =>
    [proveAnswer(kernel, { dims }), proveOrdering(kernel, { dims })].some((a) => a.status === "wrong"),
  );
}

/** All ops of a kind, in order. */
function ops(name: Op["name"], is: (op: Op) => boolean = () => true): Op[] {
  const found: Op[] = [];
  walkKernel(executed, (op) => void (op.name === name && is(op) && found.push(op)));
  return found;
}

const changed = (targets: readonly Op[], edit: (op: Op) => readonly Op[]): Kernel => changedIn(executed, targets, edit);

/** Whether an op adds two remainders. */
function isSumOfRemainders(op: Op): boolean {
  const remainders = new Set(ops("binary", (o) => o.attributes["fn"] === "rem").flatMap((o) => o.results));
  return op.attributes["fn"] === "add" && op.operands.every((v) => remainders.has(v));
}
const ofRight = (op: Op): boolean => op.attributes["from"] === "b";

const TWINS: readonly (readonly [name: string, twin: () => Kernel, reason: RegExp])[] = [
  ["stages of which another is waited for", () => changed(ops("ring_wait"), (op) => moved(op, 0, 1)), /multiplied is not what was waited for/],
  ["stages that nobody waits for", () => changed(ops("ring_wait"), () => []), /'mma'/],
  ["stages that are filled before they are free", () => changed(ops("ring_acquire"), () => []), /'copy_tile'/],
  ["stages that are released while they are multiplied", () => changed(ops("mma_wait", (op) => op.attributes["pending"] === 1), (op) => withAttributes(op, { pending: 2 })), /waited for in a way/],
  ["stages that are released one too early", () => changed(ops("ring_release"), (op) => moved(op, 0, 1)), /released that is not the one before/],
  ["a sum that is stored before it has ended", () => changed(ops("mma_wait", (op) => op.attributes["pending"] === 0), (op) => withAttributes(op, { pending: 1 })), /waited for in a way/],
  ["a sum that is not cleared", () => changed(ops("fragment_clear"), () => []), /'for'/],
  ["a depth whose end is not zero", () => changed(ops("copy_tile", ofRight), (op) => withAttributes(op, { spare: true })), /behind the end of the depth is not zero/],
  ["a slice of another place in the depth", () => changed(ops("copy_tile", ofRight), (op) => moved(op, 0, 1)), /right factor is not of its place/],
  ["a tile of another row", () => changed(ops("copy_tile", (op) => !ofRight(op)), (op) => moved(op, 0, 1)), /from another place than its own/],
  ["tiles of which too few columns are multiplied", () => changed(ops("mma"), (op) => withAttributes(op, { columns: 8 })), /fewer columns are multiplied/],
  ["pieces that are not waited for", () => changed(ops("wait"), () => []), /'wait' is missing/],
  ["pieces that are taken before they are seen", () => changed(ops("wait"), (op) => withAttributes(op, { order: "relaxed" })), /not waited for/],
  ["pieces of the next", () => changed(ops("fragment_add"), (op) => moved(op, 0, 1)), /kept in a way that is not followed/],
  ["pieces that are told of before they are there", () => changed(ops("signal"), (op) => withAttributes(op, { order: "relaxed" })), /not told of/],
  ["pieces that are told of by threads that are ahead", () => changed(ops("block_sync"), () => []), /'for'/],
  // The least of costs may be below 0, and its remainder, too: tiles are wider than what is multiplied.
  ["costs that may be below 0", () => changed(ops("binary", isSumOfRemainders), (op) => withAttributes(op, { fn: "sub" })), /a length decides/],
  ["launches that nobody counts", () => changed(ops("store", (op) => op.attributes["buffer"] === "launches"), () => []), /'store' is missing/],
]; // prettier-ignore

describe("twins of a product that are wrong", () => {
  it("is right itself at the shapes that refute them", () => {
    expect(isRefuted(executed)).toBe(false);
  });

  it.each(TWINS)("%s: are refuted at some shape, and never proved for every length", (_, twin, reason) => {
    const kernel = twin();
    expect(everyLength(kernel, []).ordering).toMatchObject({
      holds: false,
      reason: expect.stringMatching(reason) as string,
    });
    expect(isRefuted(kernel)).toBe(true);
  });

  it("of an accumulator's last rows and columns none is left out", () => {
    for (const loop of ops("for", (op) => op.attributes["map"] === "fragment")) {
      const shorter = edited(executed, loop, (op) => moved(op, 1, -1));
      expect(everyLength(shorter, []).ordering.holds).toBe(false);
      const choice = loop.regions[0]!.ops.find((op) => op.name === "if")!;
      const turned = edited(executed, choice, (op) => [{ ...op, regions: op.regions.toReversed() }]);
      expect(everyLength(turned, []).ordering.holds).toBe(false);
    }
  });

  it("mutants that are proved for every length are refuted by no execution", { timeout: 3_600_000 }, () => {
    const all = printedMutantsOf(executed);
    expect(all.length).toBeGreaterThan(1000);
    const proved = all
      .filter((_, i) => isAll || i % 40 === 0)
      .filter(({ kernel }) => {
        const { answer, ordering } = everyLength(kernel, []);
        return answer.holds || ordering.holds;
      });
    expect(proved.filter(({ kernel }) => isRefuted(kernel)).map(({ name }) => name)).toEqual([]);
  });
});
