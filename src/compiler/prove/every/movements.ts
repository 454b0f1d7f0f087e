/** What a stretch comes to, all its ways together: movements from intervals to an interval. */
import type { Kernel, Op, Value } from "../../ir/module.js";
import type { Span } from "../../source.js";
import { type Expression, type Expressions, isAtom, isRoot } from "./expressions.js";
import {
  type Box,
  boxOf,
  constant,
  constantOf,
  equal,
  explore,
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
  type Range,
  rangeOf,
  scaled,
  substituted,
  Undecided,
} from "./forms.js";
import { type Access, Choice, type Decisions, loadsOf, type StoreSeen, type Term, termText, Way } from "./leaves.js";
import { NotShown, type Stretch } from "./stretches.js";

/** An element read, by its distance from the one that is stored: a form over expressions, each named `@` and its number. */
export interface Source {
  readonly buffer: string;
  readonly owner: number;
  readonly distance: Form;
}

/** `length` elements from `base` on get `text` of elements of the sources, each once. Owner -1 is the rank itself. */
export interface Movement {
  readonly buffer: string;
  readonly owner: number;
  readonly base: Form;
  /** The number of an expression, or a constant. */
  readonly length: { readonly root: number } | { readonly constant: number };
  /** What is stored, with `$0`, `$1`, … for the sources. */
  readonly text: string;
  readonly sources: readonly Source[];
  /** So many neighbours from `base` on are one block's, then the next block's, and so on, in turn. */
  readonly rows: number;
  /** Forms that must be multiples of a number wherever there are elements. */
  readonly aligned: readonly { readonly form: Form; readonly lanes: number }[];
  readonly span: Span;
}

/** Ways that are looked at for one stretch, at most. */
const MOST_WAYS = 3000;

/**
 * The movements of stretches. What is shown of one holds for all that have the same ops and differ in lengths that are not
 * looked into: those of other ranks and other iterations.
 */
export class Movements {
  private readonly known = new Map<
    string,
    { readonly movements: readonly Movement[]; readonly atoms: readonly number[] }
  >();
  private readonly numbers = new Map<Op, number>();

  constructor(
    private readonly kernel: Kernel,
    private readonly expressions: Expressions,
  ) {}

  /** Those of a stretch on a number of blocks. @throws NotShown */
  of(stretch: Stretch, grid: number): readonly Movement[] {
    const [first] = stretch.ops as [Op];
    if (!this.numbers.has(first)) this.numbers.set(first, this.numbers.size);
    const { text, atoms } = this.abstracted(stretch);
    const key = `${this.numbers.get(first)} ${grid} ${text}`;
    const found = this.known.get(key);
    if (found === undefined) {
      const movements = movementsOf(this.kernel, this.expressions, stretch, grid);
      this.known.set(key, { movements, atoms });
      return movements;
    }
    const by = new Map(found.atoms.map((id, i) => [`@${id}`, parameter(`@${atoms[i]}`)]));
    const renamed = (f: Form): Form => substituted(f, by);
    return found.movements.map((m) => ({
      ...m,
      base: renamed(m.base),
      length: "root" in m.length ? { root: atoms[found.atoms.indexOf(m.length.root)]! } : m.length,
      sources: m.sources.map((s) => ({ ...s, distance: renamed(s.distance) })),
      aligned: m.aligned.map(({ form, lanes }) => ({ form: renamed(form), lanes })),
    }));
  }

  /** The lengths of a stretch as text, with numbers for those that are not looked into, and these by number. */
  private abstracted({ ops, values }: Stretch): { readonly text: string; readonly atoms: readonly number[] } {
    const atoms: number[] = [];
    const numbers = new Map<number, number>();
    let turn: number | null = null;
    const write = (e: Expression): string => {
      if (isRoot(e) || isAtom(e)) {
        let number = numbers.get(e.id);
        if (number === undefined) numbers.set(e.id, (number = atoms.push(e.id) - 1));
        return `${isRoot(e) ? "L" : "A"}${number}`;
      }
      if (e.kind === "constant") return String(e.value);
      if (e.kind !== "apply") return e.name;
      const rotation = rotationOf(e);
      if (rotation === null) return `${e.fn}(${e.of.map(write).join()})`;
      // All blocks go through all peers: with which they begin has no part in what comes out.
      turn ??= rotation.by;
      return `turn ${(((rotation.by - turn) % rotation.of) + rotation.of) % rotation.of} of ${rotation.of}`;
    };
    const text = [...valuesOf(ops)].map((v) => (values.has(v) ? write(values.get(v)!) : "")).join(";");
    return { text, atoms };
  }
}

/** (block + a + b + …) % c, of constants. */
function rotationOf(e: Expression): { readonly by: number; readonly of: number } | null {
  if (e.kind !== "apply" || e.fn !== "rem" || e.of[1]!.kind !== "constant") return null;
  let [by, blocks] = [0, 0];
  const isSum = (x: Expression): boolean => {
    if (x.kind === "constant") by += x.value;
    else if (x.kind === "symbol" && x.name === "block") blocks++;
    else return x.kind === "apply" && x.fn === "add" && x.of.every(isSum);
    return true;
  };
  return isSum(e.of[0]!) && blocks === 1 ? { by, of: e.of[1]!.value } : null;
}

function movementsOf(kernel: Kernel, expressions: Expressions, stretch: Stretch, grid: number): readonly Movement[] {
  const roots = rootsOf(stretch);
  const found = new Map<string, Found>();
  const ways: { readonly keys: ReadonlySet<string>; readonly box: Box }[] = [];
  const span = stretch.ops[0]!.span;
  let left = MOST_WAYS;
  const look = (box: Box): void => {
    const open: Decisions[] = [{ truths: new Map() }];
    const seen: { keys: Set<string>; merged: Merged[] }[] = [];
    for (let decisions = open.pop(); decisions !== undefined; decisions = open.pop()) {
      if (left-- <= 0) throw new NotShown("there are too many ways through a loop", span);
      try {
        const way = new Way(kernel, expressions, stretch, box, roots, decisions, grid);
        const merged = mergedStores(way, roots, box, grid);
        seen.push({ keys: new Set(merged.map((m) => m.key)), merged });
      } catch (e) {
        if (!(e instanceof Choice)) throw e;
        for (const holds of [true, false]) open.push({ truths: new Map([...decisions.truths, [e.question, holds]]) });
      }
    }
    for (const { keys, merged } of seen) {
      ways.push({ keys, box });
      for (const m of merged) note(found, m);
    }
  };
  try {
    if (!explore(boxOf(roots.values()), MOST_WAYS, look))
      throw new NotShown("there are too many ways through a loop", span);
  } catch (e) {
    if (e instanceof Undecided) throw new NotShown("lengths are compared in a way that is not followed", span);
    throw e;
  }
  return [...found.values()].map((f) => settled(f, ways, roots));
}

/** Lengths in a stretch: what is held against 0 from below, which bounds of loops are. */
function rootsOf({ ops, values }: Stretch): Map<number, string> {
  const roots = new Map<number, string>();
  const seen = new Set<number>();
  const visit = (e: Expression): void => {
    if (seen.has(e.id)) return;
    seen.add(e.id);
    if (isRoot(e)) roots.set(e.id, `L${e.id}`);
    else if (e.kind === "apply") e.of.forEach(visit);
  };
  for (const v of valuesOf(ops)) {
    const e = values.get(v);
    if (e !== undefined) visit(e);
  }
  return roots;
}

const used = new WeakMap<readonly Op[], ReadonlySet<Value>>();

function valuesOf(ops: readonly Op[]): ReadonlySet<Value> {
  const known = used.get(ops);
  if (known !== undefined) return known;
  const all = new Set<Value>();
  const visit = (op: Op): void => {
    op.operands.forEach((v) => all.add(v));
    op.regions.forEach((r) => r.ops.forEach(visit));
  };
  ops.forEach(visit);
  used.set(ops, all);
  return all;
}

/** A store of one way: [start, end) of what is not opaque. */
interface Piece {
  readonly start: Form;
  readonly end: Form;
  readonly stores: readonly { readonly seen: StoreSeen; readonly at: Form }[];
}

interface Merged {
  readonly key: string;
  readonly movement: Omit<Movement, "length" | "rows">;
  /** Roots and constants that the length may be. */
  readonly lengths: ReadonlySet<string>;
  readonly rows: number | null;
}

interface Found extends Omit<Merged, "lengths" | "movement"> {
  movement: Merged["movement"];
  lengths: ReadonlySet<string>;
  rows: number | null;
}

function note(found: Map<string, Found>, merged: Merged): void {
  const known = found.get(merged.key);
  if (known === undefined) {
    found.set(merged.key, { ...merged });
    return;
  }
  known.lengths = new Set([...known.lengths].filter((l) => merged.lengths.has(l)));
  // What one way does not need another may.
  const { span, aligned } = merged.movement;
  const isKnown = (a: Movement["aligned"][number]): boolean =>
    known.movement.aligned.some((b) => b.lanes === a.lanes && equal(a.form, b.form));
  const further = aligned.filter((a) => !isKnown(a));
  if (further.length > 0) known.movement = { ...known.movement, aligned: [...known.movement.aligned, ...further] };
  if (known.rows !== null && merged.rows !== null && known.rows !== merged.rows)
    throw new NotShown("blocks take elements in other rows on another way", span);
  known.rows ??= merged.rows;
}

function settled(
  { key, movement, lengths, rows }: Found,
  ways: readonly { readonly keys: ReadonlySet<string>; readonly box: Box }[],
  roots: ReadonlyMap<number, string>,
): Movement {
  const [length] = lengths;
  const fail = (): never => {
    throw new NotShown("what is stored is not the same for all lengths and addresses", movement.span);
  };
  if (length === undefined || lengths.size > 1) return fail();
  const root = Number(length.slice(1));
  const name = roots.get(root);
  const isRoot = length.startsWith("@");
  for (const { keys, box } of ways) {
    const most = isRoot ? rangeOf(box.names.get(name!)!, box.ranges).high : root;
    if (!keys.has(key) && most > 0) fail();
  }
  return { ...movement, length: isRoot ? { root } : { constant: root }, rows: rows ?? Infinity };
}

function mergedStores(way: Way, roots: ReadonlyMap<number, string>, box: Box, grid: number): Merged[] {
  const groups = new Map<
    string,
    { readonly opaque: Form; readonly term: Relative; readonly stores: Map<string, StoreAt[]> }
  >();
  for (const seen of way.stores) {
    const { access, term } = seen;
    const { opaque, own } = parted(access, seen);
    const relative = relativeTo(access, term, roots, box);
    const key = `${access.buffer} ${keyOf(access.owner)} ${keyOf(opaque)} ${relative.text} ${relative.key}`;
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { opaque, term: relative, stores: new Map() }));
    const loops = seen.loops.map((l) => l.name).join();
    const all = group.stores.get(loops);
    if (all === undefined) group.stores.set(loops, [{ seen, at: own }]);
    else all.push({ seen, at: own });
  }
  return [...groups.values()].map((group) => {
    const pieces = [...group.stores.values()].map((stores) => pieceOf(stores, way));
    return chained(pieces, group.opaque, group.term, way, roots, box, grid);
  });
}

interface StoreAt {
  readonly seen: StoreSeen;
  readonly at: Form;
}

/** An index without its loops: what is opaque, and the rest. */
function parted({ index, op }: Access, { loops }: StoreSeen): { readonly opaque: Form; readonly own: Form } {
  const opaque = new Map<string, number>();
  const own = new Map<string, number>();
  const names = new Set([...loops.map((l) => l.name), "block"]);
  for (const [key, n] of index) {
    const all = factors(key);
    if (all.some((name) => names.has(name))) {
      if (all.length > 1) throw new NotShown("the distance of neighbours depends on lengths", op.span);
    } else if (all.some((name) => name.startsWith("@"))) opaque.set(key, n);
    else own.set(key, n);
  }
  return { opaque, own };
}

interface Relative {
  readonly text: string;
  readonly key: string;
  readonly sources: readonly Source[];
}

function relativeTo(store: Access, term: Term, roots: ReadonlyMap<number, string>, box: Box): Relative {
  const sources: Source[] = [];
  const numbers = new Map<string, number>();
  const text = termText(term, ({ buffer, owner, index, op }) => {
    const distance = lifted(minus(index, store.index), roots, box, op);
    const key = `${buffer} ${keyOf(owner)} ${keyOf(distance)}`;
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, (number = sources.length));
      sources.push({ buffer, owner: constantOf(owner), distance });
    }
    return `$${number}`;
  });
  return { text, key: [...numbers.keys()].join(";"), sources };
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
  readonly times: number;
  readonly count: Form;
}

/** The interval that stores in the same loops go to, which differ by where they begin. */
function pieceOf(stores: readonly StoreAt[], way: Way): Piece {
  const [{ seen, at: first }] = stores as [StoreAt];
  const { op } = seen.access;
  const starts = stores.map(({ at, seen: { access } }) => {
    const apart = minus(at, first);
    const same = [...access.index].every(([key, n]) => !isLoopKey(key, seen) || seen.access.index.get(key) === n);
    if (!isConstant(apart) || !same) throw new NotShown("stores of one loop lie apart by a length", op.span);
    return constantOf(apart);
  });
  starts.sort((a, b) => a - b);
  const digits: Digit[] = way.digits(seen).map(({ name, map, count }) => ({
    times: map === "lanes" ? 1 : (seen.access.index.get(name) ?? 0),
    count,
  }));
  const step = (starts[1] ?? 1) - starts[0]!;
  if (starts.length > 1) {
    if (step === 0 || starts.some((s, i) => s !== starts[0]! + i * step))
      throw new NotShown("an element is stored twice, or elements are left out", op.span);
    digits.push({ times: step, count: constant(starts.length) });
  }
  const counting = digits
    .filter(({ count }) => !isConstant(count) || constantOf(count) !== 1)
    .sort((a, b) => a.times - b.times);
  let total: Form = ONE;
  for (const { times, count } of counting) {
    if (!isConstant(total) || constantOf(total) !== times)
      throw new NotShown("what a loop stores has gaps, or meets itself", op.span);
    total = scaled(count, times);
  }
  const start = plus(first, constant(starts[0]!));
  return { start, end: plus(start, total), stores };
}

function isLoopKey(key: string, { loops }: StoreSeen): boolean {
  return key === "block" || loops.some((l) => l.name === key);
}

/** Pieces one behind the other as a movement. */
function chained(
  pieces: readonly Piece[],
  opaque: Form,
  { text, key: from, sources }: Relative,
  way: Way,
  roots: ReadonlyMap<number, string>,
  box: Box,
  grid: number,
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
    if (!isZero(minus(sorted[i]!.start, sorted[i - 1]!.end), ranges))
      throw new NotShown("loops over elements leave some out, or meet", op.span);
  const start = sorted[0]!.start;
  const length = minus(sorted.at(-1)!.end, start);
  const base = lifted(plus(opaque, start), roots, box, op);
  const lengths = new Set([...roots].filter(([, name]) => equal(box.names.get(name)!, length)).map(([id]) => `@${id}`));
  if (isConstant(length)) lengths.add(`#${constantOf(length)}`);
  const all = pieces.flatMap((p) => p.stores);
  const rows = grid === 1 ? null : rowsOf(all, start, way, grid);
  const aligned = all.flatMap((s) => alignments(s, way));
  const key = `${buffer} ${owner} ${keyOf(base)} ${text} ${from}`;
  return { key, movement: { buffer, owner, base, text, sources, aligned, span: op.span }, lengths, rows };
}

/** How many neighbours a block takes, in turn with the others. */
function rowsOf(stores: readonly StoreAt[], base: Form, way: Way, grid: number): number {
  let rows: number | null = null;
  for (const { seen, at } of stores) {
    const { access } = seen;
    const digits = way.digits(seen);
    const place = digits.find((d) => d.map === "blocks" || d.map === "block")!;
    const row = access.index.get(place.name) ?? 0;
    const fail = (): never => {
      throw new NotShown("which block stores an element is not followed", access.op.span);
    };
    if (row <= 0 || (rows !== null && rows !== row)) fail();
    rows = row;
    let span = 1;
    for (const { name, map, count } of digits) {
      if (name === place.name) continue;
      const times = map === "lanes" ? 1 : (access.index.get(name) ?? 0);
      if (times % (grid * row) === 0) continue;
      if (!isConstant(count)) {
        // Threads that go through the rest of a row.
        const { high } = rangeOf(count, way.ranges);
        if (times < 0 || high === Infinity) fail();
        span += times * (high - 1);
      } else span += times * (constantOf(count) - 1);
    }
    let within: Range;
    if (place.map === "blocks") within = rangeOf(minus(minus(at, base), scaled(place.low, row)), way.ranges);
    else {
      const beyond = minus(at, base);
      const rest = ((constantOf(beyond) % (grid * row)) + grid * row) % (grid * row);
      if ([...beyond].some(([key, n]) => key !== "" && n % (grid * row) !== 0)) fail();
      within = { low: rest, high: rest };
    }
    if (!(within.low >= 0 && within.high + span <= row)) fail();
  }
  return rows!;
}

/** What must be a multiple of the lanes of a vector, where nothing on this way says so. */
function alignments({ seen }: StoreAt, way: Way): { readonly form: Form; readonly lanes: number }[] {
  const obligations: { form: Form; lanes: number }[] = [];
  const check = ({ index, lanes, op }: Access): void => {
    if (lanes === 1) return;
    const opaque = new Map<string, number>();
    for (const [key, n] of index) {
      const isOpaque = factors(key).some((name) => name.startsWith("@"));
      if (n % lanes === 0) continue;
      if (!isOpaque) throw new NotShown("a vector is not where vectors begin", op.span);
      opaque.set(key, n);
    }
    const isMultiple = (f: Form): boolean => (way.multiples.get(keyOf(f)) ?? 1) % lanes === 0;
    const unknown = new Map([...opaque].filter(([key, n]) => !isMultiple(new Map([[key, n]]))));
    if (unknown.size > 0 && !isMultiple(opaque)) obligations.push({ form: opaque, lanes });
  };
  check(seen.access);
  for (const load of loadsOf(seen.term)) check(load);
  return obligations;
}
