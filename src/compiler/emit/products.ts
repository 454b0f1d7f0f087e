/**
 * CUDA text of the products that warp groups start on tiles in shared memory, into accumulators that they hold (sm_90a). See PTX,
 * "Asynchronous warpgroup level matrix instructions", for the descriptors of tiles.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Buffer, bufferOf, type Op, type Region, text } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { APART_COLUMNS, apartColumns, isAddedApart, productShape } from "../ir/tile-window.js";
import { walkKernel } from "../ir/visit.js";
import { type ComputeDType, type DType, DTYPES } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName } from "./names.js";
import { CONSUMER_GROUP, SLAB_BYTES, WARP_GROUP } from "./roles.js";
import { C_TYPE } from "./scalars.js";
import {
  CARRIED,
  rowScalesText,
  scaleArguments,
  scaledName,
  scaleParameters,
  scalesText,
  type Scaling,
  scalingOf,
} from "./scales.js";

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

/** Products of a stage, started; the accumulator is not touched until they have ended. */
export function asyncProductText(op: Op, out: CudaEmitter): void {
  const { m, columns, products, k, transposed } = productShape(op, out.kernel);
  // Columns of two products of the same rows lie one after the other, as if they were of one.
  const n = columns * products;
  const [a, b] = ["a", "b"].map((key) => out.shared.places.get(text(op, key))!);
  const stage = out.name(op.operands[0]!);
  const { dtype } = a!.buffer;
  if (m !== (out.role.threads / WARP_GROUP) * 64 || k * DTYPES[dtype].bytes !== SLAB_BYTES || n % 8 !== 0 || n > 256)
    throw new InternalCompilerError(`no instructions for a product of ${m}×${n}×${k} by ${out.role.threads} threads`);
  out.use("rings");
  out.use("wgmma");
  const turned = { a: transposed.includes("a"), b: !transposed.includes("b") };
  const { bytes } = DTYPES[dtype];
  const depth = INSTRUCTION_BYTES / bytes;
  // In units of 16 bytes, as descriptors have them.
  const step = (isTurned: boolean): number => (depth * (isTurned ? SLAB_BYTES : bytes)) / 16;
  const slab = k * SLAB_BYTES;
  // What is the same for all stages is computed before the loop, and what a step computes lies in registers that all threads share.
  const descriptor = (place: typeof a, stages: number, rows: string, isTurned: boolean): string => {
    const start = `tile_descriptor(ring_address(${bufferName(place!.buffer.name)})${rows}, ${isTurned ? slab : 16})`;
    return `${start} + (u32)${stage} * ${(place!.stageStride * stages * bytes) / 16}u`;
  };
  const starts = [
    descriptor(a, 1, ` + ${CONSUMER_GROUP} * ${64 * SLAB_BYTES}`, turned.a),
    descriptor(b, products, "", turned.b),
  ];
  const scaled = scalingOf(op, m, n, out);
  const steps = { a: step(turned.a), b: step(turned.b) };
  const call = productsText(out, { n, k, depth, dtype, turned, steps, scaled, products });
  const apart = apartText(bufferOf(out.kernel, text(op, "accumulator")), out);
  const all = [...accumulatorsOf(op).map(bufferName), ...(apart?.names ?? [])];
  const sums = out.turn === null ? all : [out.turn.sums];
  const scales = scaled === null ? [] : scaleArguments(scaled, stage);
  out.line(`${call}(${[...sums, ...scales, ...starts].join(", ")});`);
}

/** Names of the accumulators of a product, or of two. */
function accumulatorsOf(op: Op): string[] {
  return "twin" in op.attributes ? [text(op, "accumulator"), text(op, "twin")] : [text(op, "accumulator")];
}

interface Instructions {
  /** Columns, of all products together. */
  readonly n: number;
  readonly k: number;
  /** Depth of one instruction. */
  readonly depth: number;
  readonly dtype: DType;
  readonly turned: { readonly a: boolean; readonly b: boolean };
  /** What a descriptor grows by from one instruction to the next. */
  readonly steps: { readonly a: number; readonly b: number };
  readonly scaled: Scaling | null;
  /** Products that share the columns. */
  readonly products: number;
}

/**
 * Defines the function of a stage's instructions, and gives its name. They are one statement: each that names the whole
 * accumulator has the compiler copy it in its text, and take longer for it.
 */
function productsText(out: CudaEmitter, instructions: Instructions): string {
  const { n, k, depth, dtype, turned, scaled, products } = instructions;
  const sum = SUMS[DTYPES[dtype].compute]!;
  const name = `wgmma_m64n${n}k${depth}_${OPERANDS[dtype]!}_${turned.a ? "t" : "n"}${turned.b ? "t" : "n"}_${k}${products > 1 ? "_pair" : ""}${scaledName(scaled)}`;
  const scales = scaled === null ? "" : scaleParameters(scaled);
  const define = (name: string, sums: string, body: string): string => {
    out.helper(name, `__device__ __forceinline__ void ${name}(${sums}${scales}, u64 a, u64 b) {\n${body}\n}`);
    return name;
  };
  const sums = parametersText(sum.c, products);
  const alone = { names: ["p"], columns: n, isNew: true, b: "b" };
  if (out.turn !== null) return define(`${name}_turn`, "float* p", startText(instructions, alone));
  if (isAddedApart(dtype)) return define(name, `${sums}, float* p`, partsText(instructions));
  const all = { names: SUMS_OF.slice(0, products), columns: n, isNew: false, b: "b" };
  return define(name, sums, startText(instructions, all));
}

/** How functions name their accumulators. */
export const SUMS_OF = ["d", "e"] as const;

function parametersText(type: string, products: number): string {
  return SUMS_OF.slice(0, products).map((name) => `${type}* ${name}`).join(", "); // prettier-ignore
}

/** Instructions of a stage into the registers of so many columns, of each name as many; `isNew`: whether those hold nothing before. */
function startText(
  { k, depth, dtype, turned, steps }: Instructions,
  { names, columns, isNew, b }: { names: readonly string[]; columns: number; isNew: boolean; b: string },
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
    : ${names.map((name) => registerOperands(name, sum.register, registers / names.length)).join(", ")}
    : ${descriptors.join(", ")}
    : "memory");`;
}

/** Registers of sums that are added up apart from an accumulator, and of the scales of those that are still to be added. */
interface Apart {
  readonly names: readonly string[];
  /** Registers of each. */
  readonly counts: readonly number[];
}

/** Null where an accumulator's sums are not added up apart. */
export function apartText({ name, shape }: Buffer, out: CudaEmitter): Apart | null {
  let [isApart, isScaled] = [false, false];
  walkKernel(out.kernel, (op) => {
    if (op.name !== "mma" || text(op, "accumulator") !== name) return;
    isApart ||= isAddedApart(bufferOf(out.kernel, text(op, "a")).dtype);
    isScaled ||= "scaleA" in op.attributes || "scaleB" in op.attributes;
  });
  if (!isApart) return null;
  const count = Math.min(shape[1] as number, APART_COLUMNS) / 2;
  const [sums, scales] = [`${bufferName(name)}_apart`, `${bufferName(name)}_scales`];
  return isScaled ? { names: [sums, scales], counts: [count, ROWS_OF_THREAD] } : { names: [sums], counts: [count] };
}

/** Rows that a thread has of its warp group's 64, eight apart. */
const ROWS_OF_THREAD = 2;

/**
 * A stage in parts of the columns, of which each ends when the next is about to begin, of the next stage, too: what is done
 * between two stages is done while the last part runs.
 */
function partsText(instructions: Instructions): string {
  const { n, scaled } = instructions;
  const columns = apartColumns(n);
  const parts = n / columns;
  if (columns % 8 !== 0) throw new InternalCompilerError(`no instructions for ${n} columns in parts of ${columns}`);
  const last = parts - 1;
  const each = Array.from({ length: parts }, (_, i) => {
    const b = i === 0 ? "b" : `b + ${(i * columns * SLAB_BYTES) / 16}`;
    const before = (i + last) % parts;
    // The last part of the stage before brings its scales along.
    const scales = scaled === null ? null : i === 0 ? CARRIED : scalesText(scaled, before * columns);
    return `${addText(before, columns / 2, scales)}\n${startText(instructions, { names: ["p"], columns, isNew: true, b })}`;
  });
  if (scaled === null) return each.join("\n");
  const carried = scalesText(scaled, last * columns).map((s, row) => `  s[${row}] = ${s};`);
  return [rowScalesText(scaled), ...each, ...carried].join("\n");
}

/** The part that runs ends, and is added to the accumulator. @param scales of a thread's rows */
function addText(part: number, registers: number, scales: readonly string[] | null): string {
  return `${endText(0, registers)}\n${sumText(part * registers, registers, scales)}`;
}

/** Parts end, all but those that began last. @param pending how many go on */
function endText(pending: number, registers: number): string {
  return `  asm volatile("wgmma.wait_group.sync.aligned ${pending};" : ${registerOperands("p", "f", registers)} :: "memory");`;
}

/** A part that has ended is added to the accumulator, from its register `first` on. @param scales of a thread's rows */
function sumText(first: number, registers: number, scales: readonly string[] | null): string {
  if (scales === null)
    return `#pragma unroll
  for (int i = 0; i < ${registers}; i++) d[${first} + i] += p[i];`;
  return `  {
    const float s0 = ${scales[0]!}, s1 = ${scales[1]!};
#pragma unroll
    for (int i = 0; i < ${registers}; i++) d[${first} + i] = fmaf(p[i], i & 2 ? s1 : s0, d[${first} + i]);
  }`;
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
  const names = accumulatorsOf(op);
  const buffer = bufferOf(out.kernel, names[0]!);
  const pending = op.attributes["pending"] as number;
  const apart = apartText(buffer, out);
  if (pending > 0 && apart === null)
    return out.line(`asm volatile("wgmma.wait_group.sync.aligned ${pending};" ::: "memory");`);
  if (pending > 0 && out.turn !== null) return out.turn.wait();
  // Parts that have no turns end before the next product begins.
  if (pending > 0) return;
  const { dtype, shape } = buffer;
  const [m, n] = shape as readonly [number, number];
  const registers = (m * n) / out.role.threads;
  const multiplied = (op.attributes["columns"] as number | undefined) ?? n;
  const part = apartColumns(multiplied);
  const last = multiplied / part - 1;
  const { register, c } = SUMS[dtype as ComputeDType]!;
  const isScaled = apart !== null && apart.names.length > 1;
  const end = `wgmma_end_${registers}${dtype === "f32" ? "" : `_${dtype}`}${names.length > 1 ? "_pair" : ""}${apart === null ? "" : `_apart_${last + 1}x${part}`}${isScaled ? "_scaled" : ""}`;
  // The compiler moves no use of the accumulators across this.
  const held = SUMS_OF.slice(0, names.length).map((name) => registerOperands(name, register, registers));
  const wait = `  asm volatile("wgmma.wait_group.sync.aligned 0;" : ${held.join(", ")} :: "memory");`;
  const body = apart === null ? wait : addText(last, part / 2, isScaled ? CARRIED : null);
  const more = (apart?.names ?? []).map((_, i) => `, float* ${"ps"[i]!}`).join("");
  const sums = parametersText(c, names.length);
  out.helper(end, `__device__ __forceinline__ void ${end}(${sums}${more}) {\n${body}\n}`);
  const added = out.turn === null ? (apart?.names ?? []) : [out.turn.sums];
  out.line(`${end}(${[...names.map(bufferName), ...added].join(", ")});`);
}

/** Which of two sums the products of a stage are added up in, where stages take them in turns. */
export interface Turn {
  readonly sums: string;
  /** Prints a wait for the stage before, while this one's products go on. */
  readonly wait: () => void;
}

/**
 * The wait that ends the last stage of a loop whose stages may have their sums in turns: they are added up apart, in one part, and
 * the loop writes out two steps. With scales ptxas has too few registers for both (an H200, 512×4096×8192: 46.0 µs for 44.9). Null for all other loops.
 * @param behind what follows
 */
export function endInTurns(loop: Op, behind: readonly Op[], out: CudaEmitter): Op | null {
  if (loop.attributes["map"] !== "serial" || loop.attributes["unroll"] !== 2) return null;
  const { ops } = loop.regions[0]!;
  const [product, ...more] = ops.filter((op) => op.name === "mma");
  if (product?.attributes["async"] !== true || more.length > 0 || "twin" in product.attributes) return null;
  if (productShape(product, out.kernel).columns > APART_COLUMNS) return null;
  const apart = apartText(bufferOf(out.kernel, text(product, "accumulator")), out);
  if (apart === null || apart.names.length > 1) return null;
  const end = behind.find((op) => definitionOf(op.name).effect !== "pure");
  return end?.name === "mma_wait" && end.attributes["pending"] === 0 ? end : null;
}

/**
 * The stages of a tile whose sums are added up apart, and have registers for two: products of a stage begin while those of the
 * one before still run. What ptxas takes as such, and does not run one after the other (C7514), is this: two steps in the loop, of
 * which each knows its sums, and the last stage's end where it is known which it had.
 */
export function turnsText(loop: Op, end: Op, out: CudaEmitter): void {
  out.facts.note(loop);
  const buffer = bufferOf(out.kernel, text(end, "accumulator"));
  const [sums] = apartText(buffer, out)!.names as [string];
  const others = `${sums}_next`;
  const registers = ((end.attributes["columns"] as number | undefined) ?? (buffer.shape[1] as number)) / 2;
  const [wait, add] = [`wgmma_wait_${registers}`, `wgmma_add_${registers}`];
  out.helper(wait, `__device__ __forceinline__ void ${wait}(float* p) {\n${endText(1, registers)}\n}`);
  out.helper(add, `__device__ __forceinline__ void ${add}(float* d, float* p) {\n${sumText(0, registers, null)}\n}`);
  const [body] = loop.regions as [Region];
  const i = out.name(body.arguments[0]!);
  const [first, last] = loop.operands.map((v) => out.name(v)) as [string, string];
  const turn = (own: string, before: string) => {
    const turn = { sums: own, wait: () => out.line(`${wait}(${before});`) };
    return {
      step: (number: string): void => {
        out.line(`const i64 ${i} = ${number};`);
        out.inTurn(turn, body);
        out.line(`${add}(${bufferName(buffer.name)}, ${before});`);
      },
      end: () => out.inTurn(turn, { arguments: [], ops: [end] }),
    };
  };
  const [even, odd] = [turn(sums, others), turn(others, sums)];
  out.block("", () => {
    out.line(`float ${others}[${registers}];`);
    out.line("#pragma unroll");
    out.line(`for (int l = 0; l < ${registers}; l++) ${others}[l] = 0;`);
    out.line(`i64 ${i}_pair = ${first};`);
    out.line("#pragma unroll 1");
    out.block(`for (; ${i}_pair + 1 < ${last}; ${i}_pair += 2)`, () => {
      out.block("", () => even.step(`${i}_pair`));
      out.block("", () => odd.step(`${i}_pair + 1`));
    });
    const rest = (): void => (even.step(`${i}_pair`), even.end());
    out.block(`if (${i}_pair < ${last})`, rest, "} else {");
    out.indented(odd.end);
    out.line("}");
  });
}
