/** Core nodes, and what makes them: operations of graphs on what one rank holds, with shapes and dtypes worked out. */
import { isDType } from "../../types/dtype.js";
import { type FxArgument, type FxNode, isRef } from "./fx.js";

export interface CoreNode {
  readonly id: string;
  /** The FX node that it is of. */
  readonly fx: string;
  /** A row of `GRAPH_OPS`; of conversions, what one rank sees of them. */
  readonly op: string;
  readonly inputs: readonly (string | number)[];
  readonly dim?: number;
  readonly order?: readonly number[];
  readonly ranges?: readonly (readonly [from: number, to: number])[];
  readonly group?: string;
  /** Of a conversion that reduces. */
  readonly reduce?: "sum" | "min" | "max" | "prod";
  /** Of a broadcast. */
  readonly from?: number;
  /** FX nodes that it does the work of, too. */
  readonly absorbs?: readonly string[];
  /** On one rank. */
  readonly shape: readonly number[];
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

/** Adds the nodes of one FX node after the other. */
export class Making implements Core {
  readonly nodes = new Map<string, CoreNode>();
  readonly values = new Map<string, string | null>();
  readonly unknown = new Map<string, string>();
  /** The FX node that nodes are made for. */
  protected current!: FxNode;
  protected count = 0;

  protected make(
    op: string,
    inputs: readonly (string | number)[],
    shape: readonly number[],
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

  protected operand(a: FxArgument | undefined): string | number {
    return typeof a === "number" ? a : typeof a === "boolean" ? Number(a) : this.tensor(a);
  }

  protected cast(x: string | number, dtype: string): string | number {
    if (typeof x === "number") return x;
    const { shape, dtype: from } = this.of(x);
    if (from === dtype) return x;
    if (!isDType(dtype) || !isDType(from))
      throw new Unknown(`collc has no tensors of ${isDType(dtype) ? from : dtype}`);
    return this.make("cast", [x], shape, dtype);
  }

  /** Element by element, computed in a dtype, as torch promotes. */
  protected pointwise(op: string, xs: readonly (string | number)[], dtype: string, result: string = dtype): string {
    const inputs = xs.map((x) => this.cast(x, dtype));
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
    return floats[0] ?? dtypes[0] ?? "f32";
  }

  protected reshape(x: string, shape: readonly number[]): string {
    const { shape: from, dtype } = this.of(x);
    return from.length === shape.length && from.every((n, d) => n === shape[d])
      ? x
      : this.make("reshape", [x], shape, dtype);
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

  protected slice(x: string, dim: number, from: number, to: number): string {
    const { shape, dtype } = this.of(x);
    const ranges = shape.map((n, d): [number, number] => (d === dim ? [from, to] : [0, n]));
    return from === 0 && to === shape[dim] ? x : this.make("slice", [x], shape.with(dim, to - from), dtype, { ranges });
  }

  protected fold(fn: string, x: string, dims: readonly number[], keep: boolean): string {
    let value = x;
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

function broadcastShape(shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(0, ...shapes.map((s) => s.length));
  return Array.from({ length: rank }, (_, d) => Math.max(...shapes.map((s) => s[d - rank + s.length] ?? 1)));
}
