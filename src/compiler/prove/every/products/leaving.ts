/**
 * Tiles that are for other ranks: stored where these add them up, as they are done; or put where the block's movers find them, in a ring, which send them and tell of
 * it, while the block goes on with tiles of its own rank, which wait for what others send.
 */
import { bufferOf, type Op, text } from "../../../ir/module.js";
import type { Extent } from "../../../types/extent.js";
import {
  constant,
  constantOf,
  equal,
  type Form,
  isConstant,
  keyOf,
  minus,
  ONE,
  plus,
  product,
  scaled,
  ZERO,
} from "../forms.js";
import { type Stored, stored, type Tile } from "./epilogue.js";
import { argumentOf, expect, type Follow, refuse, Steps } from "./follow.js";
import type { Known } from "./known.js";
import { packetsIn } from "../packets.js";
import type { Launches } from "./launches.js";
import { leavesOf, type Made, madeOf } from "./made.js";
import { BLOCK } from "./numbers.js";
import { type InPackets, inPackets } from "./packets.js";
import { type Extent2, ordersOf } from "./plan.js";

/** What becomes of all elements, or of those of other ranks. */
export type Sent = Staged | InPackets | InPlace;

/** Elements of the product lie in memory of the rank's own, each in its place. */
export interface InPlace {
  readonly kind: "kept";
  readonly buffer: string;
  readonly made: Made;
}

/** Elements of the product go to the rank whose rows they are of, to the place of the sender's part there. */
export interface Staged {
  readonly kind: "stage";
  readonly buffer: string;
  /** Rows of a rank's part. */
  readonly part: Form;
  readonly made: Made;
}

/** What becomes of elements of the rank's own rows. */
export interface Kept {
  readonly stores: readonly { readonly buffer: string; readonly peer: number | null; readonly distance: Form }[];
  readonly made: Made;
}

/** How rows of the product are cut among ranks: each has as many, but for the last ones; all are some rank's. */
export function partsOf({ numbers, kernel }: Follow, rows: Form): readonly Form[] {
  const { world } = kernel;
  const isMultiple = kernel.requirements.some(({ left, relation, right }) => {
    const isOf = typeof left === "object" && left.op === "mod" && typeof left.b === "number" && left.b % world === 0;
    return isOf && relation === "eq" && right === 0 && equal(numbers.extent(left.a), rows);
  });
  const isWhole = isMultiple || (isConstant(rows) && constantOf(rows) % world === 0);
  return [numbers.rounds(rows, constant(world)), ...(isWhole ? [numbers.apply("div", rows, constant(world))] : [])];
}

/** Nothing but the product's sum. */
function isOfSum(made: Made): boolean {
  return leavesOf(made).every((leaf) => leaf.kind === "sum" || leaf.kind === "constant" || leaf.kind === "scalar");
}

/** The tile goes to ranks, element by element or in packets, or stays where the rank finds it. */
export function sent(follow: Follow, launches: Launches, steps: Steps, tile: Tile): Sent {
  const { numbers } = follow;
  if (steps.first !== undefined && packetsIn(steps.first, "packet_store").size > 0) {
    const packets = inPackets(follow, launches, steps, tile, partsOf(follow, tile.rows));
    expect(isOfSum(packets.made), "a tile is sent to several", steps.around);
    return packets;
  }
  const of = stored(follow, steps, tile, null, false);
  const [store, ...others] = of.stores;
  expect(others.length === 0 && isOfSum(of.made), "a tile is sent to several", store!.op);
  if (store!.peer === null) return inPlace(follow, of, tile);
  const part = partsOf(follow, tile.rows).find((h) => equal(store!.peer!, numbers.apply("div", of.row, h)));
  expect(part !== undefined, "an element is sent to another rank than adds it up", store!.op);
  const row = plus(product(part, follow.rank), numbers.apply("rem", of.row, part));
  expect(equal(store!.index, plus(product(row, tile.all), of.column)), "an element is sent to another place", store!.op); // prettier-ignore
  of.checkLanes(store!, true);
  checkInbox(follow, store!.buffer, part, tile.all, store!.op);
  return { kind: "stage", buffer: store!.buffer, part, made: of.made };
}

/** Each element lies in its place in scratch of this rank that has room for the product. */
function inPlace(follow: Follow, of: Stored, tile: Tile): InPlace {
  const [store] = of.stores as [Stored["stores"][number]];
  const { role, symmetric } = bufferOf(follow.kernel, store.buffer);
  const shape = follow.shape(store.buffer);
  const isRoom = shape.length === 2 && equal(shape[0]!, tile.rows) && equal(shape[1]!, tile.all);
  expect(role === "scratch" && !symmetric && isRoom, "a tile stays where it is not followed", store.op);
  const isPlace = equal(store.index, plus(product(of.row, tile.all), of.column));
  expect(isPlace, "an element is stored in another place", store.op);
  of.checkLanes(store, true);
  return { kind: "kept", buffer: store.buffer, made: of.made };
}

/** What is sent lies in scratch that has a part for each rank. */
function checkInbox({ kernel, numbers }: Follow, buffer: string, part: Form, all: Form, op: Op): void {
  const { role, shape } = bufferOf(kernel, buffer);
  const size = shape.map((e) => numbers.extent(e)).reduce((a, b) => product(a, b), ONE);
  const isInbox = role === "scratch" && equal(size, scaled(product(part, all), kernel.world));
  expect(isInbox, "a tile is sent to what has no part for each rank", op);
}

/** The order of tiles where those of other ranks come first. */
export interface Order {
  /** The iteration with which tiles of the rank's own rows begin. */
  readonly own: Form;
  readonly part: Form;
  readonly isOwn: boolean;
}

/**
 * Which tiles those before an iteration are, and those from it on: of all rows but the rank's own, and of these.
 * @param own that iteration
 */
export function orderOf(
  follow: Follow,
  known: Known,
  op: Op,
  own: Form,
  t: Form,
  extent: Extent2,
  tile: Tile,
  [height, columns]: readonly [number, number],
): Order {
  const { numbers, kernel, rank } = follow;
  const part = partsOf(follow, tile.rows).find((h) => equal(own, firstOwn(follow, h, extent, tile.rows, height).own));
  expect(part !== undefined, "tiles that leave are others than those of other ranks", op);
  // So no tile has rows of two ranks; and where there are rows, all ranks have some: whole parts but for the last one's, which lacks fewer rows than there are ranks.
  const isCut = equal(numbers.apply("rem", numbers.apply("max", part, ONE), constant(height)), ZERO);
  expect(isCut && height >= kernel.world, "a tile has rows of several ranks", op);
  const { count, first } = firstOwn(follow, part, extent, tile.rows, height);
  const isOwn = numbers.decided(numbers.apply("ge", t, own), op.span) !== 0;
  const others = minus(extent.rows, count);
  const orders = ordersOf(
    numbers,
    isOwn ? minus(t, own) : t,
    { ...extent, rows: isOwn ? count : others },
    [height, columns],
    [tile.row, tile.column],
    plus(isOwn ? others : ZERO, plus(first, count)),
    extent.rows,
  );
  const what = `${isOwn ? "own tiles" : "tiles that leave"} of ${known.numberOf(op)} ${keyOf(rank)}`;
  known.narrow(what, orders, numbers, "a tile is copied from another place than its own", op);
  return { own, part, isOwn };
}

function firstOwn(
  { numbers, rank }: Follow,
  part: Form,
  { rows: all, columns }: Extent2,
  rows: Form,
  height: number,
): Record<"own" | "count" | "first", Form> {
  const from = numbers.apply("min", product(part, rank), rows);
  const to = numbers.apply("min", plus(from, part), rows);
  const count = numbers.rounds(minus(to, from), constant(height));
  // All tiles over the rows of them: how many columns of tiles there are, where there are any.
  const across = numbers.apply("div", product(all, columns), numbers.apply("max", all, ONE));
  return { own: product(minus(all, count), across), count, first: numbers.apply("div", from, constant(height)) };
}

/** Where a block's tiles lie that its movers send. */
export class Outgoing {
  constructor(
    private readonly follow: Follow,
    private readonly known: Known,
    private readonly ring: string,
    /** The turn of the block that the tile is of: its position in the ring. */
    private readonly turn: Form,
    private readonly tile: Tile,
  ) {}

  /** The consumers' part: a position is acquired, the tile is put there, and the position is full. */
  put(steps: Steps): { readonly buffer: string; readonly made: Made } {
    this.passes(steps.next("ring_acquire"));
    const { follow, tile } = this;
    const of = stored(follow, steps, tile, null, false);
    const [store, ...others] = of.stores;
    const isOne = others.length === 0 && store!.peer === null && isOfSum(of.made);
    expect(isOne, "a tile leaves in several parts", store!.op);
    const row = plus(this.rowOf(store!.buffer, store!.op), of.inTile);
    const index = plus(scaled(row, tile.width), minus(of.column, tile.column));
    expect(equal(store!.index, index), "an element leaves from another place", store!.op);
    of.checkLanes(store!, false);
    const fill = steps.next("ring_fill");
    expect(fill.attributes["plain"] !== true, "a position is filled with copies", fill);
    this.passes(fill);
    return { buffer: store!.buffer, made: of.made };
  }

  /** The movers' part: the position is waited for, sent, and released when all of them have sent; then its owner is told. */
  send(steps: Steps, { buffer, made }: ReturnType<Outgoing["put"]>, part: Form, words: TileWords): Staged {
    const { follow, tile } = this;
    const { numbers } = follow;
    this.passes(steps.next("ring_wait"));
    steps.next("block_sync");
    const of: Stored = stored(follow, steps, tile, { buffer, row: this.rowOf(buffer, steps.around) }, false);
    const [store, ...others] = of.stores;
    const whose = numbers.apply("div", tile.row, part);
    const isOne = others.length === 0 && store!.peer !== null && isOfSum(of.made);
    expect(isOne && equal(store!.peer!, whose), "an element is sent to another rank than adds it up", store!.op);
    // No tile has rows of two ranks: see `orderOf`.
    const row = plus(product(part, follow.rank), minus(of.row, product(whose, part)));
    const isPlaced = equal(store!.index, plus(product(row, tile.all), of.column));
    expect(isPlaced, "an element is sent to another place", store!.op);
    of.checkLanes(store!, true);
    checkInbox(follow, store!.buffer, part, tile.all, store!.op);
    steps.next("block_sync");
    this.passes(steps.next("ring_release"));
    words.tell(steps, whose);
    return { kind: "stage", buffer: store!.buffer, part, made: madeOf(of.made, made) };
  }

  private passes(op: Op): void {
    const isOwn = op.attributes["ring"] === this.ring && equal(this.follow.of(op.operands[0]!), this.turn);
    expect(isOwn, "a tile leaves by another position", op);
  }

  /** The first row of a position, in the block's part of a buffer. */
  private rowOf(buffer: string, op: Op): Form {
    const { follow, tile } = this;
    const { kernel, numbers } = follow;
    const { role, symmetric } = bufferOf(kernel, buffer);
    const [count] = follow.fixed(this.ring) as readonly [number];
    const shape = [kernel.maxBlocks, count, tile.height, tile.width];
    const own = follow.shape(buffer);
    const fits = own.length === 4 && own.every((e, d) => equal(e, constant(shape[d]!)));
    expect(role === "scratch" && !symmetric && fits, "tiles leave from a buffer that does not fit", op);
    this.known.own(buffer, "leaving", op);
    const position = plus(scaled(numbers.named(BLOCK), count), numbers.apply("rem", this.turn, constant(count)));
    return scaled(position, tile.height);
  }
}

/**
 * The tile is of the rank's own rows: it is made of its sums and of what others have sent.
 * @param part rows of a rank's part
 */
export function kept(follow: Follow, steps: Steps, tile: Tile, part: Form): Kept {
  const { numbers, kernel, rank } = follow;
  const of = stored(follow, steps, tile, null, true);
  const others = Array.from({ length: kernel.world }, (_, p) => minus(constant(p), rank)).filter((d) => d.size > 0);
  for (const leaf of leavesOf(of.made)) {
    if (leaf.kind !== "left") continue;
    // The words of a tile tell of the elements that its own are made of, and of no others.
    const isOfTile = others.some((d) => equal(leaf.distance, product(d, product(part, tile.all))));
    expect(isOfTile, "an element is made of another one that ranks have sent", of.loop);
  }
  const place = plus(product(of.row, tile.all), of.column);
  const peers = of.stores.map((s) => s.peer);
  const isAll = peers.every((p) => p !== null) && isEachOnce(follow, peers as readonly Form[]);
  expect(isAll || (peers.length === 1 && peers[0] === null), "an element is stored to some ranks", of.loop);
  const stores = of.stores.map((s, i) => {
    const distance = minus(s.index, place);
    expect(numbers.isFixed(distance), "an element is stored in another place", s.op);
    expect(bufferOf(kernel, s.buffer).role === "output", "something else is stored than the output", s.op);
    of.checkLanes(s, true);
    expect(equal(distance, minus(of.stores[0]!.index, place)), "an element is stored in several places", s.op);
    return { buffer: s.buffer, peer: isAll ? i : null, distance };
  });
  const isWhole = new Set(stores.map((s) => s.buffer)).size === 1;
  expect(isWhole, "an element is stored in several places", of.loop);
  return { stores, made: of.made };
}

/** Whether peers are all ranks, each once, from any one on. */
function isEachOnce({ numbers, kernel }: Follow, peers: readonly Form[]): boolean {
  const { world } = kernel;
  const atom = numbers.atomOf(peers[0]!);
  if (peers.length !== world) return false;
  if (peers.every((p, i) => equal(p, constant(i)))) return true;
  if (atom?.fn !== "rem" || !equal(atom.of[1]!, constant(world)) || numbers.least(atom.of[0]!) < 0) return false;
  return peers.every((p, i) => equal(p, numbers.apply("rem", plus(atom.of[0]!, constant(i)), constant(world))));
}

/** Words of tiles: of each tile and rank one, at the tile's owner, which says in which launch the rank has sent it. */
export class TileWords {
  constructor(
    private readonly follow: Follow,
    private readonly known: Known,
    private readonly launches: Launches,
    private readonly tile: Tile,
    private readonly extent: Extent2,
  ) {}

  /** The movers' part: all of them meet, and one tells the rank that the tile is of. */
  tell(steps: Steps, whose: Form): void {
    const { follow, launches } = this;
    launches.read(steps.next("load"));
    steps.next("block_sync");
    const loop = steps.next("for", "threads");
    const signal = onlyOne(follow, new Steps(follow.effects(loop.regions[0]!), loop), "signal");
    const { mode, order, scope, remote } = signal.attributes;
    const [value, peer, slot] = signal.operands.map((v) => follow.of(v)) as [Form, Form, Form];
    const isTold = mode === "set" && order === "release" && scope === "sys" && remote === true;
    const isOwners = equal(follow.length(loop), ONE) && equal(value, launches.epoch) && equal(peer, whose);
    expect(isTold && isOwners && equal(slot, this.wordOf(follow.rank)), "a tile that is sent is not told of", signal);
    this.pass(signal);
  }

  /** The consumers' part: each other rank's word is waited for, and all of them meet. */
  wait(steps: Steps): void {
    const { follow, launches } = this;
    const { numbers, kernel } = follow;
    launches.read(steps.next("load"));
    const loop = steps.next("for", "threads");
    const i = numbers.named("peer");
    follow.set(argumentOf(loop), i);
    const choice = new Steps(follow.effects(loop.regions[0]!), loop);
    const isOther = choice.next("if");
    choice.end();
    const isAsked = equal(follow.of(isOther.operands[0]!), numbers.apply("ne", i, follow.rank));
    new Steps(follow.effects(isOther.regions[1]!), isOther).end();
    const wait = onlyOne(follow, new Steps(follow.effects(isOther.regions[0]!), isOther), "wait");
    const { order, scope, remote } = wait.attributes;
    const [value, slot] = wait.operands.map((v) => follow.of(v)) as [Form, Form];
    const isOfAll = equal(follow.length(loop), constant(kernel.world)) && equal(slot, this.wordOf(i));
    const isTaken = order === "acquire" && scope === "sys" && remote !== true && equal(value, launches.epoch);
    expect(isAsked && isOfAll && isTaken, "what others send of a tile is not waited for", wait);
    this.pass(wait);
    steps.next("block_sync");
  }

  /** The word of a rank: tiles are counted row by row of them. */
  private wordOf(rank: Form): Form {
    const { numbers, kernel } = this.follow;
    const { row, column, height, columns } = this.tile;
    const [i, j] = [numbers.apply("div", row, constant(height)), numbers.apply("div", column, constant(columns))];
    return plus(scaled(plus(product(i, this.extent.columns), j), kernel.world), rank);
  }

  /** There are words for all tiles, and they are there for nothing else. */
  private pass(op: Op): void {
    const { follow, known, extent, tile } = this;
    const { kernel, numbers } = follow;
    const buffer = text(op, "buffer");
    const { role, shape } = bufferOf(kernel, buffer);
    const [tiles, ranks, ...others] = follow.shape(buffer);
    const isOfRanks = role === "signal" && others.length === 0 && ranks !== undefined && equal(ranks, constant(kernel.world)); // prettier-ignore
    if (tiles === undefined) return refuse(op);
    const most = product(extent.rows, extent.columns);
    // Narrower tiles are more: a launch has no tiles narrower than those that the buffer's shape names.
    const isOfNarrower = (width: number): boolean =>
      width <= tile.columns && equal(tiles, product(extent.rows, numbers.rounds(tile.all, constant(width))));
    const hasRoom =
      isConstant(tiles) && isConstant(most)
        ? constantOf(tiles) >= constantOf(most)
        : [...numbersIn(shape[0]!)].some((width) => width > 0 && isOfNarrower(width));
    expect(isOfRanks && hasRoom, "there may be more tiles than have words", op);
    known.alike("words of tiles", buffer, op);
    known.own(buffer, "words of tiles", op);
  }
}

/** Numbers that an extent is made of. */
function numbersIn(e: Extent, into: Set<number> = new Set()): Set<number> {
  if (typeof e === "number") into.add(e);
  else if (typeof e === "object") for (const part of [e.a, e.b]) numbersIn(part, into);
  return into;
}

function onlyOne(follow: Follow, steps: Steps, name: Op["name"]): Op {
  const op = steps.next(name);
  steps.end();
  if (op.regions.length > 0) refuse(op);
  return op;
}
