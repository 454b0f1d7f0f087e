/**
 * What is claimed of a kernel's outputs, as a kernel itself: one that computes each element as its specification does.
 * What the machine does otherwise than mathematics (an i32 that wraps before it is made an i64) is found in a claim as it is in a
 * program; see `openObligations`.
 */
import { Builder } from "../ir/builder.js";
import type { Buffer, Kernel, Value } from "../ir/module.js";
import type { BinaryFunction, Comparison, Reduction, UnaryFunction } from "../ir/ops.js";
import { INDEX, scalar, scalarOf } from "../ir/types.js";
import type { ElementExpression, ElementSpecification, Specification } from "../manifest.js";
import { NO_SPAN } from "../source.js";
import { partsOfSpecification, sharedParts } from "../specification-shape.js";
import { type DType, DTYPES, type ScalarKind } from "../types/dtype.js";
import { type Extent, extent } from "../types/extent.js";
import { partialOf, type ReductionOp } from "../types/layout.js";
import { storesOf } from "./facts.js";

/** The claims about all outputs that have one, on rank level; null where there is none. Its ops have the places of `ensures` clauses, or of stores. */
export function claimedKernel(kernel: Kernel): Kernel | null {
  if (kernel.specification.every((s) => s === null)) return null;
  const b = new Builder(NO_SPAN);
  const tensors = new OfTensors(kernel, b);
  const claimed: Buffer[] = [];
  kernel.outputs.forEach((output, o) => {
    const s = kernel.specification[o] ?? null;
    if (s === null) return;
    b.span = kernel.clauses?.ensures[o] ?? storesOf(kernel, output.name)[0] ?? NO_SPAN;
    const kind = DTYPES[output.dtype].compute;
    const name = `claimed ${output.name}`;
    const [shape, element] =
      s.kind === "elements"
        ? [output.localShape, (indices: readonly Value[]) => new OfElements(kernel, b, s, indices).of(s.value)]
        : tensors.prepared(s);
    overAll(b, shape, (indices) => b.store(name, asKind(b, element(indices), kind), indices));
    claimed.push({ name, role: "scratch", dtype: kind, shape, symmetric: false });
  });
  const inputs = kernel.inputs.map(({ name, dtype, shape }): Buffer => ({
    name,
    role: "input",
    dtype,
    shape,
    symmetric: true,
  }));
  const buffers = [...inputs, ...tensors.kept.values(), ...claimed];
  return { ...kernel, level: "rank", buffers, work: [], body: { arguments: [], ops: b.ops } };
}

function overAll(b: Builder, shape: readonly Extent[], body: (indices: readonly Value[]) => void): void {
  if (shape.length === 0) return body([]);
  const zero = b.constant(0);
  b.for("tiles", shape.map((length) => [zero, b.extent(length)] as const), body); // prettier-ignore
}

const kindOf = (v: Value): ScalarKind => scalarOf(v.type);

function asKind(b: Builder, v: Value, kind: ScalarKind): Value {
  const constant = b.constantOf(v);
  return constant !== undefined && kindOf(v) === "index" ? b.constant(constant, scalar(kind)) : b.cast(v, kind);
}

/** Two operands in the kind that both are computed in: indices and numbers of the text become what they stand beside. */
function alike(b: Builder, x: Value, y: Value): [Value, Value] {
  const kind = kindOf(x) === "index" ? kindOf(y) : kindOf(x);
  return [asKind(b, x, kind), asKind(b, y, kind)];
}

function binary(b: Builder, fn: string, x: Value, y: Value): Value {
  const name = fn === "mod" ? "rem" : fn === "floordiv" ? "div" : fn;
  return b.binary(name as BinaryFunction, ...alike(b, x, y));
}

function choice(b: Builder, condition: Value, x: Value, y: Value): Value {
  return b.select(asKind(b, condition, "bool"), ...alike(b, x, y));
}

/** A value that is rounded to a dtype, or wraps in it, in the kind that such values are computed in. */
const cast = (b: Builder, v: Value, dtype: DType): Value => b.cast(b.cast(v, dtype), DTYPES[dtype].compute);

const load = (kernel: Kernel, b: Builder, name: string, indices: readonly Value[], peer: Value | null): Value => {
  const { dtype } = kernel.inputs.find((t) => t.name === name)!;
  return b.cast(b.load(name, indices, scalar(dtype), peer), DTYPES[dtype].compute);
};

const scalarOfLaunch = ({ scalars }: Kernel, b: Builder, name: string): Value =>
  b.scalar(name, scalars.find((s) => s.name === name)!.dtype);

/** `ensures y[i] == …` at some indices. */
class OfElements {
  /** What was made where the builder now is. */
  private made = new Map<ElementExpression, Value>();
  private readonly variables: Map<string, Value>;

  constructor(
    private readonly kernel: Kernel,
    private readonly b: Builder,
    s: ElementSpecification,
    indices: readonly Value[],
  ) {
    this.variables = new Map(s.variables.map((name, d) => [name, indices[d]!]));
  }

  of(e: ElementExpression): Value {
    let value = this.made.get(e);
    if (value === undefined) this.made.set(e, (value = this.make(e)));
    return value;
  }

  private make(e: ElementExpression): Value {
    const { b, kernel } = this;
    switch (e.kind) {
      case "constant":
        return b.constant(e.value, INDEX);
      case "variable":
        return this.variables.get(e.name)!;
      case "dim":
        return b.dim(e.name);
      case "scalar":
        return scalarOfLaunch(kernel, b, e.name);
      case "rank":
        return b.rank();
      case "unary": {
        const a = this.of(e.a);
        const constant = b.constantOf(a);
        if (e.fn === "neg" && constant !== undefined) return b.constant(-constant, INDEX);
        return b.unary(e.fn as UnaryFunction, e.fn === "not" ? asKind(b, a, "bool") : a);
      }
      case "binary":
        return binary(b, e.fn, this.of(e.a), this.of(e.b));
      case "compare":
        return b.compare(e.fn as Comparison, ...alike(b, this.of(e.a), this.of(e.b)));
      case "select":
        return choice(b, this.of(e.condition), this.of(e.a), this.of(e.b));
      case "cast":
        return cast(b, this.of(e.a), e.dtype);
      case "index":
        return this.index(e.a);
      case "load": {
        const [peer, ...indices] = [e.peer, ...e.indices].map((x) => (x === null ? null : this.index(x)));
        return load(kernel, b, e.input, indices as Value[], peer!);
      }
      case "reduce":
        return this.reduction(e);
    }
  }

  private index(e: ElementExpression): Value {
    return this.b.cast(this.of(e), "index");
  }

  private reduction(e: Extract<ElementExpression, { kind: "reduce" }>): Value {
    const [from, to] = [this.index(e.from), this.index(e.to)];
    const outside = this.made;
    const value = this.b.reduce(e.fn, from, to, (k) => {
      this.made = new Map(outside);
      this.variables.set(e.variable, k);
      return this.of(e.body);
    });
    this.made = outside;
    return value;
  }
}

/** What tensors are, element by element. */
class OfTensors {
  private readonly shapes = new Map<Specification, readonly Extent[]>();
  private readonly shared: ReadonlySet<Specification>;
  /** Where the elements of parts are that are used more than once: without, the time doubles with every such use. */
  readonly kept = new Map<Specification, Buffer>();

  constructor(
    private readonly kernel: Kernel,
    private readonly b: Builder,
  ) {
    const all = kernel.specification.flatMap((s) => (s === null || s.kind === "elements" ? [] : [s]));
    this.shared = sharedParts(all, partsOfSpecification);
  }

  /** The shape of a tensor and what its elements are, where the parts that it shares are computed. */
  prepared(s: Specification): readonly [readonly Extent[], (indices: readonly Value[]) => Value] {
    this.prepare(s);
    return [this.shape(s), (indices) => this.element(s, indices)];
  }

  private prepare(s: Specification): void {
    if (this.kept.has(s)) return;
    for (const part of partsOfSpecification(s)) this.prepare(part);
    if (!this.shared.has(s)) return;
    const { b } = this;
    const [name, shape] = [`part ${this.kept.size}`, this.shape(s)];
    let dtype: DType = "f32";
    overAll(b, shape, (indices) => {
      const value = this.element(s, indices);
      const kind = kindOf(value);
      dtype = kind === "index" ? "i64" : kind;
      b.store(name, b.cast(value, dtype), indices);
    });
    this.kept.set(s, { name, role: "scratch", dtype, shape, symmetric: false });
  }

  shape(s: Specification): readonly Extent[] {
    let shape = this.shapes.get(s);
    if (shape === undefined) this.shapes.set(s, (shape = this.shapeOf(s)));
    return shape;
  }

  private shapeOf(s: Specification): readonly Extent[] {
    switch (s.kind) {
      case "input":
        return this.kernel.inputs.find((t) => t.name === s.name)!.shape;
      case "constant":
      case "scalar":
        return [];
      case "matmul": {
        const [left, right] = [this.shape(s.a), this.shape(s.b)];
        return [...broadcast([left.slice(0, -2), right.slice(0, -2)]), left.at(-2)!, right.at(-1)!];
      }
      case "binary":
      case "compare":
        return broadcast([this.shape(s.a), this.shape(s.b)]);
      case "select":
        return broadcast([this.shape(s.condition), this.shape(s.a), this.shape(s.b)]);
      case "fold":
        return this.shape(s.a).map((n, d) => (d === s.dim ? 1 : n));
      case "permute":
        return s.order.map((d) => this.shape(s.a)[d]!);
      case "repeat":
        return this.shape(s.a).map((n, d) => (d === s.dim ? extent("mul", n, s.times) : n));
      case "iota":
      case "reshape":
      case "slice":
        return s.shape;
      case "concat": {
        const [first, ...others] = s.parts.map((p) => this.shape(p));
        return first!.map((n, d) =>
          d === s.dim ? others.reduce<Extent>((sum, o) => extent("add", sum, o[d]!), n) : n,
        );
      }
      default:
        return this.shape(s.a);
    }
  }

  element(s: Specification, indices: readonly Value[]): Value {
    const { b, kernel } = this;
    const kept = this.kept.get(s);
    if (kept !== undefined) return b.load(kept.name, indices, scalar(kept.dtype));
    const operand = (x: Specification): Value => this.element(x, this.indicesIn(this.shape(x), indices));
    // One value with itself is one value: a square is not negative.
    const both = (x: Specification, y: Specification): [Value, Value] => {
      const [first, isSame] = [operand(x), x === y || (x.kind === "input" && y.kind === "input" && x.name === y.name)];
      return [first, isSame ? first : operand(y)];
    };
    switch (s.kind) {
      case "input":
        return this.input(s.name, indices);
      case "constant":
        return b.constant(s.value, INDEX);
      case "scalar":
        return scalarOfLaunch(kernel, b, s.name);
      case "iota":
        return b.cast(indices[s.dim]!, "i32");
      case "matmul": {
        const [left, right] = [this.shape(s.a), this.shape(s.b)];
        const batch = indices.slice(0, -2);
        return b.contract(b.constant(0), b.extent(left.at(-1)!), (k) => [
          this.element(s.a, [...this.indicesIn(left.slice(0, -2), batch), indices.at(-2)!, k]),
          this.element(s.b, [...this.indicesIn(right.slice(0, -2), batch), k, indices.at(-1)!]),
        ]);
      }
      case "unary":
        return b.unary(s.fn as UnaryFunction, operand(s.a));
      case "binary":
        return binary(b, s.fn, ...both(s.a, s.b));
      case "compare":
        return b.compare(s.fn as Comparison, ...alike(b, ...both(s.a, s.b)));
      case "select":
        return choice(b, operand(s.condition), operand(s.a), operand(s.b));
      case "cast":
        return cast(b, operand(s.a), s.dtype);
      case "rounded":
        return operand(s.a);
      case "fold": {
        const length = this.shape(s.a)[s.dim]!;
        const at = (k: Value): Value =>
          this.element(s.a, indices.map((i, d) => (d === s.dim ? k : i))); // prettier-ignore
        return this.folded(s.fn === "mean" ? "avg" : s.fn, b.extent(length), at);
      }
      case "permute": {
        const inner: Value[] = [];
        s.order.forEach((d, to) => (inner[d] = indices[to]!));
        return this.element(s.a, inner);
      }
      case "repeat":
        return this.element(s.a, indices.map((i, d) => (d === s.dim ? b.div(i, b.constant(s.times)) : i))); // prettier-ignore
      case "reshape":
        return this.element(s.a, this.unflattened(this.flattened(indices, s.shape), this.shape(s.a)));
      case "slice":
        return this.element(s.a, indices.map((i, d) => b.add(i, b.extent(s.from[d]!)))); // prettier-ignore
      case "concat":
        return this.concatenated(s, indices);
    }
  }

  /** The elements of an operand of some shape that are broadcast to these. */
  private indicesIn(shape: readonly Extent[], indices: readonly Value[]): Value[] {
    const inner = indices.slice(indices.length - shape.length);
    return inner.map((i, d) => (shape[d] === 1 ? this.b.constant(0) : i));
  }

  private input(name: string, indices: readonly Value[]): Value {
    const { b, kernel } = this;
    const { layout } = kernel.inputs.find((t) => t.name === name)!;
    const op = partialOf(layout);
    if (op === null) return load(kernel, b, name, indices, null);
    return this.folded(op, b.constant(kernel.world), (peer) => load(kernel, b, name, indices, peer));
  }

  private folded(op: ReductionOp, length: Value, at: (k: Value) => Value): Value {
    const { b } = this;
    const fn: Reduction = op === "avg" ? "sum" : op;
    const all = b.reduce(fn, b.constant(0), length, at);
    return op === "avg" ? binary(b, "div", all, length) : all;
  }

  private concatenated(s: Extract<Specification, { kind: "concat" }>, indices: readonly Value[]): Value {
    const { b } = this;
    const last = s.parts.length - 1;
    const from = (part: number, at: Value): Value => {
      const value = this.element(s.parts[part]!, indices.map((i, d) => (d === s.dim ? at : i))); // prettier-ignore
      if (part === last) return value;
      const length = b.extent(this.shape(s.parts[part]!)[s.dim]!);
      return choice(b, b.compare("lt", at, length), value, from(part + 1, b.sub(at, length)));
    };
    return from(0, indices[s.dim]!);
  }

  private flattened(indices: readonly Value[], shape: readonly Extent[]): Value {
    const { b } = this;
    return indices.reduce((at, i, d) => b.add(b.mul(at, b.extent(shape[d]!)), i), b.constant(0));
  }

  private unflattened(at: Value, shape: readonly Extent[]): Value[] {
    const { b } = this;
    const indices: Value[] = [];
    for (let d = shape.length - 1; d >= 0; d--) {
      const length = b.extent(shape[d]!);
      indices[d] = d === 0 ? at : b.rem(at, length);
      at = b.div(at, length);
    }
    return indices;
  }
}

/** The shape that all broadcast to. */
function broadcast(shapes: readonly (readonly Extent[])[]): Extent[] {
  const rank = Math.max(...shapes.map((s) => s.length));
  return Array.from({ length: rank }, (_, d) => {
    const lengths = shapes.flatMap((s) => s[d - rank + s.length] ?? []);
    return lengths.find((n) => n !== 1) ?? 1;
  });
}
