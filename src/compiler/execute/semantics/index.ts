/**
 * What each op of the device level does: one row an op, whatever the kernel is executed for. A row writes JavaScript
 * through the `Writer`; `../README.md` says how.
 */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import type { Op, Region } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { printKernel } from "../../ir/print.js";
import type { OpNameAt, OpOf } from "../../ir/typed.js";
import type { Writer } from "../writer.js";
import * as control from "./control.js";
import * as flags from "./flags.js";
import * as memory from "./memory.js";
import * as packets from "./packets.js";
import * as roles from "./roles.js";
import * as tiles from "./tiles.js";
import * as values from "./values.js";

type Semantics = { readonly [N in OpNameAt<"device">]: ((w: Writer, op: OpOf<N>) => void) | "expanded before" };
type Row = ((w: Writer, op: Op) => void) | "expanded before";

const SEMANTICS: Semantics = {
  const: values.constant,
  dim: values.dim,
  scalar: values.scalar,
  rank: values.number,
  block: values.number,
  grid: values.grid,
  binary: values.binary,
  unary: values.unary,
  compare: values.compare,
  select: values.select,
  cast: values.cast,
  splat: values.splat,
  pack: values.pack,
  lane: values.lane,
  aligned: values.aligned,
  for: control.loop,
  if: control.branch,
  reduce: control.reduce,
  // The end of a reduction's region, which the reduction itself reads.
  yield: () => {},
  load: memory.load,
  store: memory.store,
  packet_store: packets.packetStore,
  packet_load: packets.packetLoad,
  signal: flags.signal,
  wait: flags.wait,
  block_sync: flags.blockSync,
  copy_tile: tiles.copyTile,
  copy_commit: tiles.copyCommit,
  copy_wait: tiles.copyWait,
  fragment_clear: tiles.fragmentClear,
  mma: tiles.mma,
  mma_wait: tiles.mmaWait,
  fragment_store: tiles.fragmentStore,
  fragment_put: tiles.piece,
  fragment_add: tiles.piece,
  roles: roles.roles,
  ring_acquire: roles.ringAcquire,
  ring_fill: roles.ringFill,
  ring_wait: roles.ringWait,
  ring_release: roles.ringRelease,
  barrier: "expanded before",
  notify: "expanded before",
  await: "expanded before",
  shard_sent: "expanded before",
  await_movers: "expanded before",
  await_copies: "expanded before",
  count_launch: "expanded before",
  tile_sent: "expanded before",
  await_tile: "expanded before",
  piece_put: "expanded before",
  await_pieces: "expanded before",
  launch_parity: "expanded before",
  launch_epoch: "expanded before",
};

/** Writes all ops of a region, in order. */
export function region(w: Writer, { ops }: Region): void {
  for (const op of ops) if (!isIdle(w, op)) write(w, op);
}

/** Where data does not matter: computes nothing that decides what happens. */
function isIdle({ domain, steering }: Writer, { name, results }: Op): boolean {
  if (domain.hasData || definitionOf(name).effect !== "pure") return false;
  return !results.some((v) => steering.deciding.has(v));
}

/** A row takes the op whose name it has. */
function write(w: Writer, op: Op): void {
  const row = (SEMANTICS as unknown as Readonly<Record<string, Row>>)[op.name];
  if (row === undefined || row === "expanded before")
    throw new InternalCompilerError(
      `'${op.name}' reached the executor; an earlier pass expands it`,
      printKernel(w.kernel),
    );
  w.current = op;
  row(w, op);
  w.hasMet = op.name === "block_sync" || (w.hasMet && definitionOf(op.name).effect === "pure");
}
