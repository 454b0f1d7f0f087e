/** Core nodes, and what makes them: operations of graphs on what one rank holds, with shapes and dtypes worked out. */
import { showExtent } from "../../check/extents.js";
import { isDType } from "../../types/dtype.js";
import { type Extent, extent, sameExtent } from "../../types/extent.js";
import { type FxArgument, type FxNode, isRef, isSize } from "./fx.js";
import { sameShape, tidy } from "./sizes.js";

export interface CoreNode {
  readonly id: string;
  /** The FX node that it is of. */
  readonly fx: string;
  /** A row of `GRAPH_OPS`; of conversions, what one rank sees of them; `number`: one that stands wherever it is needed. */
  readonly op: string;
  readonly inputs: readonly (string | number)[];
  readonly dim?: number;
  /** Of a repeat: how often it has each index of its dimension. */
  readonly times?: number;
  /** Of an iota: the dimension along which it counts. */
  readonly along?: number;
  /** Of a permute; of a placeholder whose memory is taken as it lies: the FX tensor's dimensions, the slowest first. */
  readonly order?: readonly number[];
  readonly ranges?: readonly (readonly [from: Extent, to: Extent])[];
  readonly group?: string;
  /** Of a conversion that reduces. */
  readonly reduce?: "sum" | "min" | "max" | "prod";
  /** Of a broadcast. */
  readonly from?: number;
  /** Of a conversion into memory that nobody else looks at: whose it is. A program does without; who carries it out as it is, does not. */
  readonly into?: string;
  /** FX nodes that it does the work of, too. */
  readonly absorbs?: readonly string[];
  /** On one rank. */
  readonly shape: readonly Extent[];
  readonly dtype: string;
}

export interface Core {
  readonly nodes: ReadonlyMap<string, CoreNode>;
  /** Of each FX node, its value; null of what collc has no operation for, and of what is no tensor. */
  readonly values: ReadonlyMap<string, string | null>;
  /** By FX node, why it is not an operation of graphs. */
  readonly unknown: ReadonlyMap<string, string>;
}

/** An FX node is no operation of graphs, and why. */
export class Unknown extends Error {}

/** A factor among the arguments. @throws Unknown for a size, a tensor, or what JSON has no number for, such as infinity */
export function scalarOf(a: FxArgument | undefined, otherwise: number): number {
  if (a != null && typeof a !== "number") throw new Unknown("collc has factors that are numbers, and no others");
  return a ?? otherwise;
}

/** Operations whose 8 bits are those of their operands' 8 bits, whatever stands above them. */
const WRAPS_LATER = new Set(["add", "sub", "mul", "neg", "where"]);
/** Operations that may come out wider than their operands. */
const WIDENS = new Set(["add", "sub", "mul", "div", "neg", "abs", "sum", "prod", "matmul"]);
const OF_ITS_DTYPE = new Set(["placeholder", "unknown", "cast", "view_as", "number"]);

const hasEightBits = (dtype: string): boolean => dtype === "i8" || dtype === "u8";

/** Adds the nodes of one FX node after the other. */
export class Making implements Core {
  readonly nodes = new Map<string, CoreNode>();
  readonly values = new Map<string, string | null>();
  readonly unknown = new Map<string, string>();
  /** The FX node that nodes are made for. */
  protected current!: FxNode;
  protected count = 0;
  /** By value, whether a program may keep more in it than its dtype has room for. */
  private readonly wider = new Map<string, boolean>();

  protected make(
    op: string,
    inputs: readonly (string | number)[],
    shape: readonly Extent[],
    dtype: string,
    extra: Partial<CoreNode> = {},
  ): string {
    const fx = this.current.name;
    const id = this.count === 0 ? fx : `${fx}__${this.count}`;
    this.count++;
    this.nodes.set(id, { id, fx, op, inputs, shape, dtype, ...extra });
    return id;
  }

  protected of(id: string): CoreNode {
    return this.nodes.get(id)!;
  }

  /** The value of an argument that is a tensor. */
  protected tensor(a: FxArgument | undefined): string {
    const value = isRef(a) ? this.values.get(a.node) : undefined;
    if (typeof value !== "string") throw new Unknown(`an argument of ${this.current.target} is no tensor`);
    return value;
  }

  /** A length among the arguments; null for what is none. */
  protected length(a: FxArgument | undefined): Extent | null {
    return isSize(a) ? a.size : typeof a === "number" ? a : null;
  }

  /** A length among the arguments. @throws Unknown for what only another node says */
  protected lengthOf(a: FxArgument | undefined): Extent {
    const length = this.length(a);
    if (length === null || Number.isNaN(length)) throw new Unknown(`an argument of ${this.current.target} is a number that only the launch knows`); // prettier-ignore
    return length;
  }

  protected operand(a: FxArgument | undefined): string | number {
    if (isSize(a)) throw new Unknown(`a size is a number among the elements of ${this.current.target}`);
    return typeof a === "number" ? a : typeof a === "boolean" ? Number(a) : this.tensor(a);
  }

  protected cast(x: string | number, dtype: string): string | number {
    if (typeof x === "number") return x;
    const { shape, dtype: from } = this.of(x);
    if (from === dtype) return x;
    if (dtype === "" || from === "") throw new Unknown("nothing says its dtype, or that of what it is made of: dump the graph with torch's own dtypes"); // prettier-ignore
    if (!isDType(dtype) || !isDType(from))
      throw new Unknown(`collc has no tensors of ${isDType(dtype) ? from : dtype}`);
    return this.make("cast", [hasEightBits(dtype) ? x : this.wrapped(x)], shape, dtype);
  }

  /** A value for those who would see more than its dtype has room for: programs keep numbers of 8 bits in 32 until they are stored or cast. */
  protected wrapped(x: string): string {
    const { dtype, shape } = this.of(x);
    return hasEightBits(dtype) && this.mayBeWider(x) ? this.make("cast", [x], shape, dtype) : x;
  }

  private mayBeWider(x: string | number): boolean {
    if (typeof x === "number") return false;
    const known = this.wider.get(x);
    if (known !== undefined) return known;
    const { op, dtype, inputs, reduce } = this.of(x);
    const isOne = WIDENS.has(op) || reduce === "sum" || reduce === "prod";
    const found = hasEightBits(dtype) && !OF_ITS_DTYPE.has(op) && (isOne || inputs.some((i) => this.mayBeWider(i)));
    this.wider.set(x, found);
    return found;
  }

  /** Element by element, computed in a dtype, as torch promotes. */
  protected pointwise(op: string, xs: readonly (string | number)[], dtype: string, result: string = dtype): string {
    const inputs = xs.map((x) => {
      const own = this.cast(x, dtype);
      return typeof own === "number" || WRAPS_LATER.has(op) ? own : this.wrapped(own);
    });
    return this.make(
      op,
      inputs,
      broadcastShape(inputs.map((x) => (typeof x === "number" ? [] : this.of(x).shape))),
      result,
    );
  }

  /** What tensors of several dtypes are computed in. */
  protected promoted(xs: readonly (string | number)[]): string {
    const dtypes = xs.flatMap((x) => (typeof x === "number" ? [] : [this.of(x).dtype]));
    const floats = dtypes.filter((d) => /^b?f\d/.test(d));
    if (new Set(floats).size > 1) return "f32";
    return floats[0] ?? widest(dtypes) ?? "f32";
  }

  protected reshape(x: string, shape: readonly Extent[]): string {
    const { shape: from, dtype } = this.of(x);
    return sameShape(from, shape) ? x : this.make("reshape", [x], shape, dtype);
  }

  protected permute(x: string, order: readonly number[]): string {
    const { shape, dtype } = this.of(x);
    return this.make(
      "permute",
      [x],
      order.map((d) => shape[d]!),
      dtype,
      { order },
    );
  }

  /** A part of a dimension, that many elements from an index on. */
  protected slice(x: string, dim: number, from: Extent, count: Extent): string {
    const { shape, dtype } = this.of(x);
    const to = tidy(extent("add", from, count));
    const ranges = shape.map((n, d): [Extent, Extent] => (d === dim ? [from, to] : [0, n]));
    const isWhole = from === 0 && sameExtent(to, shape[dim]!);
    return isWhole ? x : this.make("slice", [x], shape.with(dim, count), dtype, { ranges });
  }

  /** Each index of a dimension so often, one behind the other. */
  protected repeat(x: string, dim: number, times: number): string {
    const { shape, dtype } = this.of(x);
    if (times === 1) return x;
    return this.make("repeat", [x], shape.with(dim, tidy(extent("mul", shape[dim]!, times))), dtype, { dim, times });
  }

  /** As large as a shape: dimensions of one element, and those that are not there, are repeated. @throws Unknown for sizes that only a launch knows */
  protected expand(x: string, shape: readonly Extent[]): string {
    const { shape: from } = this.of(x);
    let value = this.reshape(x, [...shape.slice(from.length).map(() => 1), ...from]);
    shape.forEach((n, d) => {
      if (sameExtent(this.of(value).shape[d]!, n)) return;
      if (typeof n !== "number") throw new Unknown(`how often it repeats its dimension ${d}, only the launch knows`);
      value = this.repeat(value, d, n);
    });
    return value;
  }

  protected fold(fn: string, x: string, dims: readonly number[], keep: boolean): string {
    let value = fn === "sum" || fn === "prod" ? x : this.wrapped(x);
    for (const dim of dims)
      value = this.make(fn, [value], this.of(value).shape.with(dim, 1), this.of(value).dtype, { dim });
    const { shape } = this.of(value);
    return keep
      ? value
      : this.reshape(
          value,
          shape.filter((_, d) => !dims.includes(d)),
        );
  }
}

/** What has the numbers of all of some dtypes, none of them of floats; undefined of none. */
function widest(dtypes: readonly string[]): string | undefined {
  const apart = [...new Set(dtypes)].filter((d) => d !== "bool");
  if (apart.length < 2) return apart[0] ?? dtypes[0];
  if (apart.includes("i64") || (apart.includes("u32") && apart.some((d) => d.startsWith("i")))) return "i64";
  return apart.includes("u32") ? "u32" : "i32";
}

/** @throws Unknown for lengths of which nothing says that they are equal */
export function broadcastShape(shapes: readonly (readonly Extent[])[]): Extent[] {
  const rank = Math.max(0, ...shapes.map((s) => s.length));
  return Array.from({ length: rank }, (_, d) => {
    const lengths = shapes.map((s) => s[d - rank + s.length] ?? 1).filter((n) => n !== 1);
    const [long = 1] = lengths;
    const other = lengths.find((n) => !sameExtent(n, long));
    if (other !== undefined) throw new Unknown(`nothing says that its lengths ${showExtent(long)} and ${showExtent(other)} are equal`); // prettier-ignore
    return long;
  });
}
