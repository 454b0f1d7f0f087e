/** Products of tiles whose elements stand for data. An accumulator is a list of sums that are still growing. */
import type { Block } from "../execute/machine.js";
import type { ScalesOf, TileValues } from "../execute/tiles.js";
import type { Accumulator, Algebra, Factors, Number_ } from "./algebra.js";
import type { ProofMachine } from "./machine.js";
import { elementOf } from "./symbols.js";

export function symbolTiles(machine: ProofMachine, algebra: Algebra): TileValues {
  const own = (f: Block, j: number): Number_[] => f.own[j] as Number_[];
  return {
    copyRow(_machine, f, _op, to, at, length, left, right, from, owner, start) {
      const target = own(f, to);
      const source = machine.memory[from]![owner]!;
      for (let c = 0; c < length; c++)
        target[at + c] = c >= left && c < right ? elementOf(machine, source, from, owner, start + c - left) : 0;
    },

    spareRow(_machine, f, to, at, length) {
      (f.own[to] as (Number_ | undefined)[]).fill(undefined, at, at + length);
    },

    clear(_machine, f, accumulator) {
      f.own[accumulator] = Array.from({ length: machine.lengths[accumulator]! }, () => algebra.accumulator());
    },

    multiply(_machine, f, accumulator, a, b, { m, n, k, columns: multiplied, stageA, stageB, transposed }, scales) {
      // From one term, and from one row or column of the product, to the next.
      const [termOfA, rowOfA] = transposed.includes("a") ? [m, 1] : [1, k];
      const [termOfB, columnOfB] = transposed.includes("b") ? [1, k] : [n, 1];
      const z = f.own[accumulator] as (Accumulator | undefined)[];
      // Products with an accumulator that was never cleared are of no value; the store says so.
      if (z.length === 0) return;
      // The scale of a row or column; undefined for what holds anything.
      const scaleOf = ({ buffer, count, per }: ScalesOf, at: number): Number_ | undefined => {
        if (buffer < 0) return 1;
        const memory = own(f, buffer);
        const place = stageA * count + Math.floor(at / per);
        return memory[place] === undefined ? undefined : elementOf(machine, memory, buffer, f.rank, place);
      };
      // One line of a tile, `step` elements apart. A scale of the sum is one of each term.
      const line = (j: number, from: number, step: number, scale: Number_ | undefined): Factors | null => {
        const memory = own(f, j);
        if (scale === undefined) return null;
        const values = new Array<Number_>(k);
        for (let q = 0; q < k; q++) {
          // It holds anything, which may be no number: what was never written has been asked for before.
          if (memory[from + q * step] === undefined) return null;
          const value = elementOf(machine, memory, j, f.rank, from + q * step);
          values[q] = scale === 1 ? value : algebra.mul(value, scale);
        }
        return algebra.factors(values);
      };
      const columns = Array.from({ length: n }, (_, j) =>
        j < multiplied ? line(b, stageB * k * n + j * columnOfB, termOfB, scaleOf(scales.b, j)) : null,
      );
      for (let i = 0; i < m; i++) {
        const row = line(a, stageA * m * k + i * rowOfA, termOfA, scaleOf(scales.a, i));
        for (let j = 0; j < n; j++) {
          const column = columns[j]!;
          // Of what is anything, there comes nothing that anybody has written.
          if (row === null || column === null) z[i * n + j] = undefined;
          else z[i * n + j]?.addProducts(row, column);
        }
      }
    },

    element(_machine, f, accumulator, index) {
      const { name } = machine.kernel.buffers[accumulator]!;
      return (f.own[accumulator] as readonly (Accumulator | undefined)[])[index]?.build() ?? algebra.poison(name, f.rank, index); // prettier-ignore
    },

    storeFragment(_machine, f, from, to) {
      const sums = f.own[from] as readonly (Accumulator | undefined)[];
      const { name } = machine.kernel.buffers[from]!;
      const target = own(f, to);
      for (let i = 0; i < machine.lengths[to]!; i++) target[i] = sums[i]?.build() ?? algebra.poison(name, f.rank, i);
    },

    putFragment(_machine, f, accumulator, to, at, length) {
      const sums = f.own[accumulator] as readonly (Accumulator | undefined)[];
      const { name } = machine.kernel.buffers[accumulator]!;
      const target = machine.memory[to]![f.rank]!;
      for (let i = 0; i < length; i++) target[at + i] = sums[i]?.build() ?? algebra.poison(name, f.rank, i);
    },

    addFragment(_machine, f, accumulator, from, at, length) {
      const sums = f.own[accumulator] as readonly (Accumulator | undefined)[];
      const source = machine.memory[from]![f.rank]!;
      for (let i = 0; i < length; i++) sums[i]?.add(elementOf(machine, source, from, f.rank, at + i));
    },
  };
}
