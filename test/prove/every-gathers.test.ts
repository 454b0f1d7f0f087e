/**
 * Products of what ranks gather are proved for every length; and twins of their kernels that are wrong are not, which executions show to be wrong. `COLLC_TESTS=all` looks
 * at more mutants.
 */
import { describe, expect, it } from "vitest";
import { withMapping } from "../../src/compiler/index.js";
import { type Kernel, type Op, type Region, Value } from "../../src/compiler/ir/module.js";
import { INDEX, scalar } from "../../src/compiler/ir/types.js";
import { walk, walkKernel } from "../../src/compiler/ir/visit.js";
import { everyLength, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { isAll } from "../scope.js";
import { edited } from "./mutants.js";
import {
  changed,
  dropped,
  Executions,
  from,
  moved,
  onBuffer,
  relaxed,
  type Twin,
  variantOf,
  withAttributes,
} from "./twins.js";

const LAYOUTS = "a: T[m, k] sharded(0), b: T[k, n] sharded(1)";

/** Programs, all of which are proved. */
const PAIR = "x: T[m, k] sharded(0), gate: T[k, n] sharded(1), up: T[k, n] sharded(1)) -> y: T[m, n] sharded(1) { y = silu(all_gather(x) @ gate) * (all_gather(x) @ up) }"; // prettier-ignore

const PROVED: readonly (readonly [name: string, text: string])[] = [
  ["a product of gathered rows", `${LAYOUTS}) -> c: T[m, n] sharded(1) { c = all_gather(a, dim: 0) @ b }`],
  ["a product of gathered rows with bias", `${LAYOUTS}, v: T[n] sharded(0)) -> c: T[m, n] sharded(1) { c = gelu(all_gather(a, dim: 0) @ b + v) }`],
  ["a pair of products of gathered rows", PAIR],
]; // prettier-ignore

describe("products of what ranks gather", () => {
  for (const ranks of isAll ? [2, 3, 4, 8] : [2, 4])
    it.each(PROVED)(`%s, is proved for every length, as printed, on ${ranks} ranks`, (_, text) => {
      const { kernel } = variantOf(text, ranks, "f");
      expect(everyLength(kernel!, [])).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
    });

  it("products of gathered rows are proved as executed", () => {
    for (const kernel of [executed, pair])
      expect(everyLength(kernel, [])).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
  });

  it.each([
    // Ranks go through tiles in orders of their own, and share the depth of other tiles.
    ["of which each rank has all", "a: T[m, k] sharded(0), b: T[k, n] replicated) -> c: T[m, n] replicated { c = all_gather(a, dim: 0) @ b }"],
  ])("a product of gathered rows %s is ordered, and its answer not claimed", (_, text) => {
    const { kernel } = variantOf(text, 2, "f");
    expect(everyLength(kernel!, [])).toMatchObject({ answer: { holds: false }, ordering: { holds: true } });
  }); // prettier-ignore
});

const executed = withMapping(variantOf(PROVED[0]![1], 2, "f"), PROOF_MAPPING).kernel!;
const pair = withMapping(variantOf(PAIR, 2, "f"), PROOF_MAPPING).kernel!;

/** Shapes at which tiles have rows of one rank and of two, parts are one and two, and tiles share their depth or do not. */
const SHAPES: readonly DimValues[] = [
  { m: 4, k: 40, n: 16 },
  { m: 20, k: 27, n: 38 },
  { m: 32, k: 48, n: 40 },
  { m: 64, k: 43, n: 16 },
  { m: 34, k: 16, n: 74 },
  { m: 30, k: 24, n: 34 },
];

const executions = new Executions(SHAPES, []);

type Is = (op: Op, parents: readonly Op[]) => boolean;

/** All ops of a kind, in order. @param role 0 for consumers, 1 for the producer, 2 for movers; null: outside of all roles */
function ops(role: number | null, name: Op["name"], is: Is = () => true): Op[] {
  const found: Op[] = [];
  const note = (op: Op, parents: readonly Op[]): void => void (op.name === name && is(op, parents) && found.push(op));
  if (role === null)
    walkKernel(executed, (op, parents) => !parents.some((p) => p.name === "roles") && note(op, parents));
  else walkKernel(executed, (op) => void (op.name === "roles" && walk(op.regions[role]!, note)));
  return found;
}

const twin = (targets: readonly Op[], edit: (op: Op) => readonly Op[]): Kernel => changed(executed, targets, edit);
const fn =
  (name: string): Is =>
  (op) =>
    op.attributes["fn"] === name;
/** A loop around one op of a kind. */
const around =
  (name: Op["name"], buffer: string): Is =>
  (op) =>
    op.regions[0]!.ops.some((o) => o.name === name && o.attributes["buffer"] === buffer);

/** An op with a constant in place of an operand. */
function constantIn(op: Op, operand: number, value: number): readonly Op[] {
  const made = new Value(op.operands[operand]!.type);
  const make: Op = { name: "const", operands: [], results: [made], attributes: { value }, regions: [], span: op.span };
  return [make, { ...op, operands: op.operands.map((v, i) => (i === operand ? made : v)) }];
}

/** Whether an op stands in so many loops of a role that are no loops over threads. */
function isIn(parents: readonly Op[], loops: number): boolean {
  return parents.filter((p) => p.name === "for" && p.attributes["map"] !== "threads").length === loops;
}

/** The makers of an op's operands. */
function makersOf(op: Op, region: Region = executed.body): (Op | undefined)[] {
  const makers = new Map<Value, Op>();
  walk(region, (o) => o.results.forEach((v) => makers.set(v, o)));
  return op.operands.map((v) => makers.get(v));
}

/** The comparison that says whether movers leave the rank's own rows out. */
const leavesOwn = (): Op[] => {
  const [choice] = ops(2, "if", (op) => op.regions[0]!.ops.some((o) => o.name === "if"));
  const [leaves] = makersOf(makersOf(choice!)[0]!);
  return [leaves!];
};

/** The note that all parts of ranks were awaited, and what stands around it. */
const noting = (): Op[] =>
  ops(1, "if", (op) => op.regions[0]!.ops.length === 0 && op.regions[1]!.ops.some((o) => o.name === "if"));

/** A choice of numbers by whether an iteration of a loop around an op, which counts one number, is before another. */
function chosen(op: Op, counted: Value, before: number, yes: Value, no: Value): readonly [readonly Op[], Value] {
  const [limit, isBefore, value] = [new Value(INDEX), new Value(scalar("bool")), new Value(INDEX)];
  const make = (name: Op["name"], operands: Value[], result: Value, attributes: Op["attributes"]): Op => {
    return { name, operands, results: [result], attributes, regions: [], span: op.span };
  };
  const made = [
    make("const", [], limit, { value: before }),
    make("compare", [counted, limit], isBefore, { fn: "lt" }),
    make("select", [isBefore, yes, no], value, {}),
  ];
  return [made, value];
}

/** The number that the loop around an op counts which goes through blocks, or through turns. */
function countedAround(op: Op, map: string): Value {
  let counted: Value | null = null;
  walkKernel(executed, (o, parents) => {
    if (o !== op) return;
    const loop = parents.findLast((p) => p.name === "for" && p.attributes["map"] === map);
    counted = loop!.regions[0]!.arguments[0]!;
  });
  return counted!;
}

/** Sums of a row of tiles and of how far round all rows they begin. */
const turned = (role: number): Op[] =>
  ops(role, "binary", (op) => {
    const [row, by] = fn("add")(op, []) ? makersOf(op) : [];
    return row?.attributes["fn"] === "add" && by?.attributes["fn"] === "div" && makersOf(row)[1]?.attributes["fn"] === "rem"; // prettier-ignore
  });

/** Rows that begin one further round from the second iteration on. */
function turnedTwice(op: Op): readonly Op[] {
  const [one, further] = [new Value(INDEX), new Value(INDEX)];
  const [row, by] = op.operands as [Value, Value];
  const more: readonly Op[] = [
    { name: "const", operands: [], results: [one], attributes: { value: 1 }, regions: [], span: op.span },
    { name: "binary", operands: [by, one], results: [further], attributes: { fn: "add" }, regions: [], span: op.span },
  ];
  const [made, value] = chosen(op, countedAround(op, "blocks"), 1, by, further);
  return [...more, ...made, { ...op, operands: [row, value] }];
}

/** The ranks and parts of a turn, of which there are two orders. */
const inTwoOrders = (): Op[] =>
  ops(2, "select", (op) => {
    const [, yes, no] = makersOf(op).map((o) => o?.attributes["fn"]);
    return (yes === "rem" && no === "div") || (yes === "div" && no === "rem");
  });

/** Turns of which the first two are of the one order, and the others of the other. */
function mixed(op: Op): readonly Op[] {
  const [, yes, no] = op.operands as [Value, Value, Value];
  const [made, value] = chosen(op, countedAround(op, "serial"), 2, yes, no);
  const always = new Value(scalar("bool"));
  return [
    ...made,
    { name: "const", operands: [], results: [always], attributes: { value: 1 }, regions: [], span: op.span },
    { ...op, operands: [always, value, value] },
  ];
}

const TWINS: readonly Twin[] = [
  // Orders that are right, each by itself.
  ["rows of tiles that begin further round from the second tile on", () => twin([...turned(0), ...turned(1)], turnedTwice), /from another place/],
  ["turns of which the first are of one order and the others of another", () => twin(inTwoOrders(), mixed), /of several orders/],
  // What is multiplied is there: claims about the producer.
  ["parts that nobody waits for", () => twin(ops(1, "wait"), dropped), /not waited for in one place/],
  ["parts that are waited for without their order", () => twin(ops(1, "wait"), relaxed), /was not waited for/],
  ["parts of which another is waited for", () => twin(ops(1, "wait"), (op) => moved(op, 1, 1)), /was not waited for/],
  ["parts of a launch before", () => twin(ops(1, "wait"), (op) => constantIn(op, 0, 0)), /was not waited for/],
  ["parts of which those of the last rank are not waited for", () => twin(ops(1, "for", around("wait", "arrived")), (op) => moved(op, 1, -1)), /other ranks than are waited for/],
  ["parts that are waited for where they are there, and not where they are missing", () => twin(ops(1, "compare", fn("ne")), (op) => withAttributes(op, { fn: "eq" })), /under another condition/],
  ["parts that are taken for known from the begin", () => twin(ops(1, "store").slice(0, 1), (op) => constantIn(op, 0, 3)), /is not remembered/],
  ["parts of ranks that are remembered in place of others", () => twin(ops(1, "binary", fn("shl")), (op) => constantIn(op, 1, 0)), /under another condition/],
  ["own rows that are read in another place", () => twin(ops(1, "copy_tile", from("a")), (op) => moved(op, 0, 1)), /read in another place/],
  ["a tile of rows of others that is read where the rank's own lie", () => twin(ops(1, "compare", fn("le")), (op) => moved(op, 1, 1)), /read where a rank's own lie|under another condition/],
  ["a tile of other rows", () => twin(ops(1, "copy_tile", from("gathered")), (op) => moved(op, 0, 1)), /own rows are read in another place|from another place/],
  ["a slice of another place in the depth", () => twin(ops(1, "copy_tile", from("gathered")), (op) => moved(op, 1, 8)), /left factor is not of its place/],
  ["slices of a part that are those of the next", () => twin(ops(1, "for", (op, parents) => parents.length > 1 && op.attributes["map"] === "serial" && op.regions[0]!.ops.some((o) => o.name === "ring_acquire")), (op) => moved(op, 0, 1)), /parts of the depth are not all/],
  // Ranks are sent to when they may be, and told of what they have got: claims about movers.
  ["rows that are sent before their rank has begun", () => twin(ops(2, "wait", onBuffer("flags")), dropped), /'wait' is missing/],
  ["rows that are sent on a word that orders nothing", () => twin(ops(2, "wait", onBuffer("flags")), relaxed), /before they have begun/],
  ["a begin of which others are told without its order", () => twin(ops(2, "signal", onBuffer("flags")), relaxed), /not told that the block has begun/],
  ["rows that are sent when another rank has begun", () => twin(ops(2, "wait", onBuffer("flags")), (op) => constantIn(op, 1, 0)), /before they have begun/],
  ["a begin that is one of the launch before", () => twin(ops(2, "wait", onBuffer("flags")), (op) => constantIn(op, 0, 1)), /before they have begun/],
  ["parts that are counted before all movers have sent them", () => twin(ops(2, "block_sync", (_, parents) => parents.some((p) => p.attributes["map"] === "serial")), dropped), /'load'|'for'|'if'/],
  ["parts that are counted without their order", () => twin(ops(2, "signal", onBuffer("counted")), relaxed), /does not count what it has sent/],
  ["parts that are told of before all blocks have sent them", () => twin(ops(2, "wait", onBuffer("counted")), dropped), /'signal'/],
  ["parts that are told of without what other blocks have sent", () => twin(ops(2, "wait", onBuffer("counted")), relaxed), /before all blocks have sent it/],
  ["parts that are told of without their order", () => twin(ops(2, "signal", onBuffer("arrived")), relaxed), /is not told of/],
  ["parts that another rank is told of", () => twin(ops(2, "signal", onBuffer("arrived")), (op) => constantIn(op, 1, 0)), /told of to another rank/],
  ["parts of which another one is told", () => twin(ops(2, "signal", onBuffer("arrived")), (op) => constantIn(op, 2, 0)), /is not told of/],
  ["parts of which some are not told", () => twin(ops(2, "for", around("signal", "counted")), (op) => moved(op, 1, -1)), /other parts are told of/],
  ["parts that wait for as many words as there are launches", () => twin(ops(null, "binary", (op) => makersOf(op).some((o) => o?.name === "cast")), (op) => constantIn(op, 1, 1)), /tells of something else/],
  ["counts that are not kept", () => twin(ops(null, "store", onBuffer("arrivals")), dropped), /counts are not kept/],
  // What is sent is all of the rank's rows, in their places.
  ["rows that are sent one further", () => twin(ops(2, "store"), (op) => moved(op, 2, 1)), /another place/],
  ["rows of which others are sent", () => twin(ops(2, "load", onBuffer("a")), (op) => moved(op, 0, 1)), /another place/],
  ["rows that are sent to another rank", () => twin(ops(2, "store"), (op) => constantIn(op, 1, 0)), /sent elsewhere/],
  ["rows that some threads do not send", () => twin(ops(2, "for", (op) => op.attributes["map"] === "threads" && op.regions[0]!.ops.some((o) => o.name === "store")), (op) => moved(op, 1, -1)), /not sent alike/],
  ["rows of which the end is not sent", () => twin(ops(2, "for", (op) => op.attributes["map"] === "threads" && op.regions[0]!.ops.some((o) => o.name === "store") && makersOf(op)[1]?.name !== "const"), (op) => moved(op, 1, -1)), /leave some out, or meet/],
  ["rows of which some blocks send too few", () => twin(ops(2, "for", (op, parents) => parents.length > 2 && op.attributes["map"] === "serial"), (op) => moved(op, 1, -1)), /other rows than its own/],
  ["rows that the block sends which tells of them", () => twin(ops(2, "compare", fn("lt")), (op) => moved(op, 1, 1)), /other rows than its own/],
  ["rows of which the last part is cut off", () => twin(ops(2, "select", (op) => op.results.length > 0 && makersOf(op)[1]?.name === "dim"), (op) => moved(op, 1, -1)), /another place|not those|dim/],
  ["rows of which one is sent twice and another never", () => twin(ops(2, "binary", (op, parents) => isIn(parents, 2) && fn("add")(op, []) && makersOf(op)[1]?.attributes["value"] === 1), (op) => moved(op, 1, 1)), /other rows than its own/],
  ["rows that are taken to end between vectors", () => twin(ops(2, "compare", (op) => makersOf(makersOf(op)[0] ?? op)[0]?.attributes["name"] === "k"), (op) => withAttributes(op, { fn: "ge" })), /may end within a vector/],
  ["rows that are sent to the rank after the next", () => twin(ops(2, "binary", (op, parents) => isIn(parents, 1) && fn("sub")(op, []) && makersOf(op)[1]?.attributes["fn"] === "add"), (op) => moved(op, 1, 1)), /told of to another rank|other rows are left out/],
  ["a launch of which the words are those of the one before", () => twin(ops(null, "store", (op) => op.attributes["buffer"] === "epoch" && makersOf(op)[0]?.name === "binary"), dropped), /do not grow by a launch/],
  ["turns of which the last is left out", () => twin(ops(2, "for", (op) => op.regions[0]!.ops.some((o) => o.name === "if" && o.regions[0]!.ops.some((i) => i.name === "if"))), (op) => moved(op, 1, -1)), /parts of the depth are not all/],
  ["own rows that are left out where tiles hold rows of two ranks", () => twin(leavesOwn(), (op) => withAttributes(op, { fn: "ge" })), /other rows are left out/],
]; // prettier-ignore

/** Twins that executions with few blocks do not show: a role is one thread to them, no block has two pieces of one tile, and all blocks count alike. */
const UNSEEN: typeof TWINS = [
  ["parts that other threads have waited for", () => twin(ops(1, "block_sync"), dropped), /'block_sync' is missing/],
  ["parts that a piece of the depth has not waited for, and remembers", () => noting().reduce((k, op) => edited(k, op, (o) => [{ ...o, regions: o.regions.toReversed() }]), executed), /more is remembered/],
  ["counts of another block", () => twin(ops(null, "load", onBuffer("arrivals")), (op) => constantIn(op, 0, 0)), /not those of the block/],
]; // prettier-ignore

/** All ops of a kind in the kernel of a pair. */
function inPair(name: Op["name"], key: string, value: string): Op[] {
  const found: Op[] = [];
  walkKernel(pair, (op) => void (op.name === name && op.attributes[key] === value && found.push(op)));
  return found;
}

const SECOND = pair.buffers.filter(({ role }) => role === "fragment")[1]!.name;
const other = (op: Op): readonly Op[] => withAttributes(op, { from: op.attributes["from"] === "gate" ? "up" : "gate" });

const OF_PAIRS: typeof TWINS = [
  ["a second sum that is not cleared", () => changed(pair, inPair("fragment_clear", "buffer", SECOND), dropped), /parts of another/],
  ["a second sum that is stored before it has ended", () => changed(pair, inPair("mma_wait", "twin", SECOND), (op) => withAttributes(op, { pending: 1 })), /waited for in a way/],
  ["a second factor's tile in place of the first's", () => changed(pair, ["gate", "up"].flatMap((f) => inPair("copy_tile", "from", f)).slice(1), (op) => moved(op, 2, 1)), /another stage/],
  ["a second factor's tile of another place", () => changed(pair, inPair("copy_tile", "from", "gate"), (op) => moved(op, 1, 1)), /not copied alike/],
  ["a second sum of which pieces are not added", () => changed(pair, inPair("fragment_add", "buffer", SECOND), dropped), /'fragment_add' is missing/],
  ["two sums of which pieces are kept in one place", () => changed(pair, [...inPair("fragment_put", "buffer", SECOND), ...inPair("fragment_add", "buffer", SECOND)], (op) => withAttributes(op, op.name === "fragment_put" ? { to: "pieces" } : { from: "pieces" })), /kept in one place/],
  ["sums of which one is taken for the other", () => changed(pair, ["gate", "up"].flatMap((f) => inPair("copy_tile", "from", f)), other), /made in another way/],
]; // prettier-ignore

describe("twins of products of what ranks gather, which are wrong", () => {
  it("is right itself at the shapes that refute them", () => {
    expect([executed, pair].map(executions.refute)).toEqual([false, false]);
  });

  it.each([...TWINS, ...OF_PAIRS])(
    "%s: are refuted at some shape, and never proved for every length",
    (_, make, reason) => {
      executions.expectWrong(make(), reason);
    },
  );

  it.each(UNSEEN)("%s: are never proved for every length", (_, make, reason) => {
    const { ordering } = everyLength(make(), []);
    expect(ordering).toMatchObject({ holds: false, reason: expect.stringMatching(reason) as string });
  });

  it("no execution refutes what is claimed of mutants", { timeout: 3_600_000 }, () => {
    executions.expectNoFalseClaims([executed, pair], isAll ? 20 : 400);
  });
});
