/**
 * CUDA text of loops over accumulators that warp groups hold (sm_90a). A warp group is 128 threads, and has 64 rows of the
 * accumulator; see PTX, "Asynchronous warpgroup level matrix instructions", for how its threads hold them.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { bufferOf, type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import { PATCH_COLUMNS, PATCH_PAD } from "../ir/tile-window.js";
import { scalarOf } from "../ir/types.js";
import { walk, walkKernel } from "../ir/visit.js";
import { type DType, DTYPES } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import type { FragmentElements } from "./fragment-elements.js";
import { bytesLoaded, hasFunction, loadsAhead } from "./loads-ahead.js";
import { bufferName } from "./names.js";
import { SUMS_OF } from "./products.js";
import { C_TYPE } from "./scalars.js";

/** Threads that share a fragment: the consumers, where the block has roles. */
export function fragmentThreads(kernel: Kernel): number {
  let threads = kernel.blockThreads;
  walkKernel(kernel, (op) => void (op.name === "roles" && (threads = op.attributes["consumers"] as number)));
  return threads;
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
export function fragmentBranch(op: Op, out: CudaEmitter): readonly [Op, Op] | null {
  const [first, second] = op.regions.map(({ ops }) => {
    const [loop, ...more] = ops.filter((o) => o.name !== "const");
    return more.length === 0 && loop?.name === "for" && loop.attributes["map"] === "fragment" ? loop : null;
  });
  if (first == null || second == null) return null;
  const way = (loop: Op): unknown[] => [
    ...[...fragmentsOf(loop), text(loop, "through"), dtypeOf(firstCast(loop))],
    ...("limit" in loop.attributes ? [out.name(loop.operands[2]!)] : []),
  ];
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
  // Of a narrow tile, parts that it has nothing in are left out.
  const limit = "limit" in op.attributes ? out.name(op.operands[2]!) : null;
  const parts = limit === null ? `${n / columns}` : `(u32)(${limit} + ${columns - 1}) / ${columns}`;
  out.block(`for (u32 ${part} = 0; ${part} < ${parts}; ${part}++)`, () => {
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
