/** FX regions made of random choices: what ranks compute of what they hold, with conversions between. */
import type fc from "fast-check";
import type { FxGraph } from "../../src/compiler/graph/index.js";
import { type Choices, drawn } from "../fuzz/choices.js";
import { Dump } from "./fx-support.js";

export interface FxCase {
  readonly ranks: number;
  readonly fx: FxGraph;
}

export function fxRegions(): fc.Arbitrary<FxCase> {
  return drawn(write);
}

function write(c: Choices): FxCase {
  const ranks = c.pick([2, 3, 4]);
  const d = new Dump(ranks);
  const values: string[] = [];
  const input = (shape: readonly number[]): string => {
    const name = d.input(`x${values.length}`, shape, c.chance(0.2) ? { replicated: true } : {});
    values.push(name);
    return name;
  };
  const lengths = [1, ranks, 2 * ranks, 4];
  input([c.pick([ranks, 2 * ranks]), c.pick(lengths)]);
  const made: string[] = [];
  const keep = (name: string): void => {
    values.push(name);
    made.push(name);
  };
  for (let step = 2 + c.below(6); step > 0; step--) {
    // What was made last is made more of, mostly.
    const x = c.chance(0.7) ? values.at(-1)! : c.pick(values);
    const shape = d.shapeOf(x);
    const [rows = 1, columns = 1] = shape;
    const isMatrix = shape.length === 2;
    const other = (s: readonly number[]): string => {
      const same = values.filter((v) => d.shapeOf(v).join() === s.join());
      return same.length > 0 && c.chance(0.6) ? c.pick(same) : input(s);
    };
    const dim = c.below(shape.length);
    const ways: (() => string)[] = [
      () => d.pointwise(c.pick(["relu", "tanh", "neg", "sigmoid"]), x),
      () => d.pointwise("mul", x, c.pick([0.5, 2])),
      () => d.pointwise(c.pick(["add", "sub", "mul"]), x, other(shape)),
      () => d.reduce(x, c.pick(["sum", "sum", "avg", "max"])),
      () =>
        d.call(`aten.${c.pick(["sum.dim_IntList", "amax.default", "mean.dim"])}`, [x, [dim], true], shape.with(dim, 1)),
    ];
    if (rows * ranks <= 16)
      ways.push(
        () => d.gather(x),
        () => d.gather(x),
      );
    if (rows % ranks === 0)
      ways.push(
        () => d.scatter(x, c.pick(["sum", "sum", "avg"])),
        () => d.wait(d.call("_c10d_functional.all_to_all_single.default", [x, [], [], "tp"], shape)),
      );
    if (isMatrix) {
      const n = c.pick(lengths);
      ways.push(
        () => d.mm(x, other([columns, n])),
        () => d.mm(x, other([columns, n])),
        () => d.pointwise("add", x, other([columns])),
        () => d.call("aten.t.default", [x], [columns, rows]),
        () => d.view(x, c.pick([[rows * columns], [1, rows, columns], [rows, 1, columns]])),
      );
      if (columns > 1) ways.push(() => d.cat([x, other([rows, columns])], 1), () => d.call("aten.slice.Tensor", [x, 1, 1, columns], [rows, columns - 1])); // prettier-ignore
    } else ways.push(() => d.view(x, shape.length === 1 ? [1, rows] : [rows * columns, shape[2]!]));
    keep(c.pick(ways)());
  }
  const outputs = [...new Set([made.at(-1)!, ...(c.chance(0.4) ? [c.pick(made)] : [])])];
  return { ranks, fx: d.graph(...outputs) };
}
