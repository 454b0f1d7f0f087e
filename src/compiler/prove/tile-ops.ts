/**
 * Steps of copies and products of tiles. A copy lasts from its start to the `copy_wait` that lands it, and takes its
 * source's values when it lands: the traces say so, and the analysis of ordering holds both ends against other accesses.
 */
import { type Op, text } from "../ir/module.js";
import { tileSource, tileWindow } from "../ir/tile-window.js";
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Frame, Machine } from "./machine.js";
import { elementOf, known } from "./script/support.js";
import type { Factors, Number_ } from "./algebra.js";
import { CLOSE, OPEN, READ, WRITE } from "./trace.js";
import type { Held } from "./values.js";

/** What an op does, with its operands. */
type Step = (f: Frame, ...operands: Held[]) => void;

export function tileStep(machine: Machine, op: Op): Step {
  const { algebra } = machine;
  const number = machine.trace?.numberOf(op) ?? 0;
  switch (op.name) {
    case "copy_tile":
      return copyStep(machine, op, number);
    case "copy_commit":
      return (f) => {
        f.copies.groups.push(f.copies.open);
        f.copies.open = [];
      };
    case "copy_wait": {
      const pending = op.attributes["pending"] as number;
      return (f) => {
        while (f.copies.groups.length > pending) for (const c of f.copies.groups.shift()!) c.land(f);
      };
    }
    case "fragment_clear": {
      const j = machine.bufferNumber(text(op, "buffer"));
      const n = machine.lengths[j]!;
      return (f) =>
        void (f.accumulators[j] = algebra === null ? [] : Array.from({ length: n }, () => algebra.accumulator()));
    }
    case "mma":
      return mmaStep(machine, op, number);
    case "fragment_store": {
      const [from, to] = [text(op, "from"), text(op, "to")].map((name) => machine.bufferNumber(name)) as [
        number,
        number,
      ];
      const n = machine.lengths[to]!;
      return (f) => {
        machine.noteShared(f, number, to, 0, n, WRITE);
        if (algebra !== null)
          for (let i = 0; i < n; i++)
            f.own[to]![i] = f.accumulators[from]?.[i]?.build() ?? algebra.poison(text(op, "from"), f.rank, i);
      };
    }
    default:
      throw new InternalCompilerError(`'${op.name}' is no op of tiles`);
  }
}

function copyStep(machine: Machine, op: Op, number: number): Step {
  const { trace, algebra } = machine;
  const remote = op.attributes["remote"] === true;
  const [from, to] = [text(op, "from"), text(op, "to")].map((name) => machine.bufferNumber(name)) as [number, number];
  const [stages, rows, cols] = machine.shapes[to] as [number, number, number];
  const source = tileSource(op, machine.shapes[from]!, machine.shapes[to]!);
  return (f, ...operands) => {
    const owner = remote ? known(operands.shift()!, "the rank a copy comes from") : f.rank;
    const numbers = operands.map((v) => known(v, "the place of a tile"));
    const [stage, end] = numbers.splice(source.shape.length) as [number, number | undefined];
    if (!(owner >= 0 && owner < machine.kernel.world))
      machine.fail("bounds", f, op, `a tile is copied from rank ${owner}`);
    if (!(stage >= 0 && stage < stages))
      machine.fail("bounds", f, op, `a tile is copied to stage ${stage} of ${stages}`);
    const { left, right, start, outside } = tileWindow(source, numbers, end);
    if (outside !== null)
      machine.fail("bounds", f, op, `a tile begins at ${numbers[outside]} of dimension ${outside}, of ${source.shape[outside]}`); // prettier-ignore
    const base = stage * rows * cols;
    const copy = trace?.newCopy() ?? 0;
    const note = (g: Frame, edge: number): void => {
      if (trace === null) return;
      machine.noteShared(g, number, to, base, rows * cols, WRITE | edge, copy);
      const strand = machine.strandOf(g);
      const memory = machine.memoryOf(from, owner);
      for (let r = 0; r < rows && right > left; r++) {
        const at = start(r);
        if (at !== null) trace.access(strand, number, memory, at + left, right - left, READ | edge, copy);
      }
    };
    note(f, OPEN);
    const land = (g: Frame): void => {
      note(g, CLOSE);
      if (algebra === null) return;
      const target = g.own[to]!;
      const memory = machine.memory[from]![owner]!;
      for (let r = 0; r < rows; r++) {
        const at = start(r);
        for (let c = 0; c < cols; c++) {
          const inside = at !== null && c >= left && c < right;
          target[base + r * cols + c] = inside ? elementOf(machine, memory, from, owner, at + c) : 0;
        }
      }
    };
    f.copies.open.push({ land });
  };
}

function mmaStep(machine: Machine, op: Op, number: number): Step {
  const { algebra } = machine;
  const [acc, a, b] = ["accumulator", "a", "b"].map((k) => machine.bufferNumber(text(op, k))) as [
    number,
    number,
    number,
  ];
  const transposed = (op.attributes["transposed"] as string | undefined) ?? "";
  const [stages, ...left] = machine.shapes[a] as [number, number, number];
  const [m, k] = transposed.includes("a") ? [left[1], left[0]] : left;
  const n = machine.shapes[b]![transposed.includes("b") ? 1 : 2]!;
  // From one term, and from one row or column of the product, to the next.
  const [termOfA, rowOfA] = transposed.includes("a") ? [m, 1] : [1, k];
  const [termOfB, columnOfB] = transposed.includes("b") ? [1, k] : [n, 1];
  return (f, operand) => {
    const stage = known(operand!, "the stage of a product");
    if (!(stage >= 0 && stage < stages)) machine.fail("bounds", f, op, `a product of stage ${stage} of ${stages}`);
    machine.noteShared(f, number, a, stage * m * k, m * k, READ);
    machine.noteShared(f, number, b, stage * k * n, k * n, READ);
    if (algebra === null) return;
    const [x, y, z] = [f.own[a]!, f.own[b]!, f.accumulators[acc]];
    // Products with an accumulator that was never cleared are of no value; the store says so.
    if (z === undefined) return;
    // One line of a tile, `step` elements apart.
    const line = (memory: Number_[], j: number, from: number, step: number): Factors => {
      const values = new Array<Number_>(k);
      for (let q = 0; q < k; q++) values[q] = elementOf(machine, memory, j, f.rank, from + q * step);
      return algebra.factors(values);
    };
    const columns = Array.from({ length: n }, (_, j) => line(y, b, stage * k * n + j * columnOfB, termOfB));
    for (let i = 0; i < m; i++) {
      const row = line(x, a, stage * m * k + i * rowOfA, termOfA);
      for (let j = 0; j < n; j++) z[i * n + j]!.addProducts(row, columns[j]!);
    }
  };
}
