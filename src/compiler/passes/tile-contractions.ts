/**
 * tile-contractions: a tile loop over (i, j) whose body folds a[i + …, k] · b[k, j + …] over k becomes a product
 * of tiles on the tensor cores.
 *
 * Each block takes tiles of the result. Per tile: the operands' tiles stream through shared memory in a
 * pipeline of stages, the accumulator stays in registers, then goes to a shared tile from where the rest of the
 * loop's body, whatever it is, reads it element by element. Any program with this shape gets it: nothing here knows
 * what the result is for.
 */
import { Builder } from "../ir/builder.js";
import { type Buffer, bufferOf, type Kernel, type Op, text, type Value } from "../ir/module.js";
import { scalar } from "../ir/types.js";
import { rewriteOps, Substitution, walkKernel } from "../ir/visit.js";
import { extent, type Extent } from "../types/extent.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import { type Contraction, matchContraction } from "./support/contraction.js";
import { upperBound } from "./support/upper-bound.js";

type TileOptions = Pick<PassOptions, "tile" | "tileThreads" | "tileBlocks">;

export function tileContractions(kernel: Kernel, options: TileOptions): Kernel {
  const definitions = new Definitions(kernel);
  const found = new Map<Op, Contraction>();
  walkKernel(kernel, (op) => {
    const match = matchContraction(op, kernel, definitions);
    if (match !== null) found.set(op, match);
  });
  if (found.size === 0) return kernel;
  const buffers: Buffer[] = [...kernel.buffers];
  const work: Extent[] = [...kernel.work];
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    const match = found.get(op);
    if (match === undefined) return false;
    const shape = shapeFor(match, kernel, found.size, options);
    emitTiles(op, match, { ...tileBuffers(match, kernel, buffers, shape), shape }, b, values);
    const [rows, columns] = [0, 2].map((d) => upperBound(op.operands[d]!, op.operands[d + 1]!, definitions) ?? 1);
    work.push(extent("mul", extent("ceildiv", rows!, shape.m), extent("ceildiv", columns!, shape.n)));
    return true;
  });
  return {
    ...kernel,
    buffers,
    work,
    blockThreads: options.tileThreads,
    maxBlocks: options.tileBlocks,
    body: { arguments: [], ops: build.ops },
  };
}

type TileShape = PassOptions["tile"];

/**
 * The scalar units keep rows and columns of operands in registers, which leaves room for half the accumulator; elements
 * of twice the size get stages of half the depth, so that the pipeline fits into an A100's shared memory too. Beside a
 * whole accumulator there are not the registers for the bounds of several products: those spill, with half of it they do not.
 */
function shapeFor(match: Contraction, kernel: Kernel, products: number, { tile }: TileOptions): TileShape {
  const { dtype } = bufferOf(kernel, text(match.a.load, "buffer"));
  const n = products > 1 || dtype === "f32" ? Math.min(tile.n, 128) : tile.n;
  return dtype === "f32" ? { ...tile, n, k: Math.min(tile.k, 32) } : { ...tile, n };
}

interface TileBuffers {
  readonly a: string;
  readonly b: string;
  readonly accumulator: string;
  readonly result: string;
}

interface Tiles extends TileBuffers {
  readonly shape: TileShape;
}

/** Shared and register memory for a product; products of one kernel that follow each other share it. */
function tileBuffers(match: Contraction, kernel: Kernel, buffers: Buffer[], tile: TileShape): TileBuffers {
  const dtype = bufferOf(kernel, text(match.a.load, "buffer")).dtype;
  const declare = (name: string, role: Buffer["role"], kind: Buffer["dtype"], shape: readonly number[]): string => {
    const full = role === "fragment" ? name : `${name}_${kind}`;
    if (!buffers.some((b) => b.name === full)) buffers.push({ name: full, role, dtype: kind, shape, symmetric: false });
    return full;
  };
  return {
    a: declare("tile_a", "shared", dtype, [tile.stages, tile.m, tile.k]),
    b: declare("tile_b", "shared", dtype, [tile.stages, tile.k, tile.n]),
    accumulator: declare(`accumulator_${dtype}`, "fragment", "f32", [tile.m, tile.n]),
    result: declare("tile_c", "shared", "f32", [tile.m, tile.n]),
  };
}

function emitTiles(op: Op, match: Contraction, tiles: Tiles, build: Builder, values: Substitution): void {
  const [iLo, iHi, jLo, jHi] = op.operands.map((v) => values.get(v)) as [Value, Value, Value, Value];
  const zero = build.constant(0);
  const [m, n] = [build.constant(tiles.shape.m), build.constant(tiles.shape.n)];
  const rows = build.binary("max", build.sub(iHi, iLo), zero);
  const columns = build.binary("max", build.sub(jHi, jLo), zero);
  const across = build.ceilDiv(columns, n);
  build.for("blocks", [[zero, build.mul(build.ceilDiv(rows, m), across)]], ([tile]) => {
    const i0 = build.add(iLo, build.mul(build.div(tile!, across), m));
    const j0 = build.add(jLo, build.mul(build.rem(tile!, across), n));
    emitProduct(match, tiles, i0, j0, build, values);
    emitEpilogue(op, match, tiles, { i0, j0, iHi, jHi }, build, values);
  });
}

/** The accumulator of one tile, with `stages - 1` tiles of the operands on their way. */
function emitProduct(
  match: Contraction,
  tiles: Tiles,
  i0: Value,
  j0: Value,
  build: Builder,
  values: Substitution,
): void {
  const zero = build.constant(0);
  const depth = values.get(match.depth);
  const [k, stages] = [build.constant(tiles.shape.k), build.constant(tiles.shape.stages)];
  const steps = build.ceilDiv(depth, k);
  const ahead = tiles.shape.stages - 1;
  const start = (step: Value): void => {
    build.if(build.compare("lt", step, steps), () => {
      const at = build.mul(step, k);
      const stage = build.rem(step, stages);
      copyTile(build, match.a, tiles.a, match.a.row(build, i0, values), at, stage, values);
      copyTile(build, match.b, tiles.b, at, match.b.column(build, j0, values), stage, values);
    });
    // One group a step, empty past the end, so that counting groups counts steps.
    build.op("copy_commit", [], {}, null);
  };
  build.op("fragment_clear", [], { buffer: tiles.accumulator }, null);
  for (let s = 0; s < ahead; s++) start(build.constant(s));
  build.for("serial", [[zero, steps]], ([step]) => {
    build.op("copy_wait", [], { pending: ahead - 1 }, null);
    build.op("block_sync", [], {}, null); // everybody's part of the tile is there, and the oldest stage is free
    start(build.add(step!, build.constant(ahead)));
    build.op("mma", [build.rem(step!, stages)], { accumulator: tiles.accumulator, a: tiles.a, b: tiles.b }, null);
  });
  build.op("copy_wait", [], { pending: 0 }, null);
  build.op("block_sync", [], {}, null);
  build.op("fragment_store", [], { from: tiles.accumulator, to: tiles.result }, null);
  build.op("block_sync", [], {}, null);
}

function copyTile(
  build: Builder,
  operand: Contraction["a"],
  to: string,
  row: Value,
  column: Value,
  stage: Value,
  values: Substitution,
): void {
  const from = text(operand.load, "buffer");
  const peer = operand.peer === null ? [] : [values.get(operand.peer)];
  build.op(
    "copy_tile",
    [...peer, row, column, stage],
    { from, to, ...(peer.length > 0 ? { remote: true } : {}) },
    null,
  );
}

interface TileBounds {
  readonly i0: Value;
  readonly j0: Value;
  readonly iHi: Value;
  readonly jHi: Value;
}

/** The loop's body over the elements of the tile, the fold replaced by its value. */
function emitEpilogue(
  op: Op,
  match: Contraction,
  tiles: Tiles,
  at: TileBounds,
  build: Builder,
  values: Substitution,
): void {
  const zero = build.constant(0);
  const [m, n] = [build.constant(tiles.shape.m), build.constant(tiles.shape.n)];
  const rows = build.binary("min", m, build.sub(at.iHi, at.i0));
  const columns = build.binary("min", n, build.sub(at.jHi, at.j0));
  const body = (width: Value, e: Value): void => {
    const inner = new Substitution(values);
    const i = build.div(e, width);
    const j = build.rem(e, width);
    const [iArgument, jArgument] = op.regions[0]!.arguments;
    inner.set(iArgument!, build.add(at.i0, i));
    inner.set(jArgument!, build.add(at.j0, j));
    rewriteOps(op.regions[0]!.ops, build, inner, (o, b, v) => {
      if (o !== match.fold) return false;
      v.set(o.results[0]!, b.load(tiles.result, [i, j], scalar("f32")));
      return true;
    });
    build.span = op.span;
  };
  // Tiles of full width divide by a constant.
  build.if(
    build.compare("eq", columns, n),
    () => build.for("threads", [[zero, build.mul(rows, n)]], ([e]) => body(n, e!)),
    () => build.for("threads", [[zero, build.mul(rows, columns)]], ([e]) => body(columns, e!)),
  );
  build.op("block_sync", [], {}, null);
}
