/**
 * map-grid: rank level → device level. Spreads each tile loop over blocks and threads.
 *
 * The elements of a loop, flattened with the last variable fastest, form rows of `threads × widest vector`
 * elements; row r goes to block r mod grid. One row length serves the whole kernel, so an offset always falls
 * to the block of one number, whatever loop it is in (derive-sync relies on this). Full rows have a
 * constant length, for vectorize and interleave; the last, short one is a loop of its own. Movers, who meet all others where they say that they
 * are done, have rows of their own threads, and those of the last block have none: it tells other ranks when all have moved theirs.
 *
 * Where a loop over ranks holds no more than a tile loop that blocks may take in any way, its iterations and their rows are one list that all blocks share: a
 * short message to each of many ranks then leaves, or is taken, in one step. Where there are packets, each such tile loop is one loop over rows, the last one among them.
 */
import { Builder } from "../ir/builder.js";
import type { Kernel, Op, Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { rewriteOps, Substitution, walkKernel } from "../ir/visit.js";
import { extent, type Extent } from "../types/extent.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import { isBusy, movingBlocks } from "./support/busy.js";
import { moverThreads } from "./support/mover-threads.js";
import { packetFormat, vectorLanes } from "./support/vector-lanes.js";
import { knownElements, mostElements } from "./support/upper-bound.js";

type GridOptions = Pick<
  PassOptions,
  "elementThreads" | "elementBlocks" | "loadBlocks" | "busyBlocks" | "accessBytes" | "earlyLaunch"
>;

export function mapGrid(kernel: Kernel, options: GridOptions): Kernel {
  const threads = kernel.blockThreads > 0 ? kernel.blockThreads : options.elementThreads;
  const lanes = vectorLanes(kernel, options);
  const row = threads * lanes;
  const movers = moverThreads(kernel);
  const work: Extent[] = [...kernel.work];
  const definitions = new Definitions(kernel);
  const inRows = (elements: Extent): Extent => extent("ceildiv", elements, row);
  const rowsOf = (op: Op): Extent => inRows(knownElements(op, definitions)!);
  const hasPackets = packetFormat(kernel) !== null;
  const trips = (op: Op): number | null => spreadTrips(op, kernel.world, hasPackets, definitions);
  walkKernel(kernel, (op, parents) => {
    const around = parents.map(trips).find((n) => n !== null) ?? 1;
    if (isTileLoop(op)) work.push(extent("mul", around, inRows(mostElements(op, kernel, definitions))));
  });
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    const peers = trips(op);
    if (peers !== null) mapSpread(op, b, values, { row, rowsOf, peers, isAll: peers === kernel.world });
    else if (!isTileLoop(op)) return false;
    else if (
      hasPackets &&
      op.attributes["spread"] === true &&
      !movers.has(op) &&
      knownElements(op, definitions) !== null
    )
      mapStrips(op, b, values, row, rowsOf(op));
    else if (movers.has(op)) mapLoop(op, b, values, movers.get(op)! * lanes, movingRows);
    else mapLoop(op, b, values, threads * lanes, rowsOfBlocks);
    return true;
  });
  const blocks = isBusy(kernel, definitions) ? options.busyBlocks : movingBlocks(kernel, options);
  const maxBlocks = kernel.maxBlocks > 0 ? kernel.maxBlocks : blocks;
  return {
    ...kernel,
    level: "device",
    blockThreads: threads,
    maxBlocks,
    ...(options.earlyLaunch ? { early: true as const } : {}),
    work,
    body: { arguments: [], ops: build.ops },
  };
}

function isTileLoop(op: Op): boolean {
  return op.name === "for" && op.attributes["map"] === "tiles";
}

/**
 * Iterations of a loop over all ranks with nothing in it but a tile loop that blocks may take in any way, perhaps under conditions; with packets, over some ranks,
 * too: over the others, or over this one.
 */
function spreadTrips(op: Op, world: number, hasPackets: boolean, definitions: Definitions): number | null {
  if (op.name !== "for" || op.attributes["map"] !== "ranks") return null;
  const tiles = spreadLoop(op.regions[0]!.ops);
  if (tiles === null || knownElements(tiles, definitions) === null) return null;
  const [from, to] = op.operands.map((v) => definitions.constant(v));
  const isSo = to === world || (hasPackets && to !== undefined && to > 0 && to < world);
  return from === 0 && isSo ? to! : null;
}

function spreadLoop(ops: readonly Op[]): Op | null {
  const effects = ops.filter((o) => definitionOf(o.name).effect !== "pure");
  const [only] = effects;
  if (effects.length !== 1) return null;
  if (only!.name === "if" && only!.regions[1]!.ops.length === 0) return spreadLoop(only!.regions[0]!.ops);
  return isTileLoop(only!) && only!.attributes["spread"] === true ? only! : null;
}

interface Spreading {
  readonly row: number;
  readonly rowsOf: (op: Op) => Extent;
  /** Iterations over ranks, and whether they are all ranks. */
  readonly peers: number;
  readonly isAll: boolean;
}

function mapSpread(op: Op, build: Builder, values: Substitution, { row, rowsOf, peers, isAll }: Spreading): void {
  const tiles = spreadLoop(op.regions[0]!.ops)!;
  const ranks = build.constant(peers);
  const items = build.mul(build.extent(rowsOf(tiles)), ranks);
  build.for("blocks", [[build.constant(0), items]], ([item]) => {
    const number = build.div(item!, ranks);
    // Neighbouring blocks turn to different ranks, and ranks to different ones at a time; loops over the others count from this rank on themselves.
    const first = isAll ? build.add(build.add(build.rank(), build.constant(1)), item!) : item!;
    const peer = build.rem(first, ranks);
    const body = new Substitution(values);
    body.set(op.regions[0]!.arguments[0]!, peer);
    rewriteOps(op.regions[0]!.ops, build, body, (inner, _, at) => {
      if (inner === tiles) strip(tiles, number, build, at, row);
      return inner === tiles;
    });
  });
}

/** A loop that blocks may take in any way: whole rows and the last one in one loop, which is less to fetch before a short message is under way. */
function mapStrips(tiles: Op, build: Builder, values: Substitution, row: number, rows: Extent): void {
  build.for("blocks", [[build.constant(0), build.extent(rows)]], ([number]) => strip(tiles, number!, build, values, row)); // prettier-ignore
}

/** The elements of a tile loop that are in one row. */
function strip(tiles: Op, number: Value, build: Builder, at: Substitution, row: number): void {
  const zero = build.constant(0);
  const bounds: [Value, Value][] = [];
  for (let i = 0; i < tiles.operands.length; i += 2)
    bounds.push([at.get(tiles.operands[i]!), at.get(tiles.operands[i + 1]!)]);
  // Of several factors none may be negative; of one, the rest below is not.
  const lengths = bounds.map(([lo, hi]) => {
    const length = build.sub(hi, lo);
    return bounds.length === 1 ? length : build.binary("max", length, zero);
  });
  const first = build.mul(number, build.constant(row));
  const rest = build.sub(
    lengths.reduce((a, b) => build.mul(a, b)),
    first,
  );
  const length = build.binary("min", build.binary("max", rest, zero), build.constant(row));
  build.for("threads", [[zero, length]], ([t]) => {
    const element = new Substitution(at);
    const offset = build.add(first, t!);
    decode(build, offset, bounds, lengths).forEach((v, i) => element.set(tiles.regions[0]!.arguments[i]!, v));
    rewriteOps(tiles.regions[0]!.ops, build, element);
  });
}

/** Emits a loop over rows of elements, of which each block takes some. */
type RowLoop = (build: Builder, from: Value, to: Value, body: (row: Value) => void) => void;

const rowsOfBlocks: RowLoop = (build, from, to, body) => void build.for("blocks", [[from, to]], ([row]) => body(row!));

/** Of all blocks but the last one, unless it is alone. */
const movingRows: RowLoop = (build, from, to, body) => {
  const zero = build.constant(0);
  const one = build.constant(1);
  const [block, grid] = (["block", "grid"] as const).map((name) => build.op(name, [], {}, zero.type)!) as [
    Value,
    Value,
  ];
  const moving = build.binary("max", build.sub(grid, one), one);
  const rows = build.binary("max", build.sub(build.sub(to, from), block), zero);
  const own = build.ceilDiv(rows, moving);
  const count = build.select(build.compare("lt", block, moving), own, zero);
  const first = build.add(from, block);
  build.for("serial", [[zero, count]], ([i]) => body(build.add(first, build.mul(i!, moving))), { unordered: true });
};

function mapLoop(op: Op, build: Builder, values: Substitution, row: number, eachRow: RowLoop): void {
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
  eachRow(build, zero, full, (r) => {
    const first = build.mul(r, rowLength);
    build.for("threads", [[zero, rowLength]], ([t]) => body(build.add(first, t!)));
  });
  eachRow(build, full, rows, (r) => {
    const first = build.mul(r, rowLength);
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
