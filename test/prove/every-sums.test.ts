/**
 * Products that ranks add up are proved for every length; and twins of their kernels that are wrong are not, which executions show to be wrong. `COLLC_TESTS=all` looks
 * at more mutants.
 */
import { describe, expect, it } from "vitest";
import { withMapping } from "../../src/compiler/index.js";
import type { Kernel, Op, Region } from "../../src/compiler/ir/module.js";
import { Value } from "../../src/compiler/ir/module.js";
import { BOOL, INDEX, scalar } from "../../src/compiler/ir/types.js";
import { walk, walkKernel } from "../../src/compiler/ir/visit.js";
import { everyLength, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { isAll } from "../scope.js";
import { edited } from "./mutants.js";
import { changed, dropped, Executions, moved, type Twin, variantOf, withAttributes } from "./twins.js";

const LAYOUTS = "a: T[m, k] sharded(1), b: T[k, n] sharded(0)";

/** Programs, all of which are proved. */
const PROVED: readonly (readonly [name: string, text: string])[] = [
  ["a sum of products, cut", `${LAYOUTS}) -> c: T[m, n] sharded(0) { c = reduce_scatter(a @ b, dim: 0) }`],
  ["a sum of products, on all ranks", `${LAYOUTS}) -> c: T[m, n] replicated { c = all_reduce(a @ b) }`],
];

/** Lengths at which all kinds of elements are made. */
const SHORT = (ranks: number): readonly DimValues[] => [{ m: 4 * ranks, k: 2 * ranks, n: 24 }];

describe("products that ranks add up", () => {
  for (const ranks of isAll ? [2, 3, 4, 8] : [2, 4])
    it.each(PROVED)(`%s, is proved for every length, as printed, on ${ranks} ranks`, (_, text) => {
      const { kernel } = variantOf(text, ranks, "two_shot");
      const claim = everyLength(kernel!, SHORT(ranks));
      expect(claim).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
    });

  it.each(PROVED)("%s, is proved as executed", (_, text) => {
    const kernel = withMapping(variantOf(text, 2, "two_shot"), PROOF_MAPPING).kernel!;
    const claim = everyLength(kernel, SHORT(2));
    expect(claim).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
  });
});

const executed = withMapping(variantOf(PROVED[0]![1], 2, "two_shot"), PROOF_MAPPING).kernel!;
const onAll = withMapping(variantOf(PROVED[1]![1], 2, "two_shot"), PROOF_MAPPING).kernel!;

/** Shapes at which tiles are wide and narrow, leave by movers and do not, and share their depth or do not. */
const SHAPES: readonly DimValues[] = [
  { m: 4, k: 80, n: 8 },
  { m: 6, k: 86, n: 7 },
  { m: 20, k: 54, n: 19 },
  { m: 32, k: 48, n: 72 },
  { m: 32, k: 16, n: 88 },
  { m: 64, k: 16, n: 83 },
];

const executions = new Executions(SHAPES, SHORT(2));

type Is = (op: Op, parents: readonly Op[]) => boolean;

/** All ops of a kind, in order. @param role of those whose tiles leave by movers: 0 for consumers, 1 for producers, 2 for movers; null: outside of all roles */
function ops(kernel: Kernel, role: number | null, name: Op["name"], is: Is = () => true): Op[] {
  const found: Op[] = [];
  const look = (region: Region): void =>
    walk(region, (op, parents) => void (op.name === name && is(op, parents) && found.push(op)));
  if (role === null) {
    walkKernel(kernel, (op, parents) => {
      if (op.name === name && !parents.some((p) => p.name === "roles") && is(op, parents)) found.push(op);
    });
  } else walkKernel(kernel, (op) => void (op.attributes["outgoing"] !== undefined && look(op.regions[role]!)));
  return found;
}

const to =
  (buffer: string): Is =>
  (op) =>
    op.attributes["buffer"] === buffer;
/** A loop around one op of a kind. */
const around =
  (name: Op["name"], buffer: string): Is =>
  (op) =>
    op.regions[0]!.ops.some((o) => o.name === name && o.attributes["buffer"] === buffer);
const aroundChoice =
  (name: Op["name"], buffer: string): Is =>
  (op) =>
    op.regions[0]!.ops.some((o) => o.name === "if" && around(name, buffer)(o, []));

/** A signal of the number of the launch before. */
function earlier(op: Op): readonly Op[] {
  const [one, less] = [new Value(scalar("u32")), new Value(scalar("u32"))];
  const of = { attributes: {}, regions: [], span: op.span };
  return [
    { ...of, name: "const", operands: [], results: [one], attributes: { value: 1 } },
    { ...of, name: "binary", operands: [op.operands[0]!, one], results: [less], attributes: { fn: "sub" } },
    { ...op, operands: [less, ...op.operands.slice(1)] },
  ];
}

/** A signal to the sender itself, of two ranks. */
function onOther(op: Op): readonly Op[] {
  const rank = new Value(INDEX);
  const make = { name: "rank", operands: [], results: [rank], attributes: {}, regions: [], span: op.span } as const;
  return [make, { ...op, operands: [op.operands[0]!, rank, op.operands[2]!] }];
}

/** The loops that send a tile, behind what tells of it. */
function sentLast(kernel: Kernel): Kernel {
  const [sending] = ops(kernel, 2, "if", (_, parents) => parents.at(-1)?.attributes["map"] === "blocks");
  const without = edited(kernel, sending!, dropped);
  return edited(without, ops(without, 2, "for", around("signal", "tiles_told"))[0]!, (op) => [op, sending!]);
}

/** What says whether another rank's part is behind that of this one. */
const isBehindRank: Is = (op) => {
  const ranks = new Set(ops(executed, 0, "rank").flatMap(({ results }) => results));
  return op.attributes["fn"] === "ge" && ranks.has(op.operands[1]!);
};

/** A condition that holds on the first rank alone. */
function onRank(op: Op): readonly Op[] {
  const [rank, first, isFirst, holds] = [new Value(INDEX), new Value(INDEX), new Value(BOOL), new Value(BOOL)];
  const { span } = op;
  const make = (
    name: Op["name"],
    operands: readonly Value[],
    results: readonly Value[],
    attributes: Op["attributes"],
  ) => ({ name, operands, results, attributes, regions: [], span }) satisfies Op;
  return [
    { ...op, results: [holds] },
    make("rank", [], [rank], {}),
    make("const", [], [first], { value: 0 }),
    make("compare", [rank, first], [isFirst], { fn: "eq" }),
    make("binary", [holds, isFirst], op.results, { fn: "and" }),
  ];
}

const TWINS: readonly Twin[] = [
  // What tells of tiles that have left.
  ["tiles that are told of before all movers have sent them", () => changed(executed, ops(executed, 2, "block_sync"), dropped), /'for'|'load'|'ring_release'/],
  ["tiles that are told of without their order", () => changed(executed, ops(executed, 2, "signal"), (op) => withAttributes(op, { order: "relaxed" })), /sent is not told of/],
  ["tiles that are told of in other words", () => changed(executed, ops(executed, 2, "signal"), (op) => moved(op, 2, 1)), /sent is not told of/],
  ["tiles that another rank is told of", () => changed(executed, ops(executed, 2, "signal"), onOther), /sent is not told of/],
  ["tiles that are told of with the number of the launch before", () => changed(executed, ops(executed, 2, "signal"), earlier), /sent is not told of|'binary'/],
  ["tiles that are told of before they are sent", () => sentLast(executed), /'block_sync'/],
  ["tiles that nobody waits for", () => changed(executed, ops(executed, 0, "wait", to("tiles_told")), dropped), /'wait' is missing/],
  ["tiles that are taken without their order", () => changed(executed, ops(executed, 0, "wait", to("tiles_told")), (op) => withAttributes(op, { order: "relaxed" })), /not waited for/],
  ["tiles of which those of the last rank are not waited for", () => changed(executed, ops(executed, 0, "for", aroundChoice("wait", "tiles_told")), (op) => moved(op, 1, -1)), /not waited for/],
  ["tiles for which the words of others are waited for", () => changed(executed, ops(executed, 0, "wait", to("tiles_told")), (op) => moved(op, 1, -2)), /not waited for/],
  // Where tiles are on their way.
  ["tiles that leave before their place is free", () => changed(executed, ops(executed, 0, "ring_acquire"), dropped), /'for'|'if'/],
  ["tiles that are sent before they are there", () => changed(executed, ops(executed, 2, "ring_wait"), dropped), /'block_sync'/],
  ["tiles that are sent of another place", () => changed(executed, ops(executed, 2, "load", to("outgoing_tiles")), (op) => moved(op, 0, 1)), /another one's sum/],
  ["tiles that leave from another place", () => changed(executed, ops(executed, 0, "store", to("outgoing_tiles")), (op) => moved(op, 1, 1)), /leaves from another place/],
  ["tiles that are waited for in another position", () => changed(executed, ops(executed, 2, "ring_wait"), (op) => moved(op, 0, 1)), /leaves by another position/],
  ["places that are never free again", () => changed(executed, ops(executed, 2, "ring_release"), dropped), /'load' of 'launches'/],
  // Where they go.
  ["tiles that are sent one further", () => changed(executed, ops(executed, 2, "store"), (op) => moved(op, 2, 1)), /sent to another place/],
  ["tiles that are stored one further", () => changed(executed, ops(executed, 0, "store", to("stage")), (op) => moved(op, 2, 1)), /sent to another place/],
  ["a tile that leaves, and that movers leave out", () => changed(executed, ops(executed, 0, "compare", (op) => op.attributes["fn"] === "ge"), (op) => moved(op, 1, 1)), /'load' of 'launches'/],
  ["a tile of another row that leaves", () => changed(executed, ops(executed, 1, "copy_tile", (op) => op.attributes["from"] === "a"), (op) => moved(op, 0, 1)), /from another place than its own/],
  // What is made of them.
  ["a rank's own tiles of which its own part is taken for another's", () => changed(executed, ops(executed, 0, "compare", isBehindRank), (op) => withAttributes(op, { fn: "lt" })), /another one that ranks have sent/],
  ["a sum of other places", () => changed(executed, ops(executed, null, "load", to("stage")), (op) => moved(op, 0, 8)), /another one that ranks have sent|leave 'stage'/],
  // What blocks tell each other before and behind the product.
  ["sums of what has not arrived", () => changed(executed, ops(executed, null, "wait").slice(1), (op) => withAttributes(op, { order: "relaxed" })), /nothing orders|may be touched/],
  ["sums of what is told of too early", () => changed(executed, ops(executed, null, "signal").slice(1), (op) => withAttributes(op, { order: "relaxed" })), /nothing orders|may be touched/],
  ["tiles that are sent to a rank whose launch before is not over", () => changed(executed, ops(executed, null, "wait").slice(0, 1), (op) => withAttributes(op, { order: "relaxed" })), /nothing orders/],
  ["an output that some ranks do not get", () => changed(onAll, ops(onAll, 0, "store", to("c")).slice(0, 1), (op) => moved(op, 1, 1)), /stored to some ranks/],
  ["ranks that go other ways", () => changed(executed, ops(executed, null, "select", (op) => JSON.stringify(op.results[0]!.type).includes("bool")).slice(-1), onRank), /ranks may go other ways/],
  [
    "tiles that are added up where they do not leave, and the other way round",
    () =>
      ops(executed, null, "if", (op) => op.regions[0]!.ops.length === 0 && op.regions[1]!.ops.length > 0)
        .slice(0, 1)
        .reduce((k, op) => edited(k, op, (o) => [{ ...o, regions: o.regions.toReversed() }]), executed),
    /touched behind tiles that leave/,
  ],
  ["blocks that wait before they tell that they have begun", () => {
    const [signal] = ops(executed, null, "for", around("signal", "flags"));
    const without = edited(executed, signal!, dropped);
    return edited(without, ops(without, null, "for", around("wait", "flags"))[0]!, (op) => [op, signal!]);
  }, /blocks wait before their tiles/],
  ["an output that is stored when its owner's caller reads it", () => changed(onAll, ops(onAll, null, "wait").slice(-1), (op) => withAttributes(op, { order: "relaxed" })), /caller/],
]; // prettier-ignore

describe("twins of products that ranks add up, which are wrong", () => {
  it("are right themselves at the shapes that refute them", () => {
    expect([executed, onAll].map(executions.refute)).toEqual([false, false]);
  });

  it.each(TWINS)("%s: are refuted at some shape, and never proved for every length", (_, twin, reason) => {
    executions.expectWrong(twin(), reason);
  });

  it("no execution refutes what is claimed of mutants", { timeout: 3_600_000 }, () => {
    executions.expectNoFalseClaims([executed, onAll], isAll ? 40 : 400);
  });
});
