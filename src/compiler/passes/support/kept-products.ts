/**
 * Products that are kept in memory of this rank for one loop after them alone, such as one that sends them in packets. Where a launch cuts
 * their depth, blocks would meet twice: when the slices' sums are there, and when what is made of them is. So that loop adds the
 * slices up itself, wherever it takes an element, and blocks meet once. As they would have met without a cut, too, that costs nothing.
 */
import type { Builder } from "../../ir/builder.js";
import { bufferOf, isRemote, type Kernel, memoryOperands, type Op, text, type Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { RankPairs } from "../../ir/rank-pairs.js";
import { rewriteOps, Substitution, walk } from "../../ir/visit.js";
import type { Definitions } from "./analysis.js";
import { emitMeeting, type Slices, sumsInPlace } from "./depth-slices.js";
import { soleStoreOf } from "./owner-sums.js";
import { buffersOf, isBarrier } from "./product-movers.js";
import type { Product } from "./product-places.js";

export interface KeptProduct {
  /** All blocks of the rank meet there; then the loop takes what was stored. */
  readonly barrier: Op;
  readonly loop: Op;
  readonly store: Op;
}

/** What the product in `loop` is kept for: a loop right after it that moves its elements, and nothing else. */
export function keptFor(loop: Op, kernel: Kernel, definitions: Definitions): KeptProduct | null {
  const effects = kernel.body.ops.filter((o) => definitionOf(o.name).effect !== "pure");
  const [barrier, taking] = effects.slice(effects.indexOf(loop) + 1);
  if (barrier === undefined || !isBarrier(barrier, "grid", RankPairs.self(kernel.world).print())) return null;
  const store = soleStoreOf(loop);
  if (taking?.name !== "for" || store === null || !isInPlace(loop, store, kernel, definitions)) return null;
  const buffer = text(store, "buffer");
  let isTakenThere = true;
  for (const top of effects)
    walk({ arguments: [], ops: [top] }, (op) => {
      if (!buffersOf(op).includes(buffer) || op === store) return;
      isTakenThere &&= top === taking && op.name === "load" && !isRemote(op);
    });
  isTakenThere &&= isMoving(taking, buffer);
  return isTakenThere ? { barrier, loop: taking, store } : null;
}

/** Whether a loop takes one element of the buffer at a time and moves it: what folds or multiplies takes each of them many times. */
function isMoving(loop: Op, buffer: string): boolean {
  let [isPlain, taken] = [true, 0];
  walk({ arguments: [], ops: [loop] }, (op) => {
    const isLoop = op.name === "for" && ["ranks", "tiles"].includes(String(op.attributes["map"]));
    isPlain &&= isLoop || ["load", "store", "yield"].includes(op.name) || definitionOf(op.name).effect === "pure";
    isPlain &&= op.regions.length === 0 || isLoop;
    if (op.name === "load" && text(op, "buffer") === buffer) taken++;
  });
  return isPlain && taken === 1;
}

/** Whether a loop from 0 on stores each element in its place in scratch of this rank, and makes it of inputs. */
function isInPlace(loop: Op, store: Op, kernel: Kernel, definitions: Definitions): boolean {
  const [body] = loop.regions;
  let isOfInputs = true;
  walk(body!, (op) => {
    if (op.name === "load") isOfInputs &&= bufferOf(kernel, text(op, "buffer")).role === "input";
  });
  const { indices } = memoryOperands(store);
  const isSame = indices.length === body!.arguments.length && indices.every((v, d) => v === body!.arguments[d]);
  const isFromZero = loop.operands.every((v, i) => i % 2 === 1 || definitions.constant(v) === 0);
  const isScratch = !isRemote(store) && bufferOf(kernel, text(store, "buffer")).role === "scratch";
  return isOfInputs && isSame && isFromZero && isScratch;
}

/** Emits the meeting of the blocks, and the loop with each product that it takes as the sum over its slices. */
export function emitTaken(
  { loop, store }: KeptProduct,
  { op, match }: Product,
  slices: Slices,
  world: number,
  build: Builder,
  values: Substitution,
): void {
  const [sums] = slices.sums.buffers as [readonly string[]];
  const [body] = op.regions;
  const isTaken = (o: Op): boolean => o.name === "load" && o.attributes["buffer"] === store.attributes["buffer"];
  const take = (load: Op, b: Builder, at: Substitution): Value => {
    const inner = new Substitution(at);
    const places = memoryOperands(load).indices.map((v) => at.get(v));
    body!.arguments.forEach((v, d) => inner.set(v, places[d]!));
    let kept: Value | null = null;
    sumsInPlace(body!.ops, match, slices, sums, places, b, inner, (s, v) => {
      if (s === store) kept = v.get(s.operands[0]!);
      return s === store;
    });
    return kept!;
  };
  emitMeeting(world, build);
  rewriteOps([loop], build, values, (o, b, at) => {
    if (isTaken(o)) at.set(o.results[0]!, take(o, b, at));
    return isTaken(o);
  });
}
