/** FX regions made of random choices: what ranks compute of what they hold, with conversions between. */
import type fc from "fast-check";
import { sizeOf } from "../../src/compiler/graph/arrays.js";
import { atSizes } from "../../src/compiler/graph/fx/fx.js";
import { sameShape, shapeAt, tidy } from "../../src/compiler/graph/fx/sizes.js";
import type { FxGraph } from "../../src/compiler/graph/index.js";
import type { DimValues, Extent } from "../../src/compiler/index.js";
import { extent } from "../../src/compiler/types/extent.js";
import { isMultipleOf } from "../../src/compiler/types/normal-form.js";
import { type Choices, drawn } from "../fuzz/choices.js";
import { Dump } from "./fx-support.js";

export interface FxCase {
  readonly ranks: number;
  readonly fx: FxGraph;
  /** Of sizes that only a launch knows, some for which the graph means something. */
  readonly launches: readonly DimValues[];
}

/** @param isDynamic whether lengths are sizes that only a launch knows */
export function fxRegions(isDynamic = false): fc.Arbitrary<FxCase> {
  return drawn((c) => write(c, isDynamic));
}

/** No value of a generated region has more elements, or its parts get few rows. */
const MOST_ELEMENTS = 2048;

function write(c: Choices, isDynamic: boolean): FxCase {
  const ranks = c.pick([2, 3, 4]);
  const d = new Dump(ranks, "float32", "region", isDynamic ? { s0: { hint: 2 * ranks }, s1: { min: 1, hint: 4 } } : {});
  const values: string[] = [];
  /** What s0 must be a multiple of. */
  let rowsOf = 1;
  // Nothing has no maximum.
  let mayBeEmpty = true;
  const largest = { s0: 3 * ranks, s1: 5 };
  const isSmall = (shape: readonly Extent[]): boolean => sizeOf(shapeAt(shape, largest)) <= MOST_ELEMENTS;
  const input = (shape: readonly Extent[]): string => {
    const name = d.input(`x${values.length}`, shape, c.chance(0.2) ? { replicated: true } : {});
    values.push(name);
    return name;
  };
  const mul = (a: Extent, b: Extent): Extent => tidy(extent("mul", a, b));
  const lengths: Extent[] = isDynamic ? [1, "s1", "s1", mul(2, "s1"), 4, "s0"] : [1, ranks, 2 * ranks, 4];
  const rows0: Extent[] = isDynamic ? ["s0", "s0", mul(ranks, "s0")] : [ranks, 2 * ranks];
  input([c.pick(rows0), c.pick(lengths)]);
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
    const other = (s: readonly Extent[]): string => {
      const same = values.filter((v) => sameShape(d.shapeOf(v), s));
      return same.length > 0 && c.chance(0.6) ? c.pick(same) : input(s);
    };
    const dim = c.below(shape.length);
    const ways: (() => string)[] = [
      () => d.pointwise(c.pick(["relu", "tanh", "neg", "sigmoid", "erf", "sin", "cos", "expm1"]), x),
      () => d.pointwise("mul", x, c.pick([0.5, 2])),
      () => d.pointwise(c.pick(["add", "sub", "mul"]), x, other(shape)),
      () => d.reduce(x, c.pick(["sum", "sum", "avg", "max"])),
      // Each rank's own, and not linear.
      () => d.reduce(d.pointwise(c.pick(["relu", "sigmoid"]), x), c.pick(["sum", "avg", "max"])),
      () => d.pointwise("mul", x, other(shape.with(-1, 1))),
      () => {
        mayBeEmpty = false;
        return d.call(`aten.${c.pick(["sum.dim_IntList", "amax.default", "mean.dim"])}`, [x, [dim], true], shape.with(dim, 1)); // prettier-ignore
      },
    ];
    if (typeof rows !== "number" ? isSmall(shape.with(0, mul(ranks, rows))) : rows * ranks <= 16)
      ways.push(
        () => d.gather(x),
        () => d.gather(x),
      );
    // Rows that divide as they are, or those of which the graph says that they do.
    const isCut = isMultipleOf(rows, ranks);
    if (isCut || rows === "s0") {
      const cut = (): void => void (isCut || (rowsOf = ranks));
      ways.push(
        () => (cut(), d.scatter(x, c.pick(["sum", "sum", "avg"]))),
        () => (cut(), d.wait(d.call("_c10d_functional.all_to_all_single.default", [x, [], [], "tp"], shape))),
      );
    }
    if (isMatrix) {
      const n = c.pick(lengths);
      if (isSmall([rows, n]) && isSmall([columns, n]))
        ways.push(
          () => d.mm(x, other([columns, n])),
          () => d.mm(x, other([columns, n])),
        );
      ways.push(
        () => d.pointwise("add", x, other([columns])),
        () => d.call("aten.t.default", [x], [columns, rows]),
        () => d.view(x, c.pick([[mul(rows, columns)], [1, rows, columns], [rows, 1, columns]])),
      );
      if (columns !== 1)
        ways.push(
          () => d.cat([x, other([rows, columns])], 1),
          () => d.call("aten.slice.Tensor", [x, 1, 1, 2 ** 53 - 1], [rows, tidy(extent("sub", columns, 1))]),
        );
      if (columns === "s1")
        ways.push(() => d.call("aten.slice.Tensor", [x, 1, 0, { size: extent("div", "s1", 2) }], [rows, extent("div", "s1", 2)])); // prettier-ignore
    } else ways.push(() => d.view(x, shape.length === 1 ? [1, rows] : [mul(rows, columns), shape[2]!]));
    keep(c.pick(ways)());
  }
  const outputs = [...new Set([made.at(-1)!, ...(c.chance(0.4) ? [c.pick(made)] : [])])];
  const s0 = [...(mayBeEmpty ? [0] : []), 1, 2, 3].map((n) => (rowsOf === 1 ? n : n * ranks));
  const launches = s0.flatMap((n, i) => [{ s0: n, s1: [5, 1, 4, 3][i]! }, ...(i === 1 ? [{ s0: n, s1: 2 }] : [])]);
  const fx = d.graph(...outputs);
  // Nothing has no part, either.
  const isThere = (sizes: DimValues): boolean => atSizes(fx, sizes).nodes.every((n) => (n.shape ?? []).every((length) => length >= 0)); // prettier-ignore
  return { ranks, fx, launches: isDynamic ? launches.filter(isThere) : [{}] };
}
