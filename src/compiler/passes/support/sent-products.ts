/**
 * Products that are kept in memory of this rank for one loop after them alone, which sends each element to other ranks in packets. Where
 * a row is whole packets, whoever has a tile sends its elements as it would store them: nothing is kept, and no block waits for the
 * others of its rank. Packets need no order but their own, so it does not matter who sends one, nor when. In other launches, a packet
 * holds elements of two rows, which two tiles may have: the loop stays as it was. So it does where elements are made of more than
 * their sums: what lies beside them may not begin where a vector may, and a packet has no other form than one vector.
 */
import type { Builder } from "../../ir/builder.js";
import { type Buffer, bufferOf, isRemote, type Kernel, memoryOperands, type Op, text, type Value } from "../../ir/module.js"; // prettier-ignore
import { definitionOf } from "../../ir/ops.js";
import { RankPairs } from "../../ir/rank-pairs.js";
import { rewriteOps, Substitution, walk } from "../../ir/visit.js";
import { DTYPES } from "../../types/dtype.js";
import type { Definitions } from "./analysis.js";
import { isWholeShare, soleStoreOf } from "./owner-sums.js";
import { buffersOf, isBarrier } from "./product-movers.js";
import { MOST_PACKET_BYTES } from "./vector-lanes.js";

export interface SentProduct {
  /** All blocks of the rank meet there; then the loop over ranks takes what was stored. */
  readonly barrier: Op;
  readonly loop: Op;
  /** The product's store, and the loop inside `loop` that loads it, in one variable that counts elements row by row. */
  readonly store: Op;
  readonly elements: Op;
  readonly load: Op;
  /** The product's variables of rows and columns. */
  readonly row: Value;
  readonly column: Value;
  /** Who gets an element: the rank `variable / share`, which has so many of its rows or columns; null for all ranks. */
  readonly owner: { readonly variable: Value; readonly share: Value } | null;
  /** Elements of a row of what goes to a rank, and of a packet at most. */
  readonly columns: Value;
  readonly lanes: number;
}

/** How what the product in `loop` is kept for sends it; null where nothing of that kind follows it. */
export function sentFor(loop: Op, kernel: Kernel, definitions: Definitions): SentProduct | null {
  const effects = kernel.body.ops.filter((o) => definitionOf(o.name).effect !== "pure");
  const [barrier, taking] = effects.slice(effects.indexOf(loop) + 1);
  if (barrier === undefined || !isBarrier(barrier, "grid", RankPairs.self(kernel.world).print())) return null;
  const store = soleStoreOf(loop);
  if (store === null || !isInPlace(loop, store, kernel, definitions)) return null;
  const elements = taking === undefined ? null : elementsOf(taking);
  if (elements === null) return null;
  const kept = text(store, "buffer");
  const touching: Op[] = [];
  for (const top of effects)
    walk({ arguments: [], ops: [top] }, (op) => void (buffersOf(op).includes(kept) && touching.push(op)));
  const [load] = touching.filter((op) => op !== store);
  if (touching.length !== 2 || load?.name !== "load" || isRemote(load) || !elements.regions[0]!.ops.includes(load))
    return null;
  const sends = elements.regions[0]!.ops.filter((o) => o !== load && definitionOf(o.name).effect !== "pure");
  const lanes = lanesOf(sends, kernel);
  const places = placesOf(loop, { loop: taking!, elements, load }, kernel, definitions);
  return lanes === null || places === null ? null : { barrier, loop: taking!, store, elements, load, ...places, lanes };
}

/** A loop over ranks whose only effect is a loop over elements. */
function elementsOf(taking: Op): Op | null {
  if (taking.name !== "for" || taking.attributes["map"] !== "ranks") return null;
  const inner = taking.regions[0]!.ops.filter((o) => definitionOf(o.name).effect !== "pure" && o.name !== "yield");
  const [elements] = inner;
  const isOne = inner.length === 1 && elements!.name === "for" && elements!.attributes["map"] === "tiles";
  return isOne && elements!.regions[0]!.arguments.length === 1 ? elements! : null;
}

/** Elements of the packets to which these ops alone store; null if they do anything else. */
function lanesOf(sends: readonly Op[], kernel: Kernel): number | null {
  const bytes = sends.map((op): number => {
    const sent: Buffer | null = op.name === "store" && isRemote(op) ? bufferOf(kernel, text(op, "buffer")) : null;
    return sent?.role === "packet" ? DTYPES[sent.dtype].bytes : 0;
  });
  // A thread has eight neighbours of an accumulator at once.
  return bytes.length > 0 && bytes.every((b) => b > 1) ? MOST_PACKET_BYTES / Math.min(...bytes) : null;
}

/** Whether a loop from 0 on stores each element in its place in scratch of this rank, and makes it of sums of products of inputs alone. */
function isInPlace(loop: Op, store: Op, kernel: Kernel, definitions: Definitions): boolean {
  const [body] = loop.regions;
  const goesByPlace = definitions.argumentsOf(store.operands[0]!).some((v) => body!.arguments.includes(v));
  let isOfSums = !goesByPlace;
  walk(body!, (op, parents) => {
    if (op.name !== "load") return;
    const isFactor = parents.some(({ name }) => name === "contract");
    isOfSums &&= isFactor && bufferOf(kernel, text(op, "buffer")).role === "input";
  });
  const { indices } = memoryOperands(store);
  const isSame = indices.length === body!.arguments.length && indices.every((v, d) => v === body!.arguments[d]);
  const isFromZero = loop.operands.every((v, i) => i % 2 === 1 || definitions.constant(v) === 0);
  const isScratch = !isRemote(store) && bufferOf(kernel, text(store, "buffer")).role === "scratch";
  return isOfSums && isSame && isFromZero && isScratch;
}

/** Which elements a loop over ranks sends, row by row: all of them to each rank, or to each its share of the rows, or of the columns. */
function placesOf(
  product: Op,
  { loop, elements, load }: Pick<SentProduct, "loop" | "elements" | "load">,
  kernel: Kernel,
  definitions: Definitions,
): Pick<SentProduct, "row" | "column" | "columns" | "owner"> | null {
  const [row, column, ...others] = product.regions[0]!.arguments;
  const [k] = elements.regions[0]!.arguments;
  const [peer] = loop.regions[0]!.arguments;
  const [from, to] = loop.operands.map((v) => definitions.constant(v));
  const isFromZero = from === 0 && to === kernel.world && definitions.constant(elements.operands[0]!) === 0;
  if (others.length > 0 || column === undefined || !isFromZero) return null;
  const [, rows, , columns] = product.operands as [Value, Value, Value, Value];
  const isSame = (a: Value, b: Value): boolean => definitions.key(a) === definitions.key(b);
  /** Whether it is `fn` of two values, in one order or the other. */
  const isOf = (v: Value, fn: string, a: (v: Value) => boolean, b: (v: Value) => boolean): boolean => {
    const [x, y] = definitions.binary(v, fn)?.operands ?? [];
    return x !== undefined && y !== undefined && ((a(x) && b(y)) || (fn !== "div" && fn !== "rem" && a(y) && b(x)));
  };
  const is = (other: Value) => (v: Value) => isSame(v, other);
  const [down, across] = memoryOperands(load).indices as [Value, Value];
  /** Of lengths that are known, the product is, too. */
  const isCountOf = (height: Value, width: Value): boolean => {
    const [count, high, wide] = [elements.operands[1]!, height, width].map((v) => definitions.constant(v));
    if (high !== undefined && wide !== undefined) return count === high * wide;
    return isOf(elements.operands[1]!, "mul", is(height), is(width));
  };
  const goes = (height: Value, width: Value, byRow: Value | null, byColumn: Value | null): boolean => {
    const place = (v: Value, fn: string, share: Value | null): boolean => {
      const isWithin = (w: Value): boolean => isOf(w, fn, (x) => x === k, is(width));
      const isFirst = (w: Value): boolean => isOf(w, "mul", (x) => x === peer, is(share!));
      return share === null ? isWithin(v) : isOf(v, "add", isWithin, isFirst);
    };
    return isCountOf(height, width) && place(down, "div", byRow) && place(across, "rem", byColumn);
  };
  const found = { row: row!, column };
  if (goes(rows, columns, null, null)) return { ...found, columns, owner: null };
  /** What an index adds to the place within what goes to a rank: its number times the share of the length. */
  const shareOf = (index: Value, length: Value): Value | null => {
    const factors = (definitions.binary(index, "add")?.operands ?? []).flatMap((v) => definitions.binary(v, "mul")?.operands ?? []); // prettier-ignore
    return factors.find((v) => v !== peer && isWholeShare(v, length, kernel, definitions)) ?? null;
  };
  const [high, wide] = [shareOf(down, rows), shareOf(across, columns)];
  if (high !== null && goes(high, columns, high, null))
    return { ...found, columns, owner: { variable: row!, share: high } };
  if (wide !== null && goes(rows, wide, null, wide))
    return { ...found, columns: wide, owner: { variable: column, share: wide } };
  return null;
}

/** Whether the rows of what goes to a rank are whole packets in a launch. */
export function isWhole({ columns, lanes }: SentProduct, build: Builder, values: Substitution): Value {
  return build.compare("eq", build.rem(values.get(columns), build.constant(lanes)), build.constant(0));
}

/** Emits what the loop over ranks does with one element, of which the product would have kept `element`. @param values of the product's variables, too */
export function emitSent(sent: SentProduct, element: Value, build: Builder, values: Substitution): void {
  const { loop, elements, load, row, column, columns, owner } = sent;
  const [body] = elements.regions;
  const [i, j] = [values.get(row), values.get(column)];
  const send = (b: Builder, at: Substitution, [down, across]: readonly [Value, Value]): void => {
    const inner = new Substitution(at);
    inner.set(body!.arguments[0]!, b.add(b.mul(down, at.get(columns)), across));
    rewriteOps(body!.ops, b, inner, (o, _, to) => {
      if (o === load) to.set(o.results[0]!, element);
      return o === load;
    });
  };
  const emit = (ops: readonly Op[], at: Substitution, place: readonly [Value, Value]): void =>
    rewriteOps(ops, build, at, (op, b, inner) => {
      if (op === elements) send(b, inner, place);
      return op === elements;
    });
  if (owner === null) return emit([loop], values, [i, j]);
  const share = values.get(owner.share);
  const peer = build.div(values.get(owner.variable), share);
  const first = build.mul(peer, share);
  const inner = new Substitution(values);
  inner.set(loop.regions[0]!.arguments[0]!, peer);
  emit(loop.regions[0]!.ops, inner, owner.variable === row ? [build.sub(i, first), j] : [i, build.sub(j, first)]);
}
