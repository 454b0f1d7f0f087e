/**
 * CUDA text of accumulators that warp groups hold, and of the products they start on tiles in shared memory (sm_90a). A warp
 * group is 128 threads, and has 64 rows of the accumulator; see PTX, "Asynchronous warpgroup level matrix instructions", for
 * how its threads hold them and for the descriptors of tiles.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Buffer, bufferOf, type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import {
  APART_COLUMNS,
  apartColumns,
  isAddedApart,
  PATCH_COLUMNS,
  PATCH_PAD,
  productShape,
} from "../ir/tile-window.js";
import { scalarOf } from "../ir/types.js";
import { walk, walkKernel } from "../ir/visit.js";
import { type ComputeDType, type DType, DTYPES } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import type { FragmentElements } from "./fragment-elements.js";
import { bytesLoaded, hasFunction, loadsAhead } from "./loads-ahead.js";
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

/** Threads that share a fragment: the consumers, where the block has roles. */
export function fragmentThreads(kernel: Kernel): number {
  let threads = kernel.blockThreads;
  walkKernel(kernel, (op) => void (op.name === "roles" && (threads = op.attributes["consumers"] as number)));
  return threads;
}

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
  const sums = [...accumulatorsOf(op).map(bufferName), ...(apart === null ? [] : apart.names)];
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
  const body = isAddedApart(dtype)
    ? partsText(instructions)
    : startText(instructions, { names: SUMS_OF.slice(0, products), columns: n, isNew: false, b: "b" });
  const apart = isAddedApart(dtype) ? ", float* p" : "";
  const scales = scaled === null ? "" : scaleParameters(scaled);
  const sums = parametersText(sum.c, products);
  out.helper(name, `__device__ __forceinline__ void ${name}(${sums}${apart}${scales}, u64 a, u64 b) {\n${body}\n}`);
  return name;
}

/** How functions name their accumulators. */
const SUMS_OF = ["d", "e"] as const;

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
  const wait = `  asm volatile("wgmma.wait_group.sync.aligned 0;" : ${registerOperands("p", "f", registers)} :: "memory");`;
  const first = part * registers;
  if (scales === null)
    return `${wait}
#pragma unroll
  for (int i = 0; i < ${registers}; i++) d[${first} + i] += p[i];`;
  return `${wait}
  {
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
  // The parts of a product end before the next product begins.
  if (pending > 0)
    return apart === null
      ? out.line(`asm volatile("wgmma.wait_group.sync.aligned ${pending};" ::: "memory");`)
      : undefined;
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
  out.line(`${end}(${[...names.map(bufferName), ...(apart?.names ?? [])].join(", ")});`);
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
 * before it is put there, and takes half the room. Of two accumulators, which the body combines, there are half as many columns of each.
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
  const way = (loop: Op): unknown[] => [...fragmentsOf(loop), text(loop, "through"), dtypeOf(firstCast(loop))];
  return way(first).join() === way(second).join() ? [first, second] : null;
}

/** Names of the accumulators whose elements a loop counts. */
function fragmentsOf(loop: Op): string[] {
  return "twin" in loop.attributes ? [text(loop, "fragment"), text(loop, "twin")] : [text(loop, "fragment")];
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
  const [names, through] = [fragmentsOf(op), bufferOf(out.kernel, text(op, "through"))];
  const { dtype: summed, shape } = bufferOf(out.kernel, names[0]!);
  const [, n] = shape as readonly [number, number];
  const cast = firstCast(op);
  const wide = PATCH_COLUMNS - PATCH_PAD;
  const dtype = cast === null || n % (2 * wide) !== 0 ? summed : dtypeOf(cast);
  const all = wide * (DTYPES[summed].bytes / DTYPES[dtype!].bytes);
  const columns = all / names.length;
  const stride = all + PATCH_PAD;
  const [height, width] = through.shape as readonly [number, number];
  if (n % columns !== 0 || width !== PATCH_COLUMNS || height < (out.role.threads / 32) * WARP_ROWS)
    throw new InternalCompilerError(`no way for an accumulator of ${n} columns through ${height}×${width}`);
  const put = putText(out, n, { from: summed, to: dtype! }, { columns, stride, products: names.length });
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
    const iterations = (WARP_ROWS * across) / 32;
    const [row, column] = [`r${v}`, `q${v}`];
    const isShort = body.ops.length <= SHORT_BODY;
    const ahead = lanes > 1 && 32 % across === 0 ? loadsAhead(body, iterations, out.kernel) : null;
    // Of a row's elements that are fewer than a warp's threads, one and the same place in it is a thread's in each iteration, in rows that lie apart alike: iterations
    // that are written out have their places from the first one's. A function needs the registers that those take.
    const isEven = ahead !== null || (lanes > 1 && 32 % across === 0 && isShort && !hasFunction(body));
    const apart = 32 / across;
    const place = isEven
      ? `${patch} + ${t} % 32 / ${across} * ${stride} + ${t} % ${across} * ${lanes} + ${l} * ${apart * stride}`
      : `${patch} + ${l} / ${across} * ${stride} + ${l} % ${across} * ${lanes}`;
    const elements: FragmentElements = {
      ...{ lanes, dtype: dtype!, cast: dtype === summed ? null : firstCast(loop) },
      places: new Map(names.map((name, i) => [name, i === 0 ? place : `${place} + ${i * columns}`])),
      counted: isEven
        ? { variable: body.arguments[0]!, width: n, row: `${row} + ${l} * ${apart}`, column, firsts: new Set() }
        : null,
    };
    const number = (): void =>
      out.line(
        isEven
          ? `const i64 ${v} = (${row} + ${l} * ${apart}) * ${n / lanes} + ${column} / ${lanes};`
          : `const i64 ${v} = (${t} / 32 * ${WARP_ROWS} + ${l} / ${across}) * ${n / lanes} + ${part} * ${across} + ${l} % ${across};`,
      );
    if (isEven) {
      out.line(`const u32 ${row} = ${t} / 32 * ${WARP_ROWS} + ${t} % 32 / ${across};`);
      out.line(`const u32 ${column} = (${part} * ${across} + ${t} % ${across}) * ${lanes};`);
    }
    if (ahead === null) {
      const copies = lanes > 1 && isShort ? iterations : 1;
      out.line(`#pragma unroll ${copies}`);
      const counts = isEven
        ? `for (u32 ${l} = 0; ${l} < ${iterations}; ${l}++)`
        : `for (u32 ${l} = ${t} % 32; ${l} < ${WARP_ROWS * across}; ${l} += 32)`;
      return out.block(counts, () => {
        number();
        out.inFragment(elements, body);
      });
    }
    const { together } = ahead;
    const [first, k] = [`f${v}`, `k${v}`];
    const loaded = new Map(ahead.loads.map((o) => [o, `a${out.name(o.results[0]!)}`]));
    const each = (region: Region, isStart: boolean): void => {
      out.line("#pragma unroll");
      out.block(`for (u32 ${k} = 0; ${k} < ${together}; ${k}++)`, () => {
        out.line(`const u32 ${l} = ${first} + ${k};`);
        number();
        const lies = new Map([...loaded].map(([o, name]) => [o, `${name}[${k}]`]));
        out.inFragment({ ...elements, ahead: { places: lies, isStart } }, region);
      });
    };
    out.line("#pragma unroll 1");
    out.block(`for (u32 ${first} = 0; ${first} < ${iterations}; ${first} += ${together})`, () => {
      for (const [o, name] of loaded) out.line(`Words<${bytesLoaded(o)}> ${name}[${together}];`);
      each(ahead.start, true);
      each(body, false);
    });
  };

  out.line(`const u32 ${t} = thread_here();`);
  out.line(`${type}* const ${patch} = (${type}*)(${bufferName(through.name)} + ${t} / 32 * ${WARP_ROWS * width});`);
  out.line("#pragma unroll 1");
  out.block(`for (u32 ${part} = 0; ${part} < ${n / columns}; ${part}++)`, () => {
    out.line(`${put}(${patch}, ${names.map(bufferName).join(", ")}, ${part}, ${t} % 32);`);
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
  const [fragment, ...others] = fragmentsOf(loop);
  if (others.length > 0) return null;
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

interface Put {
  /** Columns that are put there, of each of the accumulators. */
  readonly columns: number;
  /** Elements from one row of the patch to the next. */
  readonly stride: number;
  readonly products: number;
}

/** Defines how a warp puts columns of its part of accumulators into its patch, and gives the function's name. */
function putText(
  out: CudaEmitter,
  n: number,
  { from, to }: { readonly from: DType; readonly to: DType },
  { columns, stride, products }: Put,
): string {
  const name = `put_${products > 1 ? "pair" : "fragment"}_${n}_${to}`;
  const pair = (at: string, d: string, first: number): string =>
    to === from
      ? `*reinterpret_cast<${PAIRS[to]!}2*>(${at}) = make_${PAIRS[to]!}2(${d}[${first}], ${d}[${first + 1}]);`
      : `*reinterpret_cast<u32*>(${at}) = pair_of_${to}(${d}[${first}], ${d}[${first + 1}]);`;
  if (to !== from)
    out.helper(
      `pair_of_${to}`,
      `__device__ __forceinline__ u32 pair_of_${to}(float low, float high) { u32 r; asm("cvt.rn.${to}x2.f32 %0, %2, %1;" : "=r"(r) : "f"(low), "f"(high)); return r; }`,
    );
  const sums = SUMS_OF.slice(0, products);
  const held = (d: string): string => (products > 1 ? `acc_${d}` : "acc");
  const each = sums.map((d, i) => {
    const at = i === 0 ? "at" : `at + ${i * columns}`;
    return `        const ${C_TYPE[from]}* ${d} = ${held(d)} + (p * ${columns / 8} + j) * 4;
        ${pair(`${at} + j * 8`, d, 0)}
        ${pair(`${at} + j * 8 + ${8 * stride}`, d, 2)}`;
  });
  out.helper(
    name,
    `__device__ __forceinline__ void ${name}(${C_TYPE[to]}* patch, ${sums.map((d) => `const ${C_TYPE[from]}* ${held(d)}`).join(", ")}, u32 part, u32 lane) {
  ${C_TYPE[to]}* const at = patch + lane / 4 * ${stride} + lane % 4 * 2;
  __syncwarp();
#pragma unroll
  for (int p = 0; p < ${n / columns}; p++)
    if (p == part)
#pragma unroll
      for (int j = 0; j < ${columns / 8}; j++) {
${each.join("\n")}
      }
  __syncwarp();
}`,
  );
  return name;
}

/** Names of CUDA's pairs. */
const PAIRS: Partial<Record<DType, string>> = { f32: "float", i32: "int", u32: "uint" };
