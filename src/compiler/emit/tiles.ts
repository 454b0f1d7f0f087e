/** CUDA text of the ops that work on tiles: calls of prelude functions, with shapes as template arguments. */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Buffer, bufferOf, type Op, text } from "../ir/module.js";
import { productShape, tileOperands } from "../ir/tile-window.js";
import { walkKernel } from "../ir/visit.js";
import type { DType } from "../types/dtype.js";
import { type Extent, productOf } from "../types/extent.js";
import type { CudaEmitter } from "./cuda.js";
import { apartText, asyncProductText, productWaitText } from "./products.js";
import { bufferName, dimName } from "./names.js";
import { ringCopyText, ringText } from "./roles.js";
import { C_TYPE } from "./scalars.js";

export function tileText(op: Op, out: CudaEmitter): void {
  const { kernel } = out;
  const threads = kernel.blockThreads;
  switch (op.name) {
    case "copy_tile": {
      if ("ring" in op.attributes) return ringCopyText(op, out);
      out.use("copies");
      const from = bufferOf(kernel, text(op, "from"));
      const to = out.shared.places.get(text(op, "to"))!;
      const [rows, columns] = to.buffer.shape.slice(1) as number[];
      const { peer, indices, stage, end } = tileOperands(op, from.shape.length, op.operands);
      const source = peer === null ? bufferName(from.name) : out.address(op, peer, "from");
      const shape = `${C_TYPE[from.dtype]}, ${rows}, ${columns}, ${to.rowStride}, ${threads}`;
      const { start, parts } = matrixText(op, from, indices.map((v) => out.name(v)), end === null ? null : out.name(end)); // prettier-ignore
      out.line(
        `copy_tile<${shape}>(${bufferName(to.buffer.name)} + ${out.name(stage)} * ${to.stageStride}, ${source}${start}, ${parts.join(", ")});`,
      );
      return;
    }
    case "copy_commit":
      return out.line('asm volatile("cp.async.commit_group;" ::: "memory");');
    case "copy_wait":
      return out.line(`asm volatile("cp.async.wait_group ${String(op.attributes["pending"])};" ::: "memory");`);
    case "fragment_clear": {
      const buffer = bufferOf(kernel, text(op, "buffer"));
      const apart = apartText(buffer, out);
      for (const name of [bufferName(buffer.name), ...(apart?.names ?? [])]) {
        out.line("#pragma unroll");
        out.line(`for (int l = 0; l < sizeof(${name}) / sizeof(*${name}); l++) ${name}[l] = 0;`);
      }
      return;
    }
    case "mma": {
      if (op.attributes["async"] === true) return asyncProductText(op, out);
      const a = out.shared.places.get(text(op, "a"))!;
      const b = out.shared.places.get(text(op, "b"))!;
      const stage = out.name(op.operands[0]!);
      const { m, n, k, transposed } = productShape(op, out.kernel);
      const operand = (p: typeof a): string => `${bufferName(p.buffer.name)} + ${stage} * ${p.stageStride}`;
      const turned = ["a", "b"].map((operand) => transposed.includes(operand)).join(", ");
      const shape = `${m}, ${n}, ${k}, ${a.rowStride}, ${b.rowStride}, ${threads}, ${turned}`;
      const wide = a.buffer.dtype === "f32";
      out.use("copies");
      out.use(wide ? "mma32" : "mma16");
      const call = wide ? `fma_tile<${shape}>` : `mma_tile<${a.buffer.dtype === "bf16" ? 0 : 1}, ${shape}>`;
      return out.line(`${call}(${bufferName(text(op, "accumulator"))}, ${operand(a)}, ${operand(b)});`);
    }
    case "mma_wait":
      return productWaitText(op, out);
    case "ring_acquire":
    case "ring_fill":
    case "ring_wait":
    case "ring_release":
      return ringText(op, out);
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

/** The matrix in a buffer that a tile is cut from, as text. */
interface MatrixText {
  /** What is added to the buffer's start. */
  readonly start: string;
  /** Row stride, lengths as far as the program goes, and the tile's place. */
  readonly parts: readonly [stride: string, height: string, width: string, row: string, column: string];
  /** Lengths of the buffer. */
  readonly whole: { readonly height: string; readonly width: string };
}

export function matrixText(op: Op, { shape }: Buffer, indices: readonly string[], end: string | null): MatrixText {
  const rows = op.attributes["rows"] as number;
  const last = shape.length - 1;
  const stride = (d: number): string => (d === last ? "1" : extentText(productOf(shape.slice(d + 1))));
  const others = indices.flatMap((v, d) => (d === rows || d === last ? [] : [` + ${v} * ${stride(d)}`]));
  const cut = (d: number, which: string): string => {
    const whole = extentText(shape[d]!);
    return end !== null && op.attributes["end"] === which ? `(${end} < ${whole} ? ${end} : ${whole})` : whole;
  };
  return {
    start: others.join(""),
    parts: [stride(rows), cut(rows, "rows"), cut(last, "columns"), indices[rows]!, indices[last]!],
    whole: { height: extentText(shape[rows]!), width: extentText(shape[last]!) },
  };
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
