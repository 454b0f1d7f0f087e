/** What the elements of the outputs must be, as terms over the inputs of one launch. */
import {
  BINARY_FUNCTIONS,
  UNARY_FUNCTIONS,
  type BinaryFunction,
  type Comparison,
  type UnaryFunction,
} from "../ir/ops.js";
import { REDUCE } from "../ir/functions.js";
import type { SignatureTensor, Specification } from "../manifest.js";
import { DTYPES } from "../types/dtype.js";
import { evaluateExtent } from "../types/extent.js";
import { partialOf, type ReductionOp } from "../types/layout.js";
import { cutsOf, partsOfRank, sourcesOf } from "../types/mesh.js";
import type { Algebra, Factors, Number_ } from "./algebra.js";
import { ElementExpectation } from "./elements.js";
import type { InputValues } from "./inputs.js";
import { broadcastPlaces, type Places, placesAlong, GridShards, Shards, sizeOf, stridesOf } from "./places.js";
import { CannotTell } from "./results.js";
import type { Signature } from "./signature.js";
import { binaryOf, castOf, compareOf, selectOf, unaryOf } from "./values.js";

/** The element with a row-major number. */
export type ElementAt = (at: number) => Number_;

type Of<Kind extends Specification["kind"]> = Extract<Specification, { kind: Kind }>;

/** Functions of the elements' numbers, made once for each specification: one proof asks for each element. */
export class Expectation {
  private readonly elements: ElementExpectation;
  /** By rank for which they are. */
  private readonly made: Map<Specification, ElementAt>[] = [];

  constructor(
    private readonly signature: Signature,
    private readonly algebra: Algebra,
    private readonly launch: number,
    private readonly inputs: InputValues,
  ) {
    const { kernel, dims } = signature;
    this.elements = new ElementExpectation(kernel, dims, algebra, launch, inputs);
  }

  /**
   * The logical elements of an output that is specified; of a claim about elements, those of the rank's own part. `self`
   * is the rank whose `local` inputs, and whose row of the mesh, count. Ranks that see the same values have one function.
   */
  of(output: number, self: number): ElementAt {
    const { signature } = this;
    const s = signature.kernel.specification[output]!;
    if (s.kind !== "elements") return this.tensor(s, signature.views[self]!);
    return this.elements.of(s, output, signature.localShapeOf(signature.kernel.outputs[output]!), self);
  }

  private tensor(s: Specification, self: number): ElementAt {
    const made = (this.made[self] ??= new Map());
    let element = made.get(s);
    if (element === undefined) {
      element = this.make(s, self);
      // Folds are asked for once for each element along their dimension, and shared parts by all that use them.
      if (s.kind === "matmul" || s.kind === "fold" || this.signature.shared.has(s))
        element = remembered(element, sizeOf(this.signature.shape(s)));
      made.set(s, element);
    }
    return element;
  }

  private make(s: Specification, self: number): ElementAt {
    const { algebra, signature } = this;
    const operand = (x: Specification): ElementAt =>
      x.kind === "constant" || x.kind === "scalar"
        ? this.tensor(x, self)
        : moved(this.tensor(x, self), signature.places(s, x));
    switch (s.kind) {
      case "input":
        return this.input(signature.input(s.name), self);
      case "constant":
        return () => s.value;
      case "iota": {
        const shape = signature.shape(s);
        const step = sizeOf(shape.slice(s.dim + 1));
        return (at) => Math.floor(at / step) % shape[s.dim]!;
      }
      case "scalar": {
        const given = algebra.leavesOf(this.launch, s.name, -1)(0);
        return () => given;
      }
      case "matmul":
        return this.matmul(s, self);
      case "unary": {
        if (!(UNARY_FUNCTIONS as readonly string[]).includes(s.fn))
          throw new CannotTell(`the prover does not know '${s.fn}'`);
        const [fn, kind, a] = [s.fn as UnaryFunction, signature.kind(s), this.tensor(s.a, self)];
        return (at) => unaryOf(algebra, fn, kind, a(at));
      }
      case "binary": {
        if (!(BINARY_FUNCTIONS as readonly string[]).includes(s.fn))
          throw new CannotTell(`the prover does not know '${s.fn}'`);
        const [fn, kind, a, b] = [s.fn as BinaryFunction, signature.kind(s), operand(s.a), operand(s.b)];
        return (at) => binaryOf(algebra, fn, kind, a(at), b(at));
      }
      case "compare": {
        const [fn, a, b] = [s.fn as Comparison, operand(s.a), operand(s.b)];
        return (at) => compareOf(algebra, fn, a(at), b(at));
      }
      case "select": {
        const [condition, a, b] = [operand(s.condition), operand(s.a), operand(s.b)];
        return (at) => selectOf(algebra, condition(at), a(at), b(at));
      }
      case "cast": {
        const [from, a] = [signature.kind(s.a), this.tensor(s.a, self)];
        return (at) => castOf(algebra, from, s.dtype, a(at));
      }
      // Equal numbers of elements: roundings are the identity, and reshaping keeps the order.
      case "rounded":
      case "reshape":
        return this.tensor(s.a, self);
      case "fold":
        return this.fold(s, self);
      case "permute": {
        const strides = stridesOf(signature.shape(s.a));
        const along = s.order.map((d) => strides[d]!);
        return moved(this.tensor(s.a, self), placesAlong(signature.shape(s), along));
      }
      case "repeat": {
        const step = sizeOf(signature.shape(s).slice(s.dim + 1));
        const a = this.tensor(s.a, self);
        return (at) => a(Math.floor(at / (step * s.times)) * step + (at % step));
      }
      case "slice": {
        const strides = stridesOf(signature.shape(s.a));
        const from = s.from.reduce<number>((sum, e, d) => sum + evaluateExtent(e, signature.dims) * strides[d]!, 0);
        return moved(this.tensor(s.a, self), placesAlong(signature.shape(s), strides, from));
      }
      case "concat":
        return this.concat(s, self);
      default:
        throw new CannotTell(`the prover does not know the specification '${(s as { kind: string }).kind}'`);
    }
  }

  private matmul(s: Of<"matmul">, self: number): ElementAt {
    const { algebra, signature } = this;
    const [shape, left, right] = [s, s.a, s.b].map((x) => signature.shape(x)) as [number[], number[], number[]];
    const [rows, columns, depth] = [left.at(-2)!, right.at(-1)!, left.at(-1)!];
    const batches = shape.slice(0, -2);
    const leftBatch = broadcastPlaces(batches, left.slice(0, -2));
    const rightBatch = broadcastPlaces(batches, right.slice(0, -2));
    const [a, b] = [this.tensor(s.a, self), this.tensor(s.b, self)];
    const lines = (element: (line: number, k: number) => Number_): ((line: number) => Factors) => {
      const known: Factors[] = [];
      return (line) => (known[line] ??= algebra.factors(Array.from({ length: depth }, (_, k) => element(line, k))));
    };
    const row = lines((line, k) => a(line * depth + k));
    const column = lines((line, k) => b((Math.floor(line / columns) * depth + k) * columns + (line % columns)));
    return (at) => {
      const line = Math.floor(at / columns);
      const batch = Math.floor(line / rows);
      const total = algebra.accumulator();
      total.addProducts(
        row((leftBatch === null ? batch : leftBatch[batch]!) * rows + (line % rows)),
        column((rightBatch === null ? batch : rightBatch[batch]!) * columns + (at % columns)),
      );
      return total.build();
    };
  }

  private fold(s: Of<"fold">, self: number): ElementAt {
    const { algebra, signature } = this;
    const shape = signature.shape(s.a);
    const length = shape[s.dim]!;
    const step = sizeOf(shape.slice(s.dim + 1));
    const element = this.tensor(s.a, self);
    const kind = signature.kind(s);
    const first = (at: number): number => Math.floor(at / step) * length * step + (at % step);
    if (s.fn === "sum" || s.fn === "mean")
      return (at) => {
        const total = algebra.accumulator();
        for (let k = 0, from = first(at); k < length; k++) total.add(element(from + k * step));
        return s.fn === "sum" ? total.build() : binaryOf(algebra, "div", kind, total.build(), length);
      };
    const { fn, identity } = REDUCE[s.fn];
    if (length === 0) return () => identity(kind);
    return (at) => {
      const from = first(at);
      let folded = element(from);
      for (let k = 1; k < length; k++) folded = binaryOf(algebra, fn, kind, folded, element(from + k * step));
      return folded;
    };
  }

  private concat(s: Of<"concat">, self: number): ElementAt {
    const { signature } = this;
    const shape = signature.shape(s);
    const step = sizeOf(shape.slice(s.dim + 1));
    const parts = s.parts.map((p) => this.tensor(p, self));
    const lengths = s.parts.map((p) => signature.shape(p)[s.dim]!);
    return (at) => {
      const line = Math.floor(at / step);
      let place = line % shape[s.dim]!;
      let part = 0;
      while (place >= lengths[part]!) place -= lengths[part++]!;
      const outer = Math.floor(line / shape[s.dim]!);
      return parts[part]!((outer * lengths[part]! + place) * step + (at % step));
    };
  }

  private input(t: SignatureTensor, self: number): ElementAt {
    const { signature, inputs } = this;
    const on = (rank: number): ElementAt => inputs.elements(this.algebra, this.launch, t.name, rank);
    if (t.layout.kind === "grid") return this.gridInput(t, self, on);
    const members = signature.membersFor(t, self);
    switch (t.layout.kind) {
      case "replicated":
        return on(inputs.nameOf(t, self));
      case "on":
        return on(members[t.layout.rank]!);
      case "local":
        return on(self);
      case "sharded": {
        const parts = members.map(on);
        const shards = new Shards(signature.shapeOf(t), t.layout.dim, parts.length);
        return (at) => parts[shards.place(at)]!(shards.index(at));
      }
      case "partial":
        return this.reduced(t.layout.op, members.map(on), t.dtype);
    }
  }

  private gridInput(t: SignatureTensor, self: number, on: (rank: number) => ElementAt): ElementAt {
    const { mesh, world } = this.signature.kernel;
    const shape = this.signature.shapeOf(t);
    const shards = new GridShards(shape, cutsOf(t.layout, mesh, world, shape.length));
    const summands: ElementAt[][] = [];
    for (const rank of sourcesOf(t.layout, mesh, self))
      (summands[shards.numberOf(partsOfRank(t.layout, mesh, rank, shape.length))] ??= []).push(on(rank));
    const op = partialOf(t.layout);
    const parts = summands.map((all) => (op === null ? all[0]! : this.reduced(op, all, t.dtype)));
    return (at) => parts[shards.place(at)]!(shards.index(at));
  }

  /** The values a `partial` tensor stands for, from each rank's summands. */
  reduced(op: ReductionOp, parts: readonly ElementAt[], dtype: SignatureTensor["dtype"]): ElementAt {
    const { algebra } = this;
    const fn = ({ sum: "add", avg: "add", min: "min", max: "max", prod: "mul" } as const)[op];
    const kind = DTYPES[dtype].compute;
    const whole = (folded: Number_): Number_ =>
      op === "avg" ? binaryOf(algebra, "div", kind, folded, parts.length) : folded;
    return (at) => {
      let folded = parts[0]!(at);
      if (fn === "add" && typeof folded !== "number") {
        const total = algebra.accumulator();
        total.add(folded);
        for (let i = 1; i < parts.length; i++) total.add(parts[i]!(at));
        return whole(total.build());
      }
      for (let i = 1; i < parts.length; i++) folded = binaryOf(algebra, fn, kind, folded, parts[i]!(at));
      return whole(folded);
    };
  }
}

function remembered(element: ElementAt, size: number): ElementAt {
  const known = new Array<Number_ | undefined>(size);
  return (at) => (known[at] ??= element(at));
}

const moved = (element: ElementAt, places: Places): ElementAt =>
  places === null ? element : (at) => element(places[at]!);
