/** Bodies of tensor expressions over two axes of a mesh, whose layouts fit by the tables of the reference, axis by axis. */
import type fc from "fast-check";
import { type Choices, drawn } from "./choices.js";
import type { Generated } from "./explicit-programs.js";

/** What is said of an axis: replicated, cut along rows or columns, summands, or nothing (rows of their own). */
type Said = "R" | 0 | 1 | "P";
type Layout = readonly [dp: Said, tp: Said];
type Shape = readonly [string, string];

const AXES = ["dp", "tp"] as const;
/** Lengths that all parts of both axes divide. */
const DIMS: Readonly<Record<string, number>> = { m: 12, n: 24, k: 36 };

export function meshPrograms(): fc.Arbitrary<Generated> {
  return drawn((c) => {
    const writer = new Writer(c);
    const shape: Shape = [c.pick(["m", "n"]), c.pick(["n", "k"])];
    const outputs = Array.from({ length: 1 + c.below(2) }, (_, i) => {
      const layout: Layout = [c.pick(["R", 0, 1]), c.pick(["R", 0, 1])];
      return { name: `y${i}`, layout, value: writer.value(layout, shape, 1 + c.below(3)) };
    });
    const declare = (name: string, layout: Layout, s: Shape): string =>
      `${name}: T[${s.join(", ")}] ${written(layout)}`;
    const text = [
      `collective f(${writer.inputs.map((x) => declare(x.name, x.layout, x.shape)).join(", ")})`,
      `  -> (${outputs.map((y) => declare(y.name, y.layout, shape)).join(", ")})`,
      "  mesh(dp, tp) {",
      ...outputs.map((y) => `  ${y.name} = ${y.value}`),
      "}\n",
    ].join("\n");
    const names = Object.keys(DIMS).filter((d) => new RegExp(`\\b${d}\\b`).test(text));
    const sized = (times: number): Record<string, number> =>
      Object.fromEntries(names.map((d) => [d, times * DIMS[d]!]));
    return { text, ranks: c.pick([4, 6]), dtype: c.pick(["f32", "bf16"] as const), shapes: [sized(1), sized(2)] };
  });
}

/** Of all ranks, where both axes say the same: either way of writing it is right. */
function written(layout: Layout): string {
  const one = (s: Said, axis: string): string =>
    s === "R" ? `replicated(${axis})` : s === "P" ? `partial(sum, ${axis})` : `sharded(${s}, ${axis})`;
  return layout.map((s, at) => one(s, AXES[at]!)).join(" ");
}

class Writer {
  readonly inputs: { readonly name: string; readonly layout: Layout; readonly shape: Shape }[] = [];

  constructor(private readonly c: Choices) {}

  value(layout: Layout, shape: Shape, depth: number): string {
    return depth === 0 ? this.input(layout, shape) : this.c.pick(this.ways(layout, shape, depth - 1))();
  }

  private input(layout: Layout, shape: Shape): string {
    const same = this.inputs.find((x) => written(x.layout) === written(layout) && x.shape.join() === shape.join());
    if (same !== undefined && this.c.chance(0.4)) return same.name;
    const name = `x${this.inputs.length}`;
    this.inputs.push({ name, layout, shape });
    return name;
  }

  private ways(layout: Layout, shape: Shape, depth: number): readonly (() => string)[] {
    const { c } = this;
    const of = (l: Layout, s: Shape = shape): string => this.value(l, s, depth);
    const along = (at: number, said: Said): Layout => (at === 0 ? [said, layout[1]] : [layout[0], said]);
    const ways: (() => string)[] = [() => this.input(layout, shape)];
    const isWhole = !layout.includes("P");
    ways.push(
      () => `${of(layout)} * 0.5`,
      () => `(${of(layout)} + ${of(layout)})`,
    );
    // A rank's slice of what it holds of an axis is its part, if no axis behind it cuts the same dimension.
    const isSliced = (at: number): boolean => layout[at] !== "R" && layout[at] !== "P" && !(at === 0 && layout[1] === layout[0]); // prettier-ignore
    if (isWhole) {
      ways.push(() => `${c.pick(["relu", "tanh", "abs"])}(${of(layout)})`);
      ways.push(() => `max(${of(layout)}, ${of(layout)})`);
      for (const at of [0, 1]) if (isSliced(at)) ways.push(() => `(${of(layout)} - ${of(along(at, "R"))})`);
    }
    // A fold along a dimension that nobody cuts, spread over it again.
    for (const dim of [0, 1])
      if (isWhole && !layout.some((s) => s === dim))
        ways.push(() => `(${of(layout)} + ${c.pick(["sum", "mean", "max"])}(${of(layout)}, dim: ${dim}))`);
    const turned = layout.map((s) => (s === 0 ? 1 : s === 1 ? 0 : s)) as unknown as Layout;
    ways.push(() => `transpose(${of(turned, [shape[1], shape[0]])})`);
    ways.push(() => this.product(layout, shape, depth));
    for (const at of [0, 1]) {
      const inner = at === 0 ? layout[1] : null;
      const over = `over: ${AXES[at]!}`;
      const said = layout[at]!;
      if (said === "R") {
        ways.push(() => `all_reduce(${of(along(at, "P"))}, ${over})`);
        const cuts = ([0, 1] as const).filter((d) => d !== inner);
        ways.push(() => `all_gather(${of(along(at, c.pick(cuts)))}, ${over})`);
      } else if (said !== "P" && inner !== said) {
        ways.push(() => `reduce_scatter(${of(along(at, "P"))}, dim: ${said}, ${over})`);
        const other = said === 0 ? 1 : 0;
        if (inner !== other) ways.push(() => `all_to_all(${of(along(at, other))}, dim: ${said}, ${over})`);
      }
    }
    return ways;
  }

  /** Each axis takes one of the lines of the table of products. */
  private product(layout: Layout, shape: Shape, depth: number): string {
    const { c } = this;
    const sides = layout.map((said): readonly [Said, Said] => {
      if (said === "R") return ["R", "R"];
      if (said === 0) return [0, "R"];
      if (said === 1) return ["R", 1];
      return c.pick([[1, 0] as const, ["P", "R"] as const, ["R", "P"] as const]);
    });
    const inner = c.pick(["m", "n", "k"]);
    const a = this.value([sides[0]![0], sides[1]![0]], [shape[0], inner], depth);
    const b = this.value([sides[0]![1], sides[1]![1]], [inner, shape[1]], depth);
    return `(${a} @ ${b})`;
  }
}
