/**
 * Products that ranks add up together: what the tiles of each rank come to, wherever lengths lead, and the kernels that are left without products. See
 * docs/PROOF.md, "Products for other ranks".
 */
import { bufferOf, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../../ir/module.js";
import { definitionOf } from "../../../ir/ops.js";
import { buffersNamed, walk } from "../../../ir/visit.js";
import { constant, equal, type Form, keyOf, plus, scaled } from "../forms.js";
import { argumentOf, expect, type Follow, type Makers, Steps } from "./follow.js";
import type { Launches } from "./launches.js";
import type { Kept, Sent } from "./leaving.js";
import { leavesOf, textOf } from "./made.js";
import { BLOCK } from "./numbers.js";
import { type Replaced, type Tiles, type WithoutProducts, withoutProducts } from "./replaced.js";

/** A rank's way through a launch, in one case: its ops, where conditions that something synchronises under are decided. */
export interface Through {
  /** What was decided. */
  readonly key: string;
  readonly ops: readonly Op[];
  readonly roles: Op;
}

const SYNCHRONISES = new Set(["roles", "signal", "wait", "block_sync"]);

const deciding = new WeakMap<Kernel, Map<Op, boolean>>();

/** Whether something synchronises in an `if`, or a launch is counted there. */
function decides(kernel: Kernel, op: Op): boolean {
  const known = deciding.get(kernel) ?? new Map<Op, boolean>();
  deciding.set(kernel, known);
  let is = known.get(op);
  if (is === undefined) {
    const isInside = (o: Op): boolean =>
      SYNCHRONISES.has(o.name) ||
      o.regions.some((r) => r.ops.some(isInside)) ||
      ((o.name === "load" || o.name === "store") &&
        ["state", "register"].includes(bufferOf(kernel, text(o, "buffer")).role));
    known.set(op, (is = isInside(op)));
  }
  return is;
}

/** Follows a rank through a launch. @throws NotShown where something else than lengths decides what synchronises */
export function through(follow: Follow, makers: Makers): Through {
  const { kernel, numbers } = follow;
  decideRests(follow, makers);
  let key = "";
  const ops: Op[] = [];
  const go = (region: Region): void => {
    for (const op of region.ops) {
      if (op.name !== "if" || !decides(kernel, op)) {
        ops.push(op);
        continue;
      }
      if (!isOfLengths(op.operands[0]!, makers) && isOfLaunch(op)) {
        ops.push(op);
        continue;
      }
      expect(isOfLengths(op.operands[0]!, makers), "ranks may go other ways through a launch", op);
      const isTaken = numbers.holds(follow.of(op.operands[0]!), op.span);
      key += isTaken ? "1" : "0";
      go(op.regions[isTaken ? 0 : 1]!);
    }
  };
  go(kernel.body);
  const [roles, ...others] = ops.filter((op) => op.name === "roles");
  expect(roles !== undefined && others.length === 0, "blocks multiply tiles several times", others[0] ?? ops[0]!);
  return { key, ops, roles };
}

/** Whether ops under a condition do nothing but tell of a launch, or wait for what tells of one. */
function isOfLaunch({ regions }: Op): boolean {
  return regions.every(({ ops }) =>
    ops.every((op) => {
      if (op.name === "signal") return op.attributes["order"] === "launch";
      return (
        op.name === "wait" ||
        definitionOf(op.name).effect === "pure" ||
        (op.regions.length > 0 && isOfLaunch(op)) ||
        op.name === "yield"
      );
    }),
  );
}

const restsOf = new WeakMap<Makers, readonly Value[]>();

/**
 * Decides first whether lengths are multiples of numbers: what decides more is made of that, and would be decided again behind it.
 * @param within where that is asked; null: anywhere
 */
export function decideRests(follow: Follow, makers: Makers, within: readonly Region[] | null = null): void {
  const rests = restsIn(makers);
  const asked = within === null ? rests : within.flatMap((region) => restsWithin(region, makers, rests));
  for (const v of asked) follow.numbers.decided(follow.of(v));
}

const restsWithinRegions = new WeakMap<Makers, Map<Region, readonly Value[]>>();

/** Those that a region makes; each case asks for them. */
function restsWithin(region: Region, makers: Makers, rests: readonly Value[]): readonly Value[] {
  let known = restsWithinRegions.get(makers);
  if (known === undefined) restsWithinRegions.set(makers, (known = new Map()));
  let found = known.get(region);
  if (found === undefined) known.set(region, (found = madeIn(region).filter((v) => rests.includes(v))));
  return found;
}

/** Values that ops in a region make. */
function madeIn(region: Region): readonly Value[] {
  const all: Value[] = [];
  walk(region, (op) => void all.push(...op.results));
  return all;
}

/** Whether dimensions, or parts of them, are multiples of numbers. */
function restsIn(makers: Makers): readonly Value[] {
  let rests = restsOf.get(makers);
  if (rests !== undefined) return rests;
  const isRest = (v: Value): boolean => {
    const op = makers.get(v);
    const of = op?.attributes["fn"] === "rem" ? makers.get(op.operands[0]!) : undefined;
    return of?.name === "dim" || (of?.attributes["fn"] === "div" && makers.get(of.operands[0]!)?.name === "dim");
  };
  const ops = [...new Set(makers.values())].filter((op) => op.name === "compare" && isRest(op.operands[0]!));
  rests = ops.flatMap((op) => op.results).filter((v) => isOfLengths(v, makers));
  restsOf.set(makers, rests);
  return rests;
}

const OF_LENGTHS = new Set(["const", "dim", "grid", "binary", "compare", "select"]);

const ofLengths = new WeakMap<Makers, Map<Value, boolean>>();

/** Whether a number is one for all ranks, blocks and data. */
export function isOfLengths(v: Value, makers: Makers): boolean {
  let known = ofLengths.get(makers);
  if (known === undefined) ofLengths.set(makers, (known = new Map()));
  let is = known.get(v);
  if (is !== undefined) return is;
  const op = makers.get(v);
  is = op !== undefined && OF_LENGTHS.has(op.name) && op.operands.every((o) => isOfLengths(o, makers));
  known.set(v, is);
  return is;
}

/** What is found of the tiles of one rank, case by case. */
interface Found {
  sent?: Sent;
  kept?: Kept;
  /** What launches are counted in. */
  counter?: string;
}

interface Way extends Omit<Replaced, "tiles"> {
  readonly found: Map<number | null, Found>;
}

/** All ways through a launch. */
export class Ways {
  private readonly ways = new Map<string, Way>();

  /** What is found of a rank on its way; of any, where tiles do not leave by movers. */
  at(key: string, rank: number | null, make: () => Omit<Replaced, "tiles">): Noted {
    let way = this.ways.get(key);
    if (way === undefined) this.ways.set(key, (way = { ...make(), found: new Map() }));
    const isLeaving = rank !== null;
    const found = way.found.get(rank) ?? {};
    way.found.set(rank, found);
    const { rows, all, factors } = make();
    const isOne =
      equal(rows, way.rows) && equal(all, way.all) && JSON.stringify(factors) === JSON.stringify(way.factors);
    expect(isOne && way.found.has(null) !== isLeaving, "tiles come to something else at other lengths", way.roles);
    return new Noted(found, way.roles);
  }

  /** The kernels that are left, one for each way. @param owned what nothing but tiles may touch */
  kernels(world: number, owned: ReadonlyMap<string, string>): readonly WithoutProducts[] {
    return [...this.ways.values()].map((way) => {
      const tiles = Array.from({ length: world }, (_, rank) => {
        const isLeaving = !way.found.has(null);
        const { sent, kept, counter } = way.found.get(isLeaving ? rank : null) ?? {};
        const isAll = sent !== undefined && (!isLeaving || (kept && counter) !== undefined);
        expect(isAll, "some tiles come to nothing", way.roles);
        expect(!isLeaving || sent.kind === "stage", "tiles that leave go in packets", way.roles);
        return { sent, leaving: isLeaving ? { kept: kept!, counter: counter! } : null };
      });
      if (!way.found.has(null)) {
        checkBehind(way);
        for (const t of tiles) checkTouched(way, t);
      }
      const touched = new Set(way.ops.filter((op) => op !== way.roles).flatMap(buffersNamed));
      for (const { sent, leaving } of tiles) {
        for (const name of sent.kind === "packets" ? [sent.even, sent.odd] : [sent.buffer]) touched.add(name);
        for (const s of leaving?.kept.stores ?? []) touched.add(s.buffer);
        for (const leaf of leaving === null ? [] : leavesOf(leaving.kept.made))
          if (leaf.kind === "left") touched.add(leaf.buffer);
      }
      const again = [...owned.keys()].find((name) => touched.has(name));
      expect(again === undefined, `'${again ?? ""}' is there for several things`, way.roles);
      return withoutProducts({ ...way, tiles });
    });
  }
}

/** Where tiles leave, a block that has none of its own rank's knows of no others before its launch ends: so it touches nothing until then. */
function checkBehind({ kernel, ops, roles }: Way): void {
  const OF_BLOCKS = ["signal", "state", "register"];
  for (const op of ops.slice(ops.indexOf(roles) + 1)) {
    const isOfBlocks = buffersNamed(op).every((name) => OF_BLOCKS.includes(bufferOf(kernel, name).role));
    expect(isOfBlocks, "elements are touched behind tiles that leave", op);
  }
}

/** A word tells of one tile alone: so what tiles that leave are made of, and what is made of them, nothing else on the way touches. */
function checkTouched({ ops, roles }: Way, { sent, leaving }: Tiles): void {
  const stage = sent.kind === "stage" ? sent.buffer : null;
  const { stores, made } = leaving!.kept;
  for (const leaf of leavesOf(made)) {
    const isOfStage = leaf.kind !== "left" || leaf.buffer === stage;
    expect(isOfStage, "an element is made of what nobody tells of", roles);
  }
  const names = new Set([stage, ...stores.map((s) => s.buffer)]);
  const other = ops.find((op) => op !== roles && buffersNamed(op).some((name) => names.has(name)));
  expect(other === undefined, "elements are touched beside tiles that leave", other ?? roles);
}

/** What is found of a rank's tiles is the same in all cases. */
class Noted {
  constructor(
    private readonly found: Found,
    private readonly roles: Op,
  ) {}

  sent(sent: Sent): void {
    this.alike(textOfSent(this.found.sent ?? sent), textOfSent(sent));
    this.found.sent ??= sent;
  }

  kept(kept: Kept, counter: string): void {
    this.alike(textOfKept(this.found.kept ?? kept), textOfKept(kept));
    this.alike(this.found.counter ?? counter, counter);
    this.found.kept ??= kept;
    this.found.counter ??= counter;
  }

  private alike<T>(a: T, b: T): void {
    expect(a === b, "tiles come to something else at other lengths", this.roles);
  }
}

function textOfSent(sent: Sent): string {
  const { kind, made } = sent;
  const part = (h: Form | null): string => (h === null ? "all" : keyOf(h));
  if (kind === "kept") return `${kind} ${sent.buffer} ${textOf(made)}`;
  if (kind === "stage") return `${kind} ${sent.buffer} ${part(sent.part)} ${textOf(made)}`;
  const { even, odd, format, lanes, share } = sent;
  return `${kind} ${even} ${odd} ${format} ${lanes} ${keyOf(share)} ${part(sent.part)} ${textOf(made)}`;
}
const textOfKept = ({ stores, made }: Kept): string =>
  [...stores.map((s) => `${s.buffer} ${s.peer ?? "own"} ${keyOf(s.distance)}`), textOf(made)].join("; ");

/** Each case goes through the same ops. */
const packetStores = new WeakMap<Op, readonly Op[]>();
const named = new WeakMap<Op, ReadonlySet<string>>();

function packetStoresIn(op: Op): readonly Op[] {
  let found = packetStores.get(op);
  if (found !== undefined) return found;
  const all: Op[] = [];
  const visit = (o: Op): void => {
    if (o.name === "packet_store") all.push(o);
    o.regions.forEach((r) => r.ops.forEach(visit));
  };
  visit(op);
  packetStores.set(op, (found = all));
  return found;
}

function names(op: Op, buffer: string): boolean {
  let all = named.get(op);
  if (all === undefined) named.set(op, (all = new Set(buffersNamed(op))));
  return all.has(buffer);
}

/** Packets carry the number of the launch, which each block reads before its tiles. */
export function readLaunches(launches: Launches, { roles }: Through, makers: Makers): void {
  for (const op of packetStoresIn(roles)) {
    const load = makers
      .get(op.operands[1]!)
      ?.operands.map((v) => makers.get(v))
      .find((o) => o?.name === "load");
    if (load !== undefined) launches.read(load);
  }
}

/** The number of launches that pieces carry is read before tiles, and grows behind them. */
export function checkCounted(launches: Launches, { ops, roles }: Through): void {
  const { counter } = launches;
  if (counter === null) return;
  const touching = ops.filter((op) => op !== roles && names(op, counter));
  const grown = touching.filter((op) => op.name !== "load");
  for (const op of touching) {
    if (op.name !== "load") continue;
    expect(ops.indexOf(op) < ops.indexOf(roles), "launches are not counted by each block", op);
    launches.read(op);
  }
  const [loop, ...others] = grown;
  const isLast = loop !== undefined && others.length === 0 && ops.indexOf(loop) > ops.indexOf(roles);
  expect(isLast && loop.name === "for", "launches are not counted by each block", loop ?? roles);
  launches.grow(loop, true);
}

/**
 * Where blocks wait for each other's pieces, none waits before its tiles for what comes behind the tiles of another: all that they wait for there is told before that,
 * in the same launch, by the blocks of one number to each other.
 */
export function checkBegin(follow: Follow, { ops, roles }: Through): void {
  const { numbers, kernel, rank } = follow;
  const { world } = kernel;
  const told = new Map<Value, string>();
  let hasWaited = false;
  for (const op of ops.slice(0, ops.indexOf(roles))) {
    if (!synchronises(op)) continue;
    // Nobody waits for what tells of a launch but by what is awaited here, or behind all tiles.
    if (op.name === "block_sync" || (op.name === "if" && !waits(op))) continue;
    expect(op.name === "for" && op.attributes["map"] === "threads", "blocks wait before their tiles", op);
    const i = numbers.named("peer");
    follow.set(argumentOf(op), i);
    const body = new Steps(follow.effects(op.regions[0]!), op);
    const isSignal = body.isNext("signal");
    const sync = body.next(isSignal ? "signal" : "wait");
    body.end();
    const { value, peer, indices } = memoryOperands(sync);
    const own = scaled(numbers.named(BLOCK), world);
    const isAll = equal(follow.length(op), constant(world));
    if (isSignal) {
      const [slot] = indices;
      const isToAll = peer !== null && equal(follow.of(peer), i) && equal(follow.of(slot!), plus(own, rank));
      const isSet = sync.attributes["mode"] === "set" && !hasWaited;
      expect(isAll && isToAll && isSet, "blocks wait before their tiles", sync);
      told.set(value!, text(sync, "buffer"));
    } else {
      hasWaited = true;
      const [awaited, slot] = sync.operands;
      const isOfAll = equal(follow.of(slot!), plus(own, i)) && told.get(awaited!) === text(sync, "buffer");
      expect(isAll && isOfAll, "blocks wait before their tiles", sync);
    }
  }
}

function waits(op: Op): boolean {
  return op.name === "wait" || op.regions.some((r) => r.ops.some(waits));
}

function synchronises(op: Op): boolean {
  return ["signal", "wait", "block_sync"].includes(op.name) || op.regions.some((r) => r.ops.some(synchronises));
}
