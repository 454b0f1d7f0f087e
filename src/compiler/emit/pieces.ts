/** CUDA text of what blocks hand each other of a tile: accumulators of warp groups in global memory, in the order that threads hold them (sm_90a). */
import { bufferOf, type Op, text } from "../ir/module.js";
import { type DType, DTYPES } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName } from "./names.js";
import { CONSUMER_GROUP } from "./roles.js";
import { C_TYPE } from "./scalars.js";

/** Four numbers of 32 bits, by what they are. */
const FOURS: Partial<Record<DType, string>> = { f32: "float4", i32: "int4", u32: "uint4" };

/**
 * Stores an accumulator, or adds one: a thread has four of its registers in one access, and what neighbouring threads have lies side by side. Warps all of
 * whose rows lie outside have nothing to say. All loads are asked for before the first is added.
 */
export function pieceText(op: Op, out: CudaEmitter): void {
  out.use("here");
  const isPut = op.name === "fragment_put";
  const { name, dtype, shape } = bufferOf(out.kernel, text(op, "buffer"));
  const other = bufferName(text(op, isPut ? "to" : "from"));
  const [m, n] = shape as readonly [number, number];
  const { threads } = out.role;
  const fours = (m * n) / threads / 4;
  const [four, type] = [FOURS[dtype]!, C_TYPE[dtype]];
  const call = `${isPut ? "put" : "add"}_piece_${dtype}_${fours}`;
  const body = isPut
    ? `  for (int l = 0; l < ${fours}; l++)
    __stcg(at + l * ${threads}, make_${four}(acc[4 * l], acc[4 * l + 1], acc[4 * l + 2], acc[4 * l + 3]));`
    : `  for (int l = 0; l < ${fours}; l++) {
    const ${four} v = __ldcg(at + l * ${threads});
    acc[4 * l] += v.x; acc[4 * l + 1] += v.y; acc[4 * l + 2] += v.z; acc[4 * l + 3] += v.w;
  }`;
  const parameters = isPut ? `${four}* at, const ${type}* acc` : `const ${four}* at, ${type}* acc`;
  out.helper(call, `__device__ __forceinline__ void ${call}(${parameters}) {\n#pragma unroll\n${body}\n}`);
  const [row, rows] = op.operands.map((v) => out.name(v));
  const bytes = m * n * DTYPES[dtype].bytes;
  // A warp has 16 rows of its group's 64.
  out.block(`if (${CONSUMER_GROUP} * 64 + thread_here() / 32 % 4 * 16 < ${rows})`, () =>
    out.line(
      `${call}((${isPut ? "" : "const "}${four}*)((${isPut ? "" : "const "}char*)${other} + (u64)${row} * ${bytes}u) + thread_here(), ${bufferName(name)});`,
    ),
  );
}
