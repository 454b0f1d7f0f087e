/** Bodies of tensor expressions whose layouts and shapes fit, by the tables of the reference. */
import type fc from "fast-check";
import { type Choices, drawn } from "./choices.js";
import type { Generated } from "./explicit-programs.js";

type Layout =
  | { readonly kind: "replicated" | "partial" }
  | { readonly kind: "sharded"; readonly dim: number }
  | { readonly kind: "on"; readonly rank: number };
type Shape = readonly string[];

const REPLICATED: Layout = { kind: "replicated" };
const PARTIAL: Layout = { kind: "partial" };
const sharded = (dim: number): Layout => ({ kind: "sharded", dim });

const written = (l: Layout): string =>
  l.kind === "sharded" ? `sharded(${l.dim})` : l.kind === "on" ? `on(${l.rank})` : l.kind === "partial" ? "partial(sum)" : "replicated"; // prettier-ignore

/** Lengths that every number of ranks divides. */
const DIMS: Readonly<Record<string, number>> = { m: 12, n: 24, k: 36 };
const RANKS = [1, 2, 3, 4, 6] as const;

export function tensorPrograms(): fc.Arbitrary<Generated> {
  return drawn(writeProgram);
}

function writeProgram(c: Choices): Generated {
  const ranks = c.pick(RANKS);
  const dtype = c.pick(["f32", "bf16", "f16"] as const);
  const writer = new Writer(c, ranks);
  const rows = c.pick(["m", "n", "m", "n", "1"]);
  const shape: Shape = c.chance(0.7) ? [rows, c.pick(rows === "1" ? ["n", "m"] : ["n", "m", "n", "m", "1"])] : ["n"];
  const outputs = Array.from({ length: 1 + c.below(2) }, (_, i) => {
    const layout = writer.anyLayout(shape);
    return { name: `y${i}`, layout, value: writer.value(layout, shape, 1 + c.below(3)) };
  });
  // Some are an input, changed in place; what is assigned below reads it as it is then.
  const taken = new Set<string>();
  for (const output of outputs) {
    const same = writer.inputs.find(
      (x) => !taken.has(x.name) && written(x.layout) === written(output.layout) && x.shape.join() === shape.join(),
    );
    if (same === undefined || !c.chance(0.3)) continue;
    taken.add((output.name = same.name));
  }
  const declare = (name: string, layout: Layout, s: Shape): string => `${name}: T[${s.join(", ")}] ${written(layout)}`;
  const text = [
    `collective f(${[...writer.inputs.map((x) => declare(x.name, x.layout, x.shape)), ...writer.numbers].join(", ")})`,
    `  -> (${outputs.map((y) => declare(y.name, y.layout, shape)).join(", ")}) {`,
    ...writer.lines,
    ...outputs.map((y) => `  ${y.name} = ${y.value}`),
    "}\n",
  ].join("\n");
  const names = Object.keys(DIMS).filter((d) => new RegExp(`\\b${d}\\b`).test(text));
  const shapeOf = (length: (d: string) => number): Record<string, number> =>
    Object.fromEntries(names.map((d) => [d, length(d)]));
  // No elements at all, one, and one for each rank are lengths, too; those that the program does not take are left out.
  const short = shapeOf(() => c.pick([ranks, 0, 1, 2]));
  return { text, ranks, dtype, shapes: [shapeOf((d) => DIMS[d]!), shapeOf((d) => 2 * DIMS[d]!), short] };
}

class Writer {
  readonly inputs: { readonly name: string; readonly layout: Layout; readonly shape: Shape }[] = [];
  readonly lines: string[] = [];
  /** Declarations of numbers of the launch. */
  readonly numbers: string[] = [];

  constructor(
    private readonly c: Choices,
    private readonly ranks: number,
  ) {}

  anyLayout(shape: Shape): Layout {
    const { c } = this;
    const cuts = shape.flatMap((e, d) => (e === "1" ? [] : [sharded(d)]));
    return c.pick([REPLICATED, ...cuts, PARTIAL, { kind: "on", rank: c.below(this.ranks) }]);
  }

  /** An expression of this layout and shape; sometimes a part of it gets a name first. */
  value(layout: Layout, shape: Shape, depth: number): string {
    if (depth === 0) return this.input(layout, shape);
    const made = this.c.pick(this.ways(layout, shape, depth - 1))();
    if (!this.c.chance(0.2)) return made;
    const name = `v${this.lines.length}`;
    this.lines.push(`  let ${name} = ${made}`);
    return name;
  }

  private input(layout: Layout, shape: Shape): string {
    const same = this.inputs.filter((x) => written(x.layout) === written(layout) && x.shape.join() === shape.join());
    if (same.length > 0 && this.c.chance(0.5)) return this.c.pick(same).name;
    const name = `x${this.inputs.length}`;
    this.inputs.push({ name, layout, shape });
    return name;
  }

  /** A literal, or a number that the launch is given. */
  private number(): string {
    const { c, numbers } = this;
    if (c.chance(0.5)) return c.pick(["0.5", "2"]);
    const isWhole = c.chance(0.3);
    const declared = isWhole ? "count: u32" : "alpha: f32";
    if (!numbers.includes(declared)) numbers.push(declared);
    return isWhole ? "f32(count)" : c.pick(["alpha", "alpha * 2", "tanh(alpha)"]);
  }

  private ways(layout: Layout, shape: Shape, depth: number): readonly (() => string)[] {
    const { c } = this;
    const of = (l: Layout, s: Shape = shape): string => this.value(l, s, depth);
    const ways: (() => string)[] = [() => this.input(layout, shape)];
    const long = shape.flatMap((e, d) => (e === "1" ? [] : [d]));
    const dim = long.length === 0 ? 0 : c.pick(long);
    const product = (a: Layout, b: Layout) => (): string => {
      const inner = c.pick(["k", "m", "n"]);
      return `(${of(a, [shape[0]!, inner])} @ ${of(b, [inner, shape[1]!])})`;
    };
    const isMatrix = shape.length === 2;
    // Parts along a dimension that each rank holds whole, in another order; of any expression, and of parts.
    if (long.length > 0 && (layout.kind !== "sharded" || layout.dim !== dim)) {
      const end = shape[dim]!;
      const part = (range: string): string => `[${shape.map((_, d) => (d === dim ? range : "..")).join(", ")}]`;
      const last = (): string => c.pick([part(`3..${end}`), part(`1..${end}`) + part(`2..${end} - 1`)]);
      ways.push(() => `concat((${of(layout)})${last()}, ${this.input(layout, shape)}${part("0..3")}, dim: ${dim})`);
    }
    const turned: Layout = layout.kind === "sharded" ? sharded(1 - layout.dim) : layout;
    if (isMatrix && layout.kind !== "on") ways.push(() => `transpose(${of(turned, [shape[1]!, shape[0]!])})`);
    if (layout.kind === "partial") {
      ways.push(() => `(${of(layout)} ${c.pick(["+", "-"])} ${of(layout)})`);
      ways.push(() => `${of(layout)} * ${c.chance(0.5) ? `(${this.number()})` : `(${of(REPLICATED)})`}`);
      if (isMatrix) ways.push(product(sharded(1), sharded(0)), product(PARTIAL, REPLICATED));
      return ways;
    }
    ways.push(() => `${c.pick(["relu", "abs", "tanh", "silu", "erf", "sin", "cos"])}(${of(layout)})`);
    ways.push(() => `pow(abs(${of(layout)}) + 1, ${c.pick(["0.5", "2", "-1"])})`);
    if (layout.kind !== "on") {
      // Repeated along a dimension that each rank holds whole, or that the other operand brings.
      const free = long.filter((d) => layout.kind !== "sharded" || layout.dim !== d);
      const thin = (d: number): Shape => shape.with(d, "1");
      if (free.length > 0)
        ways.push(() => `(${of(layout)} ${c.pick(["+", "-", "*"])} ${of(layout, thin(c.pick(free)))})`);
      if (isMatrix && layout.kind === "replicated")
        ways.push(() => `(${of(layout)} ${c.pick(["+", "-"])} ${of(layout, [shape[1]!])})`);
      // Folded to one.
      const flat = shape.findIndex((e, d) => e === "1" && (layout.kind !== "sharded" || layout.dim !== d));
      if (flat >= 0)
        ways.push(
          () => `${c.pick(["sum", "max", "min"])}(${of(layout, shape.with(flat, c.pick(["m", "n"])))}, dim: ${flat})`,
        );
    }
    ways.push(() => `(${of(layout)} ${c.pick(["+", "-", "*"])} ${of(layout)})`);
    ways.push(() => `(${of(layout)} ${c.pick(["+", "-", "*"])} ${this.number()})`);
    ways.push(() => `${c.pick(["min", "max"])}(${of(layout)}, ${of(layout)})`);
    if (layout.kind === "replicated" || layout.kind === "sharded") {
      // Folded along a dimension that each rank holds whole, and spread over it again.
      const along = layout.kind === "sharded" ? 1 - layout.dim : dim;
      const folds = ["sum", "mean", "max", "min"];
      if (along < shape.length) ways.push(() => `(${of(layout)} + ${c.pick(folds)}(${of(layout)}, dim: ${along}))`);
      // A mask: of each element, its index along a dimension beside that along another, or beside a number.
      const lengths = shape.join(", ");
      const index = (d: number): string => `iota(${lengths}, dim: ${d})`;
      const other = shape.length > 1 ? c.pick([index(1), "2"]) : "2";
      ways.push(() => `where(${index(0)} ${c.pick([">=", "<", "!="])} ${other}, ${of(layout)}, ${c.pick(["0", of(layout)])})`); // prettier-ignore
      ways.push(() => `where(${of(layout)} > ${c.pick(["0", of(layout)])}, ${of(layout)}, ${of(layout)})`);
    }
    if (layout.kind === "replicated") {
      ways.push(
        () => `all_reduce(${of(PARTIAL)})`,
        () => (long.length === 0 ? of(layout) : `all_gather(${of(sharded(dim))})`),
      );
      ways.push(() => `broadcast(${of({ kind: "on", rank: c.below(this.ranks) })})`);
      if (isMatrix) ways.push(product(REPLICATED, REPLICATED));
    } else if (layout.kind === "sharded") {
      const d = layout.dim;
      ways.push(() => `reduce_scatter(${of(PARTIAL)}, dim: ${d})`);
      ways.push(() => `scatter(${of({ kind: "on", rank: c.below(this.ranks) })}, dim: ${d})`);
      ways.push(() => `(${of(layout)} + ${of(REPLICATED)})`);
      if (isMatrix && shape[1 - d] !== "1") ways.push(() => `all_to_all(${of(sharded(1 - d))}, dim: ${d})`);
      if (isMatrix) {
        ways.push(d === 0 ? product(sharded(0), REPLICATED) : product(REPLICATED, sharded(1)));
      }
    } else if (layout.kind === "on") {
      ways.push(() => `reduce(${of(PARTIAL)}, to: ${layout.rank})`);
      if (long.length > 0) ways.push(() => `gather(${of(sharded(dim))}, to: ${layout.rank})`);
    }
    return ways;
  }
}
