/** CUDA text of the ops that work on tiles: calls of prelude functions, with shapes as template arguments. */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Buffer, bufferOf, isRemote, type Op, text } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { DType } from "../types/dtype.js";
import type { Extent } from "../types/extent.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName, dimName } from "./names.js";
import { C_TYPE } from "./scalars.js";

export function tileText(op: Op, out: CudaEmitter): void {
  const { kernel } = out;
  const threads = kernel.blockThreads;
  switch (op.name) {
    case "copy_tile": {
      out.use("copies");
      const from = bufferOf(kernel, text(op, "from"));
      const to = out.shared.places.get(text(op, "to"))!;
      const [rows, columns] = to.buffer.shape.slice(1) as number[];
      const operands = [...op.operands];
      const peer = isRemote(op) ? operands.shift()! : null;
      const [row, column, stage] = operands.map((v) => out.name(v));
      const source = isRemote(op) ? out.address(op, peer, "from") : bufferName(from.name);
      const shape = `${C_TYPE[from.dtype]}, ${rows}, ${columns}, ${to.rowStride}, ${threads}`;
      const extents = from.shape.map(extentText).join(", ");
      out.line(
        `copy_tile<${shape}>(${bufferName(to.buffer.name)} + ${stage} * ${to.stageStride}, ${source}, ${extents}, ${row}, ${column});`,
      );
      return;
    }
    case "copy_commit":
      return out.line('asm volatile("cp.async.commit_group;" ::: "memory");');
    case "copy_wait":
      return out.line(`asm volatile("cp.async.wait_group ${String(op.attributes["pending"])};" ::: "memory");`);
    case "fragment_clear": {
      const name = bufferName(text(op, "buffer"));
      out.line("#pragma unroll");
      return out.line(`for (int l = 0; l < sizeof(${name}) / sizeof(float); l++) ${name}[l] = 0.0f;`);
    }
    case "mma": {
      const a = out.shared.places.get(text(op, "a"))!;
      const b = out.shared.places.get(text(op, "b"))!;
      const stage = out.name(op.operands[0]!);
      const [, m, k] = a.buffer.shape as number[];
      const n = b.buffer.shape[2] as number;
      const operand = (p: typeof a): string => `${bufferName(p.buffer.name)} + ${stage} * ${p.stageStride}`;
      const shape = `${m}, ${n}, ${k}, ${a.rowStride}, ${b.rowStride}, ${threads}`;
      const wide = a.buffer.dtype === "f32";
      out.use("copies");
      out.use(wide ? "mma32" : "mma16");
      const call = wide ? `fma_tile<${shape}>` : `mma_tile<${a.buffer.dtype === "bf16" ? 0 : 1}, ${shape}>`;
      return out.line(`${call}(${bufferName(text(op, "accumulator"))}, ${operand(a)}, ${operand(b)});`);
    }
    case "fragment_store": {
      const from = bufferOf(kernel, text(op, "from"));
      const [m, n] = from.shape as number[];
      const wide = operandDType(from, out) === "f32";
      out.use("copies");
      out.use(wide ? "mma32" : "mma16");
      return out.line(
        `store_mma${wide ? 32 : 16}<${m}, ${n}, ${threads}>(${bufferName(text(op, "to"))}, ${bufferName(from.name)});`,
      );
    }
    default:
      throw new InternalCompilerError(`'${op.name}' is no op on tiles`);
  }
}

/** How an accumulator lies over the threads follows from the operands multiplied into it. */
function operandDType(accumulator: Buffer, out: CudaEmitter): DType {
  const dtypes = new Set<DType>();
  walkKernel(out.kernel, (op) => {
    if (op.name === "mma" && text(op, "accumulator") === accumulator.name)
      dtypes.add(bufferOf(out.kernel, text(op, "a")).dtype);
  });
  const [dtype] = dtypes;
  if (dtypes.size !== 1 || dtype === undefined)
    throw new InternalCompilerError(`accumulator '${accumulator.name}' has operands of ${dtypes.size} dtypes`);
  return dtype;
}

const INFIX: Record<string, string> = { add: "+", sub: "-", mul: "*", div: "/" };

function extentText(e: Extent): string {
  if (typeof e === "number") return `${e}ll`;
  if (typeof e === "string") return dimName(e);
  const [a, b] = [extentText(e.a), extentText(e.b)];
  if (e.op === "ceildiv") return `((${a} + ${b} - 1) / ${b})`;
  const infix = INFIX[e.op];
  return infix === undefined ? `(${a} ${e.op === "min" ? "<" : ">"} ${b} ? ${a} : ${b})` : `(${a} ${infix} ${b})`;
}
