/**
 * Products by blocks of threads without roles, as all machines have them: a tile's operands stream through shared memory in a pipeline of
 * stages, the accumulator goes to a shared tile, and the rest of the loop's body, whatever it is, reads it element by element.
 */
import type { Builder } from "../../ir/builder.js";
import type { Buffer, Op, Value } from "../../ir/module.js";
import { scalar } from "../../ir/types.js";
import { rewriteOps, Substitution } from "../../ir/visit.js";
import type { PassOptions } from "../options.js";
import { type Contraction, copyTile, transposedOf } from "./contraction.js";
import { rotatedNumber, rotatedVariable } from "./tile-rotation.js";

type TileShape = NonNullable<PassOptions["tile"]>;

/**
 * The scalar units keep rows and columns of operands in registers, which leaves room for half the accumulator; elements
 * of twice the size get stages of half the depth, so that the pipeline fits into an A100's shared memory too. Beside a
 * whole accumulator there are not the registers for the bounds of several products: those spill, with half of it they do not.
 */
export function shapeFor({ a }: Contraction, products: number, tile: TileShape): TileShape {
  const n = products > 1 || a.dtype === "f32" ? Math.min(tile.n, 128) : tile.n;
  return a.dtype === "f32" ? { ...tile, n, k: Math.min(tile.k, 32) } : { ...tile, n };
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
export function tileBuffers({ a, b }: Contraction, buffers: Buffer[], tile: TileShape): TileBuffers {
  const { dtype } = a;
  const declare = (name: string, role: Buffer["role"], kind: Buffer["dtype"], shape: readonly number[]): string => {
    const full = role === "fragment" ? name : `${name}_${kind}`;
    if (!buffers.some((x) => x.name === full)) buffers.push({ name: full, role, dtype: kind, shape, symmetric: false });
    return full;
  };
  const { stages, m, n, k } = tile;
  return {
    a: declare(a.isDeep ? "tile_a" : "tile_at", "shared", dtype, a.isDeep ? [stages, m, k] : [stages, k, m]),
    b: declare(b.isDeep ? "tile_bt" : "tile_b", "shared", dtype, b.isDeep ? [stages, n, k] : [stages, k, n]),
    accumulator: declare(`accumulator_${dtype}`, "fragment", "f32", [tile.m, tile.n]),
    result: declare("tile_c", "shared", "f32", [tile.m, tile.n]),
  };
}

/** Emits the tiles of a product, and of each what the loop's body does with its elements. */
export function emitTiles(
  op: Op,
  match: Contraction,
  tiles: Tiles,
  build: Builder,
  values: Substitution,
  world: number,
): void {
  const variables = op.regions[0]!.arguments;
  const low = variables.map((_, d) => values.get(op.operands[2 * d]!));
  const high = variables.map((_, d) => values.get(op.operands[2 * d + 1]!));
  const zero = build.constant(0);
  const sizes = variables.map((v) =>
    build.constant(v === match.row ? tiles.shape.m : v === match.column ? tiles.shape.n : 1),
  );
  const counts = variables.map((_, d) =>
    build.ceilDiv(build.binary("max", build.sub(high[d]!, low[d]!), zero), sizes[d]!),
  );
  const rotated = rotatedVariable(op, world);
  build.for("blocks", [[zero, counts.reduce((a, b) => build.mul(a, b))]], ([tile]) => {
    const at = new Map<Value, Value>();
    let rest = tile!;
    for (let d = variables.length - 1; d >= 0; d--) {
      const inOrder = d === 0 ? rest : build.rem(rest, counts[d]!);
      const number = variables[d] === rotated ? rotatedNumber(build, inOrder, counts[d]!, world) : inOrder;
      at.set(variables[d]!, build.add(low[d]!, build.mul(number, sizes[d]!)));
      if (d > 0) rest = build.div(rest, counts[d]!);
    }
    emitProduct(match, tiles, at, build, values);
    const end = (v: Value): Value => high[variables.indexOf(v)]!;
    emitEpilogue(op, match, tiles, { at, rowEnd: end(match.row), columnEnd: end(match.column) }, build, values);
  });
}

/** The accumulator of one tile, with `stages - 1` tiles of the operands on their way. */
function emitProduct(
  match: Contraction,
  tiles: Tiles,
  at: ReadonlyMap<Value, Value>,
  build: Builder,
  values: Substitution,
): void {
  const zero = build.constant(0);
  const depth = values.get(match.depth);
  const [k, stages] = [build.constant(tiles.shape.k), build.constant(tiles.shape.stages)];
  const steps = build.ceilDiv(depth, k);
  const ahead = tiles.shape.stages - 1;
  const along = match.contract.regions[0]!.arguments[0]!;
  const start = (step: Value): void => {
    build.if(build.compare("lt", step, steps), () => {
      const here = new Map([...at, [along, build.mul(step, k)]]);
      const stage = build.rem(step, stages);
      copyTile(build, match.a, tiles.a, here, stage, depth, values);
      copyTile(build, match.b, tiles.b, here, stage, depth, values);
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
    const { accumulator, a, b } = tiles;
    build.op("mma", [build.rem(step!, stages)], { accumulator, a, b, ...transposedOf(match) }, null);
  });
  build.op("copy_wait", [], { pending: 0 }, null);
  build.op("block_sync", [], {}, null);
  build.op("fragment_store", [], { from: tiles.accumulator, to: tiles.result }, null);
  build.op("block_sync", [], {}, null);
}

interface TilePlace {
  /** First values of the loop's variables in the tile. */
  readonly at: ReadonlyMap<Value, Value>;
  readonly rowEnd: Value;
  readonly columnEnd: Value;
}

/** The loop's body over the elements of the tile, the product replaced by its value. */
function emitEpilogue(
  op: Op,
  match: Contraction,
  tiles: Tiles,
  { at, rowEnd, columnEnd }: TilePlace,
  build: Builder,
  values: Substitution,
): void {
  const zero = build.constant(0);
  const [m, n] = [build.constant(tiles.shape.m), build.constant(tiles.shape.n)];
  const rows = build.binary("min", m, build.sub(rowEnd, at.get(match.row)!));
  const columns = build.binary("min", n, build.sub(columnEnd, at.get(match.column)!));
  const body = (width: Value, e: Value): void => {
    const inner = new Substitution(values);
    const i = build.div(e, width);
    const j = build.rem(e, width);
    for (const [variable, first] of at) {
      const offset = variable === match.row ? i : variable === match.column ? j : null;
      inner.set(variable, offset === null ? first : build.add(first, offset));
    }
    rewriteOps(op.regions[0]!.ops, build, inner, (o, b, v) => {
      if (o !== match.contract) return false;
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
