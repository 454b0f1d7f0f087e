/**
 * Products whose elements are added up over the ranks by the rank that they belong to. As derive-sync leaves them, a loop with a
 * product stores each element to a stage of its owner, all blocks of all ranks meet, and a loop of the owner adds up what has come and
 * goes on with the sum. The owner need not store its own part, nor wait for a loop of its own: it takes its own tiles last, and where it
 * has one, it adds to the accumulator what the others have sent, and does the rest. The barrier falls apart into a word for each tile: who has stored one at its owner
 * tells it, and the owner waits for the words of its tile, while those of others are still on the way.
 */
import type { Builder } from "../../ir/builder.js";
import { isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js";
import { COMBINES, definitionOf, type Reduction } from "../../ir/ops.js";
import { rewriteOps, Substitution, walk } from "../../ir/visit.js";
import { isKnownMultiple } from "../../types/requirement.js";
import type { Definitions } from "./analysis.js";
import { buffersOf, isBarrier, isRanksShare } from "./product-movers.js";

export interface OwnerSums {
  /** The barrier after the product's loop, and the loop that adds up. */
  readonly barrier: Op;
  readonly loop: Op;
  /** The product's store to a stage of the owner, and what `loop` loads of it. */
  readonly store: Op;
  readonly load: Op;
  /** The variable of the product's loop that decides on the owner, each of whom has so many of its values, one after the other. */
  readonly variable: Value;
  readonly share: Value;
  /** What `loop` adds to the place in the owner's share; null for nothing. */
  readonly base: Value | null;
}

/** How the sums of the product in `loop` are added up by their owners; null where nothing of that kind follows it. */
export function ownerSumsOf(loop: Op, kernel: Kernel, definitions: Definitions): OwnerSums | null {
  const effects = kernel.body.ops.filter((o) => definitionOf(o.name).effect !== "pure");
  const at = effects.indexOf(loop);
  const [barrier, sums, ...rest] = effects.slice(at + 1);
  if (at < 0 || sums === undefined || !isBarrier(barrier!, "grid") || rest.some((o) => o.name !== "barrier"))
    return null;
  const sent = sentToOwners(loop, definitions);
  if (sent === null || sums.name !== "for" || sums.attributes["map"] !== "tiles") return null;
  const stage = text(sent.store, "buffer");
  const loads: Op[] = [];
  walk(sums.regions[0]!, (op) => void (buffersOf(op).includes(stage) && loads.push(op)));
  const [load] = loads;
  const isElsewhere = effects.some((o) => o !== loop && o !== sums && touchedInside(o).includes(stage));
  if (loads.length !== 1 || load!.name !== "load" || isElsewhere || !isApart(loop, sums)) return null;
  const base = baseOfSums(loop, sums, load!, sent, kernel, definitions);
  return base === undefined ? null : { barrier: barrier!, loop: sums, load: load!, base, ...sent };
}

type Sent = Pick<OwnerSums, "store" | "variable" | "share">;

/** The only effect of a loop that loads from this rank's memory: a store of each element. */
export function soleStoreOf(loop: Op): Op | null {
  const [body] = loop.regions;
  const stores: Op[] = [];
  let isPlain = true;
  walk(body!, (op) => {
    if (op.name === "load") isPlain &&= !isRemote(op);
    else if (!["contract", "yield"].includes(op.name) && definitionOf(op.name).effect !== "pure") stores.push(op);
  });
  const [store] = stores;
  return isPlain && stores.length === 1 && body!.ops.includes(store!) && store!.name === "store" ? store! : null;
}

/** Of a loop whose only effect stores each element to the rank `variable / share`, as [rank, …variables, this one's remainder in its place]. */
function sentToOwners(loop: Op, definitions: Definitions): Sent | null {
  const [body] = loop.regions;
  const store = soleStoreOf(loop);
  if (store === null) return null;
  const { peer, indices } = memoryOperands(store);
  const owner = peer === null ? undefined : definitions.binary(peer, "div");
  const [variable, share] = owner?.operands ?? [];
  if (variable === undefined || !body!.arguments.includes(variable)) return null;
  const low = loop.operands[2 * body!.arguments.indexOf(variable)];
  const isInPlace = body!.arguments.every((v, d) => {
    const index = indices[d + 1];
    if (v !== variable) return index === v;
    const place = index === undefined ? undefined : definitions.binary(index, "rem");
    return place?.operands[0] === variable && definitions.key(place.operands[1]!) === definitions.key(share!);
  });
  const isWhole = indices.length === body!.arguments.length + 1 && definitions.of(indices[0]!)?.name === "rank";
  return isInPlace && isWhole && definitions.constant(low!) === 0 ? { store, variable, share: share! } : null;
}

/**
 * What a loop over the owner's elements adds to their places in its share, if it goes through all of these, and adds up over all ranks
 * what they have sent of each; undefined if it does anything else.
 */
function baseOfSums(
  loop: Op,
  sums: Op,
  load: Op,
  { variable, share }: Sent,
  kernel: Kernel,
  definitions: Definitions,
): Value | null | undefined {
  const variables = sums.regions[0]!.arguments;
  const others = loop.regions[0]!.arguments;
  const owned = others.indexOf(variable);
  const { peer, indices } = memoryOperands(load);
  if (peer !== null || variables.length !== others.length || indices.length !== variables.length + 1) return undefined;
  const isSum = sums.regions[0]!.ops.some((op) => {
    const [from, to] = op.operands.map((v) => definitions.constant(v));
    const isOverRanks = op.name === "reduce" && from === 0 && to === kernel.world;
    return isOverRanks && op.regions[0]!.ops.includes(load) && indices[0] === op.regions[0]!.arguments[0];
  });
  const isSame = (a: Value, b: Value): boolean => definitions.key(a) === definitions.key(b);
  const isAll = variables.every((v, d) => {
    if (d === owned) return true;
    const bounds = [2 * d, 2 * d + 1].every((i) => isSame(sums.operands[i]!, loop.operands[i]!));
    return bounds && indices[d + 1] === v;
  });
  if (!isSum || !isAll) return undefined;
  const [low, high] = [sums.operands[2 * owned]!, sums.operands[2 * owned + 1]!];
  const end = loop.operands[2 * owned + 1]!;
  const own = variables[owned]!;
  const place = indices[owned + 1]!;
  // All shares are whole: places are counted from 0 on.
  if (place === own)
    return definitions.constant(low) === 0 && isSame(high, share) && isWholeShare(share, end, kernel, definitions)
      ? null
      : undefined;
  // The last share may be cut off: elements are counted as in the whole.
  const [from, base] = definitions.binary(place, "sub")?.operands ?? [];
  if (from !== own || base === undefined || !isRanksShare(base, share, definitions)) return undefined;
  const isLow = isMinimum(low, (a, b) => isSame(a, base) && isSame(b, end), definitions);
  const isHigh = isMinimum(
    high,
    (a, b) => isSame(b, end) && isSumOf(a, (x, y) => isSame(x, low) && isSame(y, share), definitions),
    definitions,
  );
  return isLow && isHigh ? base : undefined;
}

/** Whether the share is the length divided by the ranks, and nothing is left over: a requirement says so, or the numbers are known. */
export function isWholeShare(
  share: Value,
  length: Value,
  { world, requirements }: Kernel,
  definitions: Definitions,
): boolean {
  const [one, all] = [definitions.constant(share), definitions.constant(length)];
  if (one !== undefined && all !== undefined) return one * world === all;
  const [whole, ranks] = definitions.binary(share, "div")?.operands ?? [];
  if (whole === undefined || definitions.constant(ranks!) !== world) return false;
  return definitions.key(whole) === definitions.key(length) && isMultiple(whole, world, requirements, definitions);
}

/** Whether a requirement says that so many divide the length, or one of its factors. */
function isMultiple(
  length: Value,
  parts: number,
  requirements: Kernel["requirements"],
  definitions: Definitions,
): boolean {
  const dim = definitions.of(length);
  const factors = definitions.binary(length, "mul")?.operands ?? [];
  if (factors.length > 0) return factors.some((v) => isMultiple(v, parts, requirements, definitions));
  const known = definitions.constant(length);
  if (known !== undefined) return known % parts === 0;
  return dim?.name === "dim" && isKnownMultiple(text(dim, "name"), parts, requirements);
}

function isMinimum(v: Value, of: (a: Value, b: Value) => boolean, definitions: Definitions): boolean {
  const [a, b] = definitions.binary(v, "min")?.operands ?? [];
  return a !== undefined && b !== undefined && (of(a, b) || of(b, a));
}

function isSumOf(v: Value, of: (a: Value, b: Value) => boolean, definitions: Definitions): boolean {
  const [a, b] = definitions.binary(v, "add")?.operands ?? [];
  return a !== undefined && b !== undefined && (of(a, b) || of(b, a));
}

/** Whether the loop that adds up stores nothing that the product uses, and loads of other ranks nothing. */
function isApart(loop: Op, sums: Op): boolean {
  const used = new Set(touchedInside(loop));
  let isSo = true;
  walk(sums.regions[0]!, (op) => {
    const { effect } = definitionOf(op.name);
    if (op.name === "load") isSo &&= !isRemote(op);
    else if (op.name === "store") isSo &&= !used.has(text(op, "buffer"));
    else isSo &&= effect === "pure" || effect === "control" || op.name === "reduce";
  });
  return isSo;
}

function touchedInside(op: Op): string[] {
  const found: string[] = [];
  walk({ arguments: [], ops: [op] }, (o) => void found.push(...buffersOf(o)));
  return found;
}

/** Where this rank's tiles are in its order of tiles. */
export interface OwnTiles {
  /** Tiles along the variable that decides on the owner which are other ranks'. */
  readonly others: Value;
  /** The first tile along it in the order of this rank: the one after its own. */
  readonly first: Value;
}

/** Whether each tile of a launch is of one owner. @param size elements of a tile along the variable that decides on it */
export function isOneOwners({ share }: OwnerSums, size: number, build: Builder, values: Substitution): Value {
  const each = build.binary("max", values.get(share), build.constant(1));
  return build.compare("eq", build.rem(each, build.constant(size)), build.constant(0));
}

/** Computes where this rank's tiles lie, where each is of one owner. @param count tiles along the variable @param end of its values */
export function ownTiles(
  { share }: OwnerSums,
  { size, count, end }: { readonly size: Value; readonly count: Value; readonly end: Value },
  build: Builder,
  values: Substitution,
): OwnTiles {
  const each = values.get(share);
  const begin = build.binary("min", build.mul(build.rank(), each), end);
  const stop = build.binary("min", build.add(begin, each), end);
  const own = build.ceilDiv(build.sub(stop, begin), size);
  return { others: build.sub(count, own), first: build.add(build.div(begin, size), own) };
}

/**
 * The body of the loop that adds up, for one of this rank's elements: what this rank would have stored to its own stage is at hand.
 * @param own the element, as the product's loop would have stored it
 * @param places values of the variables of the product's loop
 */
export function emitOwnerSum(
  sums: OwnerSums,
  loop: Op,
  own: Value,
  places: (variable: Value) => Value,
  world: number,
  build: Builder,
  values: Substitution,
): void {
  const inner = new Substitution(values);
  const share = values.get(sums.share);
  const variables = loop.regions[0]!.arguments;
  sums.loop.regions[0]!.arguments.forEach((v, d) => {
    const variable = variables[d]!;
    if (variable !== sums.variable) return inner.set(v, places(variable));
    const place = build.sub(places(variable), build.mul(build.rank(), share));
    inner.set(v, sums.base === null ? place : build.add(place, values.get(sums.base)));
  });
  rewriteOps(sums.loop.regions[0]!.ops, build, inner, (op, b, v) => {
    if (!op.regions.some(({ ops }) => ops.includes(sums.load))) return false;
    v.set(op.results[0]!, sumOverRanks(op, sums.load, own, world, b, v));
    return true;
  });
}

/**
 * The reduction over all ranks, term by term in their order. What others have sent is loaded before anything is added, so that their loads are in flight
 * together; of which rank a load is depends on which one this is, who loads nothing of its own. Of the first two terms either may come first: so
 * this rank's never does, and of two ranks nothing has to be chosen.
 */
function sumOverRanks(reduce: Op, load: Op, own: Value, world: number, build: Builder, values: Substitution): Value {
  const [{ arguments: ranks, ops }] = reduce.regions as readonly [Region];
  const rank = build.rank();
  const of = (number: Value): Substitution => {
    const term = new Substitution(values);
    term.set(ranks[0]!, number);
    return term;
  };
  const numbers = Array.from({ length: world }, (_, i) => build.constant(i));
  const sent = numbers.slice(1).map((_, i) => {
    const isBehind = build.compare("ge", numbers[i]!, rank);
    const at = of(build.add(numbers[i]!, build.cast(isBehind, "index")));
    // What a place is made of may stand in the reduction, too.
    rewriteOps(ops.slice(0, ops.indexOf(load)), build, at);
    const operands = load.operands.map((v) => at.get(v));
    return build.load(text(load, "buffer"), operands, load.results[0]!.type);
  });
  // The i-th term is this rank's where i is its number, or 1 and its number 0; those before it are of the ranks before, those behind it of those behind.
  const loadedFor = (i: number): Value => {
    if (i === 0) return sent[0]!;
    const [before, after] = [sent[i - 1]!, sent[i]];
    const mine = build.compare(i === 1 ? "le" : "eq", rank, numbers[i]!);
    const isBehind = build.compare("lt", rank, numbers[i]!);
    if (i === 1) return after === undefined ? own : build.select(mine, own, after);
    const others = after === undefined ? before : build.select(isBehind, before, after);
    return build.select(mine, own, others);
  };
  const turned = (["eq", "ne"] as const).map((fn) => build.compare(fn, rank, numbers[0]!));
  const terms = numbers.map((number, i) => {
    const term = of(i < 2 ? build.cast(turned[i]!, "index") : number);
    rewriteOps(ops.slice(0, -1), build, term, (op, _, v) => {
      if (op === load) v.set(op.results[0]!, loadedFor(i));
      return op === load;
    });
    return term.get(ops.at(-1)!.operands[0]!);
  });
  build.span = reduce.span;
  const fn = COMBINES[reduce.attributes["fn"] as Reduction];
  return terms.reduce((a, b) => build.binary(fn, a, b));
}
