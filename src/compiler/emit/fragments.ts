/**
 * CUDA text of accumulators that warp groups hold, and of the products they start on tiles in shared memory (sm_90a). A warp
 * group is 128 threads, and has 64 rows of the accumulator; see PTX, "Asynchronous warpgroup level matrix instructions", for
 * how its threads hold them and for the descriptors of tiles.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { bufferOf, type Kernel, type Op, text, type Value } from "../ir/module.js";
import { productShape } from "../ir/tile-window.js";
import { walkKernel } from "../ir/visit.js";
import { DTYPES } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName } from "./names.js";
import { SLAB_BYTES } from "./roles.js";

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
