/**
 * Ops on tiles, each by a whole block. The text calls the functions of `tiles.ts`, which say what is read and written
 * when; what the values are is the domain's part.
 */
import { bufferOf } from "../../ir/module.js";
import type { OpOf } from "../../ir/typed.js";
import type { Writer } from "../writer.js";

function number(w: Writer, name: string): number {
  return w.kernel.buffers.indexOf(bufferOf(w.kernel, name));
}

/** Text of the arguments that every function of `tiles.ts` takes first. */
function context(
  w: Writer,
  op: OpOf<"copy_tile"> | OpOf<"mma"> | OpOf<"fragment_store"> | OpOf<"fragment_put"> | OpOf<"fragment_add">,
): string {
  return `M,${w.setting.observes ? "T" : "null"},V,f,${w.op(op)}`;
}

export function copyTile(w: Writer, op: OpOf<"copy_tile">): void {
  w.ran(op);
  const operands = [...op.operands];
  const peer = op.attributes.remote === true ? operands.shift() : undefined;
  const owner = peer === undefined ? w.use("rank") : w.known(peer, "the rank a copy comes from");
  const numbers = operands.map((v) => w.known(v, "the place of a tile"));
  const [from, to] = [number(w, op.attributes.from), number(w, op.attributes.to)];
  w.line(`tiles.copy(${context(w, op)},${from},${to},${owner},${numbers.join(",")});`);
}

export function copyCommit(w: Writer, op: OpOf<"copy_commit">): void {
  w.ran(op);
  w.line("f.groups.push(f.open);f.open=[];");
}

export function copyWait(w: Writer, op: OpOf<"copy_wait">): void {
  w.ran(op);
  w.line(`tiles.land(f,${op.attributes.pending});`);
}

export function fragmentClear(w: Writer, op: OpOf<"fragment_clear">): void {
  w.ran(op);
  const j = number(w, op.attributes.buffer);
  w.line(`V?.clear(M,f,${j});`);
}

export function mma(w: Writer, op: OpOf<"mma">): void {
  w.ran(op);
  const { accumulator, a, b, twin, scaleA, scaleB } = op.attributes;
  const others = [twin, scaleA, scaleB].map((name) => (name === undefined ? -1 : number(w, name)));
  const stage = w.known(op.operands[0], "the stage of a product");
  w.line(
    `tiles.multiply(${context(w, op)},${number(w, accumulator)},${number(w, a)},${number(w, b)},${stage},${others.join(",")});`,
  );
}

export function mmaWait(w: Writer, op: OpOf<"mma_wait">): void {
  w.ran(op);
  w.line(`tiles.endProducts(f,${op.attributes.pending});`);
}

export function fragmentStore(w: Writer, op: OpOf<"fragment_store">): void {
  w.ran(op);
  const { from, to } = op.attributes;
  w.line(`tiles.storeFragment(${context(w, op)},${number(w, from)},${number(w, to)});`);
}

export function piece(w: Writer, op: OpOf<"fragment_put"> | OpOf<"fragment_add">): void {
  w.ran(op);
  const { buffer, to, from } = op.attributes as {
    readonly buffer: string;
    readonly to?: string;
    readonly from?: string;
  };
  const [row, rows] = op.operands.map((v) => w.known(v, "the place of a piece"));
  w.line(`tiles.passPiece(${context(w, op)},${number(w, buffer)},${number(w, (to ?? from)!)},${row},${rows});`);
}
