/**
 * The order in which ranks take the tiles of a loop whose elements go to a rank that follows from where they lie.
 *
 * If all ranks began with the tiles of rank 0, they would all send to it at once, and share its links, while those of the
 * others idle. Rank r begins with the tiles of rank r + 1 and ends with its own: every rank is then sent to by one rank at
 * a time, without the ranks having to keep in step.
 */
import type { Builder } from "../../ir/builder.js";
import { isRemote, memoryOperands, type Op, type Value } from "../../ir/module.js";
import { walk } from "../../ir/visit.js";
import { dependents } from "./analysis.js";

/** The outermost variable of the loop on which the rank of one of its remote accesses depends; null where none does. */
export function rotatedVariable(loop: Op, world: number): Value | null {
  if (world === 1) return null;
  const [body] = loop.regions;
  const peers: Value[] = [];
  walk(body!, (op) => {
    const peer = isRemote(op) ? memoryOperands(op).peer : null;
    if (peer !== null) peers.push(peer);
  });
  const decides = (variable: Value): boolean => {
    const dependent = dependents(body!, [variable]);
    return peers.some((peer) => dependent.has(peer));
  };
  return body!.arguments.find(decides) ?? null;
}

/**
 * The `number`-th of `count` tiles, or elements, in the order of this rank: 0 ≤ number < count.
 * @param begins with the tiles of the next rank; or with its own, where those of others come from them
 */
export function rotatedNumber(
  build: Builder,
  number: Value,
  count: Value,
  world: number,
  begins: "next" | "own" = "next",
): Value {
  const ranks = build.constant(world);
  const first =
    begins === "next"
      ? build.div(build.mul(build.add(build.rank(), build.constant(1)), count), ranks)
      : build.ceilDiv(build.mul(build.rank(), count), ranks);
  return build.rem(build.add(number, first), count);
}
