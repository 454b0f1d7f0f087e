/**
 * Several products of the same rows are proved for every length; and twins of their kernels that are wrong are not, which executions show to be wrong. `COLLC_TESTS=all`
 * looks at more mutants.
 */
import { describe, expect, it } from "vitest";
import { withMapping } from "../../src/compiler/index.js";
import type { Kernel, Op, Value } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { everyLength, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { isAll } from "../scope.js";
import { changed, dropped, Executions, moved, type Twin, variantOf, withAttributes } from "./twins.js";

const THREE = `x: T[m, k] sharded(0), wq: T[k, n] sharded(1), wk: T[k, kv] sharded(1), wv: T[k, kv] sharded(1)) -> (q: T[m, n] sharded(1), key: T[m, kv] sharded(1), value: T[m, kv] sharded(1)) {
  let all = all_gather(x)
  q = all @ wq
  key = all @ wk
  value = all @ wv
}`;
const TWO = `x: T[m, k] sharded(0), a: T[k, n] sharded(1), b: T[k, h] sharded(1), v: T[h] sharded(0)) -> (c: T[m, n] sharded(1), d: T[m, h] sharded(1)) {
  let all = all_gather(x)
  c = silu(all @ a)
  d = all @ b + v
}`;
const ALONE = `x: T[m, k] local, a: T[k, n] local, b: T[k, h] local) -> (c: T[m, n] local, d: T[m, h] local) {
  c = x @ a
  d = relu(x @ b)
}`;

/** Programs, all of which are proved, and the ways that they may go. */
const PROVED: readonly (readonly [name: string, text: string, ways: readonly string[]])[] = [
  ["three products of gathered rows", THREE, ["f", "f+packets"]],
  ["two products of gathered rows of which more is made", TWO, ["f", "f+packets"]],
  ["two products of a rank's own", ALONE, ["f"]],
];

/** Lengths at which rows together are whole packets, and are not. */
const SHORT = (ranks: number): readonly DimValues[] =>
  [
    [3, 43],
    [8, 40],
    [24, 48],
    [48, 43],
  ].map(([rows, k]) => ({ m: ranks * rows!, k: k!, n: 4 * ranks, kv: 2 * ranks, h: ranks }));

const ways = PROVED.flatMap(([name, text, all]) => all.map((way) => [name, way, text] as const));

describe("several products of the same rows", () => {
  for (const ranks of isAll ? [2, 3, 4, 8] : [2, 4])
    it.each(ways)(`%s, as %s, are proved for every length, as printed, on ${ranks} ranks`, (_, way, text) => {
      const { kernel } = variantOf(text, ranks, way);
      const claim = everyLength(kernel!, SHORT(ranks));
      expect(claim).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
    });
});

// With nine blocks blocks share the depth of tiles of each product, and begin with tiles of each.
const MAPPING = { ...PROOF_MAPPING, tileBlocks: 9 };
const meanwhile = withMapping(variantOf(THREE, 2, "f"), MAPPING).kernel!;
const before = withMapping(variantOf(THREE, 2, "f+packets"), MAPPING).kernel!;

/** Shapes at which the products have as many columns and fewer, and tiles share their depth or do not. */
const SHAPES: readonly DimValues[] = [
  { m: 4, k: 80, n: 16, kv: 16 },
  { m: 20, k: 27, n: 38, kv: 18 },
  { m: 64, k: 43, n: 16, kv: 38 },
  { m: 34, k: 96, n: 80, kv: 80 },
];

const executions = new Executions(SHAPES, SHORT(2));

type Is = (op: Op) => boolean;

/** All ops of a kind in roles, in order. @param role 0 for consumers, 1 for the producer */
function ops(kernel: Kernel, role: number, name: Op["name"], is: Is = () => true): Op[] {
  const found: Op[] = [];
  walkKernel(kernel, (op, parents) => {
    const at = parents.findIndex((p) => p.name === "roles");
    if (op.name !== name || at < 0 || !is(op)) return;
    const around = [...parents, op][at + 1]!;
    if (parents[at]!.regions[role]!.ops.includes(around)) found.push(op);
  });
  return found;
}

/** Whether an op, or something in it, touches a buffer in a way. */
const touches =
  (key: "buffer" | "from", buffer: string): Is =>
  (op) =>
    op.attributes[key] === buffer || op.regions.some((r) => r.ops.some(touches(key, buffer)));

/** Conditions that say whether a tile is of a product, and not of those behind it. */
function choices(kernel: Kernel, role: 0 | 1, of: string, behind: string): Op[] {
  const key = role === 0 ? "buffer" : "from";
  const ifs = ops(kernel, role, "if", ({ regions: [then, otherwise] }) => {
    return then!.ops.some(touches(key, of)) && otherwise!.ops.some(touches(key, behind));
  });
  const makers = new Map<Value, Op>();
  walkKernel(kernel, (op) => op.results.forEach((v) => makers.set(v, op)));
  return [...new Set(ifs.map((op) => makers.get(op.operands[0]!)!))];
}

const on =
  (key: "buffer" | "from", ...names: readonly string[]): Is =>
  (op) =>
    names.includes(op.attributes[key] as string);
const exchanged =
  (key: "buffer" | "from", a: string, b: string) =>
  (op: Op): readonly Op[] =>
    withAttributes(op, { [key]: op.attributes[key] === a ? b : a });

/** Twins of either kernel. */
const twinsOf = (kernel: Kernel): readonly Twin[] => [
  ["products of which one is taken for another", () => changed(kernel, ops(kernel, 1, "copy_tile", on("from", "wk", "wv")), exchanged("from", "wk", "wv")), /has a 'matmul' that goes by places/],
  ["products that are stored where others belong", () => changed(kernel, ops(kernel, 0, "store", on("buffer", "key", "value")), exchanged("buffer", "key", "value")), /something else is stored/],
  ["products that are stored where one belongs", () => changed(kernel, ops(kernel, 0, "store", on("buffer", "value")), (op) => withAttributes(op, { buffer: "key" })), /something else is stored/],
  ["factors of which the second is read for the third", () => changed(kernel, ops(kernel, 1, "copy_tile", on("from", "wv")), (op) => withAttributes(op, { from: "wk" })), /has a 'matmul' that goes by places/],
  ["tiles of the second product that are stored as the first's", () => changed(kernel, choices(kernel, 0, "q", "key"), (op) => moved(op, 0, -1)), /other elements of a tile are stored/],
  ["tiles of the first product that are stored as the second's", () => changed(kernel, choices(kernel, 0, "q", "key"), (op) => moved(op, 0, 1)), /other elements of a tile are stored/],
  ["tiles of the third product that are stored as the second's", () => changed(kernel, choices(kernel, 0, "key", "value"), (op) => moved(op, 0, -1)), /other elements of a tile are stored/],
  ["tiles of the second product for which the first's are brought", () => changed(kernel, choices(kernel, 1, "wq", "wk"), (op) => moved(op, 0, -1)), /a product of parts of matrices/],
  ["tiles of the third product for which the second's are brought", () => changed(kernel, choices(kernel, 1, "wk", "wv"), (op) => moved(op, 0, -1)), /from another place than its own/],
  ["tiles of two products that both take for the first's", () => changed(kernel, [...choices(kernel, 0, "q", "key"), ...choices(kernel, 1, "wq", "wk")], (op) => moved(op, 0, -1)), /a product of parts of matrices/],
  ["tiles of the third product in other columns", () => changed(kernel, ops(kernel, 1, "copy_tile", on("from", "wv")), (op) => moved(op, 1, 8)), /from another place than its own/],
  ["tiles of the second product of other rows", () => changed(kernel, ops(kernel, 1, "for", (op) => op.attributes["map"] === "serial" && op.regions[0]!.ops.some(on("from", "wk"))).flatMap((op) => op.regions[0]!.ops.flatMap(gatheredIn)), (op) => moved(op, 0, 8)), /read in another place|from another place than its own/],
  ["elements of the third product in other places", () => changed(kernel, ops(kernel, 0, "store", on("buffer", "value")), (op) => moved(op, 1, 1)), /stored in another place/],
  ["products that are specified the other way round", () => ({ ...kernel, specification: [0, 2, 1].map((i) => kernel.specification[i]!) }), /has a 'matmul' that goes by places/],
  ["pieces of which those of the second product are not waited for", () => changed(kernel, ops(kernel, 0, "if", ({ regions }) => regions.some((r) => r.ops.some(touches("buffer", "key")))).flatMap(waitsOf("key")), dropped), /'wait' is missing/],
]; // prettier-ignore

/** Copies of gathered rows in an op. */
function gatheredIn(op: Op): Op[] {
  if (op.name === "copy_tile") return op.attributes["from"] === "gathered" ? [op] : [];
  return op.regions.flatMap((r) => r.ops.flatMap(gatheredIn));
}

/** The waits for pieces in the region that stores an output, where a choice has one. */
function waitsOf(output: string): (op: Op) => Op[] {
  return ({ regions: [then] }) => {
    if (!then!.ops.some(touches("buffer", output)) || then!.ops.some(touches("buffer", "value"))) return [];
    const waits: Op[] = [];
    const look = (op: Op): void => {
      if (op.name === "wait" && !waits.includes(op)) waits.push(op);
      op.regions.forEach((r) => r.ops.forEach(look));
    };
    then!.ops.forEach(look);
    return waits;
  };
}

describe("twins of several products, which are wrong", () => {
  it("are right themselves at the shapes that refute them", () => {
    expect([meanwhile, before].map(executions.refute)).toEqual([false, false]);
    for (const kernel of [meanwhile, before])
      expect(everyLength(kernel, SHORT(2))).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
  });

  /** Each mistake in one of the kernels; with `COLLC_TESTS=all` in both. */
  const inTurns = (twins: ReturnType<typeof twinsOf>, first: number): typeof twins =>
    twins.filter((_, i) => isAll || i % 2 === first);

  it.each(inTurns(twinsOf(meanwhile), 0))("gathered meanwhile, %s: are refuted at some shape, and never proved for every length", (_, make, reason) => {
    executions.expectWrong(make(), reason);
  }); // prettier-ignore

  it.each(inTurns(twinsOf(before), 1))("gathered before, %s: are refuted at some shape, and never proved for every length", (_, make, reason) => {
    executions.expectWrong(make(), reason);
  }); // prettier-ignore
});
