/**
 * Products whose operand is gathered while they go on. Where a loop sends this rank's shard to all ranks, a barrier follows, and
 * then a product that reads what has come, movers of its blocks send the shard: tiles of a rank's own rows need nobody, and the
 * producer awaits a rank's movers only before the first tile that reads their rows.
 *
 * Ranks take their own rows first, then those of the rank after them, and so on. So a shard goes to one rank after the other, to the
 * one before this rank first. It goes in parts of the depth, of each of which the rank is told: a tile is multiplied as far as its rows have
 * come, and the next part arrives meanwhile. Where each block has one tile, all begin at once, and ranks get their parts in turn.
 * Sent to all at once and whole, everything would arrive when the last row does. What a rank is told is its part of the barrier, whose
 * rest stays the movers' last op, so that whatever follows the product comes after it, as before. A barrier at the kernel's begin, which
 * says that ranks may be sent to, is theirs too: the product does not wait until all ranks have begun.
 */
import type { Builder } from "../../ir/builder.js";
import {
  bufferOf,
  isRemote,
  type Kernel,
  memoryOperands,
  type Op,
  type Region,
  text,
  type Value,
} from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { rewriteOps, Substitution, walk } from "../../ir/visit.js";
import type { Definitions } from "./analysis.js";
import type { Contraction, OperandView } from "./contraction.js";

export interface Movers {
  /** The barrier at the begin, if there is one, the loop that sends the shard, and the barrier after it. */
  readonly begin: Op | null;
  readonly send: Op;
  readonly barrier: Op;
  /** The operand that is gathered. */
  readonly operand: "a" | "b";
  /** Rows of each rank's shard, which follow those of the rank before. */
  readonly shard: Value;
  /** The buffer that this rank's rows are a copy of, and the first of them in what is gathered; null where they are no copy of anything. */
  readonly own: { readonly buffer: string; readonly base: Value } | null;
  /** Whether the depth of the product goes along the shard's last dimension, so that a part of it is a part of the shard. */
  readonly isDeep: boolean;
  /** Words of the copy engines, where they send it beside the kernel, and in how many parts; null where movers do. */
  readonly words: Words | null;
}

/** The buffers that an `await_copies` names, and parts of a shard. */
interface Words {
  readonly buffers: { readonly arrived: string; readonly sent: string };
  readonly parts: number;
}

/** In how many parts a shard is sent at most, and of how many elements at least, where ranks get theirs in turn and where one rank gets all before the next. */
export interface ShardOptions {
  readonly most: number;
  readonly elements: { readonly inTurn: number; readonly whole: number };
}

/** How shards are cut along the depth. */
export interface ShardParts {
  readonly count: Value;
  /** Steps of the product in each, but in the last one. */
  readonly steps: Value;
}

/** What the movers of the product in `loop` may do; null where it has to stay before it. */
export function moversFor(loop: Op, match: Contraction, kernel: Kernel, definitions: Definitions): Movers | null {
  const barrier = effectBefore(loop, kernel);
  const send = barrier === null ? null : effectBefore(barrier, kernel);
  if (send === null || !isBarrier(barrier!, "grid")) return null;
  const sent = sentShard(send, kernel, definitions);
  if (sent === null || !isApart(loop, barrier!, sent.buffer, kernel) || !isSentAlone(send, sent.buffer, kernel))
    return null;
  const gathered = (["a", "b"] as const).filter((name) => match[name].buffer === sent.buffer);
  const [operand] = gathered;
  if (gathered.length !== 1) return null;
  const view = match[operand!];
  const rows = operand === "a" ? match.row : match.column;
  const [first] = view.indices;
  // Both products of a loop take the rows that are gathered.
  if (match.twin !== null && (operand !== "a" || match.twin.b.buffer === match.a.buffer)) return null;
  if (!view.isDeep || view.rows !== 0 || view.peer !== null || first!.along !== rows || first!.terms.length > 0)
    return null;
  const own = sent.from === null ? null : { buffer: sent.from, base: sent.base };
  const begin = effectBefore(send, kernel);
  const isFirst = begin !== null && isBarrier(begin, "block") && effectBefore(begin, kernel) === null;
  const last = view.indices.at(-1)!;
  const isDeep = last.terms.length === 0 && definitions.constant(send.operands.at(-2)!) === 0;
  return {
    ...{ begin: isFirst ? begin : null, send, barrier: barrier! },
    ...{ operand: operand!, shard: sent.shard, own, isDeep, words: wordsOf(send, kernel) },
  };
}

function wordsOf({ attributes }: Op, kernel: Kernel): Words | null {
  const { arrived, sent } = attributes as { readonly arrived?: string; readonly sent?: string };
  if (arrived === undefined || sent === undefined) return null;
  return { buffers: { arrived, sent }, parts: bufferOf(kernel, arrived).shape[1] as number };
}

/** Whether what is gathered is read by another op than those of `loops`, or after the launch. */
export function isReadElsewhere(
  { operand }: Movers,
  match: Contraction,
  loops: readonly Op[],
  kernel: Kernel,
): boolean {
  const { buffer } = match[operand];
  let isRead = bufferOf(kernel, buffer).role !== "scratch";
  walk(kernel.body, (op, parents) => {
    if (op.name === "load" && text(op, "buffer") === buffer) isRead ||= !parents.some((p) => loops.includes(p));
  });
  return isRead;
}

/** Computes how a launch cuts shards. @param k depth of a step @param isInTurn see {@link Moving} */
export function shardParts(
  { send, shard, isDeep, words }: Movers,
  { most, elements }: ShardOptions,
  { k, depth, isInTurn }: { readonly k: number; readonly depth: Value; readonly isInTurn: Value },
  build: Builder,
  values: Substitution,
): ShardParts {
  const one = build.constant(1);
  const steps = build.binary("max", build.ceilDiv(depth, build.constant(k)), one);
  if (words !== null) {
    // As the copies are, whose lists are made before a launch.
    const each = build.ceilDiv(steps, build.constant(words.parts));
    return { count: build.ceilDiv(steps, each), steps: each };
  }
  if (!isDeep || most === 1) return { count: one, steps };
  const lengths = send.operands.slice(2).flatMap((v, i) => (i % 2 === 1 ? [values.get(v)] : []));
  const size = lengths.reduce((product, length) => build.mul(product, length), values.get(shard));
  const least = build.select(isInTurn, build.constant(elements.inTurn), build.constant(elements.whole));
  const large = build.binary("max", build.div(size, least), one);
  const each = build.ceilDiv(steps, build.binary("min", large, build.constant(most)));
  return { count: build.ceilDiv(steps, each), steps: each };
}

/** The op before another one of the kernel's body, those apart that only compute values. */
function effectBefore(op: Op, { body: { ops } }: Kernel): Op | null {
  return ops.slice(0, Math.max(0, ops.indexOf(op))).findLast((o) => definitionOf(o.name).effect !== "pure") ?? null;
}

/** Whether all blocks of these ranks meet there, or each with its namesakes on them, and nothing more happens. */
export function isBarrier({ name, attributes, operands }: Op, scope: "grid" | "block", ranks = "all"): boolean {
  return (
    name === "barrier" &&
    operands.length === 0 &&
    attributes["scope"] === scope &&
    attributes["ranks"] === ranks &&
    Object.keys(attributes).length === 2
  );
}

interface Shard {
  /** The buffer it goes to, on all ranks. */
  readonly buffer: string;
  readonly shard: Value;
  /** First of its rows there. */
  readonly base: Value;
  /** The buffer that it is a copy of, element by element. */
  readonly from: string | null;
}

/** A loop over the elements of a shard that stores each on all ranks, as rows `rank · shard` and on; and does nothing else. */
function sentShard(loop: Op, kernel: Kernel, definitions: Definitions): Shard | null {
  if (loop.name !== "for" || loop.attributes["map"] !== "tiles" || loop.attributes["spread"] === true) return null;
  const [body] = loop.regions;
  const effects: Op[] = [];
  walk(body!, (op) => void (definitionOf(op.name).effect !== "pure" && op.name !== "load" && effects.push(op)));
  const [ranks, store] = effects;
  if (effects.length !== 2 || ranks!.attributes["map"] !== "ranks" || store!.name !== "store") return null;
  const [from, to] = ranks!.operands.map((v) => definitions.constant(v));
  const { value, peer, indices } = memoryOperands(store!);
  if (from !== 0 || to !== kernel.world || peer !== ranks!.regions[0]!.arguments[0]) return null;
  const variables = body!.arguments;
  const [low, shard] = loop.operands;
  const base = baseOf(indices[0]!, variables[0]!, definitions);
  const isShard = definitions.constant(low!) === 0 && base !== null && isRanksShare(base, shard!, definitions);
  if (!isShard || indices.length !== variables.length || indices.some((v, d) => d > 0 && v !== variables[d]))
    return null;
  const load = definitions.of(value!);
  const isCopy =
    load?.name === "load" &&
    !isRemote(load) &&
    load.operands.length === variables.length &&
    load.operands.every((v, d) => v === variables[d]) &&
    bufferOf(kernel, text(load, "buffer")).role === "input";
  return { buffer: text(store!, "buffer"), shard: shard!, base, from: isCopy ? text(load, "buffer") : null };
}

/** What is added to a variable. */
function baseOf(index: Value, variable: Value, definitions: Definitions): Value | null {
  const sum = definitions.binary(index, "add")?.operands ?? [];
  return sum.includes(variable) ? (sum.find((v) => v !== variable) ?? null) : null;
}

/** Whether a value is the rank times the share of each. */
export function isRanksShare(base: Value, shard: Value, definitions: Definitions): boolean {
  const factors = definitions.binary(base, "mul")?.operands ?? [];
  const rank = factors.find((v) => definitions.of(v)?.name === "rank");
  const other = factors.find((v) => v !== rank);
  return rank !== undefined && other !== undefined && definitions.key(other) === definitions.key(shard);
}

/** Whether of all that the barrier orders, the product needs the gathered operand only: else it would have to come after it as a whole. */
export function isApart(loop: Op, barrier: Op, gathered: string, kernel: Kernel): boolean {
  const stored = new Set<string>();
  const touchedBefore = new Set<string>();
  const note = (op: Op, isBefore: boolean): void => {
    for (const name of buffersOf(op)) {
      if (op.name !== "load") stored.add(name);
      if (isBefore) touchedBefore.add(name);
    }
  };
  const at = kernel.body.ops.indexOf(barrier);
  kernel.body.ops.forEach((top, i) => walk({ arguments: [], ops: [top] }, (op) => note(op, i < at)));
  let isSo = true;
  walk(loop.regions[0]!, (op, parents) => {
    const isOperand = parents.some((p) => p.name === "contract");
    for (const name of buffersOf(op)) {
      if (op.name === "load") isSo &&= !isRemote(op) && (name === gathered ? isOperand : !stored.has(name));
      else isSo &&= op.name === "store" && !isRemote(op) && !touchedBefore.has(name);
    }
  });
  return isSo;
}

/**
 * Whether a rank that has its shard may go on while others get theirs: nobody else stores what is gathered, nor, from another rank, what
 * the shard is made of.
 */
function isSentAlone(send: Op, gathered: string, kernel: Kernel): boolean {
  const made = new Set<string>();
  walk(send.regions[0]!, (op) => void (op.name === "load" && made.add(text(op, "buffer"))));
  let isSo = true;
  walk(kernel.body, (op, parents) => {
    if (definitionOf(op.name).effect !== "write" || parents.includes(send)) return;
    for (const name of buffersOf(op)) isSo &&= name !== gathered && !(isRemote(op) && made.has(name));
  });
  return isSo;
}

/** Names of the buffers that an op itself touches. */
export function buffersOf(op: Op): string[] {
  return Object.entries(op.attributes)
    .filter(([key, value]) => ["buffer", "even", "odd", "from", "to"].includes(key) && typeof value === "string")
    .map(([, value]) => value as string);
}

/** The same view of what its rows were copied from, where this rank's begin at row 0. */
export function ownRows({ own }: Movers, view: OperandView): OperandView {
  const [first, ...others] = view.indices;
  const { buffer, base } = own!;
  return { ...view, buffer, indices: [{ ...first!, terms: [{ fn: "sub", value: base }] }, ...others] };
}

/** What movers are told of the launch. */
export interface Moving {
  readonly world: number;
  readonly parts: ShardParts;
  /** Most parts. */
  readonly most: number;
  /** Columns of a part. */
  readonly columns: Value;
  /** Whether ranks get their parts in turn, and not one rank all of them before the next one. */
  readonly isInTurn: Value;
  /** Whether nobody reads the copy that this rank would keep of its own rows. */
  readonly leavesOwn: Value;
}

/** Emits what movers do. */
export function emitMoves(movers: Movers, moving: Moving, build: Builder, values: Substitution): void {
  const { begin, send, barrier, isDeep } = movers;
  const { parts, columns, isInTurn, leavesOwn } = moving;
  const [zero, one] = [build.constant(0), build.constant(1)];
  const [world, most] = [build.constant(moving.world), build.constant(moving.most)];
  if (begin !== null) rewriteOps([begin], build, values);
  build.span = send.span;
  const [body] = send.regions as readonly [Region];
  const last = body.arguments.length - 1;
  const bounds = body.arguments.map((_, d) => [values.get(send.operands[2 * d]!), values.get(send.operands[2 * d + 1]!)] as const); // prettier-ignore
  const sendPart = (peer: Value, from: Value, to: Value): void =>
    void build.for(
      "tiles",
      bounds.map((range, d) => (isDeep && d === last ? [zero, build.sub(to, from)] : range)),
      (variables) => {
        const inner = new Substitution(values);
        body.arguments.forEach((v, d) =>
          inner.set(v, isDeep && d === last ? build.add(variables[d]!, from) : variables[d]!),
        );
        rewriteOps(body.ops, build, inner, (op, b, at) => {
          if (op.name !== "for" || op.attributes["map"] !== "ranks") return false;
          const [{ arguments: ranks, ops }] = op.regions as readonly [Region];
          const toOne = new Substitution(at);
          toOne.set(ranks[0]!, peer);
          rewriteOps(ops, b, toOne);
          return true;
        });
      },
      send.attributes,
    );
  build.for("serial", [[zero, build.mul(world, parts.count)]], ([number]) => {
    const turn = build.select(isInTurn, build.rem(number!, world), build.div(number!, parts.count));
    const part = build.select(isInTurn, build.div(number!, world), build.rem(number!, parts.count));
    // Tiles that are made of this rank's own copy come first; where there are none, it has nothing to send itself.
    const behind = build.add(turn, build.cast(leavesOwn, "index"));
    const peer = build.rem(build.sub(build.add(build.rank(), world), behind), world);
    const sent = (from: Value, to: Value): void =>
      void build.op("shard_sent", [peer, from, to], { parts: moving.most }, null);
    const isLast = build.compare("eq", build.add(part, one), parts.count);
    build.if(
      build.binary("and", leavesOwn, build.compare("eq", peer, build.rank())),
      () => build.if(isLast, () => sent(zero, most)),
      () => {
        const from = build.mul(part, columns);
        sendPart(peer, from, build.select(isLast, bounds[last]![1], build.add(from, columns)));
        sent(part, build.select(isLast, most, build.add(part, one)));
      },
    );
  });
  build.span = barrier.span;
  build.op("barrier", [], { ...barrier.attributes, half: "wait" }, null);
}
