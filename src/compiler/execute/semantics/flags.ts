/** Ops that order: signals, waits, and threads that meet. */
import { memoryOperands } from "../../ir/module.js";
import type { OpOf } from "../../ir/typed.js";
import type { Writer } from "../writer.js";
import { place } from "./memory.js";

/** Text of a flag for the observer. */
function flagOf(name: string, owner: string, slot: string): string {
  return `T.flag(${JSON.stringify(name)},${owner},${slot})`;
}

export function signal(w: Writer, op: OpOf<"signal">): void {
  const { buffer, mode } = op.attributes;
  const { value, peer, indices } = memoryOperands(op);
  const p = place(w, op, buffer, peer, indices, 1);
  w.ran(op);
  const amount = w.known(value!, "the value of a signal");
  const held = `${p.memory}[${p.index}]`;
  // Flags count modulo 2^32.
  w.line(mode === "add" ? `${held}=(${held}+${amount})>>>0;` : `${held}=${amount}>>>0;`);
  if (w.setting.observes)
    w.line(`T.signal(${p.strand},${flagOf(buffer, p.owner, p.index)},${amount}>>>0,${w.op(op)});`);
  w.preemption();
}

export function wait(w: Writer, op: OpOf<"wait">): void {
  const { buffer } = op.attributes;
  const [value, slot, peer] = op.operands;
  const p = place(w, op, buffer, null, [slot], 1);
  w.ran(op);
  const wanted = w.known(value, "the value of a wait");
  const expected = peer === undefined ? "-1" : w.known(peer, "the peer of a wait");
  const flag = `flags:${p.memory},slot:${p.index},wanted:${wanted},ready:reached`;
  w.until(
    `((${p.memory}[${p.index}]-${wanted})|0)>=0`,
    `{f,op:${w.op(op)},buffer:${p.number},peer:${expected},${flag}}`,
  );
  if (w.setting.observes) w.line(`T.wait(${p.strand},${flagOf(buffer, "rank", p.index)},${wanted}>>>0,${w.op(op)});`);
  w.preemption();
}

export function blockSync(w: Writer, op: OpOf<"block_sync">): void {
  if (w.isInThread) return w.line(`refuse("a block synchronises inside a loop over threads",${w.op(w.current!)});`);
  // Threads of a role do all in order, as one strand.
  if (w.setting.observes && !w.isInRole) w.line(`T.endPhase(f.entity,${w.op(op)});`);
  w.preemption();
}
