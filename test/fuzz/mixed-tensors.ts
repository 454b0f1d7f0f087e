/** Tensor expressions of a layout and a shape, made of what has names in a mixed body. */
import {
  type Body,
  fits,
  type Layout,
  LOCAL,
  logical,
  type Named,
  partial,
  partIn,
  REPLICATED,
  type Shape,
  sharded,
  type Tensor,
  written,
} from "./mixed-arrays.js";

/** An expression of this layout and shape. What it needs and nothing holds becomes an input. */
export function tensor(x: Body, layout: Layout, shape: Shape, depth: number): Tensor {
  const stored = [...x.held.values()].filter(
    (t) =>
      t.by === "loop" && t.shape.join() === shape.join() && (fits(t, layout, shape) || conversion(t.layout, layout)),
  );
  if (stored.length > 0 && x.c.chance(0.4)) {
    const found = x.c.pick(stored);
    x.crossed.intoExpression = true;
    return fits(found, layout, shape) ? found : converted(x, found, layout);
  }
  return depth === 0 ? leaf(x, layout, shape) : x.c.pick(ways(x, layout, shape, depth - 1))();
}

/** A named array, in the dtype that is computed with. */
function leaf(x: Body, layout: Layout, shape: Shape): Tensor {
  const { c } = x;
  const made = [...x.held.values()].filter((t) => fits(t, layout, shape));
  const computed = made.filter((t) => t.role !== "input");
  const found = computed.length > 0 && c.chance(0.8) ? c.pick(computed) : made.length > 0 && c.chance(0.6) ? c.pick(made) : newInput(x, layout, shape); // prettier-ignore
  if (found.by === "loop") x.crossed.intoExpression = true;
  return found.type === x.wide ? found : { ...found, text: `${x.wide}(${found.text})` };
}

export function newInput(x: Body, layout: Layout, shape: Shape): Named {
  const name = x.fresh("x");
  const part = (r: string, at: readonly string[]): string =>
    `${name}@(${layout.kind === "on" ? layout.rank : r})[${at.join(", ")}]`;
  const made: Named = { text: name, layout, shape, part, cost: 1, role: "input", type: "T" };
  x.held.set(name, made);
  return made;
}

type Way = () => Tensor;

function ways(x: Body, layout: Layout, shape: Shape, depth: number): readonly Way[] {
  const { c } = x;
  const of = (l: Layout = layout, s: Shape = shape): Tensor => tensor(x, l, s, depth);
  const all: Way[] = [() => leaf(x, layout, shape), ...views(x, layout, shape, of)];
  const join = (parts: readonly Tensor[], write: (texts: readonly string[]) => string): Tensor => ({
    text: write(parts.map((p) => p.text)),
    layout,
    shape,
    // Replicated operands of others are indexed by the place in the whole tensor.
    part: (r, at) => write(parts.map((p) => (p.layout.kind === "replicated" ? partIn(layout, shape, p.part) : p.part)(r, at))), // prettier-ignore
    cost: parts.reduce((sum, p) => sum + p.cost, 0),
  });
  const isMatrix = shape.length === 2;
  const product =
    (a: Layout, b: Layout): Way =>
    () => {
      const inner = c.pick(["k", "m", "n"]);
      return multiplied(x, of(a, [shape[0]!, inner]), of(b, [inner, shape[1]!]), layout, inner);
    };
  if (layout.kind === "partial") {
    if (layout.op !== "sum") return all;
    all.push(() => join([of(), of()], ([a, b]) => `(${a} ${"-"} ${b})`));
    all.push(() => join([of(), of()], ([a, b]) => `(${a} + ${b})`));
    all.push(() => join([of()], ([a]) => `${a} * ${x.isInteger ? "2" : "0.5"}`));
    if (!x.isInteger) all.push(() => join([of(), of(REPLICATED)], ([a, b]) => `${a} * (${b})`));
    if (isMatrix) all.push(product(sharded(1), sharded(0)), product(layout, REPLICATED));
    return all;
  }
  const fn = c.pick(x.isInteger ? ["relu", "abs"] : ["relu", "abs", "tanh"]);
  all.push(() => join([of()], ([a]) => `${fn}(${a})`));
  const operator = c.pick(x.isInteger ? ["+", "-"] : ["+", "-", "*"]);
  all.push(() => join([of(), of()], ([a, b]) => `(${a} ${operator} ${b})`));
  all.push(() => join([of(), of()], ([a, b]) => `${operator === "+" ? "max" : "min"}(${a}, ${b})`));
  if (layout.kind !== "replicated") all.push(() => join([of(), of(REPLICATED)], ([a, b]) => `(${a} ${operator} ${b})`));
  if (x.isInteger) all.push(() => join([of(), of(), of()], ([a, b, d]) => `where(${a} > ${b}, ${d}, 1)`));
  all.push(...folds(x, layout, shape, of));
  all.push(...conversions(x, layout, shape, of));
  if (!isMatrix) return all;
  if (layout.kind !== "sharded") all.push(product(layout, REPLICATED));
  else all.push(layout.dim === 0 ? product(sharded(0), REPLICATED) : product(REPLICATED, sharded(1)));
  return all;
}

function multiplied(x: Body, a: Tensor, b: Tensor, layout: Layout, inner: string): Tensor {
  const shape = [a.shape[0]!, b.shape[1]!];
  const isCut = layout.kind === "partial" && a.layout.kind === "sharded";
  return {
    text: `(${a.text} @ ${b.text})`,
    layout,
    shape,
    part: (r, [i, j]) => {
      const k = x.fresh("q");
      return `(sum(${k} in 0..${isCut ? `${inner} / world` : inner}) (${a.part(r, [i!, k])} * ${b.part(r, [k, j!])}))`;
    },
    cost: 24 * (a.cost + b.cost),
  };
}

type Of = (layout?: Layout, shape?: Shape) => Tensor;

/** What moves elements. */
function views(x: Body, layout: Layout, shape: Shape, of: Of): readonly Way[] {
  const { c } = x;
  const all: Way[] = [];
  const dim = c.below(shape.length);
  const length = shape[dim]!;
  const isCut = layout.kind === "sharded" && layout.dim === dim;
  if (!isCut && /^\w+$/.test(length)) {
    // All but the first three of one, which may have a name of its own, and the first three of another.
    const ranges = (range: string): string => `[${shape.map((_, d) => (d === dim ? range : "..")).join(", ")}]`;
    const moved = (at: readonly string[], by: string): string[] => at.map((i, d) => (d === dim ? `(${i}) ${by}` : i));
    all.push(() => {
      const isShort = c.chance(0.5);
      const long = shape.map((e, d) => (d === dim && isShort ? `${length} - 3` : e));
      const [a, b] = [isShort ? leaf(x, layout, long) : of(), of()];
      const cut = `${length} - 3`;
      return {
        text: `concat(${isShort ? a.text : `(${a.text})${ranges(`3..${length}`)}`}, (${b.text})${ranges("0..3")}, dim: ${dim})`,
        layout,
        shape,
        part: (r, at) => `where((${at[dim]}) < ${cut}, ${a.part(r, isShort ? at : moved(at, "+ 3"))}, ${b.part(r, moved(at, `- (${cut})`))})`, // prettier-ignore
        cost: a.cost + b.cost,
      };
    });
  }
  if (/ - 3$/.test(length) && !isCut)
    all.push(() => {
      const whole = length.slice(0, -4);
      const a = of(layout, shape.map((e, d) => (d === dim ? whole : e))); // prettier-ignore
      const ranges = shape.map((_, d) => (d === dim ? `3..${whole}` : "..")).join(", ");
      return { ...a, text: `(${a.text})[${ranges}]`, shape, part: (r, at) => a.part(r, at.map((i, d) => (d === dim ? `(${i}) + 3` : i))) }; // prettier-ignore
    });
  if (shape.length === 2)
    all.push(() => {
      const turned = layout.kind === "sharded" ? sharded(1 - layout.dim) : layout;
      const a = of(turned, [shape[1]!, shape[0]!]);
      return { ...a, text: `transpose(${a.text})`, layout, shape, part: (r, [i, j]) => a.part(r, [j!, i!]) };
    });
  return all;
}

/** With what is folded along a dimension, spread over it again. */
function folds(x: Body, layout: Layout, shape: Shape, of: Of): readonly Way[] {
  const { c } = x;
  const dim = c.below(shape.length);
  const isCut = layout.kind === "sharded" && layout.dim === dim;
  const fn = c.pick(["sum", "max", "min"] as const);
  const over =
    (a: Tensor, range: string, part = a.part) =>
    (r: string, at: readonly string[]): string => {
      const k = x.fresh("q");
      return `(${fn}(${k} in 0..${range}) (${part(
        r,
        at.map((i, d) => (d === dim ? k : i)),
      )}))`;
    };
  const added = (a: Tensor, text: string, folded: Tensor["part"], cost: number): Tensor => ({
    text: `(${a.text} + ${text})`,
    layout,
    shape,
    part: (r, at) => `(${a.part(r, at)} + ${folded(r, at)})`,
    cost: a.cost + 24 * cost,
  });
  const all: Way[] = [];
  if (!isCut)
    all.push(() => {
      const [a, b] = [of(), of()];
      return added(a, `${fn}(${b.text}, dim: ${dim})`, over(b, shape[dim]!), b.cost);
    });
  if (layout.kind === "replicated" && /^\w+$/.test(shape[dim]!))
    all.push(() => {
      const [a, b] = [of(), of(sharded(dim))];
      return added(a, `all_reduce(${fn}(${b.text}, dim: ${dim}))`, over(b, shape[dim]!, logical(b, x)), b.cost);
    });
  return all;
}

/** How a tensor gets from one layout to another; null if no conversion does that. */
function conversion(from: Layout, to: Layout): ((text: string) => string) | null {
  const along = to.kind === "sharded" ? `, dim: ${to.dim}` : to.kind === "on" ? `, to: ${to.rank}` : "";
  const names: Readonly<Record<string, string>> = {
    "partial replicated": "all_reduce",
    "partial sharded": "reduce_scatter",
    "partial on": "reduce",
    "sharded replicated": "all_gather",
    "sharded on": "gather",
    "sharded sharded": "all_to_all",
    "on replicated": "broadcast",
    "on sharded": "scatter",
  };
  const name = names[`${from.kind} ${to.kind}`];
  return name === undefined || written(from) === written(to) ? null : (text) => `${name}(${text}${along})`;
}

function converted(x: Body, a: Tensor, layout: Layout): Tensor {
  const { shape } = a;
  const cost = a.cost * (a.layout.kind === "partial" ? x.ranks : 1);
  const text = conversion(a.layout, layout)!(a.text);
  return { text, layout, shape, part: partIn(layout, shape, logical(a, x)), cost };
}

function conversions(x: Body, layout: Layout, shape: Shape, of: Of): readonly Way[] {
  return layouts(x, shape)
    .filter((from) => conversion(from, layout) !== null)
    .map((from) => () => converted(x, of(from), layout));
}

/** Layouts that a tensor of this shape may have. */
function layouts({ c, ranks }: Body, shape: Shape): readonly Layout[] {
  const plain = shape.flatMap((e, d) => (/^\w+$/.test(e) ? [sharded(d)] : []));
  const op = c.pick(["sum", "sum", "sum", "max", "min"] as const);
  return [REPLICATED, ...plain, partial(op), LOCAL, { kind: "on", rank: c.below(ranks) }];
}

export function someLayout(x: Body, shape: Shape): Layout {
  return x.c.pick(layouts(x, shape));
}
