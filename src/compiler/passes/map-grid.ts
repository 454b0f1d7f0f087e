/**
 * map-grid: rank level → device level. Spreads each tile loop over blocks and threads.
 *
 * The elements of a loop, flattened with the last variable fastest, form rows of `threads × widest vector`
 * elements; row r goes to block r mod grid. One row length serves the whole kernel, so an offset always falls
 * to the block of one number, whatever loop it is in (derive-sync relies on this). Full rows have a
 * constant length, for vectorize and interleave; the last, short one is a loop of its own.
 */
import { Builder } from "../ir/builder.js";
import type { Kernel, Op, Value } from "../ir/module.js";
import { rewriteOps, Substitution, walkKernel } from "../ir/visit.js";
import { extent, type Extent } from "../types/extent.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import { isBusy } from "./support/busy.js";
import { vectorLanes } from "./support/vector-lanes.js";
import { mostElements } from "./support/upper-bound.js";

type GridOptions = Pick<PassOptions, "elementThreads" | "elementBlocks" | "busyBlocks" | "accessBytes">;

export function mapGrid(kernel: Kernel, options: GridOptions): Kernel {
  const threads = kernel.blockThreads > 0 ? kernel.blockThreads : options.elementThreads;
  const row = threads * vectorLanes(kernel, options);
  const work: Extent[] = [...kernel.work];
  const definitions = new Definitions(kernel);
  walkKernel(kernel, (op) => {
    if (isTileLoop(op)) work.push(extent("ceildiv", mostElements(op, kernel, definitions), row));
  });
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    if (!isTileLoop(op)) return false;
    mapLoop(op, b, values, row);
    return true;
  });
  const blocks = isBusy(kernel, definitions) ? options.busyBlocks : options.elementBlocks;
  const maxBlocks = kernel.maxBlocks > 0 ? kernel.maxBlocks : blocks;
  return {
    ...kernel,
    level: "device",
    blockThreads: threads,
    maxBlocks,
    work,
    body: { arguments: [], ops: build.ops },
  };
}

function isTileLoop(op: Op): boolean {
  return op.name === "for" && op.attributes["map"] === "tiles";
}

function mapLoop(op: Op, build: Builder, values: Substitution, row: number): void {
  const bounds: [Value, Value][] = [];
  for (let i = 0; i < op.operands.length; i += 2)
    bounds.push([values.get(op.operands[i]!), values.get(op.operands[i + 1]!)]);
  const zero = build.constant(0);
  // A chunk past the end has its end before its start.
  const lengths = bounds.map(([lo, hi]) => build.binary("max", build.sub(hi, lo), zero));
  const total = lengths.reduce((a, b) => build.mul(a, b));
  const rowLength = build.constant(row);
  const full = build.div(total, rowLength);
  const rows = build.ceilDiv(total, rowLength);
  const body = (offset: Value): void => {
    const inner = new Substitution(values);
    decode(build, offset, bounds, lengths).forEach((v, i) => inner.set(op.regions[0]!.arguments[i]!, v));
    rewriteOps(op.regions[0]!.ops, build, inner);
    build.span = op.span;
  };
  build.for("blocks", [[zero, full]], ([r]) => {
    const first = build.mul(r!, rowLength);
    build.for("threads", [[zero, rowLength]], ([t]) => body(build.add(first, t!)));
  });
  build.for("blocks", [[full, rows]], ([r]) => {
    const first = build.mul(r!, rowLength);
    build.for("threads", [[zero, build.sub(total, first)]], ([t]) => body(build.add(first, t!)));
  });
}

/** Indices of the flattened offset: last dimension fastest. */
function decode(
  build: Builder,
  offset: Value,
  bounds: readonly (readonly [Value, Value])[],
  lengths: readonly Value[],
): Value[] {
  const indices: Value[] = [];
  let rest = offset;
  for (let d = bounds.length - 1; d >= 0; d--) {
    const within = d === 0 ? rest : build.rem(rest, lengths[d]!);
    indices.unshift(build.add(bounds[d]![0], within));
    if (d > 0) rest = build.div(rest, lengths[d]!);
  }
  return indices;
}
