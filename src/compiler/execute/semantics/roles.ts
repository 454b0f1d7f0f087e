/**
 * Roles of a block, and the rings between them. A role is a coroutine, and one strand for the observer: each of its threads goes
 * through all of its ops in order; but movers are a block of their own, whose threads are strands between its synchronisations. A ring is a count of how often each stage has been filled, and one of how often it has been
 * released; what has been copied to a stage lands where the consumers find it full, as late as the program allows.
 */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import { bufferOf, type Op, type Region } from "../../ir/module.js";
import type { OpOf } from "../../ir/typed.js";
import type { Writer } from "../writer.js";
import { region } from "./index.js";

/** Names of the rings that roles around the text at hand have opened, by buffer, and whether the copy engine fills them. */
const open = new WeakMap<Writer, Map<string, { readonly name: string; readonly lands: boolean }>>();

function meet(w: Writer, op: Op): void {
  if (w.setting.observes) w.line(`T.endPhase(f.entity,${w.op(op)});`);
  w.preemption();
}

export function roles(w: Writer, op: OpOf<"roles">): void {
  const { ring, outgoing } = op.attributes;
  const rings = open.get(w) ?? new Map<string, { readonly name: string; readonly lands: boolean }>();
  open.set(w, rings);
  w.ran(op);
  meet(w, op);
  for (const buffer of [ring, ...(outgoing === undefined ? [] : [outgoing])]) {
    const made = `tiles.newRing(${stagesOf(w, buffer)},${w.setting.observes ? "T" : "null"})`;
    rings.set(buffer, { name: w.variable("ring", made), lands: buffer === ring });
  }
  const [consumers, producers, movers] = op.regions;
  const hasMovers = op.attributes.movers !== undefined;
  const tell = (what: string): void => void (hasMovers && w.setting.observes && w.line(`T.${what}(f.entity);`));
  tell("beginMovers");
  const parts = [() => role(w, consumers, outgoing !== undefined), () => role(w, producers)];
  if (hasMovers) parts.push(() => w.asMovers(() => region(w, movers)));
  w.together(parts);
  rings.delete(ring);
  if (outgoing !== undefined) rings.delete(outgoing);
  tell("endMovers");
  meet(w, op);
}

/** @param tells whether its threads tell others by a ring what each of them has stored */
function role(w: Writer, body: Region, tells = false): void {
  w.asRole(() => region(w, body), tells);
}

function stagesOf(w: Writer, ring: string): number {
  return bufferOf(w.kernel, ring).shape[0] as number;
}

type RingOp = OpOf<"ring_acquire"> | OpOf<"ring_fill"> | OpOf<"ring_wait"> | OpOf<"ring_release">;

/** Texts of what every op on a ring needs. */
function partsOf(w: Writer, op: RingOp) {
  const opened = open.get(w)?.get(op.attributes.ring);
  if (opened === undefined) throw new InternalCompilerError(`'${op.name}' outside of the roles of its ring`);
  const ring = w.use(opened.name);
  const stages = stagesOf(w, op.attributes.ring);
  const position = w.known(op.operands[0], "a position in a ring");
  const slot = w.variable("k", `${position}%${stages}`);
  const round = w.variable("k", `floor(${position}/${stages})`);
  const text = JSON.stringify(op.attributes.ring);
  const flag = (side: string): string => `T.flag(${text}+${JSON.stringify(` ${side}`)},f.rank,${ring}.first+${slot})`;
  w.ran(op);
  return { ring, slot, round, flag, lands: opened.lands };
}

/** Waits until a stage's count is there, and learns what those did who counted. */
function awaitCount(w: Writer, op: RingOp, side: "full" | "free", wanted: (round: string) => string): void {
  const { ring, slot, round, flag, lands } = partsOf(w, op);
  const count = w.variable("n", wanted(round));
  const buffer = w.kernel.buffers.indexOf(bufferOf(w.kernel, op.attributes.ring));
  w.until(
    `${ring}.${side}[${slot}]>=${count}`,
    `{f,op:${w.op(op)},buffer:${buffer},peer:-1,flags:${ring}.${side},slot:${slot},wanted:${count},ready:reached}`,
  );
  if (w.setting.observes)
    w.line(`if(${count}>0)T.wait(${w.strandName},${flag(side)},${count},${w.op(op)},tiles.RING_WAIT);`);
  if (side === "full" && lands) w.line(`tiles.landIn(${ring},${slot},f);`);
  w.preemption();
}

function count(w: Writer, op: RingOp, side: "full" | "free"): void {
  const { ring, slot, flag, lands } = partsOf(w, op);
  // What the copy engine has on its way is the producer's, whoever else fills another ring meanwhile.
  if (side === "full" && lands) w.line(`tiles.fill(${ring},${slot},f);`);
  w.line(`${ring}.${side}[${slot}]++;`);
  if (w.setting.observes) w.line(`T.signal(${w.strandName},${flag(side)},1,${w.op(op)},tiles.RING_SIGNAL);`);
  w.preemption();
}

export const ringAcquire = (w: Writer, op: OpOf<"ring_acquire">): void => awaitCount(w, op, "free", (round) => round);
export const ringFill = (w: Writer, op: OpOf<"ring_fill">): void => count(w, op, "full");
export const ringWait = (w: Writer, op: OpOf<"ring_wait">): void => awaitCount(w, op, "full", (round) => `${round}+1`);
export const ringRelease = (w: Writer, op: OpOf<"ring_release">): void => count(w, op, "free");
