/** What a stretch comes to, all its ways together: movements from intervals to an interval. */
import { type Kernel, memoryOperands, type Op, type Value } from "../../ir/module.js";
import { printType } from "../../ir/types.js";
import { type Expression, type Expressions, isAtom, isNeverNegative, isRoot, withoutLimit } from "./expressions.js";
import {
  type Box,
  boxOf,
  constant,
  equal,
  explore,
  type Form,
  parameter,
  rangeOf,
  substituted,
  Undecided,
} from "./forms.js";
import { renamedPlace } from "./places.js";
import { type Merged, mergedStores, type Movement } from "./pieces.js";
import { demand, NotShown } from "./conditions.js";
import { type Stretch } from "./stretches.js";
import type { Part } from "./unrolled.js";
import { type Decisions, GRID, Way } from "./ways.js";

/** Ways that are looked at for one stretch, at most. */
const MOST_WAYS = 3000;

/** What is not looked into in a part: lengths, by the numbers of their expressions, and ranks whose memory is touched. */
interface Unseen {
  readonly atoms: readonly number[];
  readonly peers: readonly number[];
}

/**
 * The movements of stretches. What is shown of one holds for all that have the same ops and differ in lengths and peers that are
 * not looked into: those of other ranks and other iterations.
 */
export class Movements {
  private readonly known = new Map<string, Unseen & { readonly movements: readonly Movement[] }>();

  constructor(
    private readonly kernel: Kernel,
    private readonly expressions: Expressions,
  ) {}

  /** Those of a stretch, on any number of blocks. @throws NotShown */
  of({ parts }: Stretch): readonly Movement[] {
    return parts.flatMap(separated).flatMap((part) => this.ofPart(part));
  }

  private ofPart(part: Part): readonly Movement[] {
    const { text, atoms, peers } = this.abstracted(part);
    const key = `${part.shape}: ${text}`;
    const found = this.known.get(key);
    if (found === undefined) {
      const movements = movementsOf(this.kernel, this.expressions, part);
      this.known.set(key, { movements, atoms, peers });
      return movements;
    }
    const by = new Map(found.atoms.map((id, i) => [`@${id}`, parameter(`@${atoms[i]}`)]));
    const renamed = (f: Form): Form => substituted(f, by);
    const ownerOf = (owner: number): number => peers[found.peers.indexOf(owner)] ?? owner;
    return found.movements.map((m) => ({
      ...m,
      owner: ownerOf(m.owner),
      base: renamed(m.base),
      length: "root" in m.length ? { root: atoms[found.atoms.indexOf(m.length.root)]! } : m.length,
      sources: m.sources.map((s) => ({ ...s, owner: ownerOf(s.owner), place: renamedPlace(s.place, renamed) })),
      aligned: m.aligned.map(({ form, lanes }) => ({ form: renamed(form), lanes })),
      divisors: m.divisors.map(renamed),
    }));
  }

  /**
   * The lengths of a stretch as text, and the data made outside of it, with numbers for what is not looked into, and that by number.
   */
  private abstracted({ ops, values, makers }: Part): Unseen & { readonly text: string } {
    const atoms: number[] = [];
    const peers: number[] = [];
    const numbers = new Map<number, number>();
    let turn: number | null = null;
    const write = (e: Expression): string => {
      if (isRoot(e) || isAtom(e)) {
        let number = numbers.get(e.id);
        if (number === undefined) numbers.set(e.id, (number = atoms.push(e.id) - 1));
        const name = `${isRoot(e) ? "L" : isNeverNegative(e) ? "A" : "Z"}${number}`;
        const known = withoutLimit(e);
        return known === e ? name : `${name}=${write(known)}`;
      }
      if (e.kind === "constant") return String(e.value);
      if (e.kind !== "apply") return e.name;
      const rotation = rotationOf(e);
      if (rotation === null) return `${e.fn}(${e.of.map(write).join()})`;
      // All blocks go through all peers: with which they begin has no part in what comes out.
      turn ??= rotation.by;
      return `turn ${(((rotation.by - turn) % rotation.of) + rotation.of) % rotation.of} of ${rotation.of}`;
    };
    const made = new Map<Value, number>();
    /** Data that one iteration or rank makes is not that of another: what it is made of is written, too. */
    const writeValue = (v: Value): string => {
      const expression = values.get(v);
      if (expression !== undefined) return write(expression);
      const maker = makers.get(v);
      if (maker === undefined) return "";
      const known = made.get(v);
      if (known !== undefined) return `M${known}`;
      const number = made.size;
      made.set(v, number);
      const attributes = Object.entries(maker.attributes).map(([name, value]) => `${name} ${String(value)}`);
      const of = maker.operands.map(writeValue).join();
      return `M${number}=${maker.name} ${attributes.join(" ")} ${printType(v.type)}(${of})`;
    };
    const all = [...valuesOf(ops)];
    const texts = all.map(writeValue);
    // Where all peers are gone through in turn, their numbers come out of that.
    if (turn === null) {
      const owners = ownersOf(ops);
      const isKnown = [...owners].every((v) => values.get(v)?.kind === "constant");
      all.forEach((v, i) => {
        const e = isKnown && owners.has(v) ? values.get(v) : undefined;
        if (e?.kind !== "constant") return;
        if (!peers.includes(e.value)) peers.push(e.value);
        texts[i] = `P${peers.indexOf(e.value)}`;
      });
    }
    return { text: texts.join(";"), atoms, peers };
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
  return isSum(e.of[0]!) && blocks === 1 && by >= 0 ? { by, of: e.of[1]!.value } : null;
}

/** Loops of one length after loops of another are followed by themselves: what they store may not meet, see `order.ts`. */
function separated(part: Part): readonly Part[] {
  const groups: { readonly lengths: Set<number>; readonly ops: Op[] }[] = [];
  for (const op of part.ops) {
    const lengths = lengthsOfLoops(op, part);
    const isAlike = (g: { readonly lengths: ReadonlySet<number> }): boolean =>
      lengths.size === 0 ? g.lengths.size === 0 : [...lengths].some((id) => g.lengths.has(id));
    const alike = groups.filter(isAlike);
    const group = { lengths: new Set([...alike.flatMap((g) => [...g.lengths]), ...lengths]), ops: [op] };
    for (const g of alike) groups.splice(groups.indexOf(g), 1);
    groups.push({ ...group, ops: [...alike.flatMap((g) => g.ops), op] });
  }
  if (groups.length === 1) return [part];
  return groups.map(({ ops }) => ({
    ...part,
    ops,
    shape: `${part.shape} ${ops.map((op) => part.ops.indexOf(op)).join()}`,
  }));
}

/** Roots in the bounds of loops in an op. */
function lengthsOfLoops(op: Op, { values }: Part): Set<number> {
  const lengths = new Set<number>();
  const visit = (e: Expression): void => {
    if (isRoot(e)) lengths.add(e.id);
    else if (e.kind === "apply") e.of.forEach(visit);
  };
  const look = (o: Op): void => {
    for (const v of o.name === "for" ? o.operands : []) {
      const e = values.get(v);
      if (e !== undefined) visit(e);
    }
    o.regions.forEach((r) => r.ops.forEach(look));
  };
  look(op);
  return lengths;
}

function movementsOf(kernel: Kernel, expressions: Expressions, part: Part): readonly Movement[] {
  const roots = rootsOf(part);
  const found = new Map<string, Found>();
  const ways: { readonly keys: ReadonlySet<string>; readonly box: Box }[] = [];
  const span = part.ops[0]!.span;
  let left = MOST_WAYS;
  const look = (box: Box): void => {
    const open: Decisions[] = [new Map()];
    const leave = (decisions: Decisions): void => {
      left--;
      open.push(decisions);
    };
    const seen: { keys: Set<string>; merged: Merged[] }[] = [];
    for (let decisions = open.pop(); decisions !== undefined; decisions = open.pop()) {
      if (left-- <= 0) throw new NotShown("there are too many ways through a loop", span);
      const way = new Way(kernel, expressions, part, box, roots, decisions, leave);
      const merged = mergedStores(way, roots, box);
      seen.push({ keys: new Set(merged.map((m) => m.key)), merged });
    }
    for (const { keys, merged } of seen) {
      ways.push({ keys, box });
      for (const m of merged) note(found, m);
    }
  };
  try {
    const { ranges, names } = boxOf(roots.values());
    const blocks = kernel.maxBlocks === 1 ? constant(1) : parameter(GRID);
    const box = {
      ranges: kernel.maxBlocks === 1 ? ranges : new Map([...ranges, [GRID, { low: 1, high: Infinity }]]),
      names: new Map([...names, [GRID, blocks]]),
    };
    if (!explore(box, MOST_WAYS, look)) throw new NotShown("there are too many ways through a loop", span);
  } catch (e) {
    if (e instanceof Undecided) throw new NotShown("lengths are compared in a way that is not followed", span);
    throw e;
  }
  return [...found.values()].map((f) => settled(f, ways, roots));
}

/** Lengths in a stretch: what is held against 0 from below, which bounds of loops are. */
function rootsOf({ ops, values }: Part): Map<number, string> {
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

/**
 * Values that say whose memory is touched, and nothing else. None where some rank that is touched comes from elsewhere, from a value
 * that is an index or a bound, too, or from a loop inside: its number could be the one of another, and tell no more which of them it is.
 */
function ownersOf(ops: readonly Op[]): ReadonlySet<Value> {
  const [owners, others, peers] = [new Set<Value>(), new Set<Value>(), new Set<Value>()];
  const visit = (op: Op): void => {
    const { peer } = op.name === "load" || op.name === "store" ? memoryOperands(op) : { peer: null };
    if (peer !== null) peers.add(peer);
    // One value may be the peer and the index of one access.
    for (const v of op.operands)
      (v === peer && op.operands.indexOf(v) === op.operands.lastIndexOf(v) ? owners : others).add(v);
    op.regions.forEach((r) => r.ops.forEach(visit));
  };
  ops.forEach(visit);
  for (const v of others) owners.delete(v);
  return [...peers].every((v) => owners.has(v)) ? owners : new Set();
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
  const { span, aligned, divisors } = merged.movement;
  const isKnown = (a: Movement["aligned"][number]): boolean =>
    known.movement.aligned.some((b) => b.lanes === a.lanes && equal(a.form, b.form));
  const further = aligned.filter((a) => !isKnown(a));
  if (further.length > 0) known.movement = { ...known.movement, aligned: [...known.movement.aligned, ...further] };
  const others = divisors.filter((a) => !known.movement.divisors.some((b) => equal(a, b)));
  if (others.length > 0) known.movement = { ...known.movement, divisors: [...known.movement.divisors, ...others] };
  const isAlike = known.rows === null || merged.rows === null || known.rows === merged.rows;
  demand("rows", isAlike, "blocks take elements in other rows on another way", span);
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
