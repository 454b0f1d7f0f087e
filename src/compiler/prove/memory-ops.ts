/** Steps of the ops that touch global memory and flags, with their traces. */
import { bufferOf, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { lanesOf } from "../ir/types.js";
import type { Frame, Machine } from "./machine.js";
import type { Program, Step, WaitingStep } from "./program.js";
import { CannotTell } from "./results.js";
import type { Number_ } from "./algebra.js";
import { READ, WRITE } from "./trace.js";
import { type Held, OPAQUE } from "./values.js";

export function memoryStep(p: Program, op: Op): Step | null {
  switch (op.name) {
    case "load":
      return loadStep(p, op);
    case "store":
      return storeStep(p, op);
    case "signal":
      return signalStep(p, op);
    case "block_sync": {
      const { trace } = p.machine;
      return (f) => {
        if (f.strand !== null) throw new CannotTell("a block synchronises inside a loop over threads");
        trace?.endPhase(trace.entity(f.rank, f.block));
      };
    }
    default:
      return null;
  }
}

/** Where an access goes. The owner is kept here, not given back, since accesses are many. */
interface Target {
  owner: number;
  /** The element's number. */
  readonly index: (f: Frame) => number;
}

/** Computes and checks where an access of `lanes` elements goes. */
function target(
  p: Program,
  op: Op,
  buffer: number,
  peer: Value | null,
  indices: readonly Value[],
  lanes: number,
): Target {
  const { machine } = p;
  const length = machine.lengths[buffer]!;
  const shape = machine.shapes[buffer]!;
  const { name } = machine.kernel.buffers[buffer]!;
  const peerNumber = peer === null ? null : p.number(peer);
  const numbers = indices.map((v) => p.number(v));
  const whose = `the rank that a ${op.name} goes to`;
  const where = `the address of a ${op.name}`;
  const single = numbers.length === 1 ? numbers[0]! : -1;
  const target: Target = { owner: -1, index: locate };
  return target;

  function locate(f: Frame): number {
    const owner = peerNumber === null ? f.rank : machine.known(f.env[peerNumber]!, whose);
    if (!(owner >= 0 && owner < machine.kernel.world))
      machine.fail("bounds", f, op, `a ${op.name} of '${name}' goes to rank ${owner} of ${machine.kernel.world}`);
    let index = 0;
    if (single >= 0) index = machine.known(f.env[single]!, where);
    else
      for (let d = 0; d < numbers.length; d++) {
        const i = machine.known(f.env[numbers[d]!]!, where);
        if (!(i >= 0 && i < shape[d]!))
          machine.fail("bounds", f, op, `index ${i} of dimension ${d} lies outside '${name}', which has ${shape[d]}`);
        index = index * shape[d]! + i;
      }
    if (!(index >= 0 && index <= length - lanes))
      machine.fail("bounds", f, op, `a ${op.name} of element ${index} lies outside '${name}', which has ${length}`);
    if (lanes > 1 && index % lanes !== 0)
      machine.fail("bounds", f, op, `a ${op.name} of ${lanes} elements of '${name}' at ${index} is not aligned`);
    target.owner = owner;
    return index;
  }
}

/** One element of a rank's memory; what nobody has written has a name of its own. */
export function elementOf(p: Program, memory: Number_[], buffer: number, owner: number, index: number): Number_ {
  return memory[index] ?? p.machine.algebra?.poison(p.kernel.buffers[buffer]!.name, owner, index) ?? OPAQUE;
}

/** Whether what a buffer holds decides what happens, so that its values count even where only the order is asked for. */
function carries({ inputs }: Machine, buffer: string): boolean {
  return inputs.steers(buffer) || inputs.carries(buffer);
}

function loadStep(p: Program, op: Op): Step {
  const { machine } = p;
  const buffer = machine.bufferNumber(text(op, "buffer"));
  const { role, name } = bufferOf(p.kernel, text(op, "buffer"));
  const { peer, indices } = memoryOperands(op);
  const result = op.results[0]!;
  const to = p.number(result);
  const lanes = lanesOf(result.type);
  const at = target(p, op, buffer, peer, indices, lanes);
  const isShared = role === "shared";
  const isRegister = role === "register"; // nobody else sees it: a value, and no access
  const hasValue = machine.algebra !== null || role === "state" || isRegister || carries(machine, name);
  if (role === "signal" || role === "fragment")
    return () => {
      throw new CannotTell(`a load of '${name}' reads a flag without waiting for it`);
    };
  return (f) => {
    const index = at.index(f);
    const { owner } = at;
    machine.executed.add(op);
    if (isShared) machine.noteShared(f, op, buffer, index, lanes, READ);
    else if (!isRegister)
      machine.trace?.access(machine.strandOf(f), op, machine.memoryOf(buffer, owner), index, lanes, READ);
    let held: Held = OPAQUE;
    if (hasValue) {
      const memory = isShared || isRegister ? f.own[buffer]! : machine.memory[buffer]![owner]!;
      held =
        lanes === 1
          ? elementOf(p, memory, buffer, owner, index)
          : Array.from({ length: lanes }, (_, i) => elementOf(p, memory, buffer, owner, index + i));
    }
    f.env[to] = held;
  };
}

function storeStep(p: Program, op: Op): Step {
  const { machine } = p;
  const buffer = machine.bufferNumber(text(op, "buffer"));
  const { role, name } = bufferOf(p.kernel, text(op, "buffer"));
  const { value, peer, indices } = memoryOperands(op);
  const from = p.number(value!);
  const lanes = lanesOf(value!.type);
  const at = target(p, op, buffer, peer, indices, lanes);
  const isShared = role === "shared";
  const isRegister = role === "register"; // nobody else sees it: a value, and no access
  const hasValue = machine.algebra !== null || role === "state" || isRegister || carries(machine, name);
  if (role === "signal" || role === "fragment")
    return () => {
      throw new CannotTell(`a plain store sets the flag '${name}'`);
    };
  return (f) => {
    const index = at.index(f);
    const { owner } = at;
    machine.executed.add(op);
    if (isShared) machine.noteShared(f, op, buffer, index, lanes, WRITE);
    else if (!isRegister)
      machine.trace?.access(machine.strandOf(f), op, machine.memoryOf(buffer, owner), index, lanes, WRITE);
    if (!hasValue) return;
    const memory = isShared || isRegister ? f.own[buffer]! : machine.memory[buffer]![owner]!;
    const held = f.env[from]!;
    if (lanes === 1) memory[index] = held as Number_;
    else
      for (let i = 0; i < lanes; i++)
        memory[index + i] = Array.isArray(held) ? (held as Number_[])[i]! : (held as Number_);
  };
}

function signalStep(p: Program, op: Op): Step {
  const { machine } = p;
  const name = text(op, "buffer");
  const buffer = machine.bufferNumber(name);
  const { value, peer, indices } = memoryOperands(op);
  const from = p.number(value!);
  const at = target(p, op, buffer, peer, indices, 1);
  const adds = op.attributes["mode"] === "add";
  return (f) => {
    const index = at.index(f);
    const { owner } = at;
    machine.executed.add(op);
    const amount = machine.known(f.env[from]!, "the value of a signal") >>> 0;
    const memory = machine.memory[buffer]![owner]!;
    memory[index] = adds ? ((memory[index] as number) + amount) >>> 0 : amount;
    machine.trace?.signal(machine.strandOf(f), machine.trace.flag(name, owner, index), amount, op);
  };
}

export function waitStep(p: Program, op: Op): WaitingStep {
  const { machine } = p;
  const name = text(op, "buffer");
  const buffer = machine.bufferNumber(name);
  const [value, slot, peer] = op.operands.map((v) => p.number(v));
  const at = target(p, op, buffer, null, [op.operands[1]!], 1);
  return function* (f) {
    const index = at.index(f);
    machine.executed.add(op);
    const wanted = machine.known(f.env[value!]!, "the value of a wait") >>> 0;
    machine.known(f.env[slot!]!, "the slot of a wait");
    const expected = peer === undefined ? -1 : machine.known(f.env[peer]!, "the peer of a wait");
    const memory = machine.memory[buffer]![f.rank]!;
    const ready = (): boolean => (((memory[index] as number) - wanted) | 0) >= 0;
    while (!ready()) yield [{ frame: f, op, buffer, slot: index, wanted, peer: expected, ready }];
    machine.trace?.wait(machine.strandOf(f), machine.trace.flag(name, f.rank, index), wanted, op);
  };
}
