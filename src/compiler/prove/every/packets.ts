/**
 * Packets as elements of memory. What lies in slots as packets of so many lanes is a buffer of its own, with as many elements for each
 * slot; packets of other lanes in the same slots are another. Where slots meet is asked of slots.
 */
import { type Buffer, type Kernel, type Op, text } from "../../ir/module.js";
import { lanesOf, scalarOf, type Type } from "../../ir/types.js";
import type { Span } from "../../source.js";
import { DTYPES } from "../../types/dtype.js";
import { demand, NotShown } from "./conditions.js";
import { equal } from "./forms.js";
import type { Comparisons } from "./larger.js";
import type { Lengths } from "./lengths.js";
import type { Touch } from "./order.js";
import { type Term, termText } from "./terms.js";

/** What is stored where packets are taken: their slots are empty from then on. */
export const EMPTY: Term = { text: "taken", of: [] };
/** That in the text of a movement. */
export const TAKEN = termText(EMPTY, () => "");

/** What packets are, as far as it must be the same where they are stored and where they are taken. */
export interface Kind {
  readonly lanes: number;
  readonly dtype: string;
  readonly format: string;
}

/** Bytes of elements that a slot has room for, by the format of its packets. */
const ROOM = { epoch: 8, inverted: 16 } as const;

/** @throws NotShown where elements of a type have no room in a slot */
export function kindOf(op: Op, type: Type, { dtype, shape }: Buffer): Kind {
  const kind = { lanes: lanesOf(type), dtype: scalarOf(type), format: text(op, "format") };
  const isRoomy = kind.lanes * DTYPES[dtype].bytes <= ROOM[kind.format as keyof typeof ROOM];
  if (kind.dtype !== dtype || kind.lanes > (shape[1] as number) || !isRoomy)
    throw new NotShown("a packet is of something else than its slot", op.span);
  return kind;
}

const BETWEEN = "/";

/** The name of what lies in slots as packets of one kind. */
export function packetsOf(buffer: string, { lanes, dtype, format }: Kind): string {
  return [buffer, lanes, dtype, format].join(BETWEEN);
}

const kinds = new Map<string, ({ readonly buffer: string } & Kind) | null>();

/** Which packets a name is of; null where it is a buffer of elements. */
export function packetsAt(name: string): ({ readonly buffer: string } & Kind) | null {
  let known = kinds.get(name);
  if (known === undefined) {
    const [buffer, lanes, dtype, format] = name.split(BETWEEN);
    known = lanes === undefined ? null : { buffer: buffer!, lanes: Number(lanes), dtype: dtype!, format: format! };
    kinds.set(name, known);
  }
  return known;
}

/** The buffer that elements or packets lie in. */
export function bufferAt(kernel: Kernel, name: string): Buffer {
  const buffer = packetsAt(name)?.buffer ?? name;
  return kernel.buffers.find((b) => b.name === buffer)!;
}

const packetsOfOps = { packet_store: new WeakMap<Op, ReadonlySet<string>>(), packet_load: new WeakMap<Op, ReadonlySet<string>>() }; // prettier-ignore

/** Buffers of packets that an op stores to, or takes from, by the names of their even copies. */
export function packetsIn(op: Op, name: "packet_store" | "packet_load"): ReadonlySet<string> {
  const known = packetsOfOps[name].get(op);
  if (known !== undefined) return known;
  const all = new Set<string>();
  const visit = (o: Op): void => {
    if (o.name === name) all.add(text(o, "even"));
    o.regions.forEach((r) => r.ops.forEach(visit));
  };
  visit(op);
  packetsOfOps[name].set(op, all);
  return all;
}

/** Of packets, what their touches add. */
export interface Packets {
  /** The copy and the kind. */
  readonly name: string;
  readonly areTaken: boolean;
}

/** The slots that an interval of packets has. @throws NotShown where it begins or ends within one */
export function slotsOf(
  { start, end }: Pick<Touch, "start" | "end">,
  lanes: number,
  lengths: Lengths,
  span: Span,
): Pick<Touch, "start" | "end"> {
  const [from, to] = [lengths.slotAt(start, lanes), lengths.slotAt(end, lanes)];
  if (from === null || to === null) throw new NotShown("packets begin within a slot", span);
  return { start: from, end: to };
}

/** Checks that in each launch each slot is stored to at most once, and that what is stored is taken, and nothing else. */
export function checkTaken(touches: readonly Touch[], ends: Comparisons): void {
  const checked: Touch[][] = [];
  for (const launch of new Set(touches.flatMap((t) => t.of.units.map((unit) => unit.launch)))) {
    const all = touches.filter((t) => t.of.units.some((unit) => unit.launch === launch));
    if (checked.some((other) => other.length === all.length && other.every((t, i) => t === all[i]))) continue;
    checked.push(all);
    checkLaunch(all, ends);
  }
}

function checkLaunch(all: readonly Touch[], ends: Comparisons): void {
  const [stored, taken] = [all.filter((t) => !t.packets!.areTaken), all.filter((t) => t.packets!.areTaken)];
  const isSame = (a: Touch, b: Touch): boolean =>
    a.packets!.name === b.packets!.name && equal(a.start, b.start) && equal(a.end, b.end);
  for (const t of taken)
    demand("taken", stored.filter((s) => isSame(s, t)).length === 1, "packets are waited for that nobody stores", t.movement.span); // prettier-ignore
  for (const s of stored)
    demand("taken", taken.filter((t) => isSame(s, t)).length === 1, "packets are stored that nobody takes", s.movement.span); // prettier-ignore
  const sorted = [...stored].sort((a, b) => (ends.isAtMost(b.start, a.start) ? 1 : -1));
  for (const [i, s] of sorted.entries()) {
    const before = sorted[i - 1];
    const isBehind = before === undefined || ends.isAtMost(before.end, s.start);
    demand("taken", isBehind, "a slot has several packets in one launch", s.movement.span);
  }
}
