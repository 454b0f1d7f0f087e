/** CUDA text of roles: rings of tiles in shared memory that the copy engine fills (sm_90a). */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { UsageError } from "../../errors.js";
import { bufferOf, isRemote, type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { tileOperands } from "../ir/tile-window.js";
import { buffersNamed, walk, walkKernel } from "../ir/visit.js";
import type { ManifestParameter } from "../manifest.js";
import { DTYPES } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName } from "./names.js";
import { C_TYPE } from "./scalars.js";
import { matrixText } from "./tiles.js";

/** Bytes of a row of a swizzled tile: wider tiles lie in several slabs of such rows. */
export const SLAB_BYTES = 128;

type TensorMap = Extract<ManifestParameter, { kind: "tensor-map" }>;

/** Parameter of the tensor map that a copy into a ring uses. */
export function tensorMapOf(op: Op, kernel: Kernel): TensorMap {
  const from = bufferOf(kernel, text(op, "from"));
  const [, rows] = bufferOf(kernel, text(op, "to")).shape as readonly number[];
  const last = from.shape.length - 1;
  const columns = SLAB_BYTES / DTYPES[from.dtype].bytes;
  // Of rows of which only the first are copied, boxes have as many as of columns, so that those behind them are left out.
  const height = op.attributes["limit"] === "rows" ? Math.min(rows!, BOX_ROWS) : rows!;
  const box = from.shape.map((_, d) => (d === last ? columns : d === op.attributes["rows"] ? height : 1));
  return { kind: "tensor-map", buffer: from.name, ranks: isRemote(op) ? kernel.world : 0, box };
}

/** Rows of a box of a tile of which only some are copied. */
const BOX_ROWS = 64;

/**
 * Parameter of the tensor map by which two boxes of such a tile are loaded at once, where it has as many; else null. Each box takes the
 * copy engine its time, and the fewer there are, the sooner a stage is there (512×4096×8192 of f8 on an H200: 32.4 → 30.9 µs).
 */
function pairMapOf(op: Op, kernel: Kernel): TensorMap | null {
  const map = tensorMapOf(op, kernel);
  const [, rows] = bufferOf(kernel, text(op, "to")).shape as readonly number[];
  if (op.attributes["limit"] !== "rows" || rows! < 2 * BOX_ROWS) return null;
  return { ...map, box: map.box.map((size, d) => (d === op.attributes["rows"] ? 2 * BOX_ROWS : size)) };
}

/** Rows of boxes that tiles with few rows inside are loaded by, the fewest first. */
const FEW_ROWS = [16, 64, 128] as const;

/**
 * Parameters of the tensor maps that such a copy uses where no more rows are inside than their boxes have, and nobody asks for the
 * others: rows outside take the copy engine as long as others, or longer (on an H200, boxes of 64 rows: 16×14336×8192 66 µs for 74; on 2×H100
 * with those, 16×7168×4096 took 28.6 µs where 64×7168×4096 took 25.3, and with boxes of 16 rows 25.7).
 */
function fewMapsOf(op: Op, kernel: Kernel): readonly { readonly rows: number; readonly map: TensorMap }[] {
  const map = tensorMapOf(op, kernel);
  const along = op.attributes["rows"] as number;
  if (op.attributes["spare"] !== true || op.attributes["limit"] === "rows" || map.ranks > 0) return [];
  return FEW_ROWS.filter((rows) => rows < map.box[along]!).map((rows) => ({
    rows,
    map: { ...map, box: map.box.map((size, d) => (d === along ? rows : size)) },
  }));
}

export function tensorMapName({ buffer, ranks, box }: TensorMap): string {
  return `${bufferName(buffer)}_${ranks > 0 ? "maps" : "map"}_${box.join("x")}`;
}

/** All tensor maps of a kernel, each once. */
export function tensorMapsOf(kernel: Kernel): TensorMap[] {
  const found = new Map<string, TensorMap>();
  walkKernel(kernel, (op) => {
    if (op.name !== "copy_tile" || !("ring" in op.attributes) || op.attributes["plain"] === true) return;
    const pair = pairMapOf(op, kernel);
    const few = fewMapsOf(op, kernel).map(({ map }) => map);
    for (const map of [tensorMapOf(op, kernel), ...(pair === null ? [] : [pair]), ...few])
      found.set(tensorMapName(map), map);
  });
  return [...found.values()];
}

const WARP = 32;
export const WARP_GROUP = 128;

/** Name of the number of a consumer's warp group, of which the compiler knows that all threads of a warp have the same. */
export const CONSUMER_GROUP = "group";

/** Numbers of the barriers of each role; all threads of a block meet at that of number 0 (PTX, "barrier"). */
const [CONSUMERS_MEET, PRODUCERS_MEET, MOVERS_MEET] = [1, 2, 3];

/** All threads of a block meet, or those of a role. What producers have seen comes before what the copy engine reads for them. */
export function meetText(out: CudaEmitter): void {
  const { threads, barrier } = out.role;
  if (barrier === 0) return out.line("__syncthreads();");
  out.line(`asm volatile("bar.sync ${barrier}, ${threads};" ::: "memory");`);
  if (barrier === PRODUCERS_MEET) out.line('asm volatile("fence.proxy.async;" ::: "memory");');
}

/** Registers of a thread while all have equally many. */
function evenRegisters(threads: number): number {
  return Math.min(248, Math.floor(65536 / threads / 8) * 8);
}

export function rolesText(op: Op, out: CudaEmitter): void {
  out.use("here");
  out.use("rings");
  const { consumers, producers, movers } = op.attributes as { consumers: number; producers: number; movers?: number };
  const ring = ringName(op);
  const { stages } = ringPlace(op, out);
  const outgoing =
    op.attributes["outgoing"] === undefined
      ? null
      : {
          name: bufferName(text(op, "outgoing")),
          stages: bufferOf(out.kernel, text(op, "outgoing")).shape[0] as number,
        };
  const [more, fewer] = [op.attributes["consumerRegisters"], op.attributes["producerRegisters"]];
  const even = evenRegisters(out.kernel.blockThreads);
  // A warp group meets between two changes of its registers (PTX, "setmaxnreg"): the block does, before each gets back its share.
  const registers = (way: "inc" | "dec", count: number | undefined): void => {
    if (count !== undefined) out.line(`asm volatile("setmaxnreg.${way}.sync.aligned.u32 ${count};");`);
  };
  const isConsumer = `if (threadIdx.x < ${consumers})`;
  const behind = opsAround(op, out.kernel.body, "behind");
  out.block("", () => {
    // A stage is filled by one warp. Of plain copies each of its threads says when its own have landed, besides what the warp says.
    const told = 1 + (isPlain(op.regions[1]!) ? WARP : 0);
    out.line(`ring_begin<${stages}, ${consumers / 32}, ${told}, ${isFirst(op, out.kernel)}>(${ring});`);
    if (outgoing !== null)
      out.line(`ring_begin<${outgoing.stages}, ${movers! / 32}, ${consumers / 32}, true>(${outgoing.name});`);
    out.block(
      isConsumer,
      () => {
        registers("inc", more as number | undefined);
        out.line(`const u32 ${CONSUMER_GROUP} = __shfl_sync(0xffffffffu, threadIdx.x / ${WARP_GROUP}, 0);`);
        out.inRole({ threads: consumers, first: 0, barrier: CONSUMERS_MEET }, op.regions[0]!);
      },
      "} else {",
    );
    out.indented(() => {
      registers("dec", fewer as number | undefined);
      const produce = (): void => {
        out.line("Filling filling = {0, false};");
        out.inRole({ threads: producers, first: consumers, barrier: PRODUCERS_MEET }, op.regions[1]!);
      };
      if (movers === undefined) return produce();
      const first = consumers + producers;
      out.block(`if (threadIdx.x < ${first})`, produce, "} else {");
      out.indented(() => out.inRole({ threads: movers, first, barrier: MOVERS_MEET }, op.regions[2]!));
      out.line("}");
    });
    out.line("}");
    if (behind?.length === 0) return;
    // Where nothing has the ring's memory afterwards, its barriers may stay: to end them took 0.3 µs (H200, 2026-11).
    if (behind !== null && !behind.some((o) => buffersNamed(o).some((name) => out.shared.places.has(name))))
      out.line("__syncthreads();");
    else {
      out.line(`ring_end<${stages}>(${ring});`);
      if (outgoing !== null) out.line(`ring_end<${outgoing.stages}>(${outgoing.name});`);
    }
    // To keep counts for the next launch takes few registers; what a role has left is what its threads are compiled for.
    if (behind?.every((o) => keepsCounts(o, out.kernel)) === true) return;
    if (more === undefined) return;
    out.block(isConsumer, () => registers("dec", even), "} else {");
    out.indented(() => registers("inc", even));
    out.line("}");
  });
}

/** The stage of a ring that an op fills or multiplies; null where it does neither. */
export function stageOf(op: Op, kernel: Kernel): Value | null {
  if (op.name === "mma" && op.attributes["async"] === true) return op.operands[0]!;
  if (op.name !== "copy_tile" || !("ring" in op.attributes)) return null;
  return tileOperands(op, bufferOf(kernel, text(op, "from")).shape.length, op.operands).stage;
}

/** Whether some of what a producer copies is plain. */
function isPlain(producer: Region): boolean {
  let found = false;
  walk(producer, (op) => void (found ||= op.name === "ring_fill" && op.attributes["plain"] === true));
  return found;
}

/** Whether a block has touched no memory before but to read it, and kept what it read in registers. */
function isFirst(roles: Op, kernel: Kernel): boolean {
  const before = opsAround(roles, kernel.body, "before");
  const isQuiet = (op: Op): boolean => {
    const { effect } = definitionOf(op.name);
    if (op.name === "load") return ["state", "input", "inout"].includes(bufferOf(kernel, text(op, "buffer")).role);
    if (op.name === "store") return bufferOf(kernel, text(op, "buffer")).role === "register";
    return effect === "pure" || op.name === "aligned" ? op.regions.length === 0 : false;
  };
  return before !== null && before.every(isQuiet);
}

/** What a block does before an op or behind it, which may stand under conditions, but in no loop; null of others. */
function opsAround(op: Op, { ops }: Region, side: "before" | "behind"): readonly Op[] | null {
  const at = ops.indexOf(op);
  const around = (i: number): readonly Op[] => (side === "before" ? ops.slice(0, i) : ops.slice(i + 1));
  if (at >= 0) return around(at);
  for (const [i, { name, regions }] of ops.entries())
    for (const region of name === "if" ? regions : []) {
      const inside = opsAround(op, region, side);
      if (inside !== null) return side === "before" ? [...around(i), ...inside] : [...inside, ...around(i)];
    }
  return null;
}

/** Whether all that an op does is to keep counts for the next launch. */
function keepsCounts({ name, attributes, regions }: Op, kernel: Kernel): boolean {
  if (name === "load" || name === "store")
    return ["state", "register"].includes(bufferOf(kernel, String(attributes["buffer"])).role);
  const isOfThreads = name === "if" || (name === "for" && attributes["map"] === "threads");
  return (
    (isOfThreads || definitionOf(name).effect === "pure") &&
    regions.every(({ ops }) => ops.every((o) => keepsCounts(o, kernel)))
  );
}

function ringName(op: Op): string {
  return bufferName(text(op, "ring"));
}

function ringPlace(op: Op, out: CudaEmitter): { readonly stages: number } {
  const [stages] = bufferOf(out.kernel, text(op, "ring")).shape as readonly number[];
  return { stages: stages! };
}

/**
 * Whose turn it is to fill a stage, as a condition; null where all warps of the role do it together, or the role has one. A producer's warps take stages in
 * turn, each all of one: a thread needs some 0.2 µs to ask for a stage of 10 KiB, in which a multiprocessor could load it (H200, 16 rows by
 * 8192×2048, 2026-11: 11.7 µs where all warps took part in each stage and the kernel 14.6). Each stage is asked for by one warp alone, so that none can miss
 * that it was free.
 * @param ops of a region from one on that asks for a stage, with which the region ends
 */
export function turnText(ops: readonly Op[], out: CudaEmitter): string | null {
  const [first, last] = [ops[0]!, ops.at(-1)!];
  const warps = out.role.threads / WARP;
  if (out.role.barrier !== PRODUCERS_MEET || warps === 1) return null;
  if (last.name !== "ring_fill" || last.operands[0] !== first.operands[0])
    throw new InternalCompilerError("what asks for a stage of a ring does not end by filling it");
  return `(u32)${out.name(first.operands[0]!)} % ${warps} == threadIdx.x / ${WARP} - ${out.role.first / WARP}`;
}

export function ringText(op: Op, out: CudaEmitter): void {
  const { stages } = ringPlace(op, out);
  const filling = op.name === "ring_fill" ? ", filling" : "";
  // Consumers fill by what they store, of which nothing is on its way.
  if (op.name === "ring_fill" && out.role.barrier === CONSUMERS_MEET) out.line("Filling filling = {0, false};");
  const position = out.name(op.operands[0]!);
  if (op.attributes["plain"] === true) out.line(`ring_land_plain<${stages}>(${ringName(op)}, ${position});`);
  out.line(`${op.name}<${stages}>(${ringName(op)}, ${position}${filling});`);
}

/** A copy by the copy engine; by the warp's threads where the engine cannot address the source, or the tile is cut. */
export function ringCopyText(op: Op, out: CudaEmitter): void {
  out.use("rings");
  const { kernel } = out;
  const from = bufferOf(kernel, text(op, "from"));
  const to = out.shared.places.get(text(op, "to"))!;
  const { stages } = ringPlace(op, out);
  const [own, rows, columns] = to.buffer.shape as readonly [number, number, number];
  const { peer, indices, stage, end, limit } = tileOperands(op, from.shape.length, op.operands);
  // Where a stage of the ring has two tiles of an operand, each is a stage of its buffer.
  const ofRing = `${out.name(stage)}${own === stages ? "" : ` / ${own / stages}`}`;
  const at = indices.map((v) => out.name(v));
  const source = peer === null ? bufferName(from.name) : out.address(op, peer, "from");
  const matrix = matrixText(op, from, at, end === null ? null : out.name(end));
  const [stride, height, width, row, column] = matrix.parts;
  if (op.attributes["plain"] === true) {
    const place = `${bufferName(to.buffer.name)} + ${out.name(stage)} * ${to.stageStride}`;
    return out.line(
      `ring_copy_plain<${rows}, ${columns}>(${place}, ${source}${matrix.start}, ${stride}, ${height}, ${width}, ${row}, ${column});`,
    );
  }
  const map = tensorMapOf(op, kernel);
  const few = fewMapsOf(op, kernel);
  const pair = pairMapOf(op, kernel);
  const addressOf = (map: TensorMap): string => `&${tensorMapName(map)}${peer === null ? "" : `.m[${out.name(peer)}]`}`;
  const address = addressOf(map);
  const slab = SLAB_BYTES / DTYPES[from.dtype].bytes;
  const tile = `${bufferName(to.buffer.name)} + ${out.name(stage)} * ${to.stageStride}`;
  const whole = matrix.whole;
  // Beyond what the buffer holds the engine writes zeros; what the program has cut off before that, it does not know.
  const uncut =
    end === null
      ? ""
      : op.attributes["end"] === "rows"
        ? ` && (${row} + ${rows} <= ${height} || ${height} == ${whole.height})`
        : ` && (${column} + ${columns} <= ${width} || ${width} == ${whole.width})`;
  const [last, along] = [at.length - 1, op.attributes["rows"] as number];
  out.block(
    `if (can_map(${source}, ${whole.width})${uncut})`,
    () => {
      const bytes = rows * columns * DTYPES[from.dtype].bytes;
      /** Boxes of `size` rows or columns, one after the other. */
      const load = (of: "rows" | "columns", size: number, box: string, asked: string | null): void => {
        const [count, step] = of === "rows" ? [rows / size, size * slab] : [columns / size, rows * size];
        if (!Number.isInteger(count))
          throw new UsageError(
            `the mapping option 'roles' has tiles of ${columns} columns, which the copy engine brings in boxes of ${size}`,
            `give tiles a multiple of ${size} columns`,
          );
        const next = of === "rows" ? along : last;
        const place = (v: string, d: number): string => `(int)(${v})${d === next && count > 1 ? ` + s * ${size}` : ""}`;
        const full = `ring_full<${stages}>(${ringName(op)}, ${ofRing})`;
        const some = asked === null ? "" : `if (s < ${asked}) `;
        const call = (box: string): string =>
          `ring_load(${tile} + s * ${step}, ${box}, ${full}, ${at.map(place).reverse().join(", ")});`;
        out.block(`if (threadIdx.x % ${WARP} == 0)`, () => {
          out.line("#pragma unroll");
          if (pair === null) return out.line(`for (int s = 0; s < ${count}; s++) ${some}${call(box)}`);
          out.block(`for (int s = 0; s < ${count}; s += 2)`, () => {
            out.line(`if (s + 1 < ${asked!}) ${call(addressOf(pair))}`);
            out.line(`else if (s < ${asked!}) ${call(box)}`);
          });
        });
      };
      if (limit !== null) {
        // Boxes behind the last row or column that is asked for stay away.
        const of = op.attributes["limit"] as "rows" | "columns";
        const [size, all] = of === "rows" ? [Math.min(rows, BOX_ROWS), rows] : [slab, columns];
        const [inside, most] = [`${height} - (${row})`, out.name(limit)];
        const asked = `boxes_${to.buffer.name}`;
        const least = of === "rows" ? `(${inside} < ${most} ? ${inside} : ${most})` : most;
        out.line(`const int ${asked} = (int)((${least} + ${size - 1}) / ${size});`);
        out.line(`filling.bytes += ${asked} * ${(bytes * size) / all};`);
        return load(of, size, address, asked);
      }
      const left = `left_${to.buffer.name}`;
      if (few.length > 0) out.line(`const i64 ${left} = ${height} - (${row});`);
      /** What holds for a box, by the rows that are inside. */
      const byRows = (whole: string, of: (box: (typeof few)[number]) => string): string =>
        few.map((box) => `${left} <= ${box.rows} ? ${of(box)} : `).join("") + whole;
      out.line(`filling.bytes += ${byRows(String(bytes), (box) => String((bytes / rows) * box.rows))};`);
      load(
        "columns",
        slab,
        byRows(address, (box) => `&${tensorMapName(box.map)}`),
        null,
      );
    },
    "} else {",
  );
  const most = (which: "rows" | "columns", end: string, first: string): string =>
    limit === null || op.attributes["limit"] !== which
      ? end
      : `(${first} + ${out.name(limit)} < ${end} ? ${first} + ${out.name(limit)} : ${end})`;
  const [lastRow, lastColumn] = [most("rows", height, row), most("columns", width, column)];
  out.indented(() => {
    out.line("filling.by_threads = true;");
    out.line(
      `ring_copy<${C_TYPE[from.dtype]}, ${rows}, ${columns}>(${tile}, ${source}${matrix.start}, ${stride}, ${lastRow}, ${lastColumn}, ${row}, ${column});`,
    );
  });
  out.line("}");
}
