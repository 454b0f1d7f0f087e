/**
 * FX nodes in the terms of graphs: each becomes operations of `GRAPH_OPS` and conversions, on what one rank holds. Sums of products
 * with a bias, norms and softmax are taken apart; what a collective waits for, and detours that others take, are taken out.
 */
import { showExtent, showShape } from "../../check/extents.js";
import { UNARY_NAMES } from "../../check/functions.js";
import { CUTS_FRACTIONS } from "../../ir/functions.js";
import { UsageError } from "../../../errors.js";
import { type Extent, extent, productOf, sameExtent } from "../../types/extent.js";
import { isMultipleOf, polynomialOf } from "../../types/normal-form.js";
import { dtypeOf, type FxArgument, type FxGraph, type FxNode, type FxRef, isRef } from "./fx.js";
import type { Effects } from "./effects.js";
import { type Core, type CoreNode, scalarOf, Unknown } from "./making.js";
import { Norms } from "./norms.js";
import { baseOf, positional } from "./parameters.js";
import { isWhole } from "./rewrites.js";
import { tidy, isOther } from "./sizes.js";

export { VIEW_OPS } from "./compounds.js";
export type { Core, CoreNode } from "./making.js";

const POINTWISE: Readonly<Record<string, string>> = {
  add: "add", sub: "sub", mul: "mul", div: "div", logical_and: "and", logical_or: "or",
  eq: "eq", ne: "ne", lt: "lt", le: "le", gt: "gt", ge: "ge", neg: "neg", logical_not: "not",
  ...Object.fromEntries(UNARY_NAMES.map((n) => [n, n])),
}; // prettier-ignore

export function coreOf(fx: FxGraph, effects: Effects): Core {
  const made = new Maker(fx, effects);
  for (const node of fx.nodes) made.add(node);
  return made;
}

class Maker extends Norms {
  private readonly lists = new Map<string, readonly string[]>();

  add(node: FxNode): void {
    this.current = node;
    this.count = 0;
    if (node.op === "output") return;
    if (node.op === "placeholder") return this.placeholder(node);
    const targets = this.effects.changes.get(node.name);
    if (targets !== undefined) return this.changed(node, targets);
    try {
      const changer = this.effects.copies.get(node.name);
      if (changer !== undefined) throw new Unknown(`it may be a copy of what '${changer}' changes later`);
      const found = this.call(node);
      if (typeof found === "string") {
        this.compare(node, this.of(found));
        this.values.set(node.name, found);
      } else {
        this.lists.set(node.name, found);
        this.values.set(node.name, null);
      }
    } catch (error) {
      if (!(error instanceof Unknown)) throw error;
      // Others may still be made of it: it is what its maker says.
      this.foreign(node, error.message);
      this.values.set(node.name, node.name);
    }
  }

  /** @throws UsageError where a node says otherwise than what it is made of */
  private compare({ name, target, shape, dtype }: FxNode, found: CoreNode): void {
    const wrong = (said: string, has: string): UsageError => new UsageError(`node '${name}' says that it has ${said}; ${target} of its arguments has ${has}`, "dump the graph with torch's own shapes and dtypes"); // prettier-ignore
    if (shape !== undefined && shape.length !== found.shape.length) throw wrong(`${shape.length} dimensions`, `${found.shape.length}`); // prettier-ignore
    if (shape?.some((n, d) => isOther(n, found.shape[d]!)) === true)
      throw wrong(`the shape ${showShape(shape)}`, showShape(found.shape));
    if (dtype !== undefined && dtypeOf(dtype) !== found.dtype)
      throw wrong(`elements of ${dtypeOf(dtype)}`, found.dtype);
  }

  /** What stays with the caller. */
  private foreign(node: FxNode, why: string): void {
    this.unknown.set(node.name, why);
    this.part(node, node.name);
  }

  /** A tensor that a node of the caller's makes: its result, or a part of that. */
  private part({ name, shape = [], dtype }: FxNode, fx: string): string {
    this.nodes.set(name, { id: name, fx, op: "unknown", inputs: [], shape, dtype: dtypeOf(dtype) });
    return name;
  }

  /** What changes tensors that others see: its value, if it has one, is the tensor that it changes. */
  private changed(node: FxNode, targets: readonly string[]): void {
    const [target] = targets;
    this.foreign(
      node,
      target === undefined ? "it is called for what it does" : `it changes '${target}', which others see`,
    );
    const value = targets.length === 1 && node.shape !== undefined ? this.values.get(target!) : null;
    this.values.set(node.name, value ?? node.name);
  }

  /** Where a part begins: counted from the end where that is said. */
  private begin(a: FxArgument | undefined, length: Extent): Extent {
    const from = a == null ? 0 : this.lengthOf(a);
    const isFromEnd = from !== 0 && [...polynomialOf(from).values()].every((factor) => factor < 0);
    return isFromEnd ? tidy(extent("add", length, from)) : from;
  }

  private placeholder({ name, shape = [], dtype, strides }: FxNode): void {
    const node = { id: name, fx: name, op: "placeholder", inputs: [], shape, dtype: dtypeOf(dtype) };
    this.values.set(name, name);
    const order = strides === undefined ? shape.map((_, d) => d) : memoryOrder(shape, strides);
    if (order === null) {
      this.unknown.set(name, `its strides ${showShape(strides!)} are those of no permuted tensor`);
      this.nodes.set(name, node);
    } else if (order.every((d, i) => d === i)) this.nodes.set(name, node);
    else {
      // As it lies in memory, and turned.
      const memory = `${name}__memory`;
      this.nodes.set(memory, { ...node, id: memory, shape: order.map((d) => shape[d]!), order });
      this.nodes.set(name, { ...node, op: "permute", inputs: [memory], order: shape.map((_, d) => order.indexOf(d)) });
    }
  }

  /** @throws UsageError for a shape of another number of elements */
  private viewed(x: string, shape: readonly Extent[]): string {
    const from = this.of(x).shape;
    if (isOther(productOf(from), productOf(shape))) throw new UsageError(`node '${this.current.name}' sees ${showShape(from)} as ${showShape(shape)}, which has another number of elements`, "dump the graph with torch's own shapes"); // prettier-ignore
    return this.reshape(x, shape);
  }

  // -- calls ---------------------------------------------------------------------------------------

  /** The value of a call, or the list of them. */
  private call(written: FxNode): string | readonly string[] {
    const node = positional(written);
    if (typeof node === "string") throw new Unknown(node);
    const { target = "", args, shape = [] } = node;
    const dtype = dtypeOf(node.dtype);
    const base = baseOf(target);
    const [, space = "", name = base] = /^(\w+)\.(\w+)$/.exec(base) ?? [];
    const [a, b, c, d, e] = args;
    if (name === "getitem") {
      const tuple = isRef(a) ? this.values.get(a.node) : undefined;
      // It lies where its maker has stored it, and nobody carries it out.
      if (typeof tuple === "string" && this.of(tuple).op === "unknown") return this.part(node, this.of(tuple).fx);
      const list = isRef(a) ? this.lists.get(a.node) : undefined;
      if (list === undefined || typeof b !== "number") throw new Unknown("it takes a part of what collc does not know");
      const part = list.at(b);
      if (part === undefined) throw new UsageError(`node '${node.name}' takes part ${b} of '${(a as FxRef).node}', which has ${list.length}`, "parts are counted from 0"); // prettier-ignore
      return part;
    }
    if (/^_?c10d_functional$/.test(space)) return this.collective(node, name);
    const numbers = (x: FxArgument | undefined): number[] =>
      (Array.isArray(x) ? x : x === undefined ? [] : [x]).map(Number);
    const rankOf = (x: string): number => this.of(x).shape.length;
    const pointwise = POINTWISE[name.replace(/_$/, "")];
    if (pointwise !== undefined) {
      const isComparison = ["eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"].includes(pointwise);
      if (pointwise === "div" && c != null)
        return this.wholeQuotient(this.operand(a), this.operand(b), String(c), dtype);
      if (pointwise === "round" && scalarOf(b, 0) !== 0) throw new Unknown("collc rounds to whole numbers, not to decimals"); // prettier-ignore
      // Whole numbers have no fraction.
      if (CUTS_FRACTIONS.has(pointwise) && isWhole(dtype)) return this.tensor(a);
      const xs = (["neg", "not"].includes(pointwise) || (UNARY_NAMES as readonly string[]).includes(pointwise) ? [a] : [a, b]).map((x) => this.operand(x)); // prettier-ignore
      const alpha = scalarOf(c, 1);
      const inside =
        isComparison && !["and", "or", "not"].includes(pointwise) ? this.promoted(xs) : isComparison ? "bool" : dtype;
      if (pointwise === "gelu" && b === "tanh") return this.geluTanh(xs[0] as string, dtype);
      if (alpha !== 1)
        xs[1] = typeof xs[1] === "number" ? xs[1] * alpha : this.pointwise("mul", [xs[1]!, alpha], dtype);
      return this.pointwise(pointwise, xs, inside, isComparison ? "bool" : dtype);
    }
    switch (name) {
      case "mm":
      case "bmm":
      case "matmul": // prettier-ignore
        return this.product(this.tensor(a), this.tensor(b), shape, dtype);
      case "addmm":
      case "baddbmm": {
        // prettier-ignore
        const [beta, alpha] = [scalarOf(d, 1), scalarOf(e, 1)];
        const product = this.product(this.tensor(b), this.tensor(c), shape, dtype);
        const scaled = alpha === 1 ? product : this.pointwise("mul", [product, alpha], dtype);
        // What stands in the bias is not looked at, NaN neither.
        if (beta === 0) return scaled;
        const bias = beta === 1 ? this.tensor(a) : this.pointwise("mul", [this.tensor(a), beta], dtype);
        return this.pointwise("add", [scaled, bias], dtype);
      }
      case "linear": {
        const weight = this.tensor(b);
        if (rankOf(weight) > 2) throw new Unknown("collc has linear layers of matrices, and of vectors");
        const w = rankOf(weight) === 2 ? this.permute(weight, [1, 0]) : weight;
        const x = this.tensor(a);
        const product = this.product(x, w, [...this.of(x).shape.slice(0, -1), ...this.of(w).shape.slice(1)], dtype);
        return c == null ? product : this.pointwise("add", [product, this.tensor(c)], dtype);
      }
      case "_scaled_mm": return this.scaled(node); // prettier-ignore
      case "view":
        if (target.endsWith(".dtype")) return this.viewAs(this.tensor(a), dtype);
        return this.viewed(this.tensor(a), shape);
      case "reshape":
      case "_unsafe_view":
      case "unsqueeze":
      case "squeeze":
      case "flatten":
      case "_reshape_alias": // prettier-ignore
        return this.viewed(this.tensor(a), shape);
      case "clone":
      case "contiguous":
      case "alias":
      case "detach": // prettier-ignore
        return this.tensor(a);
      case "expand":
        return this.expand(this.tensor(a), shape);
      case "_to_copy":
      case "convert_element_type":
      case "to": // prettier-ignore
        return this.cast(this.tensor(a), dtype) as string;
      case "t":
      case "numpy_T": // prettier-ignore
        return rankOf(this.tensor(a)) < 2 ? this.tensor(a) : this.permute(this.tensor(a), [1, 0]);
      case "transpose": {
        const x = this.tensor(a);
        const [p, q] = [this.axis(x, Number(b)), this.axis(x, Number(c))];
        return this.permute(
          x,
          this.of(x).shape.map((_, d) => (d === p ? q : d === q ? p : d)),
        );
      }
      case "permute": {
        const x = this.tensor(a);
        return this.permute(
          x,
          numbers(b).map((d) => this.axis(x, d)),
        );
      }
      case "slice": {
        const x = this.tensor(a);
        const dim = this.axis(x, Number(b ?? 0));
        const length = this.of(x).shape[dim]!;
        if (Number(e ?? 1) !== 1) throw new Unknown("collc has no slices with steps");
        if (shape.length !== rankOf(x)) throw new UsageError(`node '${node.name}', a slice of a tensor with ${rankOf(x)} dimensions, says that it has ${shape.length}`, "dump the graph with torch's own shapes"); // prettier-ignore
        // Where it ends, the shape says: what lies behind the end is not there.
        const from = this.begin(c, length);
        return this.slice(x, dim, typeof from === "number" && typeof length === "number" ? Math.min(from, length) : from, shape[dim]!); // prettier-ignore
      }
      case "select": {
        const x = this.tensor(a);
        const dim = this.axis(x, Number(b));
        return this.reshape(this.slice(x, dim, this.begin(c, this.of(x).shape[dim]!), 1), shape);
      }
      case "split":
      case "split_with_sizes":
      case "chunk": {
        // prettier-ignore
        const x = this.tensor(a);
        const dim = this.axis(x, Number(c ?? 0));
        const length = this.of(x).shape[dim]!;
        const listed = Array.isArray(b) ? b.map((n: FxArgument) => this.lengthOf(n)) : null;
        const each = listed === null ? this.lengthOf(b) : 1;
        if (each === 0) throw new UsageError(`node '${node.name}' splits into parts of 0`, "dump the graph with torch's own arguments"); // prettier-ignore
        if (name === "chunk" && typeof each !== "number") throw new Unknown(`how many parts it has, depends on ${showExtent(each)}`); // prettier-ignore
        const sizes = listed ?? parts(length, name === "chunk" ? tidy(extent(isMultipleOf(length, Number(each)) ? "div" : "ceildiv", length, each)) : each); // prettier-ignore
        let at: Extent = 0;
        return sizes.map((n) => {
          const from = at;
          at = tidy(extent("add", at, n));
          return this.slice(x, dim, from, n);
        });
      }
      case "unbind": {
        const x = this.tensor(a);
        const dim = this.axis(x, Number(b ?? 0));
        const { shape: from } = this.of(x);
        const own = from.filter((_, d) => d !== dim);
        return parts(from[dim]!, 1).map((_, i) => this.reshape(this.slice(x, dim, i, 1), own));
      }
      case "stack": {
        if (!Array.isArray(a) || a.length === 0) throw new UsageError(`node '${node.name}' joins no list of tensors`, "its first argument is a list of nodes"); // prettier-ignore
        const dim = Number(b ?? 0) < 0 ? Number(b) + shape.length : Number(b ?? 0);
        if (!(dim in shape)) throw new UsageError(`node '${node.name}' joins along dimension ${Number(b ?? 0)}, and says that it has ${shape.length}`, "dump the graph with torch's own shapes"); // prettier-ignore
        const each = a.map((x: FxArgument) => this.reshape(this.cast(this.tensor(x), dtype) as string, shape.with(dim, 1))); // prettier-ignore
        return this.joined(each, dim, shape, dtype);
      }
      case "repeat": {
        const times = numbers(b);
        if (times.some(Number.isNaN)) throw new Unknown("how often it repeats a dimension, only the launch knows");
        let value = this.tensor(a);
        value = this.reshape(value, [...times.slice(rankOf(value)).map(() => 1), ...this.of(value).shape]);
        // The whole dimension so often: each index of one in front of it.
        times.forEach((n, d) => {
          if (n === 1) return;
          const own = this.of(value).shape;
          const apart = this.repeat(this.reshape(value, [...own.slice(0, d), 1, ...own.slice(d)]), d, n);
          value = this.reshape(apart, own.with(d, tidy(extent("mul", own[d]!, n))));
        });
        return value;
      }
      case "repeat_interleave": {
        const x = this.tensor(a);
        if (typeof b !== "number" || c == null) throw new Unknown("collc repeats each index of one dimension equally often"); // prettier-ignore
        return this.repeat(x, this.axis(x, Number(c)), b);
      }
      case "cat": {
        if (!Array.isArray(a) || a.length === 0) throw new UsageError(`node '${node.name}' joins no list of tensors`, "its first argument is a list of nodes"); // prettier-ignore
        const parts = a.map((x: FxArgument) => this.tensor(x));
        return this.joined(parts, this.axis(parts[0]!, Number(b ?? 0)), shape, dtype);
      }
      case "sum":
      case "mean":
      case "amax":
      case "amin":
      case "prod": {
        // prettier-ignore
        const x = this.tensor(a);
        const fn = name === "amax" ? "max" : name === "amin" ? "min" : name;
        return this.fold(fn, this.cast(x, dtype) as string, this.axes(x, b), c === true);
      }
      case "pow": {
        if (typeof a === "number") return this.pointwise("pow", [a, this.tensor(b)], dtype);
        const x = this.tensor(a);
        if (b === 2) return this.pointwise("mul", [x, x], dtype);
        if (b === 0.5) return this.pointwise("sqrt", [x], dtype);
        if (b === -0.5) return this.pointwise("rsqrt", [x], dtype);
        return this.pointwise("pow", [this.operand(a), this.operand(b)], dtype);
      }
      case "reciprocal":
        return this.pointwise("div", [1, this.tensor(a)], dtype);
      case "where":
        return this.chosen(this.tensor(a), this.operand(b), this.operand(c), shape, dtype);
      default: {
        const made = this.normalized(node, name, dtype) ?? this.rewritten(node, name);
        if (made === null) throw new Unknown(`collc has no ${base}`);
        return made;
      }
    }
  }
}

/** Lengths of the parts of a dimension, of which the last may be shorter. @throws Unknown where their number depends on sizes */
function parts(length: Extent, each: Extent): Extent[] {
  const whole = tidy(extent("div", length, each));
  const rest = tidy(extent("sub", length, extent("mul", whole, each)));
  if (typeof whole !== "number" || typeof rest !== "number") throw new Unknown(`how many parts it has, depends on ${showExtent(length)}`); // prettier-ignore
  return [...Array.from({ length: whole }, () => each), ...(rest > 0 ? [rest] : [])];
}

/** The order in which dimensions lie in memory, the slowest first; null where it is no permuted row-major tensor. */
function memoryOrder(shape: readonly Extent[], strides: readonly Extent[]): number[] | null {
  // Those of one element stay where they are.
  const long = shape.flatMap((n, d) => (n === 1 ? [] : [d]));
  const order = shape.map((_, d) => d);
  const rest = new Set(long);
  let size: Extent = 1;
  for (const place of long.toReversed()) {
    const next = [...rest].find((d) => sameExtent(strides[d]!, size));
    if (next === undefined) return null;
    rest.delete(next);
    order[place] = next;
    size = extent("mul", size, shape[next]!);
  }
  return order;
}
