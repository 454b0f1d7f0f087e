/**
 * Products of what packets have gathered before are proved for every length; and twins of their kernels that are wrong are not, which executions show to be wrong.
 * `COLLC_TESTS=all` looks at more mutants.
 */
import { describe, expect, it } from "vitest";
import { withMapping } from "../../src/compiler/index.js";
import { type Kernel, type Op, Value } from "../../src/compiler/ir/module.js";
import { INDEX } from "../../src/compiler/ir/types.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { everyLength, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { isAll } from "../scope.js";
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
const PROVED: readonly (readonly [name: string, text: string])[] = [
  ["a product of gathered rows", `${LAYOUTS}) -> c: T[m, n] sharded(1) { c = all_gather(a, dim: 0) @ b }`],
  ["a product of gathered rows with bias", `${LAYOUTS}, v: T[n] sharded(0)) -> c: T[m, n] sharded(1) { c = gelu(all_gather(a, dim: 0) @ b + v) }`],
  ["a pair of products of gathered rows", "x: T[m, k] sharded(0), gate: T[k, n] sharded(1), up: T[k, n] sharded(1)) -> y: T[m, n] sharded(1) { y = silu(all_gather(x) @ gate) * (all_gather(x) @ up) }"],
]; // prettier-ignore

/** Lengths at which rows together are whole packets of vectors and of elements, and are not. */
const SHORT = (ranks: number): readonly DimValues[] =>
  [
    [2, 3],
    [3, 43],
    [8, 40],
    [24, 48],
    [48, 43],
  ].map(([rows, k]) => ({ m: ranks * rows!, k: k!, n: 4 * ranks }));

describe("products of what packets have gathered", () => {
  for (const ranks of isAll ? [2, 3, 4, 8] : [2, 4])
    it.each(PROVED)(`%s, is proved for every length, as printed, on ${ranks} ranks`, (_, text) => {
      const { kernel } = variantOf(text, ranks, "f+packets");
      const claim = everyLength(kernel!, SHORT(ranks));
      expect(claim).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
    });

  it.each(PROVED)("%s, is proved as executed", (_, text) => {
    const kernel = withMapping(variantOf(text, 2, "f+packets"), PROOF_MAPPING).kernel!;
    const claim = everyLength(kernel, SHORT(2));
    expect(claim).toMatchObject({ answer: { holds: true }, ordering: { holds: true } });
  });

  it("a product of which each rank has all is ordered, and its answer not claimed", () => {
    const text = "a: T[m, k] sharded(0), b: T[k, n] replicated) -> c: T[m, n] replicated { c = all_gather(a, dim: 0) @ b }"; // prettier-ignore
    const { kernel } = variantOf(text, 2, "f+packets");
    expect(everyLength(kernel!, SHORT(2))).toMatchObject({ answer: { holds: false }, ordering: { holds: true } });
  });
});

const executed = withMapping(variantOf(PROVED[0]![1], 2, "f+packets"), PROOF_MAPPING).kernel!;
const pair = withMapping(variantOf(PROVED[2]![1], 2, "f+packets"), PROOF_MAPPING).kernel!;

/** Shapes at which packets are vectors and elements, and tiles share their depth or do not. */
const SHAPES: readonly DimValues[] = [
  { m: 4, k: 80, n: 16 },
  { m: 20, k: 27, n: 38 },
  { m: 64, k: 43, n: 16 },
  { m: 48, k: 48, n: 74 },
  { m: 96, k: 48, n: 16 },
];

const executions = new Executions(SHAPES, SHORT(2));

type Is = (op: Op) => boolean;

/** All ops of a kind, in order. @param inRoles those of roles, or the others */
function ops(inRoles: boolean, name: Op["name"], is: Is = () => true): Op[] {
  const found: Op[] = [];
  walkKernel(executed, (op, parents) => {
    const isInside = parents.some((p) => p.name === "roles");
    if (op.name === name && isInside === inRoles && is(op)) found.push(op);
  });
  return found;
}

const twin = (targets: readonly Op[], edit: (op: Op) => readonly Op[]): Kernel => changed(executed, targets, edit);

/** An op with the number of the other of two in an operand, which is one of them. */
function other(op: Op, operand: number): readonly Op[] {
  const [one, difference] = [new Value(INDEX), new Value(INDEX)];
  const make = (name: Op["name"], operands: Value[], result: Value, attributes: Op["attributes"]): Op => {
    return { name, operands, results: [result], attributes, regions: [], span: op.span };
  };
  return [
    make("const", [], one, { value: 1 }),
    make("binary", [one, op.operands[operand]!], difference, { fn: "sub" }),
    { ...op, operands: op.operands.map((v, i) => (i === operand ? difference : v)) },
  ];
}

/** Makers of values outside of roles. */
const makers = new Map<Value, Op>();
walkKernel(executed, (op) => op.results.forEach((v) => makers.set(v, op)));

/** The products of a rank and the length of its part, or of its slots, in the loop that takes packets. */
const partsTaken = (): Op[] => {
  const [loop] = ops(false, "for", (op) => op.attributes["map"] === "serial" && op.regions[0]!.ops.some((o) => o.attributes["fn"] === "rem")); // prettier-ignore
  const [rank] = loop!.regions[0]!.ops.filter((op) => op.attributes["fn"] === "rem");
  return loop!.regions[0]!.ops.filter((op) => op.attributes["fn"] === "mul" && op.operands[0] === rank!.results[0]);
};

/** Packets of single elements, which have what rows together leave of the last packet. */
const isOfOne = (op: Op): boolean => (op.results[0] ?? op.operands[0]!).type.kind === "scalar";
const takenFrom = (op: Op): Op | undefined => makers.get(op.operands[0]!);
const endsSent = (): Op[] => [
  ...new Set(
    sends()
      .filter((op) => isOfOne(op))
      .map((op) => makers.get(op.operands[0]!)!),
  ),
];
const ends = (): Op[] =>
  ops(
    false,
    "store",
    (op) => onBuffer("gathered")(op) && takenFrom(op)?.name === "packet_load" && isOfOne(takenFrom(op)!),
  );

/** Whether something in an op is of a kind. */
const has =
  (name: Op["name"], is: Is = () => true): Is =>
  (op) =>
    (op.name === name && is(op)) || op.regions.some((r) => r.ops.some(has(name, is)));

/** The kernel whose ops of some kind on top stand behind its roles. */
function behindRoles(is: Is): Kernel {
  const { ops: all } = executed.body;
  const moves = all.filter((op) => op.results.length === 0 && is(op));
  expect(moves.length).toBeGreaterThan(0);
  const rest = all.filter((op) => !moves.includes(op));
  const at = rest.findIndex(has("roles")) + 1;
  return { ...executed, body: { ...executed.body, ops: [...rest.slice(0, at), ...moves, ...rest.slice(at)] } };
}

const [PEER, SLOT] = [2, 3];
const PACKETS: readonly Op["name"][] = ["packet_store", "packet_load"];
const sends = (): Op[] => ops(false, "packet_store");
/** What a rank has of the rows itself. */
const keptOwn = (): Op[] => ops(false, "store", (op) => onBuffer("gathered")(op) && ["load", "pack"].includes(takenFrom(op)?.name ?? "")); // prettier-ignore

const TWINS: readonly Twin[] = [
  // Blocks meet between what they take and what they multiply.
  ["blocks that wait for no other before they multiply", () => twin(ops(false, "wait", onBuffer("flags")), dropped), /nobody waits for it/],
  ["blocks that wait for others without order", () => twin(ops(false, "wait", onBuffer("flags")), relaxed), /nothing orders/],
  ["blocks of which others are told without order", () => twin(ops(false, "signal", onBuffer("flags")), relaxed), /nothing orders/],
  ["blocks that wait for themselves alone", () => twin(ops(false, "wait", onBuffer("flags")), (op) => [{ ...op, operands: op.operands.map((v, i) => (i === 1 ? ops(false, "signal", onBuffer("flags"))[0]!.operands[1]! : v)) }]), /nothing orders/],
  ["blocks that tell of what their threads have not done", () => twin(ops(false, "block_sync").slice(0, 1), dropped), /nothing orders/],
  ["blocks that multiply before they take", () => behindRoles(has("packet_load")), /nothing orders/],
  ["blocks that tell others behind their tiles", () => behindRoles(has("signal", onBuffer("flags"))), /what comes behind tiles/],
  // What is taken is what was sent, and lies in its place.
  ["packets in other slots", () => twin(sends(), (op) => moved(op, SLOT, 1)), /that nobody stores/],
  ["packets that go to who sends them", () => twin(sends(), (op) => other(op, PEER)), /that nobody stores/],
  ["packets of which one kind is not sent", () => twin(sends().filter((_, i) => i % 2 === 0), dropped), /has gaps/],
  ["packets of other rows", () => twin(ops(false, "load", onBuffer("a")), (op) => moved(op, 0, 1)), /where vectors begin/],
  ["packets that lie in another place", () => twin(ops(false, "store", onBuffer("gathered")), (op) => moved(op, 1, 1)), /where vectors begin/],
  ["packets of which single ones lie in another place", () => twin(ends(), (op) => moved(op, 1, 1)), /may leave 'gathered'/],
  ["single packets of other elements", () => twin(endsSent(), (op) => moved(op, 0, -1)), /counted from below 0|may leave|of elements/],
  ["packets of a rank that lie where another's are", () => twin(partsTaken().slice(0, 1), (op) => other(op, 0)), /nothing orders/],
  ["packets of a rank that are taken for another's", () => twin(partsTaken().slice(1, 2), (op) => other(op, 0)), /that nobody stores/],
  ["rows of which the end is not kept", () => twin(ends(), dropped), /before it is written/],
  ["rows of which the end is not sent", () => twin(sends().filter((op) => op.operands[0]!.type.kind === "scalar"), dropped), /that nobody stores/],
  ["rows of the rank's own that are not kept", () => twin(keptOwn(), dropped), /before it is written/],
  ["rows of the rank's own of which the end is not kept", () => twin(keptOwn().filter((op) => op.operands[0]!.type.kind === "scalar"), dropped), /not the same for all lengths/],
  ["rows of the rank's own in another place", () => twin(keptOwn(), (op) => moved(op, 1, 1)), /where vectors begin/],
  ["vectors of which one is not kept", () => twin(ops(false, "store", (op) => onBuffer("gathered")(op) && takenFrom(op)?.name === "packet_load" && !isOfOne(takenFrom(op)!)).slice(0, 1), dropped), /has gaps/],
  // Slots are used again when they may.
  ["packets of all launches in one copy", () => twin(PACKETS.flatMap((name) => ops(false, name)), (op) => withAttributes(op, { odd: op.attributes["even"]! })), /nothing orders/],
  ["launches that nobody waits for", () => twin(ops(false, "wait", onBuffer("began")), relaxed), /nothing orders/],
  // What is multiplied is what was taken.
  ["a tile of other rows", () => twin(ops(true, "copy_tile", from("gathered")), (op) => moved(op, 0, 1)), /another place/],
  ["a tile of the rank's own rows", () => twin(ops(true, "copy_tile", from("gathered")), (op) => withAttributes(op, { from: "a" })), /tiles whose number is not known/],
  ["a slice of another place in the depth", () => twin(ops(true, "copy_tile", from("gathered")), (op) => moved(op, 1, 8)), /left factor is not of its place/],
  ["a stage that is multiplied before it is full", () => twin(ops(true, "ring_wait"), dropped), /'mma'/],
  ["an element that is stored in another place", () => twin(ops(true, "store", onBuffer("c")), (op) => moved(op, 1, 1)), /another place/],
  ["pieces that nobody waits for", () => twin(ops(true, "wait"), dropped), /'wait' is missing/],
]; // prettier-ignore

/** All ops of a kind in the kernel of a pair. */
function inPair(name: Op["name"], key: string, ...values: readonly string[]): Op[] {
  const found: Op[] = [];
  walkKernel(pair, (op) => void (op.name === name && values.includes(op.attributes[key] as string) && found.push(op)));
  return found;
}

const otherFactor = (op: Op): readonly Op[] =>
  withAttributes(op, { from: op.attributes["from"] === "gate" ? "up" : "gate" });

const OF_PAIRS: readonly Twin[] = [
  ["sums of which one is taken for the other", () => changed(pair, inPair("copy_tile", "from", "gate", "up"), otherFactor), /made in another way/],
  ["a pair that waits for no other blocks", () => changed(pair, inPair("wait", "buffer", "flags"), relaxed), /nothing orders/],
]; // prettier-ignore

describe("twins of products of what packets have gathered, which are wrong", () => {
  it("are right themselves at the shapes that refute them", () => {
    expect([executed, pair].map(executions.refute)).toEqual([false, false]);
  });

  it.each([...TWINS, ...OF_PAIRS])(
    "%s: are refuted at some shape, and never proved for every length",
    (_, make, reason) => {
      executions.expectWrong(make(), reason);
    },
  );

  it("no execution refutes what is claimed of mutants", { timeout: 3_600_000 }, () => {
    executions.expectNoFalseClaims([executed, pair], isAll ? 40 : 400);
  });
});
