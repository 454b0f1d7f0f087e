/**
 * What the stores of one way through a stretch come to: loops over strips, blocks, threads and lanes are digits of one number
 * that counts through an interval, and intervals of several loops lie one behind the other.
 */
import type { Op } from "../../ir/module.js";
import type { Span } from "../../source.js";
import {
  type Box,
  constant,
  constantOf,
  divided,
  equal,
  factors,
  type Form,
  isAtLeastZero,
  isConstant,
  isZero,
  keyOf,
  minus,
  ONE,
  parameter,
  plus,
  product,
  rangeOf,
  scaled,
  ZERO,
} from "./forms.js";
import { demand, NotShown } from "./conditions.js";
import { type Access, digitsOf, loadsOf, type StoreSeen, type Term, termText } from "./terms.js";
import { type Counted, keyOfCounted, keyOfPlace, type Place, renamedCounted, renamedPlace } from "./places.js";
import { madeOfOne } from "./quotients.js";
import { eitherTaker, type Taker, takerOf } from "./takers.js";
import { GRID, type Way } from "./ways.js";

/** For rows, where any block may take any element. */
export const ANY_BLOCK = 0;

/** The owner of what is read in turns: the rank with the number that the first of the turns of its place makes of the turn's. */
export const BY_TURN = -2;

/** An element read, by where it lies. */
export interface Source {
  readonly buffer: string;
  readonly owner: number;
  readonly place: Place;
}

/**
 * `length` elements, counted from `base` on, get `text` of elements of the sources, each once. What is counted at P lies there, or, where there are
 * turns, at P and all of them. Owner -1 is the rank itself.
 */
export interface Movement {
  readonly buffer: string;
  readonly owner: number;
  readonly base: Form;
  readonly turns: readonly Counted[];
  /** The number of an expression, or a constant. */
  readonly length: { readonly root: number } | { readonly constant: number };
  /** What is stored, with `$0`, `$1`, … for the sources. */
  readonly text: string;
  readonly sources: readonly Source[];
  /** So many neighbours from `base` on are one block's, then the next block's, and so on, in turn. */
  readonly rows: number;
  /** Which blocks take what is stored, and then what each of the sources has. */
  readonly takers: readonly Taker[];
  /** Forms that must not be negative wherever there are elements: strips that are gone through, less what they are cut from. */
  readonly covered: readonly Form[];
  /** Forms that must be multiples of a number wherever there are elements. */
  readonly aligned: readonly { readonly form: Form; readonly lanes: number }[];
  /** Forms that must be positive wherever there are elements: lengths of rows, which elements are counted by. */
  readonly divisors: readonly Form[];
  /** Of rounds: elements are read or stored there, no more is known; see `footprints.ts`. */
  readonly isFootprint?: "read" | "stored";
  /**
   * Movements of a stretch that have one of these are stored by the same iterations, element by element, and before that all is read that they are
   * made of. Absent: of one alone.
   */
  readonly iterations?: string;
  readonly span: Span;
}

/** A store of one way: [start, end) of what is not opaque. */
interface Piece {
  readonly start: Form;
  readonly end: Form;
  readonly stores: readonly StoreAt[];
}

export interface Merged {
  readonly key: string;
  readonly movement: Omit<Movement, "length" | "rows">;
  /** Roots and constants that the length may be. */
  readonly lengths: ReadonlySet<string>;
  readonly rows: number | null;
  /** On this way, one text for movements that the same iterations store, after all is read; null where that is not known. */
  readonly iterations: string | null;
}

/** What the stores of one way come to. @throws NotShown */
export function mergedStores(way: Way, roots: ReadonlyMap<number, string>, box: Box): Merged[] {
  const groups = new Map<
    string,
    {
      readonly opaque: Form;
      readonly turns: readonly Counted[];
      readonly term: Relative;
      readonly stores: Map<string, StoreAt[]>;
    }
  >();
  const known = new Map<Term, Map<string, Relative>>();
  for (const stored of way.stores) {
    const { access, turns } = countedAt(stored.access, way, (f) => lifted(f, roots, box, stored.access.op));
    const seen = { ...stored, access };
    const { opaque, own } = parted(seen);
    const relative = relativeTo(access, seen.term, way, roots, box, known);
    const places = `${relative.text} ${relative.key} ${turns.map(keyOfCounted).join()}`;
    const key = `${access.buffer} ${keyOf(access.owner)} ${keyOf(opaque)} ${places}`;
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { opaque, turns, term: relative, stores: new Map() }));
    const loops = seen.loops.map((l) => l.name).join();
    const all = group.stores.get(loops);
    const store = { seen, stored: stored.access, at: own, loads: relative.loads };
    if (all === undefined) group.stores.set(loops, [store]);
    else all.push(store);
  }
  return [...groups.values()].map((group) => {
    const pieces = [...group.stores.values()].map((stores) => pieceOf(stores, way));
    return chained(pieces, group.opaque, group.turns, group.term, way, roots, box);
  });
}

interface StoreAt {
  /** With the index that counts elements. */
  readonly seen: StoreSeen;
  /** With the index that it has. */
  readonly stored: Access;
  readonly at: Form;
  /** The loads of each source. */
  readonly loads: readonly (readonly Access[])[];
}

/** A store with an index that counts its elements, and how far from there they lie, which goes with quotients of what is counted. */
function countedAt(
  store: Access,
  way: Way,
  lift: (f: Form) => Form,
): { readonly access: Access; readonly turns: readonly Counted[] } {
  const names = [...way.quotients.in(store.index).keys()];
  if (names.length === 0) return { access: store, turns: [] };
  const fail = (what: string): never => {
    throw new NotShown(`${what} in another order than they are counted in`, store.op.span);
  };
  if (store.isPacket === true) return fail("packets go to slots");
  let { index } = store;
  for (const name of names) index = minus(index, product(timesOf(store.index, name), parameter(name)));
  const access = { ...store, index };
  const turns = names.map((name) => {
    const { of, by } = way.quotients.in(parameter(name)).get(name)!;
    const times = timesOf(store.index, name);
    if ([index, times].some((f) => way.quotients.in(f).size > 0)) return fail("elements are stored");
    return renamedCounted({ times, shift: minus(of, index), by, steps: way.quotients.stepsOf(name) }, lift);
  });
  return { access, turns };
}

/** An index without its loops: what is opaque, and the rest. */
function parted({ access: { owner, index, op }, loops }: StoreSeen): { readonly opaque: Form; readonly own: Form } {
  const opaque = new Map<string, number>();
  const own = new Map<string, number>();
  if (!isConstant(owner)) throw new NotShown("elements go to ranks in turn", op.span);
  const names = new Set([...loops.map((l) => l.name), "block"]);
  for (const [key, n] of index) {
    const all = factors(key);
    if (all.some((name) => names.has(name))) {
      if (all.filter((name) => name !== GRID).length > 1)
        throw new NotShown("the distance of neighbours depends on lengths", op.span);
    } else if (all.some((name) => name.startsWith("@"))) opaque.set(key, n);
    else own.set(key, n);
  }
  return { opaque, own };
}

interface Relative {
  readonly text: string;
  readonly key: string;
  readonly sources: readonly Source[];
  readonly loads: readonly (readonly Access[])[];
}

/** @param known of terms, by where they are stored: what is sent to all peers is one */
function relativeTo(
  store: Access,
  term: Term,
  way: Way,
  roots: ReadonlyMap<number, string>,
  box: Box,
  known: Map<Term, Map<string, Relative>>,
): Relative {
  const at = keyOf(store.index);
  let places = known.get(term);
  if (places === undefined) known.set(term, (places = new Map()));
  const found = places.get(at);
  if (found !== undefined) return found;
  const sources: Source[] = [];
  const loads: Access[][] = [];
  const numbers = new Map<string, number>();
  const text = termText(term, (load) => {
    const { buffer, owner, op } = load;
    const place = placeOf(store, load, way, (f) => lifted(f, roots, box, op));
    const whose = isConstant(owner) ? constantOf(owner) : BY_TURN;
    const key = `${buffer} ${whose} ${keyOfPlace(place)}`;
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, (number = sources.length));
      sources.push({ buffer, owner: whose, place });
      loads.push([]);
    }
    loads[number]!.push(load);
    return `$${number}`;
  });
  const relative = { text, key: [...numbers.keys()].join(";"), sources, loads };
  places.set(at, relative);
  return relative;
}

/** Where a load is, by where the store is. @param lift makes forms that are alike for all elements of the movement */
function placeOf(store: Access, { owner, index, lanes, op, spread }: Access, way: Way, lift: (f: Form) => Form): Place {
  const fail = (): never => {
    throw new NotShown("the distance between what is read and what is stored changes from element to element", op.span);
  };
  const inIndex = [...way.quotients.in(index).keys()];
  const owned = isConstant(owner) ? null : madeOfOne(owner)!;
  // What is made of a quotient in steps is known turn by turn alone, and so is all else of that quotient.
  const inSteps = inIndex.find((name) => way.quotients.stepsOf(name).length > 0);
  const turn = owned === null && inSteps === undefined ? null : way.quotients.quotientOf(owned ?? inSteps!);
  const isOfTurn = (name: string): boolean => way.quotients.quotientOf(name) === turn;
  const [row = null, ...further] = inIndex.filter((name) => !isOfTurn(name));
  if (further.length > 0 || (row !== null && way.quotients.stepsOf(row).length > 0)) return fail();
  const counted = (name: string): Counted => {
    const { of, by } = way.quotients.in(parameter(name)).get(name)!;
    return { times: timesOf(index, name), shift: minus(of, store.index), by, steps: way.quotients.stepsOf(name) };
  };
  const rows = row === null ? null : counted(row);
  const inTurns = new Set([...(owned === null ? [] : [owned]), ...inIndex.filter(isOfTurn)]);
  const turns = [...inTurns].map(counted);
  let rest = index;
  for (const name of inIndex) rest = minus(rest, product(timesOf(index, name), parameter(name)));
  const times = [...(rows === null ? [] : [rows]), ...turns].map((c) => c.times);
  if ([rest, ...times].some((f) => way.quotients.in(f).size > 0)) return fail();
  // How far apart what is read of neighbours is, but for rows.
  const loop = [...store.index.keys()].flatMap((key) => [...factors(key)]).find((f) => f.startsWith("~"));
  const step = loop === undefined ? ONE : timesOf(store.index, loop);
  const apart = loop === undefined ? ONE : divided(timesOf(rest, loop), step);
  if (loop !== undefined && !equal(product(apart, step), timesOf(rest, loop))) return fail();
  // Lanes that have one element are of one row.
  if (lanes > 1 && !equal(apart, spread === undefined ? ONE : ZERO)) return fail();
  return renamedPlace({ apart, distance: minus(rest, product(apart, store.index)), rows, turns }, lift);
}

/** A form over expressions alone: lengths of the box as what they are. */
function lifted(f: Form, roots: ReadonlyMap<number, string>, box: Box, op: Op): Form {
  const own = new Map([...f].filter(([key]) => key !== "" && !factors(key).every((name) => name.startsWith("@"))));
  if (own.size === 0) return f;
  for (const [id, name] of roots) {
    const length = box.names.get(name)!;
    const [key] = own.keys();
    const times = own.get(key!)! / (length.get(key!) ?? NaN);
    if (!Number.isInteger(times)) continue;
    const without = minus(f, scaled(length, times));
    if ([...without.keys()].every((k) => factors(k).every((n) => n.startsWith("@"))))
      return plus(without, parameter(`@${id}`), times);
  }
  throw new NotShown("the distance between what is read and what is stored changes from element to element", op.span);
}

interface Digit {
  /** How far apart neighbours are: a number, or one times the number of blocks. */
  readonly times: Form;
  readonly count: Form;
}

/** What an index has for each one that a loop's variable has: a number, or one times the number of blocks. */
function timesOf(index: Form, name: string): Form {
  const times = new Map<string, number>();
  for (const [key, n] of index) {
    const all = factors(key);
    if (all.includes(name)) times.set(all.filter((other) => other !== name).join("*"), n);
  }
  return times;
}

/** The interval that stores in the same loops go to, which differ by where they begin. */
function pieceOf(stores: readonly StoreAt[], way: Way): Piece {
  const [{ seen, at: first }] = stores as [StoreAt];
  const { op } = seen.access;
  const aparts = stores.map(({ at, seen: { access } }) => {
    const keys = [...access.index.keys(), ...seen.access.index.keys()].filter((key) => isLoopKey(key, seen));
    const same = keys.every((key) => access.index.get(key) === seen.access.index.get(key));
    if (!same) throw new NotShown("stores of one loop lie apart by a length", op.span);
    return minus(at, first);
  });
  // A number of elements, and one for each block.
  const units = new Set(aparts.flatMap((apart) => [...apart.keys()]));
  if ([...units].some((unit) => unit !== "" && unit !== GRID))
    throw new NotShown("stores of one loop lie apart by a length", op.span);
  const digits: Digit[] = digitsOf(seen, way.grid).map(({ name, map, count }) => ({
    times: map === "lanes" ? ONE : timesOf(seen.access.index, name),
    count,
  }));
  let [start, many] = [first, 1];
  for (const unit of ["", GRID]) {
    const [least = 0, ...others] = [...new Set(aparts.map((a) => a.get(unit) ?? 0))].sort((a, b) => a - b);
    const step = (others[0] ?? least) - least;
    start = plus(start, new Map(least === 0 ? [] : [[unit, least]]));
    many *= others.length + 1;
    if (others.some((s, i) => s !== least + (i + 1) * step))
      throw new NotShown("an element is stored twice, or elements are left out", op.span);
    if (others.length > 0) digits.push({ times: new Map([[unit, step]]), count: constant(others.length + 1) });
  }
  const places = new Set(aparts.map(keyOf));
  if (places.size !== stores.length || many !== stores.length)
    throw new NotShown("an element is stored twice, or elements are left out", op.span);
  const counting = digits.filter(({ count }) => !isConstant(count) || constantOf(count) !== 1);
  let total: Form = ONE;
  while (counting.length > 0) {
    const next = counting.findIndex(({ times }) => equal(times, total));
    demand("digits", next >= 0, "what a loop stores has gaps, or meets itself", op.span);
    total = product(counting.splice(Math.max(next, 0), 1)[0]!.count, total);
  }
  return { start, end: plus(start, total), stores };
}

function isLoopKey(key: string, { loops }: StoreSeen): boolean {
  return factors(key).some((name) => name === "block" || loops.some((l) => l.name === name));
}

/** Pieces one behind the other as a movement. */
function chained(
  pieces: readonly Piece[],
  opaque: Form,
  turns: readonly Counted[],
  { text, key: from, sources }: Relative,
  way: Way,
  roots: ReadonlyMap<number, string>,
  box: Box,
): Merged {
  const { ranges } = box;
  const [{ seen }] = pieces[0]!.stores as [StoreAt];
  const { op, buffer } = seen.access;
  const owner = constantOf(seen.access.owner);
  const sorted = [...pieces];
  // Few; each comparison may cut the box.
  for (let i = 0; i < sorted.length; i++)
    for (let j = i + 1; j < sorted.length; j++)
      if (!isAtLeastZero(minus(sorted[j]!.start, sorted[i]!.start), ranges))
        [sorted[i], sorted[j]] = [sorted[j]!, sorted[i]!];
  for (let i = 1; i < sorted.length; i++)
    demand(
      "joined",
      isZero(minus(sorted[i]!.start, sorted[i - 1]!.end), ranges),
      "loops over elements leave some out, or meet",
      op.span,
    );
  const start = sorted[0]!.start;
  const length = minus(sorted.at(-1)!.end, start);
  const base = lifted(plus(opaque, start), roots, box, op);
  const lengths = new Set([...roots].filter(([, name]) => equal(box.names.get(name)!, length)).map(([id]) => `@${id}`));
  if (isConstant(length)) lengths.add(`#${constantOf(length)}`);
  const all = pieces.flatMap((p) => p.stores);
  const rows = rowsOf(all, start, turns, way);
  const aligned = all.flatMap((s) => alignments(s, way));
  const limits = all.flatMap((s) => s.seen.loops.flatMap((l) => (l.covered === undefined ? [] : [l.covered])));
  const covered = [...new Map(limits.map((f) => [keyOf(f), f])).values()];
  const key = `${buffer} ${owner} ${keyOf(base)} ${turns.map(keyOfCounted).join()} ${text} ${from}`;
  return {
    key,
    movement: {
      buffer,
      owner,
      base,
      turns,
      text,
      sources,
      covered,
      aligned,
      divisors: way.quotients.divisors(),
      takers: [ONE, ...sources].map((_, i) => takerOfAll(all, i, way)),
      span: op.span,
    },
    lengths,
    rows,
    iterations: way.readsFirst ? iterationsOf(all, start) : null,
  };
}

/** Which iteration of which loops stores the element of which number, from `start` on. */
function iterationsOf(stores: readonly StoreAt[], start: Form): string {
  const texts = stores.map(({ seen, at }) => {
    const { index, lanes } = seen.access;
    const counted = new Map([...index].filter(([key]) => isLoopKey(key, seen)));
    return `${seen.loops.map((l) => l.name).join()} ${lanes} ${keyOf(counted)} ${keyOf(minus(at, start))}`;
  });
  return texts.sort().join(";");
}

/** Which blocks take what is stored, number 0, or what a source has. */
function takerOfAll(stores: readonly StoreAt[], number: number, way: Way): Taker {
  let taker: Taker = "one";
  for (const { seen, stored, loads } of stores) {
    const digits = digitsOf(seen, way.grid);
    for (const access of number === 0 ? [stored] : loads[number - 1]!)
      taker = eitherTaker(taker, access.isPacket === true ? null : takerOf(access, digits, way));
    if (taker === null) break;
  }
  return taker;
}

/** How many neighbours a block takes, in turn with the others. Null where there is one block. */
function rowsOf(stores: readonly StoreAt[], base: Form, turns: readonly Counted[], way: Way): number | null {
  if (isConstant(way.grid) && constantOf(way.grid) === 1) return null;
  // Which block stores an element is followed where elements lie as they are counted.
  if (turns.length > 0) return ANY_BLOCK;
  // Packets that are left over have slots of their own, which go with no rows.
  if (way.hasPackets || stores.some(({ seen }) => seen.loops.some((l) => l.map === "visits"))) return ANY_BLOCK;
  let rows: number | null = null;
  for (const { seen, at } of stores) {
    const { access } = seen;
    const digits = digitsOf(seen, way.grid);
    const fail = (): never => {
      throw new NotShown("which block stores an element is not followed", access.op.span);
    };
    const place = digits.find((d) => d.map === "blocks" || d.map === "block")!;
    const step = timesOf(access.index, place.name);
    const row = constantOf(step);
    if (!isConstant(step) || row <= 0) fail();
    demand("rows", rows === null || rows === row, "blocks take elements in rows of several lengths", access.op.span);
    rows = row;
    /** What all blocks take in turn is so much. */
    const round = scaled(way.grid, row);
    const isRounds = (f: Form): boolean => minus(f, product(divided(f, round), round)).size === 0;
    let span = 1;
    for (const { name, map, count } of digits) {
      if (name === place.name) continue;
      const times = map === "lanes" ? ONE : timesOf(access.index, name);
      if (isRounds(times)) continue;
      // Threads and lanes go through the rest of a row.
      const { high } = rangeOf(count, way.box.ranges);
      if (!isConstant(times) || constantOf(times) < 0 || high === Infinity) fail();
      span += constantOf(times) * (high - 1);
    }
    const beyond = minus(at, place.map === "blocks" ? plus(base, place.low, row) : base);
    const within = rangeOf(minus(beyond, product(divided(beyond, round), round)), way.box.ranges);
    if (!(within.low >= 0 && within.high + span <= row)) fail();
  }
  return rows;
}

/** What must be a multiple of the lanes of a vector, where nothing on this way says so. */
function alignments({ seen, stored }: StoreAt, way: Way): { readonly form: Form; readonly lanes: number }[] {
  const obligations: { form: Form; lanes: number }[] = [];
  const check = ({ owner, index, lanes, op, spread }: Omit<Access, "buffer">): void => {
    if (lanes === 1) return;
    // All lanes lie in one row.
    for (const { of, by } of [...way.quotients.in(index).values(), ...way.quotients.in(owner).values()])
      for (const f of [of, by]) check({ owner: ZERO, index: f, lanes, op });
    if (spread !== undefined) return;
    const opaque = new Map<string, number>();
    for (const [key, n] of index) {
      const isOpaque = factors(key).some((name) => name.startsWith("@"));
      if (way.isMultiple(new Map([[key, n]]), lanes)) continue;
      if (!isOpaque) throw new NotShown("a vector is not where vectors begin", op.span);
      opaque.set(key, n);
    }
    if (opaque.size === 0 || way.isMultiple(opaque, lanes)) return;
    const goesWithElements = [...opaque.keys()].some((key) => factors(key).some((name) => !name.startsWith("@")));
    if (goesWithElements) throw new NotShown("a vector is not where vectors begin", op.span);
    obligations.push({ form: opaque, lanes });
  };
  for (const access of [stored, ...loadsOf(seen.term)]) {
    const reason = `nothing says that '${access.buffer}' begins where vectors begin`;
    demand(
      "starts",
      (access.spread ?? access).lanes === 1 || access.isPacket === true || way.beginsAt(access.buffer, access.lanes),
      reason,
      access.op.span,
    );
    check(access);
  }
  return obligations;
}
