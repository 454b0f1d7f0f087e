/**
 * CUDA text of accumulators that warp groups hold, and of the products they start on tiles in shared memory (sm_90a). A warp
 * group is 128 threads, and has 64 rows of the accumulator; see PTX, "Asynchronous warpgroup level matrix instructions", for
 * how its threads hold them and for the descriptors of tiles.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { bufferOf, type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import { PATCH_COLUMNS, PATCH_PAD, productShape } from "../ir/tile-window.js";
import { scalarOf } from "../ir/types.js";
import { walk, walkKernel } from "../ir/visit.js";
import { DTYPES } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName } from "./names.js";
import { SLAB_BYTES } from "./roles.js";
import { C_TYPE } from "./scalars.js";

const WARP_GROUP = 128;
/** Depth of one instruction for 16-bit operands. */
const INSTRUCTION_DEPTH = 16;

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
  // In units of 16 bytes, as descriptors have them.
  const step = (isTurned: boolean): number => (INSTRUCTION_DEPTH * (isTurned ? SLAB_BYTES : 2)) / 16;
  const slab = k * SLAB_BYTES;
  const group = ` + threadIdx.x / ${WARP_GROUP} * ${64 * SLAB_BYTES}`;
  const starts = [
    `tile_descriptor(${start(a, group)}, ${turned.a ? slab : 16})`,
    `tile_descriptor(${start(b, "")}, ${turned.b ? slab : 16})`,
  ];
  const type = dtype === "bf16" ? "bf16" : "f16";
  const call = products(out, { n, k, type, turned, steps: { a: step(turned.a), b: step(turned.b) } });
  out.line(`${call}(${bufferName(text(op, "accumulator"))}, ${starts.join(", ")});`);
}

interface Instructions {
  readonly n: number;
  readonly k: number;
  readonly type: "bf16" | "f16";
  readonly turned: { readonly a: boolean; readonly b: boolean };
  /** What a descriptor grows by from one instruction to the next. */
  readonly steps: { readonly a: number; readonly b: number };
}

/**
 * Defines the function of a stage's instructions, and gives its name. They are one statement: each that names the whole
 * accumulator has the compiler copy it in its text, and take longer for it.
 */
function products(out: CudaEmitter, { n, k, type, turned, steps }: Instructions): string {
  const kind = `m64n${n}k${INSTRUCTION_DEPTH}`;
  const name = `wgmma_${kind}_${type}_${turned.a ? "t" : "n"}${turned.b ? "t" : "n"}_${k}`;
  const registers = n / 2;
  const list = Array.from({ length: registers }, (_, i) => `%${i}`).join(",");
  const count = k / INSTRUCTION_DEPTH;
  const place = (i: number): string => `%${registers + 2 * i}, %${registers + 2 * i + 1}`;
  const signs = `1, 1, 1, ${Number(turned.a)}, ${Number(turned.b)}`;
  const lines = Array.from(
    { length: count },
    (_, i) => `"wgmma.mma_async.sync.aligned.${kind}.f32.${type}.${type} {${list}}, ${place(i)}, ${signs};\\n"`,
  );
  const descriptors = Array.from({ length: count }, (_, i) => `"l"(a + ${i * steps.a}), "l"(b + ${i * steps.b})`);
  out.helper(
    name,
    `__device__ __forceinline__ void ${name}(float* d, u64 a, u64 b) {
  asm volatile("wgmma.fence.sync.aligned;\\n"
    ${lines.join("\n    ")}
    "wgmma.commit_group.sync.aligned;"
    : ${registerOperands(registers)}
    : ${descriptors.join(", ")}
    : "memory");
}`,
  );
  return name;
}

function registerOperands(registers: number): string {
  return Array.from({ length: registers }, (_, i) => `"+f"(d[${i}])`).join(", ");
}

export function productWaitText(op: Op, out: CudaEmitter): void {
  const name = text(op, "accumulator");
  const pending = op.attributes["pending"] as number;
  if (pending > 0) return out.line(`asm volatile("wgmma.wait_group.sync.aligned ${pending};" ::: "memory");`);
  const [m, n] = bufferOf(out.kernel, name).shape as readonly [number, number];
  const registers = (m * n) / out.role.threads;
  // The compiler moves no use of the accumulator across this.
  out.helper(
    `wgmma_end_${registers}`,
    `__device__ __forceinline__ void wgmma_end_${registers}(float* d) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" : ${registerOperands(registers)} :: "memory");
}`,
  );
  out.line(`wgmma_end_${registers}(${bufferName(name)});`);
}

/** What a loop over an accumulator's elements tells the ops inside it. */
export interface FragmentElements {
  readonly buffer: string;
  readonly lanes: number;
  /** Text of the place of what the iteration counts, and the dtype it lies there in. */
  readonly place: string;
  readonly dtype: "f32" | Narrow;
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
  const [, n] = bufferOf(out.kernel, name).shape as readonly [number, number];
  const cast = firstCast(op);
  const wide = PATCH_COLUMNS - PATCH_PAD;
  const dtype = cast === null || n % (2 * wide) !== 0 ? "f32" : dtypeOf(cast);
  const columns = wide * (dtype === "f32" ? 1 : 2);
  const stride = columns + PATCH_PAD;
  const [height, width] = through.shape as readonly [number, number];
  if (n % columns !== 0 || width !== PATCH_COLUMNS || height < (out.role.threads / 32) * WARP_ROWS)
    throw new InternalCompilerError(`no way for an accumulator of ${n} columns through ${height}×${width}`);
  const put = putText(out, n, dtype, columns);
  const type = C_TYPE[dtype];
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
      out.inFragment({ buffer: name, lanes, place, dtype, cast: dtype === "f32" ? null : firstCast(loop) }, body);
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

/** What an element is in the patch. */
function dtypeOf(cast: Op | null): FragmentElements["dtype"] {
  return cast === null ? "f32" : (scalarOf(cast.results[0]!.type) as Narrow);
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
  const kind = scalarOf(user.results[0]!.type);
  return kind === "bf16" || kind === "f16" ? user : null;
}

/** Defines how a warp puts columns of its part of an accumulator into its patch, and gives the function's name. */
function putText(out: CudaEmitter, n: number, dtype: FragmentElements["dtype"], columns: number): string {
  const name = `put_fragment_${n}_${dtype}`;
  const stride = columns + PATCH_PAD;
  const pair = (at: string, first: number): string =>
    dtype === "f32"
      ? `*reinterpret_cast<float2*>(${at}) = make_float2(d[${first}], d[${first + 1}]);`
      : `*reinterpret_cast<u32*>(${at}) = pair_of_${dtype}(d[${first}], d[${first + 1}]);`;
  if (dtype !== "f32")
    out.helper(
      `pair_of_${dtype}`,
      `__device__ __forceinline__ u32 pair_of_${dtype}(float low, float high) { u32 r; asm("cvt.rn.${dtype}x2.f32 %0, %2, %1;" : "=r"(r) : "f"(low), "f"(high)); return r; }`,
    );
  out.helper(
    name,
    `__device__ __forceinline__ void ${name}(${C_TYPE[dtype]}* patch, const float* acc, u32 part, u32 lane) {
  ${C_TYPE[dtype]}* const at = patch + lane / 4 * ${stride} + lane % 4 * 2;
  __syncwarp();
#pragma unroll
  for (int p = 0; p < ${n / columns}; p++)
    if (p == part)
#pragma unroll
      for (int j = 0; j < ${columns / 8}; j++) {
        const float* d = acc + (p * ${columns / 8} + j) * 4;
        ${pair("at + j * 8", 0)}
        ${pair(`at + j * 8 + ${8 * stride}`, 2)}
      }
  __syncwarp();
}`,
  );
  return name;
}
