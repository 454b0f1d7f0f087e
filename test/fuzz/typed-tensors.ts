/** Tensor expressions whose shapes, dtypes and layouts fit, by the tables of the reference, axis by axis. */
import {
  computedIn,
  hasT,
  type Held,
  isSame,
  type Layout,
  LENGTHS,
  newInput,
  type Scope,
  type Shape,
} from "./typed-scope.js";

type Way = () => string;

/** An expression of this dtype, layout and shape. What it needs and nothing holds becomes an input. */
export function tensor(x: Scope, dtype: string, layout: Layout, shape: Shape, depth: number): string {
  return x.hole("expression", () => {
    if (depth <= 0) return leaf(x, dtype, layout, shape);
    return x.c.pick(ways(x, dtype, layout, shape, depth - 1))();
  });
}

/** What tensor expressions may name. */
const isWhole = (a: Held): boolean => a.isFull && (a.role !== "output" || a.layout.length > 0);

function leaf(x: Scope, dtype: string, layout: Layout, shape: Shape): string {
  const { c } = x;
  const fits = x.held.filter((a) => isWhole(a) && isSame(a.layout, layout) && isSame(a.shape, shape));
  const exact = fits.filter((a) => a.dtype === dtype);
  const made = exact.filter((a) => a.role !== "input");
  if (made.length > 0 && c.chance(0.7)) return c.pick(made).name;
  if (exact.length > 0 && c.chance(0.7)) return c.pick(exact).name;
  const isFloat = (one: string): boolean => computedIn(one, x.family) === "f32";
  // Floats are cut off when they become integers, averages of integers are, and sums of integers wrap.
  const parts = layout.filter((s) => s.startsWith("P"));
  const keeps = (from: string): boolean => !isFloat(dtype) && (dtype !== "i64" || from === "i64");
  const isCastable = (from: string): boolean =>
    parts.length === 0 ||
    (isFloat(from)
      ? isFloat(dtype) && parts.every((s) => s === "Psum" || s === "Pavg")
      : keeps(from) && parts.every((s) => s === "Psum"));
  // T is a function where a tensor of the signature has it.
  const isNamed = dtype !== "bool" && (dtype !== "T" || hasT(x));
  const other = fits.filter((a) => a.dtype !== "bool" && a.dtype !== dtype && isNamed && isCastable(a.dtype));
  if (other.length > 0 && c.chance(0.5)) return `${dtype}(${c.pick(other).name})`;
  return newInput(x, dtype, layout, shape).name;
}

function ways(x: Scope, dtype: string, layout: Layout, shape: Shape, depth: number): readonly Way[] {
  const of = (l: Layout = layout, s: Shape = shape): string => tensor(x, dtype, l, s, depth);
  const ops = [...new Set(layout.filter((s) => s.startsWith("P")).map((s) => s.slice(1)))];
  const all: Way[] = [
    () => leaf(x, dtype, layout, shape),
    ...moved(x, dtype, layout, shape, of),
    ...converted(x, dtype, layout, shape, of),
  ];
  if (dtype === "bool") return [...all, ...compared(x, layout, shape, depth)];
  const isFloat = computedIn(dtype, x.family) === "f32";
  const isLinear = ops.every((op) => op === "sum" || op === "avg");
  if (isLinear) all.push(...linear(x, layout, isFloat, of), ...products(x, layout, shape, of, ops));
  if (ops.length === 0)
    all.push(...pointwise(x, dtype, layout, shape, of, depth), ...folds(x, layout, shape, isFloat, of));
  return all;
}

type Of = (layout?: Layout, shape?: Shape) => string;

function linear({ c, constants, scalars }: Scope, layout: Layout, isFloat: boolean, of: Of): readonly Way[] {
  const numbers = ["2", "world", ...(isFloat ? ["0.5"] : []), ...constants];
  const given = scalars.filter((s) => isFloat && s.dtype === "f32").map((s) => s.name);
  const all: Way[] = [
    () => `(${of()} ${c.pick(["+", "-"])} ${of()})`,
    () => `${of()} * ${c.pick(numbers)}`,
    () => `-${of()}`,
  ];
  if (given.length > 0) all.push(() => `${of()} * ${c.pick(given)}`);
  if (layout.some((s) => s.startsWith("P"))) return all;
  return [...all, () => `(${of()} + ${c.pick(numbers)})`];
}

function pointwise(x: Scope, dtype: string, layout: Layout, shape: Shape, of: Of, depth: number): readonly Way[] {
  const { c } = x;
  const isFloat = computedIn(dtype, x.family) === "f32";
  /** Of an axis, what all ranks have goes with what each has a part of, if no axis behind it cuts the same dimension. */
  const isOnce = new Set(layout).size === layout.length || layout.every((s) => !s.startsWith("S"));
  const looser = isOnce ? layout.map((s) => (c.chance(0.5) ? "R" : s)) : layout;
  const names = isFloat
    ? ["relu", "abs", "tanh", "exp", "sigmoid", "silu", "gelu", "erf", "sin", "cos", "floor", "round"]
    : ["relu", "abs"];
  const all: Way[] = [
    () => `${c.pick(names)}(${of()})`,
    () => `${c.pick(["min", "max"])}(${of()}, ${of()})`,
    () => `(${of()} ${c.pick(["+", "-", "*"])} ${of(layout[0] === "L" ? layout : looser)})`,
    () => `where(${tensor(x, "bool", layout, shape, depth)}, ${of()}, ${c.pick(["0", of()])})`,
    () => `${of()} / ${isFloat ? `(abs(${of()}) + 1)` : "3"}`,
  ];
  if (layout.every((s) => s === "R") && shape.length === 1 && dtype === "i32") all.push(() => `iota(${shape[0]})`);
  const f = x.functions.filter((one) => one.of === "element");
  if (f.length > 0)
    all.push(() => {
      const { name, arity } = c.pick(f);
      return `${name}(${Array.from({ length: arity }, () => of()).join(", ")})`;
    });
  return all;
}

/** Conditions for each element. */
function compared(x: Scope, layout: Layout, shape: Shape, depth: number): readonly Way[] {
  if (layout.some((s) => s.startsWith("P"))) return [];
  const { c } = x;
  const of = (dtype: string): string => tensor(x, dtype, layout, shape, depth);
  const sign = (): string => c.pick(["==", "!=", "<", "<=", ">", ">="]);
  const all: Way[] = [
    () => `(${of("T")} ${sign()} ${of("T")})`,
    () => `(${of("T")} ${sign()} ${c.pick(["0", "1"])})`,
    () => `(${of("bool")} ${c.pick(["and", "or"])} ${of("bool")})`,
    () => `(not ${of("bool")})`,
    () => `bool(${of("T")})`,
  ];
  const d = shape.length - 1;
  if (layout.every((s) => s !== "L"))
    all.push(() => `(${of("i32")} ${sign()} ${c.chance(0.5) ? `iota(${shape[d]})` : `iota(${shape.join(", ")}, dim: ${d})`})`); // prettier-ignore
  return all;
}

const isCut = (layout: Layout, d: number): boolean => layout.includes(`S${d}`);
const replaced = <T>(all: readonly T[], at: number, by: T): T[] => all.map((one, i) => (i === at ? by : one));

/** What moves elements and computes nothing. */
function moved(x: Scope, dtype: string, layout: Layout, shape: Shape, of: Of): readonly Way[] {
  const { c } = x;
  const all: Way[] = [];
  const d = c.below(shape.length);
  const length = shape[d]!;
  const item = (one: string): string => `[${shape.map((_, e) => (e === d ? one : "..")).join(", ")}]`;
  if (!isCut(layout, d) && /^[nmk]$/.test(length)) {
    const longer = (by: number): string => `(${of(layout, replaced(shape, d, `${length} + ${by}`))})`;
    all.push(
      () => longer(3) + item(c.pick([`..${length}`, `3..`, `1..${length} + 1`])),
      () => `concat(${of(layout, replaced(shape, d, "2"))}, (${of()})${item(`2..${length}`)}, dim: ${d})`,
    );
    const row = `[${shape.map((_, e) => (e === d ? c.pick(["0", `${length} - 1`]) : "..")).join(", ")}]`;
    if (dtype !== "bool" && shape.length > 1 && layout.every((s) => !s.startsWith("P") && s !== "L"))
      all.push(() => `(${of()} + (${of()})${row})`);
  }
  const twice = /^2 \* (\w+)$/.exec(length)?.[1];
  if (twice !== undefined && !isCut(layout, d))
    all.push(() => `concat(${of(layout, replaced(shape, d, twice))}, ${of(layout, replaced(shape, d, twice))}, dim: ${d})`); // prettier-ignore
  if (shape.length === 2) {
    const turned = layout.map((s) => (s === "S0" ? "S1" : s === "S1" ? "S0" : s));
    const back = [shape[1]!, shape[0]!];
    all.push(() => `${c.pick(["transpose(", "permute("])}${of(turned, back)})`.replace(/^(permute.*)\)$/, "$1, 1, 0)"));
    if (layout.every((s) => !/^S/.test(s)) && shape.every((l) => /^\w+$/.test(l)))
      all.push(() => `reshape(${of(layout, [`${shape[0]} * ${shape[1]}`])}, ${shape.join(", ")})`);
  }
  if (shape.length === 3 && layout.every((s) => !/^S/.test(s)))
    all.push(() => `permute(${of(layout, [shape[2]!, shape[0]!, shape[1]!])}, 1, 2, 0)`);
  return all;
}

/** A fold along a dimension that nobody cuts, or that was reduced over its ranks, spread over it again. */
function folds({ c, axes }: Scope, layout: Layout, shape: Shape, isFloat: boolean, of: Of): readonly Way[] {
  const d = c.below(shape.length);
  const op = c.pick(["sum", "max", "min", ...(isFloat ? ["mean"] : [])]);
  const all: Way[] = [];
  if (!isCut(layout, d)) all.push(() => `(${of()} + ${op}(${of()}, dim: ${d}))`);
  const at = layout.indexOf("R");
  if (at >= 0 && !isCut(layout, d) && /^[nmk]$/.test(shape[d]!))
    all.push(() => `(${of()} - all_reduce(${op}(${of(replaced(layout, at, `S${d}`))}, dim: ${d})${over(axes, at)}))`);
  return all;
}

const over = (axes: Scope["axes"], at: number): string => (axes.length === 0 ? "" : `, over: ${axes[at]!.name}`);

function converted(x: Scope, dtype: string, layout: Layout, shape: Shape, of: Of): readonly Way[] {
  const { c, axes } = x;
  if (layout[0] === "L") return [];
  const all: Way[] = [];
  layout.forEach((said, at) => {
    const along = (other: string): string => of(replaced(layout, at, other));
    // Of a dimension that several axes cut, the last is gathered first; without cuts by other axes the order is no question.
    const others = layout.filter((_, e) => e !== at);
    const cuts = shape.flatMap((l, d) => (/^[nmk]$/.test(l) && !others.includes(`S${d}`) ? [`S${d}`] : []));
    const ops = others.filter((s) => s.startsWith("P"));
    const partial =
      ops[0] ??
      c.pick(
        dtype === "bool"
          ? ["Pmax", "Pmin"]
          : ["Psum", "Psum", "Pmax", "Pmin", computedIn(dtype, x.family) === "f32" ? "Pavg" : "Psum"],
      );
    const holder = `O${c.below(axes.length === 0 ? x.ranks : axes[at]!.length)}`;
    const o = over(axes, at);
    if (said === "R") {
      all.push(
        () => `all_reduce(${along(partial)}${o})`,
        () => `broadcast(${along(holder)}${o})`,
      );
      if (cuts.length > 0) {
        const cut = c.pick(cuts);
        all.push(() => `all_gather(${along(cut)}${c.chance(0.3) ? `, dim: ${cut[1]}` : ""}${o})`);
      }
    } else if (said.startsWith("S") && !others.includes(said)) {
      const dim = `dim: ${said[1]}`;
      all.push(
        () => `reduce_scatter(${along(partial)}, ${dim}${o})`,
        () => `scatter(${along(holder)}, ${dim}${o})`,
      );
      const from = cuts.filter((s) => s !== said);
      if (from.length > 0) all.push(() => `all_to_all(${along(c.pick(from))}, ${dim}${o})`);
    } else if (said.startsWith("O")) {
      all.push(() => `reduce(${along(partial)}, to: ${said.slice(1)}${o})`);
      if (cuts.length > 0) all.push(() => `gather(${along(c.pick(cuts))}, to: ${said.slice(1)}${o})`);
    }
  });
  return all;
}

/** Each axis takes a line of the table of products. */
function products(x: Scope, layout: Layout, shape: Shape, of: Of, ops: readonly string[]): readonly Way[] {
  const { c } = x;
  if (shape.length !== 2 || ops.includes("avg")) return [];
  const inner = c.pick(LENGTHS);
  const sides = layout.map((said): readonly [string, string] => {
    if (said === "L") return ["L", "L"];
    if (said === "S0") return ["S0", "R"];
    if (said === "S1") return ["R", "S1"];
    if (said.startsWith("O")) return [said, "R"];
    if (said === "R") return ["R", "R"];
    return c.pick([["S1", "S0"] as const, ["Psum", "R"] as const]);
  });
  // A product binds as quotients do.
  const whole = (text: string): string => (/[*/]/.test(text) ? `(${text})` : text);
  const side = (at: 0 | 1): Layout => sides.map((s) => s[at]);
  return [() => `(${whole(of(side(0), [shape[0]!, inner]))} @ ${whole(of(side(1), [inner, shape[1]!]))})`];
}
