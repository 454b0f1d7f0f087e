/** Products of tiles in f32, or in integers that wrap. Accumulators are held in f32, or i32 for integers. */
import { DTYPES, type DType } from "../../types/dtype.js";
import { isNarrowFloat, valuesOf } from "../../types/formats.js";
import type { TileValues } from "../tiles.js";

type Numbers = Float32Array | Int32Array | Uint16Array | Uint8Array | Int8Array | Uint32Array;

let left: Float32Array = new Float32Array(0);
let right: Float32Array = new Float32Array(0);

/** A stage of a shared tile as f32 in a reused buffer. */
function decodeStage(dtype: DType, tile: Numbers, from: number, n: number, buffer: Float32Array): Float32Array {
  const into = buffer.length >= n ? buffer : new Float32Array(n);
  if (!isNarrowFloat(dtype)) {
    into.set(tile.subarray(from, from + n));
    return into;
  }
  const values = valuesOf(dtype);
  for (let i = 0; i < n; i++) into[i] = values[tile[from + i]!]!;
  return into;
}

export const NUMBER_TILES: TileValues = {
  copyRow(machine, f, op, to, at, length, first, last, from, owner, start) {
    const target = f.own[to] as Numbers;
    target.fill(0, at, at + length);
    if (first === last) return;
    const hole = machine.written[from]?.[owner]?.subarray(start, start + last - first).indexOf(0) ?? -1;
    if (hole >= 0) machine.faults.unwritten(f, op, from, owner, start + hole);
    target.set((machine.memory[from]![owner] as Numbers).subarray(start, start + last - first), at + first);
  },

  spareRow(machine, f, to, at, length) {
    leaveAnything(f.own[to] as Numbers, machine.kernel.buffers[to]!.dtype, at, at + length);
  },

  clear(_machine, f, accumulator) {
    (f.own[accumulator] as Numbers).fill(0);
  },

  multiply(machine, f, accumulator, a, b, of, scales) {
    const c = f.own[accumulator] as Numbers;
    multiplyAll(machine, f, accumulator, a, b, of, scales);
    const { dtype } = machine.kernel.buffers[accumulator]!;
    for (let i = 0; of.columns < of.n && i < of.m; i++) leaveAnything(c, dtype, i * of.n + of.columns, (i + 1) * of.n);
  },

  element(_machine, f, accumulator, index) {
    return f.own[accumulator]![index];
  },

  storeFragment(_machine, f, from, to) {
    (f.own[to] as Numbers).set(f.own[from] as Numbers);
  },

  putFragment(machine, f, accumulator, to, at, length) {
    (machine.memory[to]![f.rank] as Numbers).set((f.own[accumulator] as Numbers).subarray(0, length), at);
  },

  addFragment(machine, f, accumulator, from, at, length) {
    const [sums, piece] = [f.own[accumulator] as Numbers, machine.memory[from]![f.rank] as Numbers];
    for (let i = 0; i < length; i++) sums[i] = sums[i]! + piece[at + i]!;
  },
};

/** All bits but the sign: a NaN in each of the narrow formats, and a large integer. */
function leaveAnything(target: Numbers, dtype: DType, from: number, to: number): void {
  target.fill(dtype === "f32" ? NaN : 2 ** (8 * target.BYTES_PER_ELEMENT - 1) - 1, from, to);
}

/** k increases; the accumulator is rounded to f32 after every four exact products, as tensor cores round after a few. */
const multiplyAll: TileValues["multiply"] = (machine, f, accumulator, a, b, of, scales) => {
  const { m, n, k, stageA, stageB, transposed } = of;
  const c = f.own[accumulator] as Numbers;
  const kind = machine.kernel.buffers[a]!.dtype;
  const other = machine.kernel.buffers[b]!.dtype;
  const [isTurned, isOtherTurned] = [transposed.includes("a"), transposed.includes("b")];
  if (DTYPES[kind].kind === "int") {
    const x = upright((f.own[a] as Numbers).subarray(stageA * m * k, (stageA + 1) * m * k), isTurned, m, k);
    const y = upright((f.own[b] as Numbers).subarray(stageB * k * n, (stageB + 1) * k * n), isOtherTurned, k, n);
    for (let i = 0; i < m; i++)
      for (let p = 0; p < k; p++)
        for (let j = 0; j < n; j++) c[i * n + j] = c[i * n + j]! + Math.imul(x[i * k + p]!, y[p * n + j]!);
    return;
  }
  left = decodeStage(kind, f.own[a] as Numbers, stageA * m * k, m * k, left);
  right = decodeStage(other, f.own[b] as Numbers, stageB * k * n, k * n, right);
  const isScaled = scales.a.buffer >= 0 || scales.b.buffer >= 0;
  const sums = isScaled ? new Float32Array(m * n) : (c as Float32Array);
  addProduct(sums, upright(left, isTurned, m, k), upright(right, isOtherTurned, k, n), m, n, k);
  if (!isScaled) return;
  const [rows, columns] = [scales.a, scales.b].map(({ buffer, count, per }) => {
    const held = buffer < 0 ? null : (f.own[buffer] as Numbers);
    return (i: number): number => (held === null ? 1 : held[stageA * count + Math.floor(i / per)]!);
  }) as [(i: number) => number, (j: number) => number];
  for (let i = 0; i < m; i++)
    for (let j = 0; j < n; j++) c[i * n + j] = c[i * n + j]! + sums[i * n + j]! * Math.fround(rows(i) * columns(j));
};

/** A tile as [rows, columns], which may lie as [columns, rows]. */
function upright<A extends Numbers>(tile: A, isTurned: boolean, rows: number, columns: number): A {
  if (!isTurned) return tile;
  const turned = tile.slice(0, rows * columns) as A;
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) turned[i * columns + j] = tile[j * rows + i]!;
  return turned;
}

/** Kept apart from the checks, so that V8 compiles nothing but the loops. */
function addProduct(c: Float32Array, x: Float32Array, y: Float32Array, m: number, n: number, k: number): void {
  const whole = k & ~3;
  for (let i = 0; i < m; i++) {
    const row = i * n;
    for (let p = 0; p < whole; p += 4) {
      const from = i * k + p;
      const [x0, x1, x2, x3] = [x[from]!, x[from + 1]!, x[from + 2]!, x[from + 3]!];
      const [y0, y1, y2, y3] = [p * n, (p + 1) * n, (p + 2) * n, (p + 3) * n];
      for (let j = 0; j < n; j++)
        c[row + j] = c[row + j]! + (x0 * y[y0 + j]! + x1 * y[y1 + j]! + x2 * y[y2 + j]! + x3 * y[y3 + j]!);
    }
    for (let p = whole; p < k; p++) {
      const factor = x[i * k + p]!;
      for (let j = 0; j < n; j++) c[row + j] = c[row + j]! + factor * y[p * n + j]!;
    }
  }
}
