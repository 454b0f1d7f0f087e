/** Printed loops over an accumulator, run on the host: each element is taken once, from where the instructions for matrices leave it. */
import { describe, expect, it } from "vitest";
import { emitCuda } from "../../src/compiler/emit/cuda.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { allocate, decode, type TypedArray } from "../../src/runtime/numbers/index.js";
import { runOnHost } from "./host.js";

const [M, N, THREADS] = [128, 256, 256];

/** What a loop does with elements of `total`, several at a time where `x` is not 0: casts them, or takes them as they are. */
function kernelOf(dtype: "f32" | "bf16" | "f16", lanes: number): Kernel {
  const loop = (width: number): string => {
    const type = (of: string): string => (width === 1 ? of : `vec<${width} x ${of}>`);
    const at = width === 1 ? "%e" : "%at";
    return `for %zero, %end${width} {map="fragment", fragment="total", through="patch"${width === 1 ? "" : `, lanes=${width}`}} (%e) {
          ${width === 1 ? "" : '%at = binary %e, %lanes {fn="mul"} : index'}
          %v = load ${at} {buffer="total"} : ${type("f32")}
          ${dtype === "f32" ? "" : `%r = cast %v : ${type(dtype)}`}
          store ${dtype === "f32" ? "%v" : "%r"}, ${at} {buffer="y"}
        }`;
  };
  return parseKernel(`kernel f level=device world=1 threads=${THREADS} blocks=1 {
    buffer x: input f32[1]
    buffer y: output ${dtype}[${M * N}]
    buffer total: fragment f32[${M}, ${N}]
    buffer patch: shared f32[${M}, 40]
    work 1
    body {
      %zero = const {value=0} : index
      %half = const {value=0.5} : f32
      %lanes = const {value=${lanes}} : index
      %end1 = const {value=${M * N}} : index
      %end${lanes} = const {value=${(M * N) / lanes}} : index
      %x = load %zero {buffer="x"} : f32
      %isWide = compare %x, %half {fn="gt"} : bool
      if %isWide () {
        ${loop(lanes)}
      } () {
        ${loop(1)}
      }
    }
  }`);
}

/**
 * The text with registers filled, before anything else, with numbers of the elements they hold: PTX, "Register fragments for
 * wgmma.mma_async", matrix D. Of a row the first, or of a column: 16 bits hold both.
 */
function filled(cuda: string, which: "row" | "column"): string {
  const declared = `float b_total[${(M * N) / THREADS}];`;
  expect(cuda).toContain(declared);
  const row = "(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + (d & 2) / 2 * 8)";
  const column = "(d / 4 * 8 + threadIdx.x % 4 * 2 + (d & 1))";
  return cuda.replace(
    declared,
    `${declared}\nfor (int d = 0; d < ${(M * N) / THREADS}; d++) b_total[d] = ${which === "row" ? row : column};`,
  );
}

describe("a loop over an accumulator", () => {
  for (const [dtype, lanes] of [
    ["f32", 8],
    ["f32", 4],
    ["bf16", 8],
    ["f16", 8],
  ] as const)
    // prettier-ignore
    it(`takes each element once: ${dtype}, ${lanes} at a time and one by one`, async () => {
      const kernel = kernelOf(dtype, lanes);
      const cuda = emitCuda(kernel, null);
      const cases = (["row", "column"] as const).flatMap((which) =>
        [0, 1].map((x) => ({
          kernel,
          cuda: filled(cuda, which),
          dims: {},
          grid: 1,
          memory: [[Float32Array.of(x)], [allocate(dtype, M * N) as TypedArray], [], []],
        })),
      );
      const left = await runOnHost(cases);
      left.forEach((memory, i) => {
        const got = Array.from({ length: M * N }, (_, e) => Number(decode(dtype, memory[1]![0]![e]!)));
        const wanted = Array.from({ length: M * N }, (_, e) => (i < 2 ? Math.floor(e / N) : e % N));
        expect(got, `case ${i}`).toEqual(wanted);
      });
    });
});

/** Adds to each element of `total` what lies in its place in `r`, where its row is one of the first, several at a time. */
function addingKernel(body: string): Kernel {
  return parseKernel(`kernel f level=device world=1 threads=${THREADS} blocks=1 {
    buffer r: input bf16[${M * N}]
    buffer y: output bf16[${M * N}]
    buffer total: fragment f32[${M}, ${N}]
    buffer patch: shared f32[${M}, 40]
    work 1
    body {
      %zero = const {value=0} : index
      %lanes = const {value=8} : index
      %columns = const {value=${N}} : index
      %rows = const {value=${ROWS}} : index
      %end = const {value=${(M * N) / 8}} : index
      for %zero, %end {map="fragment", fragment="total", through="patch", lanes=8} (%e) {
        %at = binary %e, %lanes {fn="mul"} : index
        %row = binary %at, %columns {fn="div"} : index
        %column = binary %at, %columns {fn="rem"} : index
        %start = binary %row, %columns {fn="mul"} : index
        %place = binary %start, %column {fn="add"} : index
        %inside = compare %row, %rows {fn="lt"} : bool
        if %inside () {
          ${body}
        } () {
        }
      }
    }
  }`);
}

const ROWS = 100;
const ADD = `%v = load %at {buffer="total"} : vec<8 x f32>
          %r = load %place {buffer="r"} : vec<8 x bf16>
          %f = cast %r : vec<8 x f32>
          %s = binary %v, %f {fn="add"} : vec<8 x f32>
          %n = cast %s : vec<8 x bf16>
          store %n, %place {buffer="y"}`;

describe("what is added to an accumulator's elements", () => {
  it("is loaded by several iterations before one of them stores", () => {
    const cuda = emitCuda(addingKernel(ADD), null);
    const [start, rest] = [cuda.indexOf("= load_words<"), cuda.lastIndexOf("store_vec(b_y")];
    expect(start).toBeGreaterThan(0);
    expect(rest).toBeGreaterThan(start);
    expect(cuda.slice(start, rest)).toMatch(/for \(u32 (\w+) = 0; \1 < 2; \1\+\+\)/);
    expect(cuda).not.toContain("load_vec<u16, 8>(b_r");
  });

  it("is that of its place", async () => {
    const kernel = addingKernel(ADD);
    const r = allocate("bf16", M * N) as Uint16Array;
    // Whole numbers up to 100, which bf16 holds, as f32's upper half.
    const number = (i: number): number => (i * 7 + Math.floor(i / N)) % 101;
    r.forEach((_, i) => (r[i] = new Uint32Array(Float32Array.of(number(i)).buffer)[0]! >>> 16));
    const [memory] = await runOnHost([
      {
        ...{ kernel, cuda: filled(emitCuda(kernel, null), "row"), dims: {}, grid: 1 },
        memory: [[r], [allocate("bf16", M * N) as TypedArray], [], []],
      },
    ]);
    const found = Array.from({ length: M * N }, (_, i) => Number(decode("bf16", memory![1]![0]![i]!)));
    const wanted = Array.from({ length: M * N }, (_, i) => {
      const row = Math.floor(i / N);
      return row < ROWS ? row + number(i) : 0;
    });
    expect(found).toEqual(wanted);
  });

  it.each([
    [
      "a store before it may be to what it loads",
      `%early = load %at {buffer="total"} : vec<8 x f32>\n%cut = cast %early : vec<8 x bf16>\nstore %cut, %place {buffer="y"}\n%again = load %place {buffer="y"} : vec<8 x bf16>\nstore %again, %place {buffer="y"}`,
    ],
    ["a function takes longer", ADD.replace("%n = cast %s", '%g = unary %s {fn="gelu"} : vec<8 x f32>\n%n = cast %g')],
  ])("is loaded in its turn where %s", (_, body) => {
    expect(emitCuda(addingKernel(body), null)).not.toContain("load_words<");
  });
});
