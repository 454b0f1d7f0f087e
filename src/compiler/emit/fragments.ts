/**
 * CUDA text of accumulators that warp groups hold, and of the products they start on tiles in shared memory (sm_90a). A warp
 * group is 128 threads, and has 64 rows of the accumulator; see PTX, "Asynchronous warpgroup level matrix instructions", for
 * how its threads hold them and for the descriptors of tiles.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Buffer, bufferOf, type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import { isAddedApart, PATCH_COLUMNS, PATCH_PAD, productShape } from "../ir/tile-window.js";
import { scalarOf } from "../ir/types.js";
import { walk, walkKernel } from "../ir/visit.js";
import { type ComputeDType, type DType, DTYPES } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName } from "./names.js";
import { SLAB_BYTES } from "./roles.js";
import { C_TYPE } from "./scalars.js";

const WARP_GROUP = 128;
/** Bytes of an operand's row that one instruction multiplies. */
const INSTRUCTION_BYTES = 32;

/** Types of operands, as instructions name them. */
const OPERANDS: Partial<Record<DType, string>> = {
  bf16: "bf16",
  f16: "f16",
  f8e4m3: "e4m3",
  f8e5m2: "e5m2",
  i8: "s8",
  u8: "u8",
};

/** Threads that share a fragment: the consumers, where the block has roles. */
export function fragmentThreads(kernel: Kernel): number {
  let threads = kernel.blockThreads;
  walkKernel(kernel, (op) => void (op.name === "roles" && (threads = op.attributes["consumers"] as number)));
  return threads;
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
  const start = (place: typeof a, rows: string): string =>
    `ring_address(${bufferName(place!.buffer.name)} + ${stage} * ${place!.stageStride})${rows}`;
  const { bytes } = DTYPES[dtype];
  const depth = INSTRUCTION_BYTES / bytes;
  // In units of 16 bytes, as descriptors have them.
  const step = (isTurned: boolean): number => (depth * (isTurned ? SLAB_BYTES : bytes)) / 16;
  const slab = k * SLAB_BYTES;
  const group = ` + threadIdx.x / ${WARP_GROUP} * ${64 * SLAB_BYTES}`;
  const starts = [
    `tile_descriptor(${start(a, group)}, ${turned.a ? slab : 16})`,
    `tile_descriptor(${start(b, "")}, ${turned.b ? slab : 16})`,
  ];
  const call = products(out, { n, k, depth, dtype, turned, steps: { a: step(turned.a), b: step(turned.b) } });
  const accumulator = bufferOf(out.kernel, text(op, "accumulator"));
  const apart = apartText(accumulator, out);
  const sums = [bufferName(accumulator.name), ...(apart === null ? [] : [apart.name])];
  out.line(`${call}(${[...sums, ...starts].join(", ")});`);
}

interface Instructions {
  readonly n: number;
  readonly k: number;
  /** Depth of one instruction. */
  readonly depth: number;
  readonly dtype: DType;
  readonly turned: { readonly a: boolean; readonly b: boolean };
  /** What a descriptor grows by from one instruction to the next. */
  readonly steps: { readonly a: number; readonly b: number };
}

/**
 * Defines the function of a stage's instructions, and gives its name. They are one statement: each that names the whole
 * accumulator has the compiler copy it in its text, and take longer for it.
 */
function products(out: CudaEmitter, instructions: Instructions): string {
  const { n, k, depth, dtype, turned } = instructions;
  const sum = SUMS[DTYPES[dtype].compute]!;
  const name = `wgmma_m64n${n}k${depth}_${OPERANDS[dtype]!}_${turned.a ? "t" : "n"}${turned.b ? "t" : "n"}_${k}`;
  const body = isAddedApart(dtype)
    ? partsText(instructions)
    : startText(instructions, { name: "d", columns: n, isNew: false, b: "b" });
  const apart = isAddedApart(dtype) ? ", float* p" : "";
  out.helper(name, `__device__ __forceinline__ void ${name}(${sum.c}* d${apart}, u64 a, u64 b) {\n${body}\n}`);
  return name;
}

/** Instructions of a stage into the registers of so many columns; `isNew`: whether those hold nothing before. */
function startText(
  { k, depth, dtype, turned, steps }: Instructions,
  { name, columns, isNew, b }: { name: string; columns: number; isNew: boolean; b: string },
): string {
  const type = OPERANDS[dtype]!;
  const sum = SUMS[DTYPES[dtype].compute]!;
  const registers = columns / 2;
  const list = Array.from({ length: registers }, (_, i) => `%${i}`).join(",");
  const place = (i: number): string => `%${registers + 2 * i}, %${registers + 2 * i + 1}`;
  // Signs are of floats; which way operands lie, of 16 bits.
  const signs = sum.type === "f32" ? ", 1, 1" : "";
  const ways = DTYPES[dtype].bytes === 2 ? `, ${Number(turned.a)}, ${Number(turned.b)}` : "";
  const kind = `m64n${columns}k${depth}.${sum.type}.${type}.${type}`;
  const count = k / depth;
  const lines = Array.from({ length: count }, (_, i) => {
    const isAdded = isNew && i === 0 ? 0 : 1;
    return `"wgmma.mma_async.sync.aligned.${kind} {${list}}, ${place(i)}, ${isAdded}${signs}${ways};\\n"`;
  });
  const descriptors = Array.from({ length: count }, (_, i) => `"l"(a + ${i * steps.a}), "l"(${b} + ${i * steps.b})`);
  return `  asm volatile("wgmma.fence.sync.aligned;\\n"
    ${lines.join("\n    ")}
    "wgmma.commit_group.sync.aligned;"
    : ${registerOperands(name, sum.register, registers)}
    : ${descriptors.join(", ")}
    : "memory");`;
}

/** Columns whose sums of a stage a thread has registers for, besides those of the accumulator. */
const APART_COLUMNS = 128;

/** The registers of sums of a stage that are added up apart from an accumulator; null where its are not. */
export function apartText(
  { name, shape }: Buffer,
  out: CudaEmitter,
): { readonly name: string; readonly count: number } | null {
  let isApart = false;
  walkKernel(out.kernel, (op) => {
    if (op.name !== "mma" || text(op, "accumulator") !== name) return;
    isApart ||= isAddedApart(bufferOf(out.kernel, text(op, "a")).dtype);
  });
  return isApart ? { name: `${bufferName(name)}_apart`, count: Math.min(shape[1] as number, APART_COLUMNS) / 2 } : null;
}

/**
 * A stage in parts of the columns, of which each ends when the next is about to begin, of the next stage, too: what is done
 * between two stages is done while the last part runs.
 */
function partsText(instructions: Instructions): string {
  const { n } = instructions;
  const columns = Math.min(n, APART_COLUMNS);
  const parts = n / columns;
  if (!Number.isInteger(parts))
    throw new InternalCompilerError(`no instructions for ${n} columns in parts of ${columns}`);
  const each = Array.from({ length: parts }, (_, i) => {
    const b = i === 0 ? "b" : `b + ${(i * columns * SLAB_BYTES) / 16}`;
    return `${addText((i + parts - 1) % parts, columns / 2)}\n${startText(instructions, { name: "p", columns, isNew: true, b })}`;
  });
  return each.join("\n");
}

/** The part that runs ends, and is added to the accumulator. */
function addText(part: number, registers: number): string {
  return `  asm volatile("wgmma.wait_group.sync.aligned 0;" : ${registerOperands("p", "f", registers)} :: "memory");
#pragma unroll
  for (int i = 0; i < ${registers}; i++) d[${part * registers} + i] += p[i];`;
}

/** What sums are, in the instructions and in C. Whole numbers wrap alike, with a sign and without. */
const SUMS: Partial<Record<ComputeDType, { readonly type: string; readonly register: string; readonly c: string }>> = {
  f32: { type: "f32", register: "f", c: C_TYPE.f32 },
  i32: { type: "s32", register: "r", c: C_TYPE.i32 },
  u32: { type: "s32", register: "r", c: C_TYPE.u32 },
};

function registerOperands(name: string, register: string, registers: number): string {
  return Array.from({ length: registers }, (_, i) => `"+${register}"(${name}[${i}])`).join(", ");
}

export function productWaitText(op: Op, out: CudaEmitter): void {
  const buffer = bufferOf(out.kernel, text(op, "accumulator"));
  const name = bufferName(buffer.name);
  const pending = op.attributes["pending"] as number;
  const apart = apartText(buffer, out);
  // The parts of a product end before the next product begins.
  if (pending > 0)
    return apart === null
      ? out.line(`asm volatile("wgmma.wait_group.sync.aligned ${pending};" ::: "memory");`)
      : undefined;
  const { dtype, shape } = buffer;
  const [m, n] = shape as readonly [number, number];
  const registers = (m * n) / out.role.threads;
  const { register, c } = SUMS[dtype as ComputeDType]!;
  const end = `wgmma_end_${registers}${dtype === "f32" ? "" : `_${dtype}`}${apart === null ? "" : "_apart"}`;
  // The compiler moves no use of the accumulator across this.
  const wait = `  asm volatile("wgmma.wait_group.sync.aligned 0;" : ${registerOperands("d", register, registers)} :: "memory");`;
  const body = apart === null ? wait : addText(registers / apart.count - 1, apart.count);
  out.helper(end, `__device__ __forceinline__ void ${end}(${c}* d${apart === null ? "" : ", float* p"}) {\n${body}\n}`);
  out.line(`${end}(${name}${apart === null ? "" : `, ${apart.name}`});`);
}

/** What a loop over an accumulator's elements tells the ops inside it. */
export interface FragmentElements {
  readonly buffer: string;
  readonly lanes: number;
  /** Text of the place of what the iteration counts, and the dtype it lies there in. */
  readonly place: string;
  readonly dtype: DType;
  /** The cast that has been done already. */
  readonly cast: Op | null;
}

/** Rows of the accumulator that a warp has. */
const WARP_ROWS = 16;
/** What has half the bytes of f32: a patch has twice as many columns of it. */
type Narrow = "bf16" | "f16";
/** Most ops of a body that is written out for all vectors that a thread has of a patch; functions are long. */
const SHORT_BODY = 24;

/**
 * A loop over the elements of an accumulator. Each thread has, of each eight columns, two neighbours in two rows eight apart:
 * a warp puts some columns after the other into its rows of a shared buffer, and takes them from there row by row. So the body
 * is one loop and is written out once, however many registers there are. What the body casts before all else is cast
 * before it is put there, and takes half the room.
 */
export function fragmentLoopText(op: Op, out: CudaEmitter): void {
  loopsText(op, null, out);
}

/** The loops over an accumulator that a condition chooses between, where they go through its patch alike; else null. */
export function fragmentBranch(op: Op): readonly [Op, Op] | null {
  const [first, second] = op.regions.map(({ ops }) => {
    const [loop, ...more] = ops.filter((o) => o.name !== "const");
    return more.length === 0 && loop?.name === "for" && loop.attributes["map"] === "fragment" ? loop : null;
  });
  if (first == null || second == null) return null;
  const way = (loop: Op): unknown[] => [text(loop, "fragment"), text(loop, "through"), dtypeOf(firstCast(loop))];
  return way(first).every((part, i) => part === way(second)[i]) ? [first, second] : null;
}

export function fragmentBranchText(condition: string, [first, second]: readonly [Op, Op], out: CudaEmitter): void {
  loopsText(first, { condition, loop: second }, out);
}

function loopsText(
  op: Op,
  otherwise: { readonly condition: string; readonly loop: Op } | null,
  out: CudaEmitter,
): void {
  out.use("here");
  const [name, through] = [text(op, "fragment"), bufferOf(out.kernel, text(op, "through"))];
  const { dtype: summed, shape } = bufferOf(out.kernel, name);
  const [, n] = shape as readonly [number, number];
  const cast = firstCast(op);
  const wide = PATCH_COLUMNS - PATCH_PAD;
  const dtype = cast === null || n % (2 * wide) !== 0 ? summed : dtypeOf(cast);
  const columns = wide * (DTYPES[summed].bytes / DTYPES[dtype!].bytes);
  const stride = columns + PATCH_PAD;
  const [height, width] = through.shape as readonly [number, number];
  if (n % columns !== 0 || width !== PATCH_COLUMNS || height < (out.role.threads / 32) * WARP_ROWS)
    throw new InternalCompilerError(`no way for an accumulator of ${n} columns through ${height}×${width}`);
  const put = putText(out, n, { from: summed, to: dtype! }, columns);
  const type = C_TYPE[dtype!];
  const own = out.name(op.regions[0]!.arguments[0]!);
  const [t, patch, part] = [`t${own}`, `p${own}`, `c${own}`];

  /** What is in the patch, by the warp's threads. */
  const taken = (loop: Op): void => {
    const [body] = loop.regions as [Region];
    const v = out.name(body.arguments[0]!);
    const l = `l${v}`;
    const lanes = (loop.attributes["lanes"] as number | undefined) ?? 1;
    const across = columns / lanes;
    out.line(`#pragma unroll ${lanes > 1 && body.ops.length <= SHORT_BODY ? (WARP_ROWS * across) / 32 : 1}`);
    out.block(`for (u32 ${l} = ${t} % 32; ${l} < ${WARP_ROWS * across}; ${l} += 32)`, () => {
      out.line(
        `const i64 ${v} = (${t} / 32 * ${WARP_ROWS} + ${l} / ${across}) * ${n / lanes} + ${part} * ${across} + ${l} % ${across};`,
      );
      const place = `${patch} + ${l} / ${across} * ${stride} + ${l} % ${across} * ${lanes}`;
      out.inFragment(
        { buffer: name, lanes, place, dtype: dtype!, cast: dtype === summed ? null : firstCast(loop) },
        body,
      );
    });
  };

  out.line(`const u32 ${t} = thread_here();`);
  out.line(`${type}* const ${patch} = (${type}*)(${bufferName(through.name)} + ${t} / 32 * ${WARP_ROWS * width});`);
  out.line("#pragma unroll 1");
  out.block(`for (u32 ${part} = 0; ${part} < ${n / columns}; ${part}++)`, () => {
    out.line(`${put}(${patch}, ${bufferName(name)}, ${part}, ${t} % 32);`);
    if (otherwise === null) return taken(op);
    out.block(`if (${otherwise.condition})`, () => taken(op), "} else {");
    out.indented(() => taken(otherwise.loop));
    out.line("}");
  });
}

/** What an element is in the patch, if it is cast before; else null. */
function dtypeOf(cast: Op | null): Narrow | null {
  return cast === null ? null : (scalarOf(cast.results[0]!.type) as Narrow);
}

/** The cast to 16 bits that is all that happens to the accumulator's element; null where there is none. */
function firstCast(loop: Op): Op | null {
  const [body] = loop.regions as [Region];
  const fragment = text(loop, "fragment");
  const loaded = new Set<Value>();
  const users: Op[] = [];
  walk(body, (op) => {
    if (op.name === "load" && text(op, "buffer") === fragment) loaded.add(op.results[0]!);
    if (op.operands.some((v) => loaded.has(v))) users.push(op);
  });
  const [user] = users;
  if (users.length !== 1 || user?.name !== "cast") return null;
  const [from, kind] = [user.operands[0]!, user.results[0]!].map((v) => scalarOf(v.type));
  return from === "f32" && (kind === "bf16" || kind === "f16") ? user : null;
}

/** Defines how a warp puts columns of its part of an accumulator into its patch, and gives the function's name. */
function putText(
  out: CudaEmitter,
  n: number,
  { from, to }: { readonly from: DType; readonly to: DType },
  columns: number,
): string {
  const name = `put_fragment_${n}_${to}`;
  const stride = columns + PATCH_PAD;
  const pair = (at: string, first: number): string =>
    to === from
      ? `*reinterpret_cast<${PAIRS[to]!}2*>(${at}) = make_${PAIRS[to]!}2(d[${first}], d[${first + 1}]);`
      : `*reinterpret_cast<u32*>(${at}) = pair_of_${to}(d[${first}], d[${first + 1}]);`;
  if (to !== from)
    out.helper(
      `pair_of_${to}`,
      `__device__ __forceinline__ u32 pair_of_${to}(float low, float high) { u32 r; asm("cvt.rn.${to}x2.f32 %0, %2, %1;" : "=r"(r) : "f"(low), "f"(high)); return r; }`,
    );
  out.helper(
    name,
    `__device__ __forceinline__ void ${name}(${C_TYPE[to]}* patch, const ${C_TYPE[from]}* acc, u32 part, u32 lane) {
  ${C_TYPE[to]}* const at = patch + lane / 4 * ${stride} + lane % 4 * 2;
  __syncwarp();
#pragma unroll
  for (int p = 0; p < ${n / columns}; p++)
    if (p == part)
#pragma unroll
      for (int j = 0; j < ${columns / 8}; j++) {
        const ${C_TYPE[from]}* d = acc + (p * ${columns / 8} + j) * 4;
        ${pair("at + j * 8", 0)}
        ${pair(`at + j * 8 + ${8 * stride}`, 2)}
      }
  __syncwarp();
}`,
  );
  return name;
}

/** Names of CUDA's pairs. */
const PAIRS: Partial<Record<DType, string>> = { f32: "float", i32: "int", u32: "uint" };
