/**
 * Products that are sent in packets as their tiles are done are proved for every length; and twins of their kernels that are wrong are not, which executions show to be
 * wrong. `COLLC_TESTS=all` looks at more mutants.
 */
import { describe, expect, it } from "vitest";
import { withMapping } from "../../src/compiler/index.js";
import { type Kernel, type Op, Value } from "../../src/compiler/ir/module.js";
import { scalar } from "../../src/compiler/ir/types.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { everyLength, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { isAll } from "../scope.js";
import { changed, dropped, Executions, moved, type Twin, variantOf, withAttributes } from "./twins.js";

const LAYOUTS = "a: T[m, k] sharded(1), b: T[k, n] sharded(0)";

/** Programs, all of which are proved. */
const PROVED: readonly (readonly [name: string, text: string])[] = [
  ["to the rank whose rows they are of", `${LAYOUTS}) -> c: T[m, n] sharded(0) { c = reduce_scatter(a @ b, dim: 0) }`],
  ["to all ranks", `${LAYOUTS}) -> c: T[m, n] replicated { c = all_reduce(a @ b) }`],
  [
    "to the rank that makes more of their sum",
    `${LAYOUTS}, r: T[n] replicated) -> c: T[m, n] sharded(0) { c = gelu(reduce_scatter(a @ b, dim: 0) + r) }`,
  ],
];

const SHORT = (ranks: number): readonly DimValues[] => [{ m: 4 * ranks, k: 2 * ranks, n: 24 }];

describe("products that are sent in packets", () => {
  for (const ranks of isAll ? [2, 3, 4, 8] : [2, 4])
    it.each(PROVED)(`%s, are proved for every length, as printed, on ${ranks} ranks`, (_, text) => {
      const { kernel } = variantOf(text, ranks, "one_shot+packets");
      const claim = everyLength(kernel!, SHORT(ranks));
      expect(claim).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
    });

  it.each(PROVED)("%s, are proved as executed", (_, text) => {
    const kernel = withMapping(variantOf(text, 2, "one_shot+packets"), PROOF_MAPPING).kernel!;
    const claim = everyLength(kernel, SHORT(2));
    expect(claim).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
  });
});

const toOne = withMapping(variantOf(PROVED[0]![1], 2, "one_shot+packets"), PROOF_MAPPING).kernel!;
const toAll = withMapping(variantOf(PROVED[1]![1], 2, "one_shot+packets"), PROOF_MAPPING).kernel!;

/** Shapes at which tiles are wide and narrow, rows are whole packets or are not, and blocks share a depth or do not. */
const SHAPES: readonly DimValues[] = [
  { m: 4, k: 80, n: 8 },
  { m: 6, k: 86, n: 7 },
  { m: 20, k: 54, n: 24 },
  { m: 32, k: 48, n: 72 },
  { m: 64, k: 16, n: 83 },
];

const executions = new Executions(SHAPES, SHORT(2));

/** All ops of a kind, in order. @param inRoles those of roles, or the others */
function ops(kernel: Kernel, inRoles: boolean, name: Op["name"], is: (op: Op) => boolean = () => true): Op[] {
  const found: Op[] = [];
  walkKernel(kernel, (op, parents) => {
    const isInside = parents.some((p) => p.name === "roles");
    if (op.name === name && isInside === inRoles && is(op)) found.push(op);
  });
  return found;
}

/** Packets that go to every second peer, or all. */
const sends = (kernel: Kernel, which: (i: number) => boolean = () => true): Op[] =>
  ops(kernel, true, "packet_store").filter((_, i) => which(i));
const isFirst = (i: number): boolean => i % 2 === 0;
const to =
  (buffer: string) =>
  (op: Op): boolean =>
    op.attributes["buffer"] === buffer;
const [PEER, SLOT] = [2, 3];

/** An op with the number of the launch after. */
function ofNextLaunch(op: Op): readonly Op[] {
  const [one, next] = [new Value(scalar("u32")), new Value(scalar("u32"))];
  const make = (name: Op["name"], operands: Value[], result: Value, attributes: Op["attributes"]): Op => {
    return { name, operands, results: [result], attributes, regions: [], span: op.span };
  };
  const [data, epoch, ...rest] = op.operands as [Value, Value, ...Value[]];
  return [
    make("const", [], one, { value: 1 }),
    make("binary", [epoch, one], next, { fn: "add" }),
    { ...op, operands: [data, next, ...rest] },
  ];
}

/** The choice of launches whose rows are whole packets, the other way round where tiles are stored. */
const others = (op: Op): readonly Op[] => [{ ...op, regions: op.regions.toReversed() }];
const hasSends = (op: Op): boolean => op.regions[0]!.ops.some((o) => o.regions.some((r) => r.ops.some((i) => i.name === "if" && i.regions[0]!.ops.some((s) => s.name === "packet_store")))); // prettier-ignore

const TWINS: readonly Twin[] = [
  ["packets in other slots", () => changed(toOne, sends(toOne), (op) => moved(op, SLOT, 1)), /another place/],
  ["packets to another rank", () => changed(toOne, sends(toOne), (op) => moved(op, PEER, 1)), /another rank than adds it up|of another loop/],
  ["packets to one rank twice", () => changed(toAll, sends(toAll, isFirst), (op) => moved(op, PEER, 1)), /not sent to all ranks/],
  ["packets that some ranks do not get", () => changed(toAll, sends(toAll, isFirst), dropped), /another rank than adds it up/],
  ["packets of another launch", () => changed(toOne, sends(toOne), ofNextLaunch), /another number than the launch's/],
  ["packets of one peer in other slots", () => changed(toAll, sends(toAll, isFirst), (op) => moved(op, SLOT, 1)), /another place/],
  ["packets of narrow tiles that nobody sends", () => changed(toOne, sends(toOne).slice(0, 1), dropped), /not stored|'packet_store'|comes? to nothing|missing/],
  ["packets whose copies lie the other way round", () => changed(toOne, sends(toOne), (op) => withAttributes(op, { even: op.attributes["odd"]!, odd: op.attributes["even"]! })), /nobody stores|packets/],
  ["elements that stay in another place", () => changed(toOne, ops(toOne, true, "store", to("value")), (op) => moved(op, 1, 1)), /another place/],
  ["elements that nobody keeps", () => changed(toOne, ops(toOne, true, "store", to("value")).slice(-1), dropped), /not stored/],
  ["launches that keep what is never sent, and the other way round", () => changed(toOne, ops(toOne, true, "if", hasSends), others), /a row may end within a vector|come to something else|no order|nothing|nobody/],
  ["blocks that do not meet where elements are kept", () => changed(toOne, ops(toOne, false, "wait", to("flags")), (op) => withAttributes(op, { order: "relaxed" })), /nothing orders|may be touched/],
  ["launches that nobody waits for", () => changed(toOne, ops(toOne, false, "wait", to("began")), (op) => withAttributes(op, { order: "relaxed" })), /nothing orders|may be touched|no order/],
]; // prettier-ignore

describe("twins of products that are sent in packets, which are wrong", () => {
  it("are right themselves at the shapes that refute them", () => {
    expect([toOne, toAll].map(executions.refute)).toEqual([false, false]);
  });

  it.each(TWINS)("%s: are refuted at some shape, and never proved for every length", (_, twin, reason) => {
    executions.expectWrong(twin(), reason);
  });

  it("no execution refutes what is claimed of mutants", { timeout: 3_600_000 }, () => {
    executions.expectNoFalseClaims([toOne, toAll], isAll ? 40 : 400);
  });
});
