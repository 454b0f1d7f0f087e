/**
 * CUDA text of roles: rings of tiles in shared memory that the copy engine fills, and products that warp groups start on them
 * (sm_90a). A warp group is 128 threads, and has 64 rows of the accumulator; see PTX, "Asynchronous warpgroup level matrix
 * instructions", for how its threads hold them and for the descriptors of tiles.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { bufferOf, isRemote, type Kernel, type Op, text, type Value } from "../ir/module.js";
import { productShape } from "../ir/tile-window.js";
import { walkKernel } from "../ir/visit.js";
import type { ManifestParameter } from "../manifest.js";
import { DTYPES } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName } from "./names.js";
import { C_TYPE } from "./scalars.js";
import { copyOperands, matrixText } from "./tiles.js";

/** Bytes of a row of a swizzled tile: wider tiles lie in several slabs of such rows. */
export const SLAB_BYTES = 128;
const WARP_GROUP = 128;
/** Depth of one instruction for 16-bit operands. */
const INSTRUCTION_DEPTH = 16;

/** Parameter of the tensor map that a copy into a ring uses. */
export function tensorMapOf(op: Op, kernel: Kernel): Extract<ManifestParameter, { kind: "tensor-map" }> {
  const from = bufferOf(kernel, text(op, "from"));
  const [, rows] = bufferOf(kernel, text(op, "to")).shape as readonly number[];
  const last = from.shape.length - 1;
  const columns = SLAB_BYTES / DTYPES[from.dtype].bytes;
  const box = from.shape.map((_, d) => (d === last ? columns : d === op.attributes["rows"] ? rows! : 1));
  return { kind: "tensor-map", buffer: from.name, ranks: isRemote(op) ? kernel.world : 0, box };
}

export function tensorMapName({ buffer, ranks, box }: Extract<ManifestParameter, { kind: "tensor-map" }>): string {
  return `${bufferName(buffer)}_${ranks > 0 ? "maps" : "map"}_${box.join("x")}`;
}

/** All tensor maps of a kernel, each once. */
export function tensorMapsOf(kernel: Kernel): Extract<ManifestParameter, { kind: "tensor-map" }>[] {
  const found = new Map<string, Extract<ManifestParameter, { kind: "tensor-map" }>>();
  walkKernel(kernel, (op) => {
    if (op.name !== "copy_tile" || !("ring" in op.attributes)) return;
    const map = tensorMapOf(op, kernel);
    found.set(tensorMapName(map), map);
  });
  return [...found.values()];
}

/** Threads that share a fragment: the consumers, where the block has roles. */
export function fragmentThreads(kernel: Kernel): number {
  let threads = kernel.blockThreads;
  walkKernel(kernel, (op) => void (op.name === "roles" && (threads = op.attributes["consumers"] as number)));
  return threads;
}

/** Registers of a thread while all have equally many. */
function evenRegisters(threads: number): number {
  return Math.min(248, Math.floor(65536 / threads / 8) * 8);
}

export function rolesText(op: Op, out: CudaEmitter, isLast: boolean): void {
  out.use("rings");
  const { consumers, producers } = op.attributes as { consumers: number; producers: number };
  const ring = ringName(op);
  const { stages } = ringPlace(op, out);
  const [more, fewer] = [op.attributes["consumerRegisters"], op.attributes["producerRegisters"]];
  const even = evenRegisters(out.kernel.blockThreads);
  // A warp group meets between two changes of its registers (PTX, "setmaxnreg"): the block does, before each gets back its share.
  const registers = (way: "inc" | "dec", count: number | undefined): void => {
    if (count !== undefined) out.line(`asm volatile("setmaxnreg.${way}.sync.aligned.u32 ${count};");`);
  };
  const isConsumer = `if (threadIdx.x < ${consumers})`;
  out.block("", () => {
    out.line(`ring_begin<${stages}, ${consumers / 32}, ${producers / 32}>(${ring});`);
    out.block(
      isConsumer,
      () => {
        registers("inc", more as number | undefined);
        out.inRole({ threads: consumers, first: 0 }, op.regions[0]!);
      },
      "} else {",
    );
    out.indented(() => {
      registers("dec", fewer as number | undefined);
      out.line("Filling filling = {0, false};");
      out.inRole({ threads: producers, first: consumers }, op.regions[1]!);
    });
    out.line("}");
    if (isLast) return;
    out.line(`ring_end<${stages}>(${ring});`);
    if (more === undefined) return;
    out.block(isConsumer, () => registers("dec", even), "} else {");
    out.indented(() => registers("inc", even));
    out.line("}");
  });
}

function ringName(op: Op): string {
  return bufferName(text(op, "ring"));
}

function ringPlace(op: Op, out: CudaEmitter): { readonly stages: number } {
  const [stages] = bufferOf(out.kernel, text(op, "ring")).shape as readonly number[];
  return { stages: stages! };
}

export function ringText(op: Op, out: CudaEmitter): void {
  const { stages } = ringPlace(op, out);
  const more = op.name === "ring_fill" ? `, ${out.role.first}` : "";
  const filling = op.name === "ring_fill" ? ", filling" : "";
  out.line(`${op.name}<${stages}${more}>(${ringName(op)}, ${out.name(op.operands[0]!)}${filling});`);
}

/** A copy by the copy engine; by the producer's threads where the engine cannot address the source, or the tile is cut. */
export function ringCopyText(op: Op, out: CudaEmitter): void {
  out.use("rings");
  const { kernel } = out;
  const from = bufferOf(kernel, text(op, "from"));
  const to = out.shared.places.get(text(op, "to"))!;
  const { stages } = ringPlace(op, out);
  const [, rows, columns] = to.buffer.shape as readonly [number, number, number];
  const { peer, indices, stage, end } = copyOperands(op, from);
  const map = tensorMapOf(op, kernel);
  const at = indices.map((v) => out.name(v));
  const source = peer === null ? bufferName(from.name) : out.address(op, peer, "from");
  const matrix = matrixText(op, from, at, end === null ? null : out.name(end));
  const [stride, height, width, row, column] = matrix.parts;
  const address = peer === null ? `&${tensorMapName(map)}` : `&${tensorMapName(map)}.m[${out.name(peer)}]`;
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
  const { threads, first } = out.role;
  const last = at.length - 1;
  out.block(
    `if (can_map(${source}, ${whole.width})${uncut})`,
    () => {
      out.line(`filling.bytes += ${rows * columns * DTYPES[from.dtype].bytes};`);
      const places = [...at].reverse().map((v, d) => (last - d === last ? `(int)(${v}) + s * ${slab}` : `(int)(${v})`));
      out.block(`if (threadIdx.x == ${first})`, () => {
        out.line("#pragma unroll");
        out.line(
          `for (int s = 0; s < ${columns / slab}; s++) ring_load(${tile} + s * ${rows * slab}, ${address}, ring_full<${stages}>(${ringName(op)}, ${out.name(stage)}), ${places.join(", ")});`,
        );
      });
    },
    "} else {",
  );
  out.indented(() => {
    out.line("filling.by_threads = true;");
    out.line(
      `ring_copy<${C_TYPE[from.dtype]}, ${rows}, ${columns}, ${threads}, ${first}>(${tile}, ${source}${matrix.start}, ${stride}, ${height}, ${width}, ${row}, ${column});`,
    );
  });
  out.line("}");
}

/** Products of a stage, started; the accumulator is not touched until they have ended. */
export function asyncProductText(op: Op, out: CudaEmitter): void {
  const { m, n, k, transposed } = productShape(op, out.kernel);
  const [a, b] = ["a", "b"].map((key) => out.shared.places.get(text(op, key))!);
  const stage = out.name(op.operands[0]!);
  const { dtype } = a!.buffer;
  if (m !== (out.role.threads / WARP_GROUP) * 64 || k * DTYPES[dtype].bytes !== SLAB_BYTES || n % 8 !== 0 || n > 256)
    throw new InternalCompilerError(`no instructions for a product of ${m}×${n}×${k} by ${out.role.threads} threads`);
  out.use("rings");
  out.use("wgmma");
  const turned = { a: transposed.includes("a"), b: !transposed.includes("b") };
  const call = instruction(out, n, dtype === "bf16" ? "bf16" : "f16", turned);
  const start = (place: typeof a, rows: string): string =>
    `ring_address(${bufferName(place!.buffer.name)} + ${stage} * ${place!.stageStride})${rows}`;
  const step = (isTurned: boolean): number => (isTurned ? INSTRUCTION_DEPTH * SLAB_BYTES : INSTRUCTION_DEPTH * 2);
  const slab = k * SLAB_BYTES;
  const group = ` + threadIdx.x / ${WARP_GROUP} * ${64 * SLAB_BYTES}`;
  out.block("", () => {
    out.line(`const u64 da = tile_descriptor(${start(a, group)}, ${turned.a ? slab : 16});`);
    out.line(`const u64 db = tile_descriptor(${start(b, "")}, ${turned.b ? slab : 16});`);
    out.line("wgmma_fence();");
    for (let d = 0; d < k / INSTRUCTION_DEPTH; d++)
      out.line(
        `${call}(${bufferName(text(op, "accumulator"))}, da + ${(d * step(turned.a)) / 16}, db + ${(d * step(turned.b)) / 16});`,
      );
    out.line("wgmma_commit();");
  });
}

/** Defines the function of one instruction, and gives its name. */
function instruction(
  out: CudaEmitter,
  n: number,
  type: "bf16" | "f16",
  turned: { readonly a: boolean; readonly b: boolean },
): string {
  const name = `wgmma_m64n${n}k16_${type}_${turned.a ? "t" : "n"}${turned.b ? "t" : "n"}`;
  const registers = n / 2;
  const list = Array.from({ length: registers }, (_, i) => `%${i}`).join(",");
  const outs = Array.from({ length: registers }, (_, i) => `"+f"(d[${i}])`).join(", ");
  out.helper(
    name,
    `__device__ __forceinline__ void ${name}(float* d, u64 a, u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n${n}k16.f32.${type}.${type} {${list}}, %${registers}, %${registers + 1}, 1, 1, 1, ${Number(turned.a)}, ${Number(turned.b)};" : ${outs} : "l"(a), "l"(b));
}`,
  );
  return name;
}

export function productWaitText(op: Op, out: CudaEmitter): void {
  const name = bufferName(text(op, "accumulator"));
  const pending = op.attributes["pending"] as number;
  out.line(`asm volatile("wgmma.wait_group.sync.aligned ${pending};" ::: "memory");`);
  if (pending === 0) out.line(`keep(${name});`);
}

/** What a loop over an accumulator's elements tells the loads inside it: the first register, as text, and the lanes. */
export interface FragmentTurn {
  readonly buffer: string;
  readonly lanes: number;
  /** Text of the register of a lane. */
  readonly register: (lane: number) => string;
  readonly variable: Value;
}

/**
 * A loop over the elements of an accumulator. Each thread has, of each eight columns, two neighbours in two rows eight apart.
 * With lanes, quads of threads exchange what they have first, so that each holds eight neighbours of a row.
 */
export function fragmentLoopText(op: Op, out: CudaEmitter): void {
  out.use("wgmma");
  const name = text(op, "fragment");
  const [m, n] = bufferOf(out.kernel, name).shape as readonly [number, number];
  const lanes = (op.attributes["lanes"] as number | undefined) ?? 1;
  const registers = (m * n) / out.role.threads;
  const fragment = bufferName(name);
  const [variable] = op.regions[0]!.arguments as [Value];
  const v = out.name(variable);
  const thread = `t${v}`;
  const row = `${thread} / 32 * 16 + ${thread} % 32 / 4`;
  out.line(`const u32 ${thread} = thread_here();`);
  if (lanes === 1) {
    out.line("#pragma unroll");
    out.block(`for (int l = 0; l < ${registers}; l++)`, () => {
      out.line(`const i64 ${v} = (${row} + l / 2 % 2 * 8) * ${n} + l / 4 * 8 + ${thread} % 4 * 2 + l % 2;`);
      out.inFragment({ buffer: name, lanes, register: () => `${fragment}[l]`, variable }, op.regions[0]!);
    });
    return;
  }
  if (n % 32 !== 0 || 8 % lanes !== 0)
    throw new InternalCompilerError(`no vectors of ${lanes} of an accumulator of ${n} columns`);
  out.line(`spread_fragment<${n}>(${fragment});`);
  out.line("#pragma unroll");
  const parts = 8 / lanes;
  out.block(`for (int l = 0; l < ${registers / lanes}; l++)`, () => {
    const [chunk, part] = parts === 1 ? ["l", "0"] : [`(l / ${parts})`, `(l % ${parts})`];
    out.line(
      `const i64 ${v} = ((${row} + ${chunk} % 2 * 8) * ${n} + ${chunk} / 2 * 32 + ${thread} % 4 * 8) / ${lanes} + ${part};`,
    );
    const register = (lane: number): string => {
      const e = parts === 1 ? String(lane) : `(${part} * ${lanes} + ${lane})`;
      return `${fragment}[${chunk} / 2 * 16 + ${e} / 2 * 4 + ${chunk} % 2 * 2 + ${e} % 2]`;
    };
    out.inFragment({ buffer: name, lanes, register, variable }, op.regions[0]!);
  });
}
