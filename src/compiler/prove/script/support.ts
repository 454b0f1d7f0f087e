/** What the text of a kernel calls for whatever is not plain arithmetic. */
import { type Op, text } from "../../ir/module.js";
import type { Algebra, Number_ } from "../algebra.js";
import type { Frame, Machine } from "../machine.js";
import { CannotTell } from "../results.js";
import { type Held, OPAQUE, selectOf } from "../values.js";

/** A wait that is not satisfied. */
export interface Blocked {
  readonly frame: Frame;
  readonly op: Op;
  readonly buffer: number;
  readonly slot: number;
  readonly wanted: number;
  /** Rank expected to signal; -1 if not said. */
  readonly peer: number;
  readonly ready: () => boolean;
}

/** Suspends on waits of which any may go on. */
export type Running = Generator<readonly Blocked[], void>;

/** A number that decides control flow or an address. */
export function known(value: Held, what: string): number {
  if (typeof value === "number") return value;
  throw new CannotTell(`${what} depends on data`);
}

export function refuse(why: string): never {
  throw new CannotTell(why);
}

export function each(a: Held, fn: (x: Number_) => Number_): Held {
  return Array.isArray(a) ? (a as Number_[]).map(fn) : fn(a as Number_);
}

/** Lane by lane; one number goes with every lane. */
export function pairwise(a: Held, b: Held, fn: (x: Number_, y: Number_) => Number_): Held {
  if (Array.isArray(a)) {
    const x = a as Number_[];
    return Array.isArray(b) ? x.map((v, i) => fn(v, (b as Number_[])[i]!)) : x.map((v) => fn(v, b as Number_));
  }
  return Array.isArray(b) ? (b as Number_[]).map((v) => fn(a as Number_, v)) : fn(a as Number_, b as Number_);
}

/** A choice whose condition is not known, in each of some lanes. */
export function chosen(algebra: Algebra | null, lanes: number, condition: Held, a: Held, b: Held): Held {
  if (typeof condition === "number") return condition !== 0 ? a : b;
  const lane = (v: Held, i: number): Number_ => (Array.isArray(v) ? (v as Number_[])[i]! : (v as Number_));
  return Array.from({ length: lanes }, (_, i) => selectOf(algebra, lane(condition, i), lane(a, i), lane(b, i)));
}

/** One element of a rank's memory; what nobody has written has a name of its own. */
export function elementOf(machine: Machine, memory: Number_[], buffer: number, owner: number, index: number): Number_ {
  return memory[index] ?? unwritten(machine, buffer, owner, index);
}

export function unwritten({ algebra, kernel }: Machine, buffer: number, owner: number, index: number): Number_ {
  return algebra?.poison(kernel.buffers[buffer]!.name, owner, index) ?? OPAQUE;
}

/** Neighbouring elements. */
export function lanesAt(
  machine: Machine,
  memory: Number_[],
  buffer: number,
  owner: number,
  index: number,
  lanes: number,
): Held {
  const held: Number_[] = [];
  for (let i = index; i < index + lanes; i++) held.push(memory[i] ?? unwritten(machine, buffer, owner, i));
  return held;
}

export function put(memory: Number_[], index: number, held: Held, lanes: number): void {
  if (Array.isArray(held)) for (let i = 0; i < lanes; i++) memory[index + i] = (held as Number_[])[i]!;
  else for (let i = 0; i < lanes; i++) memory[index + i] = held as Number_;
}

/** Says why an access goes astray: its rank is none, or its element is not in the buffer, or not aligned. */
export function outside(
  machine: Machine,
  f: Frame,
  op: Op,
  buffer: number,
  owner: number,
  indices: readonly number[],
  lanes: number,
): never {
  const { name } = machine.kernel.buffers[buffer]!;
  const shape = machine.shapes[buffer]!;
  const length = machine.lengths[buffer]!;
  if (!(owner >= 0 && owner < machine.kernel.world))
    machine.fail("bounds", f, op, `a ${op.name} of '${name}' goes to rank ${owner} of ${machine.kernel.world}`);
  let index = indices.length === 1 ? indices[0]! : 0;
  if (indices.length > 1)
    indices.forEach((i, d) => {
      if (!(i >= 0 && i < shape[d]!))
        machine.fail("bounds", f, op, `index ${i} of dimension ${d} lies outside '${name}', which has ${shape[d]}`);
      index = index * shape[d]! + i;
    });
  if (!(index >= 0 && index <= length - lanes))
    machine.fail("bounds", f, op, `a ${op.name} of element ${index} lies outside '${name}', which has ${length}`);
  machine.fail("bounds", f, op, `a ${op.name} of ${lanes} elements of '${name}' at ${index} is not aligned`);
}

export function signal(
  machine: Machine,
  f: Frame,
  op: Op,
  buffer: number,
  name: string,
  owner: number,
  slot: number,
  amount: number,
): void {
  const memory = machine.memory[buffer]![owner]!;
  memory[slot] = text(op, "mode") === "add" ? ((memory[slot] as number) + amount) >>> 0 : amount;
  machine.trace?.signal(machine.strandOf(f), machine.trace.flag(name, owner, slot), amount, op);
}

export function* wait(
  machine: Machine,
  f: Frame,
  op: Op,
  buffer: number,
  name: string,
  slot: number,
  wanted: number,
  peer: number,
): Running {
  const memory = machine.memory[buffer]![f.rank]!;
  const ready = (): boolean => (((memory[slot] as number) - wanted) | 0) >= 0;
  while (!ready()) yield [{ frame: f, op, buffer, slot, wanted, peer, ready }];
  machine.trace?.wait(machine.strandOf(f), machine.trace.flag(name, f.rank, slot), wanted, op);
}

/** Runs coroutines to their ends, each as far as it goes. */
export function* inTurns(all: readonly Running[]): Running {
  let running = all.map((task): { task: Running; blocked: readonly Blocked[] } => ({ task, blocked: [] }));
  while (running.length > 0) {
    let went = false;
    const rest: typeof running = [];
    for (const r of running) {
      if (r.blocked.length > 0 && !r.blocked.some((b) => b.ready())) {
        rest.push(r);
        continue;
      }
      went = true;
      const next = r.task.next();
      if (next.done !== true) rest.push({ task: r.task, blocked: next.value });
    }
    running = rest;
    if (!went && running.length > 0) yield running.flatMap((r) => r.blocked);
  }
}
