/**
 * interleave: a block takes several of its rows at once, the ops of the rows alternating, so that all their
 * loads are under way before the first is used. Latency over NVLink is a microsecond; only bytes in flight hide it.
 *
 * Loads of packets that stand near each other then stand next to each other, and are waited for together, behind what is loaded meanwhile.
 *
 * Rows are independent by the meaning of the loop. How many: enough for `loadsInFlight` wide loads a thread.
 */
import { Builder } from "../ir/builder.js";
import { bufferOf, isGlobal, isRemote, type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { lanesOf } from "../ir/types.js";
import { copyOp, rewriteOps, Substitution } from "../ir/visit.js";
import { DTYPES } from "../types/dtype.js";
import type { PassOptions } from "./options.js";
import { moverThreads } from "./support/mover-threads.js";
import { groupPacketLoads } from "./support/packets.js";

type InterleaveOptions = Pick<PassOptions, "loadsInFlight" | "accessBytes">;

/** Most rows at once; with more than half of it, half of it are taken at once of those that are over, too. */
const MOST_ROWS = 8;

export function interleave(kernel: Kernel, options: InterleaveOptions): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  const movers = moverThreads(kernel);
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    const threads = fullRow(op, movers.get(op) ?? kernel.blockThreads, b, values);
    if (threads === null) return false;
    const loads = wideLoads(threads, kernel, options);
    const isSpread = op.attributes["map"] === "blocks";
    const copies = loads === 0 ? 1 : Math.min(MOST_ROWS, Math.ceil(options.loadsInFlight / loads));
    if (copies <= 1) return false;
    if (isSpread) overBlocks(op, threads, copies, b, values);
    else inOneBlock(op, threads, copies, b, values);
    return true;
  });
  return { ...kernel, body: grouped({ arguments: [], ops: build.ops }, kernel) };
}

/** Loads of packets next to each other, and before them what is loaded of tensors that nothing stores to: while packets are on their way. */
function grouped(region: Region, kernel: Kernel): Region {
  const ops = region.ops.map((op) =>
    op.regions.length === 0 ? op : { ...op, regions: op.regions.map((r) => grouped(r, kernel)) },
  );
  const isLoad = (op: Op): boolean =>
    op.name === "load" && !isRemote(op) && bufferOf(kernel, text(op, "buffer")).role === "input";
  const isEarly = (op: Op): boolean => definitionOf(op.name).effect === "pure" || isLoad(op);
  return { arguments: region.arguments, ops: groupPacketLoads(ops, isEarly) };
}

/** The threads loop of a loop from 0 that holds nothing else but pure ops, when each thread has one iteration. */
function fullRow(op: Op, blockThreads: number, build: Builder, values: Substitution): Op | null {
  const isAnyOrder = op.attributes["map"] === "blocks" || op.attributes["unordered"] === true;
  if (op.name !== "for" || !isAnyOrder || build.constantOf(values.get(op.operands[0]!)) !== 0) return null;
  const effects = op.regions[0]!.ops.filter((o) => o.name !== "binary" && o.name !== "const");
  const [threads] = effects;
  if (effects.length !== 1 || threads!.name !== "for" || threads!.attributes["map"] !== "threads") return null;
  const [lo, hi] = threads!.operands.map((v) => build.constantOf(values.get(v)));
  return lo === 0 && hi === blockThreads ? threads! : null;
}

/** Wide accesses that one iteration of the body waits for. */
function wideLoads(threads: Op, kernel: Kernel, options: InterleaveOptions): number {
  let count = 0;
  for (const op of threads.regions[0]!.ops)
    if (op.name === "packet_load") count++;
    else if (op.name === "load") {
      const buffer = bufferOf(kernel, text(op, "buffer"));
      if (!isGlobal(buffer)) continue;
      const bytes = lanesOf(op.results[0]!.type) * DTYPES[buffer.dtype].bytes;
      count += Math.ceil(bytes / options.accessBytes);
    }
  return count;
}

function overBlocks(op: Op, threads: Op, copies: number, build: Builder, values: Substitution): void {
  const [lo, hi] = op.operands.map((v) => values.get(v)) as [Value, Value];
  const grid = build.op("grid", [], {}, lo.type)!;
  const block = build.op("block", [], {}, lo.type)!;
  let from = lo;
  for (const n of copies > MOST_ROWS / 2 ? [copies, MOST_ROWS / 2] : [copies]) {
    const [begin, stride] = [from, build.mul(grid, build.constant(n))];
    const iterations = build.div(build.sub(hi, begin), stride);
    build.for("serial", [[build.constant(0), iterations]], ([iteration]) => {
      const first = build.add(begin, build.add(build.mul(iteration!, stride), block));
      together(op, threads, n, (k) => build.add(first, build.mul(grid, build.constant(k))), build, values);
    });
    from = build.add(begin, build.mul(iterations, stride));
  }
  build.for("blocks", [[from, hi]], ([r]) => oneRow(op, r!, build, values));
}

/** Of the rows that are over, half as many at once: a block has few. */
function inOneBlock(op: Op, threads: Op, copies: number, build: Builder, values: Substitution): void {
  const hi = values.get(op.operands[1]!);
  let lo = values.get(op.operands[0]!);
  for (let n = copies; n > 1; n = Math.floor(n / 2)) {
    const from = lo;
    const iterations = build.div(build.sub(hi, from), build.constant(n));
    build.for("serial", [[build.constant(0), iterations]], ([iteration]) => {
      const first = build.add(from, build.mul(iteration!, build.constant(n)));
      together(op, threads, n, (k) => build.add(first, build.constant(k)), build, values);
    });
    lo = build.add(from, build.mul(iterations, build.constant(n)));
  }
  build.for("serial", [[lo, hi]], ([r]) => oneRow(op, r!, build, values));
}

/** Rows in one iteration, their ops alternating. */
function together(
  op: Op,
  threads: Op,
  copies: number,
  number: (k: number) => Value,
  build: Builder,
  values: Substitution,
): void {
  const [region] = op.regions;
  const rows = Array.from({ length: copies }, (_, k) => {
    const inner = new Substitution(values);
    inner.set(region!.arguments[0]!, number(k));
    rewriteOps(
      region!.ops.filter((o) => o !== threads),
      build,
      inner,
    );
    return inner;
  });
  const bounds = threads.operands.map((v) => rows[0]!.get(v)) as [Value, Value];
  build.for("threads", [bounds], ([t]) => {
    for (const inner of rows) inner.set(threads.regions[0]!.arguments[0]!, t!);
    for (const body of threads.regions[0]!.ops) {
      build.span = body.span;
      for (const inner of rows) copyOp(body, build, inner);
    }
  });
}

function oneRow(op: Op, row: Value, build: Builder, values: Substitution): void {
  const inner = new Substitution(values);
  inner.set(op.regions[0]!.arguments[0]!, row);
  rewriteOps(op.regions[0]!.ops, build, inner);
}
