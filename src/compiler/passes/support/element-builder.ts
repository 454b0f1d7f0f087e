/**
 * Emits elements, each once in a place: what a loop's body asks for twice with the same indices is computed once, so that
 * an expression may name a product or a sum over ranks as often as it likes.
 */
import type { Builder, Factors } from "../../ir/builder.js";
import type { Kernel, Value } from "../../ir/module.js";
import type { BinaryFunction, LoopMap, Reduction } from "../../ir/ops.js";
import type { Extent } from "../../types/extent.js";
import { printExtent } from "../../types/extent.js";
import { strideOf } from "../../types/mesh.js";
import type { Index } from "./tensor-values.js";

/** All ranks, or those of this rank's row along an axis of the mesh. */
export interface RankGroup {
  readonly size: number;
  /** From one member to the next, in rank numbers. */
  readonly stride: number;
  readonly isAll: boolean;
}

/** Among whom something is divided: along an axis of the mesh, by its number, among the ranks of each domain, or, where it is null, among all. */
export type Along = number | "domain" | null;

/** What tells how ranks are grouped; `ranksPerDomain` only where a conversion goes from domain to domain. */
export type Grouped = Pick<Kernel, "mesh" | "world" | "ranksPerDomain">;

export function groupOf({ mesh, world, ranksPerDomain }: Grouped, along: Along): RankGroup {
  if (along === null) return { size: world, stride: 1, isAll: true };
  if (along === "domain") return { size: ranksPerDomain!, stride: 1, isAll: false };
  return { size: mesh[along]!.size, stride: strideOf(mesh, along), isAll: false };
}

/** The ranks that have this one's place in their domains. */
export function counterpartsOf({ world, ranksPerDomain }: Grouped): RankGroup {
  return { size: world / ranksPerDomain!, stride: ranksPerDomain!, isAll: false };
}

export class ElementBuilder {
  readonly build: Builder;
  /** What is known where: the innermost region last. */
  private readonly scopes: Map<string, Value>[] = [new Map()];
  private readonly numbers = new Map<Value, number>();
  /** Sums this made, so that subtracting a summand gives the other. */
  private readonly sums = new Map<Value, readonly [Value, Value]>();

  constructor(build: Builder) {
    this.build = build;
  }

  id(v: Value): number {
    let n = this.numbers.get(v);
    if (n === undefined) this.numbers.set(v, (n = this.numbers.size));
    return n;
  }

  /** The value of that name, if one is in reach; else what `make` emits. */
  once(key: string, make: () => Value): Value {
    for (const scope of this.scopes) {
      const known = scope.get(key);
      if (known !== undefined) return known;
    }
    const value = make();
    this.scopes.at(-1)!.set(key, value);
    return value;
  }

  private inScope<X>(body: () => X): X {
    this.scopes.push(new Map());
    try {
      return body();
    } finally {
      this.scopes.pop();
    }
  }

  // -- indices -------------------------------------------------------------------------------------

  constant(n: number): Value {
    return this.once(`constant ${n}`, () => this.build.constant(n));
  }

  extent(e: Extent): Value {
    return typeof e === "number" ? this.constant(e) : this.once(`extent ${printExtent(e)}`, () => this.build.extent(e));
  }

  rank(): Value {
    return this.once("rank", () => this.build.rank());
  }

  index(fn: BinaryFunction, a: Value, b: Value): Value {
    if (fn === "sub") {
      const [x, y] = this.sums.get(a) ?? [];
      if (y === b) return x!;
      if (x === b) return y!;
    }
    const value = this.once(`${fn} ${this.id(a)} ${this.id(b)}`, () => this.build.binary(fn, a, b));
    if (fn === "add" && value !== a && value !== b) this.sums.set(value, [a, b]);
    return value;
  }

  /** The index with dimension `dim` replaced. */
  replaced(index: Index, dim: number, by: (v: Value) => Value): Index {
    return index.map((v, d) => (d === dim ? by(v) : v));
  }

  /** Row-major number of an element. */
  linear(index: Index, shape: readonly Extent[]): Value {
    return index.reduce<Value | null>(
      (sum, v, d) => (sum === null ? v : this.index("add", this.index("mul", sum, this.extent(shape[d]!)), v)),
      null,
    )!;
  }

  /** The indices of the element of that number. */
  unfold(number: Value, shape: readonly Extent[]): Value[] {
    const indices: Value[] = [];
    let rest = number;
    for (let d = shape.length - 1; d > 0; d--) {
      const length = this.extent(shape[d]!);
      indices.unshift(this.index("rem", rest, length));
      rest = this.index("div", rest, length);
    }
    return [rest, ...indices];
  }

  // -- regions -------------------------------------------------------------------------------------

  loop(map: LoopMap, bounds: readonly (readonly [Value, Value])[], body: (index: Index) => void): void {
    this.build.for(map, bounds, (index) => this.inScope(() => body(index)));
  }

  /**
   * Every element of a shape, spread over the machine. Dimensions in front with one element are none to go through.
   * @param part the indices of one dimension that are meant
   */
  tiles(
    shape: readonly Extent[],
    body: (index: Index) => void,
    part?: { readonly dim: number; readonly bounds: readonly [Value, Value] },
  ): void {
    const isOne = (d: number): boolean => shape[d] === 1 && d !== part?.dim && d + 1 < shape.length;
    let first = 0;
    while (isOne(first)) first++;
    const before = shape.slice(0, first).map(() => this.constant(0));
    const bounds = shape.map((e, d) => (d === part?.dim ? part.bounds : ([this.constant(0), this.extent(e)] as const)));
    this.loop("tiles", bounds.slice(first), (index) => body([...before, ...index]));
  }

  /** Every rank of a group. */
  ranks(group: RankGroup, body: (peer: Value) => void): void {
    this.loop("ranks", [[this.constant(0), this.constant(group.size)]], ([p]) => body(this.member(group, p!)));
  }

  /** This rank's place in a group. */
  place({ size, stride, isAll }: RankGroup): Value {
    if (isAll) return this.rank();
    const along = stride === 1 ? this.rank() : this.index("div", this.rank(), this.constant(stride));
    return this.index("rem", along, this.constant(size));
  }

  /** The number of the rank at a place of a group. */
  member(group: RankGroup, place: Value): Value {
    if (group.isAll) return place;
    const stride = this.constant(group.stride);
    const first = this.index("sub", this.rank(), this.index("mul", this.place(group), stride));
    return this.index("add", first, this.index("mul", place, stride));
  }

  when(condition: Value, body: () => void, otherwise?: () => void): void {
    this.build.if(condition, () => this.inScope(body), otherwise && (() => this.inScope(otherwise)));
  }

  /** An element of a matrix product of `count` terms. @param run for how many terms the scales stay, where there are any */
  contract(count: Extent, body: (k: Value) => Factors, run: number | null): Value {
    const [lo, hi] = [this.constant(0), this.extent(count)];
    return this.build.contract(lo, hi, (k) => this.inScope(() => body(k)), run);
  }

  /** @param isOrdered whether the order is the user's, and not the machine's, to choose */
  reduce(fn: Reduction, count: Extent, isOrdered: boolean, body: (k: Value) => Value): Value {
    const [lo, hi] = [this.constant(0), this.extent(count)];
    return this.build.reduce(fn, lo, hi, (k) => this.inScope(() => body(k)), isOrdered ? {} : { unordered: true });
  }
}
