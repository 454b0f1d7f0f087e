/** What a stretch comes to, all its ways together: movements from intervals to an interval. */
import { bufferOf, type Kernel, type Op } from "../../ir/module.js";
import { Abstraction, DEPTHS, valuesOf, wholeVectors } from "./abstraction.js";
import { type Expression, type Expressions, isRoot } from "./expressions.js";
import {
  type Box,
  boxOf,
  constant,
  equal,
  explore,
  type Form,
  keyOf,
  minus,
  parameter,
  product,
  quotient,
  rangeOf,
  scaled,
  substituted,
  Undecided,
} from "./forms.js";
import { keyOfCounted, keyOfPlace, renamedCounted, renamedPlace } from "./places.js";
import { ANY_BLOCK, type Merged, mergedStores, type Movement } from "./pieces.js";
import { demand, NotShown } from "./conditions.js";
import { packetsIn } from "./packets.js";
import type { Stretch } from "./stretches.js";
import { eitherTaker } from "./takers.js";
import type { Part } from "./unrolled.js";
import type { Decisions } from "./choices.js";
import { GRID, Way } from "./ways.js";

/** Ways that are looked at for one stretch, at most. */
const MOST_WAYS = 3000;

/** The movements of stretches: of each abstraction once. */
export class Movements {
  /** By key; null where an abstraction is too coarse. */
  private readonly known = new Map<string, readonly Movement[] | null>();
  /** By shape of a part, the first of the depths that is worth it. */
  private readonly depths = new Map<string, number>();

  constructor(
    private readonly kernel: Kernel,
    private readonly expressions: Expressions,
    /** An input, or scratch, of which any block may take any element; null where there is none. */
    private readonly ofAnyBlock: string | null = null,
  ) {}

  /** Those of a stretch, on any number of blocks. @throws NotShown */
  of({ parts }: Stretch): readonly Movement[] {
    return parts
      .flatMap(separated)
      .flatMap((part, i) =>
        this.ofPart(part).map((m) => (m.iterations === undefined ? m : { ...m, iterations: `${i} ${m.iterations}` })),
      )
      .map((m) => {
        const isOfAny = m.sources.some((s) => s.buffer === this.ofAnyBlock);
        return isOfAny ? { ...m, rows: ANY_BLOCK, takers: m.takers.map(() => null) } : m;
      });
  }

  private ofPart(part: Part): readonly Movement[] {
    for (let depth = this.depths.get(part.shape) ?? 0; ; depth++) {
      const abstraction = new Abstraction(this.expressions, part, DEPTHS[depth]!, this.kernel.world);
      const isLast = depth === DEPTHS.length - 1;
      let movements = this.known.get(abstraction.key);
      if (movements === undefined) {
        movements = isLast ? this.movements(abstraction) : this.unlessTooCoarse(abstraction, depth === 0);
        this.known.set(abstraction.key, movements);
        // What is too coarse once is for most that have the same ops.
        if (movements === null) this.depths.set(part.shape, depth + 1);
      }
      if (movements !== null) return movements.map((m) => abstraction.movement(m));
    }
  }

  private movements({ part }: Abstraction): readonly Movement[] {
    return movementsOf(this.kernel, this.expressions, part);
  }

  /** Null where more is asked of unknowns than is known of them. */
  private unlessTooCoarse(abstraction: Abstraction, areApart: boolean): readonly Movement[] | null {
    try {
      const movements = this.movements(abstraction);
      // Where elements lie that are counted by rows goes by lengths that are one.
      return !areApart || movements.every(({ aligned, turns }) => aligned.length === 0 && turns.length === 0)
        ? movements
        : null;
    } catch (e) {
      if (e instanceof NotShown) return null;
      throw e;
    }
  }
}

/** How many lanes packets have, by the buffers of those that ops touch. */
function lanesOfPackets(kernel: Kernel, ops: readonly Op[]): ReadonlySet<number> {
  const names = ops.flatMap((op) => [...packetsIn(op, "packet_store"), ...packetsIn(op, "packet_load")]);
  return new Set(names.map((name) => bufferOf(kernel, name).shape[1] as number));
}

/** How many packets of so many lanes a length fills, how many elements those are, and how many are left, as numbers of expressions. */
function inPackets(expressions: Expressions, id: number, lanes: number): Record<"packets" | "filled" | "left", number> {
  const [length, by] = [expressions.numbered(id), expressions.constant(lanes)];
  const packets = expressions.apply("div", length, by);
  const filled = expressions.apply("mul", packets, by);
  return { packets: packets.id, filled: filled.id, left: expressions.apply("sub", length, filled).id };
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
  const whole = rootsOf(part);
  const roots = new Map(whole);
  const lanes = [...lanesOfPackets(kernel, part.ops)];
  const found = new Map<string, Found>();
  const ways: WaySeen[] = [];
  const span = part.ops[0]!.span;
  let left = MOST_WAYS;
  const look = (given: Box): void => {
    const names = new Map(given.names);
    for (const [id, name] of whole)
      for (const l of lanes) {
        const { packets, filled, left } = inPackets(expressions, id, l);
        const length = given.names.get(name)!;
        const [many, by] = [quotient(length, constant(l), given.ranges), constant(l)];
        for (const [of, form] of [
          [packets, many],
          [filled, product(many, by)],
          [left, minus(length, product(many, by))],
        ] as const) {
          roots.set(of, `L${of}`);
          names.set(`L${of}`, form);
        }
      }
    const box = { ranges: given.ranges, names };
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
      const beside = besideEachOther(merged);
      for (const m of merged) note(found, m, [beside.get(m) ?? NONE]);
    }
  };
  try {
    const { ranges } = boxOf(whole.values());
    const names = [...whole].map(([id, name]): [string, Form] => {
      return [name, scaled(parameter(name), wholeVectors(expressions, expressions.numbered(id)))];
    });
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
  if (lanes.length > 0) bringTogether(found, ways, roots);
  const together = iterationsOf(found);
  return [...found.values()].map((f) => {
    const iterations = together.get(f.key);
    return { ...settled(f, ways, roots), ...(iterations === undefined ? {} : { iterations }) };
  });
}

const NONE: ReadonlySet<string> = new Set();

/** Keys of those that the same iterations store as each, on one way; nothing where none reads what another stores to. */
function besideEachOther(merged: readonly Merged[]): ReadonlyMap<Merged, ReadonlySet<string>> {
  const stored = new Set(merged.map((m) => m.movement.buffer));
  if (!merged.some((m) => m.movement.sources.some((s) => stored.has(s.buffer)))) return new Map();
  const groups = new Map<string | null, Set<string>>();
  for (const { iterations, key } of merged)
    if (iterations !== null) groups.set(iterations, (groups.get(iterations) ?? new Set()).add(key));
  return new Map(merged.map((m) => [m, groups.get(m.iterations) ?? NONE]));
}

/** By key, a text for movements that the same iterations store on all ways; of those that there are several of. */
function iterationsOf(found: ReadonlyMap<string, Found>): Map<string, string> {
  const texts = new Map<string, string>();
  const isBeside = (a: string, b: string): boolean => found.get(a)?.beside.every((keys) => keys.has(b)) === true;
  for (const { key, beside } of found.values()) {
    const all = [...(beside[0] ?? NONE)].filter((other) => isBeside(key, other) && isBeside(other, key)).sort();
    if (all.length > 1) texts.set(key, all[0]!);
  }
  return texts;
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

interface WaySeen {
  readonly keys: Set<string>;
  readonly box: Box;
}

/**
 * Where lengths are numbers in a box, what lies behind them lies at a number. What is found at numbers alone is what lies behind a length
 * elsewhere, if that comes to the same wherever it was found.
 */
function bringTogether(found: Map<string, Found>, ways: readonly WaySeen[], roots: ReadonlyMap<number, string>): void {
  const at = ({ movement: m }: Found, { names }: Box): string => {
    const by = new Map([...roots].map(([id, name]) => [`@${id}`, names.get(name)!]));
    const known = (f: Form): Form => substituted(f, by);
    const sources = m.sources.map((s) => `${s.buffer} ${s.owner} ${keyOfPlace(renamedPlace(s.place, known))}`);
    const turns = m.turns.map((c) => keyOfCounted(renamedCounted(c, known)));
    return `${m.buffer} ${m.owner} ${keyOf(known(m.base))} ${turns.join()} ${m.text} ${sources.join(";")}`;
  };
  for (const [key, numbered] of [...found]) {
    const its = ways.filter((w) => w.keys.has(key));
    const isSame = (of: Found): boolean =>
      its.every((w) => !w.keys.has(of.key) && at(of, w.box) === at(numbered, w.box));
    const same = [...found.values()].find(
      (f) => f !== numbered && f.movement.text === numbered.movement.text && isSame(f),
    );
    if (same === undefined) continue;
    found.delete(key);
    note(found, { ...numbered, key: same.key }, numbered.beside);
    for (const one of found.values())
      one.beside = one.beside.map((keys) => (keys.has(key) ? new Set([...keys].map((k) => (k === key ? same.key : k))) : keys)); // prettier-ignore
    for (const { keys } of its) if (keys.delete(key)) keys.add(same.key);
  }
}

interface Found extends Omit<Merged, "lengths" | "movement"> {
  movement: Merged["movement"];
  lengths: ReadonlySet<string>;
  rows: number | null;
  /** On each way that has this one, keys of the movements that the same iterations store. */
  beside: ReadonlySet<string>[];
}

function note(found: Map<string, Found>, merged: Merged, beside: readonly ReadonlySet<string>[]): void {
  const known = found.get(merged.key);
  if (known === undefined) {
    found.set(merged.key, { ...merged, beside: [...beside] });
    return;
  }
  known.beside.push(...beside);
  known.lengths = new Set([...known.lengths].filter((l) => merged.lengths.has(l)));
  // What one way does not need another may.
  const { span, aligned, covered, divisors } = merged.movement;
  const isKnown = (a: Movement["aligned"][number]): boolean =>
    known.movement.aligned.some((b) => b.lanes === a.lanes && equal(a.form, b.form));
  const further = aligned.filter((a) => !isKnown(a));
  if (further.length > 0) known.movement = { ...known.movement, aligned: [...known.movement.aligned, ...further] };
  const limits = covered.filter((a) => !known.movement.covered.some((b) => equal(a, b)));
  if (limits.length > 0) known.movement = { ...known.movement, covered: [...known.movement.covered, ...limits] };
  const others = divisors.filter((a) => !known.movement.divisors.some((b) => equal(a, b)));
  if (others.length > 0) known.movement = { ...known.movement, divisors: [...known.movement.divisors, ...others] };
  const { takers } = known.movement;
  known.movement = { ...known.movement, takers: takers.map((t, i) => eitherTaker(t, merged.movement.takers[i]!)) };
  const isAlike = known.rows === null || merged.rows === null || known.rows === merged.rows;
  demand("rows", isAlike, "blocks take elements in other rows on another way", span);
  known.rows ??= merged.rows;
}

function settled(
  { key, movement, lengths, rows }: Found,
  ways: readonly WaySeen[],
  roots: ReadonlyMap<number, string>,
): Movement {
  // Of several that are right, as packets that leave nothing are as long as what they are filled with, any will do.
  for (const length of lengths) {
    const root = Number(length.slice(1));
    const isRoot = length.startsWith("@");
    const most = ({ names, ranges }: Box): number =>
      isRoot ? rangeOf(names.get(roots.get(root)!)!, ranges).high : root;
    if (ways.every(({ keys, box }) => keys.has(key) || most(box) <= 0))
      return { ...movement, length: isRoot ? { root } : { constant: root }, rows: rows ?? Infinity };
  }
  throw new NotShown("what is stored is not the same for all lengths and addresses", movement.span);
}
