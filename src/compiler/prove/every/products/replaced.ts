/**
 * A kernel whose blocks multiply tiles for other ranks, without products: in place of `roles` are loops that do with the elements of an input what the blocks do with
 * the product's. docs/PROOF.md, "Products for other ranks", says why what holds of the one holds of the other.
 */
import { Builder } from "../../../ir/builder.js";
import { bufferOf, freshName, type Kernel, type Op, type Value } from "../../../ir/module.js";
import { INDEX, scalar, scalarOf, vector } from "../../../ir/types.js";
import { problemsOf } from "../../../ir/verify.js";
import { buffersNamed, copyOp, Substitution } from "../../../ir/visit.js";
import { definitionOf } from "../../../ir/ops.js";
import type { SignatureTensor } from "../../../manifest.js";
import type { DimValues, Extent } from "../../../types/extent.js";
import { NotShown } from "../conditions.js";
import { equal, factors, type Form, keyOf, plus, product, scaled, ZERO } from "../forms.js";
import { isPartOfDepth } from "./answer.js";
import { expect, type Makers } from "./follow.js";
import type { InPlace, Kept, Sent, Staged } from "./leaving.js";
import { type Factor, type Made, withProduct } from "./made.js";
import { DIM, type Numbers } from "./numbers.js";
import type { InPackets } from "./packets.js";
import { turnedBack } from "./rings.js";

/** What the tiles of one rank come to. */
export interface Tiles {
  readonly sent: Sent;
  /** Where tiles leave by movers: what is made of the rank's own, and what counts launches. */
  readonly leaving: { readonly kept: Kept; readonly counter: string } | null;
}

/** A kernel in a case: its ops, conditions on lengths being decided, and what its one `roles` comes to, by rank. */
export interface Replaced {
  readonly kernel: Kernel;
  readonly makers: Makers;
  readonly numbers: Numbers;
  readonly ops: readonly Op[];
  readonly roles: Op;
  readonly tiles: readonly Tiles[];
  readonly factors: readonly [Factor, Factor];
  /** Rows and columns of the product. */
  readonly rows: Form;
  readonly all: Form;
}

/** A kernel that something has to be shown of in place of one with products. */
export interface WithoutProducts {
  readonly kernel: Kernel;
  /** The input that has them; null where there is none. */
  readonly product: string | null;
  /** Lengths at which its answer may be proved, where it has dimensions of its own. */
  readonly shapes?: readonly DimValues[];
  /** Scratch whose elements tiles take: where one is read, any block may be the one that reads it. */
  readonly ofAnyBlock?: string;
}

export function withoutProducts(given: Replaced): WithoutProducts {
  return new Replacement(given).make();
}

class Replacement {
  private readonly b: Builder;
  private readonly values = new Substitution();
  /** Values here that are made before all loops. */
  private readonly before = new Set<Value>();
  /** Values of the given kernel that have one here. */
  private readonly defined = new Set<Value>();
  private readonly name: string;
  /** Words of blocks that have sent. */
  private readonly told: string;
  private readonly top: Op[];
  private readonly lengths = new Map<string, Value>();
  private readonly dims = new Map<string, Value>();

  constructor(private readonly given: Replaced) {
    this.b = new Builder(given.roles.span);
    this.top = this.b.ops;
    this.name = freshName(given.kernel, "product");
    this.told = freshName(given.kernel, "told");
  }

  make(): WithoutProducts {
    const { kernel, ops, roles, factors: of } = this.given;
    for (const op of ops) {
      if (op === roles) this.tiles();
      else this.copy(op);
    }
    expect(isPartOfDepth(kernel, of), "the factors do not lie as the product does", roles);
    const body = { arguments: [], ops: this.b.ops };
    const [[rows], [, columns]] = of.map(({ name, isTurned }) =>
      turnedBack(kernel.inputs.find((t) => t.name === name)!.shape as [Extent, Extent], isTurned),
    ) as [readonly [Extent, Extent], readonly [Extent, Extent]];
    const shape = [rows, columns];
    const input: SignatureTensor = {
      name: this.name,
      dtype: "f32",
      layout: { kind: "partial", op: "sum" },
      shape,
      localShape: shape,
    };
    const used = new Set(body.ops.flatMap(buffersNamed));
    const names = new Set([...kernel.inputs, ...kernel.outputs].map((t) => t.name));
    const buffers = kernel.buffers.filter(
      (b) => !of.some(({ name }) => name === b.name) && (used.has(b.name) || names.has(b.name)),
    );
    const words = used.has(this.told)
      ? [{ name: this.told, role: "signal", dtype: "u32", shape: [kernel.maxBlocks, kernel.world], symmetric: true } as const] // prettier-ignore
      : [];
    const specification = kernel.specification.map((s) => {
      if (s === null) return null;
      if (s.kind === "elements") throw new NotShown("what an element must be is said of ranks", roles.span);
      return withProduct(s, of, this.name, roles);
    });
    const made: Kernel = {
      ...kernel,
      inputs: [input, ...kernel.inputs.filter((t) => !of.some(({ name }) => name === t.name))],
      specification,
      buffers: [{ name: this.name, role: "input", dtype: "f32", shape, symmetric: false }, ...words, ...buffers],
      body,
    };
    const [problem] = problemsOf(made);
    if (problem !== undefined) throw new NotShown(`what is left without products is no kernel: ${problem.message}`, roles.span); // prettier-ignore
    return { kernel: made, product: this.name };
  }

  /** An op as it is, and before it the pure ones that it needs and that are not there. */
  private copy(op: Op): void {
    this.need(op, new Set());
    copyOp(op, this.b, this.values, (inner, _, values) => this.hoisted(inner, values));
    for (const v of op.results) this.before.add(this.values.get(v));
    for (const v of op.results) this.defined.add(v);
  }

  /** Copies an op inside of loops or conditions before all of them where it is the same for all. */
  private hoisted(op: Op, values: Substitution): boolean {
    const { b } = this;
    const of = op.operands.map((v) => values.get(v));
    const isPure = definitionOf(op.name).effect === "pure" && op.regions.length === 0 && op.results.length === 1;
    // A length may be 0 where there is nothing to divide by it.
    const { fn } = op.attributes;
    const divides = (fn === "div" || fn === "rem") && (b.constantOf(of[1]!) ?? 0) === 0;
    if (b.ops === this.top || !isPure || divides || !of.every((v) => this.before.has(v))) return false;
    this.outside(() => copyOp(op, b, values));
    this.before.add(values.get(op.results[0]!));
    return true;
  }

  private need(op: Op, inside: Set<Value>): void {
    for (const v of op.operands) {
      if (inside.has(v) || this.defined.has(v)) continue;
      const maker = this.given.makers.get(v);
      const isPure = maker !== undefined && definitionOf(maker.name).effect === "pure";
      expect(isPure, "what tells of tiles is made of them", op);
      this.copy(maker);
    }
    for (const region of op.regions) {
      for (const v of region.arguments) inside.add(v);
      for (const o of region.ops) {
        this.need(o, inside);
        for (const v of o.results) inside.add(v);
      }
    }
  }

  private tiles(): void {
    const { b, given } = this;
    const { kernel, tiles } = given;
    b.span = given.roles.span;
    const each = (of: (rank: number, tiles: Tiles) => void): void =>
      tiles.forEach((t, rank) => {
        b.if(b.compare("eq", b.rank(), b.constant(rank)), () => of(rank, t));
      });
    const isLeaving = tiles[0]!.leaving !== null;
    each((rank, { sent }) => {
      if (sent.kind === "kept") return this.keepAll(sent);
      for (let p = 0; p < kernel.world; p++) {
        if (isLeaving && p === rank) continue;
        if (sent.kind === "packets") this.pack(rank, p, sent);
        else this.send(rank, p, sent);
      }
    });
    const { leaving } = tiles[0]!;
    // A block's threads meet behind its roles.
    if (leaving === null) return void b.op("block_sync", [], {}, null);
    this.meet(leaving.counter);
    each((rank, t) => this.keep(rank, t.sent as Staged, t.leaving!.kept));
  }

  /** Blocks tell all ranks that they have sent, and wait for those of all: see docs/PROOF.md for why what each tile's words tell is enough. */
  private meet(counter: string): void {
    const { b, given } = this;
    const { kernel, ops, roles } = given;
    const { world } = kernel;
    const counted = ops.find((op) => op.name === "load" && buffersNamed(op).includes(counter));
    expect(counted !== undefined, "launches are not counted by each block", roles);
    const launch = b.add(this.values.get(counted.results[0]!), b.constant(1, scalar("u32")));
    const { told } = this;
    const [zero, ranks] = [b.constant(0), b.constant(world)];
    const own = b.add(b.mul(b.op("block", [], {}, INDEX)!, ranks), b.rank());
    b.op("block_sync", [], {}, null);
    const at = { buffer: told, scope: "sys" };
    b.for("threads", [[zero, ranks]], ([peer]) =>
      b.op("signal", [launch, peer!, own], { ...at, mode: "set", order: "release", remote: true }, null),
    );
    b.for("threads", [[zero, b.mul(b.op("grid", [], {}, INDEX)!, ranks)]], ([i]) =>
      b.op("wait", [launch, i!, b.rem(i!, ranks)], { ...at, order: "acquire" }, null),
    );
    b.op("block_sync", [], {}, null);
  }

  /** Elements of the rows of a peer go to its part for this rank. */
  private send(rank: number, peer: number, { buffer, part, made }: Staged): void {
    const { b, given } = this;
    const elements = product(part, given.all);
    this.forPart(part, peer, (i) => {
      const at = this.after(scaled(elements, peer), i);
      b.store(buffer, this.made(made, at, i), [this.after(scaled(elements, rank), i)], b.constant(peer));
    });
  }

  /** All elements stay in their places. */
  private keepAll({ buffer, made }: InPlace): void {
    const { b } = this;
    this.forElements(this.elementsOf(null, 0), (i) => b.store(buffer, this.made(made, i, i), [i]));
  }

  /** Elements of the rows of a peer, or all, go to it in packets, one after the other. */
  private pack(rank: number, peer: number, sent: InPackets): void {
    const { b, given } = this;
    const { part, lanes, share, made, epoch, even, odd, format } = sent;
    const begin = part === null ? ZERO : scaled(product(part, given.all), peer);
    const elements = this.elementsOf(part, peer);
    const [each, packets, covered, left] = this.outside(() => {
      const by = b.constant(lanes);
      const count = b.div(elements, by);
      const all = b.mul(count, by);
      return [by, count, all, b.sub(elements, all)];
    });
    const store = (values: readonly Value[], slot: Value): void => {
      const { length } = values;
      const data = length === 1 ? values[0]! : b.op("pack", values, {}, vector(scalarOf(values[0]!.type), length))!;
      const operands = [data, this.values.get(epoch), b.constant(peer), this.after(scaled(share, rank), slot)];
      b.op("packet_store", operands, { format, even, odd, remote: true }, null);
    };
    const element = (i: Value): Value => this.made(made, this.after(begin, i), i);
    this.forElements(packets, (v) => {
      const first = b.mul(v, each);
      store(
        Array.from({ length: lanes }, (_, l) => element(b.add(first, b.constant(l)))),
        v,
      );
    });
    // Rows are whole packets, so that none is left over: but who takes packets need not know, and takes what is left one by one.
    this.forElements(left, (v) => store([element(b.add(covered, v))], b.add(packets, v)));
  }

  /** Elements of the rank's own rows. */
  private keep(rank: number, { part }: Staged, { stores, made }: Kept): void {
    const { b, given } = this;
    const begin = scaled(product(part, given.all), rank);
    this.forPart(part, rank, (i) => {
      const value = this.made(made, this.after(begin, i), i, begin);
      for (const { buffer, peer, distance } of stores)
        b.store(buffer, value, [this.after(plus(begin, distance), i)], peer === null ? null : b.constant(peer));
    });
  }

  /** A loop over the elements of a rank's rows, by any blocks. */
  private forPart(part: Form, rank: number, body: (i: Value) => void): void {
    this.forElements(this.elementsOf(part, rank), body);
  }

  /** How many elements a rank's part has, or all have. */
  private elementsOf(part: Form | null, rank: number): Value {
    const { b, given } = this;
    const { numbers, rows, all, kernel } = given;
    const isCut = part !== null && equal(part, numbers.rounds(rows, new Map([["", kernel.world]])));
    const h = this.emitted(part ?? rows);
    return this.outside(() => {
      const zero = b.constant(0);
      const count = b.binary("max", isCut ? this.countOf(h, rank) : h, zero);
      return b.mul(count, b.binary("max", this.emitted(all), zero));
    });
  }

  private forElements(length: Value, body: (i: Value) => void): void {
    const { b } = this;
    const [zero, one] = this.outside(() => [b.constant(0), b.constant(1)]);
    b.for("blocks", [[zero, length]], ([o]) => {
      b.for("threads", [[zero, one]], ([t]) => body(b.add(o!, t!)));
    });
  }

  /** Rows of a rank's part that are there. */
  private countOf(h: Value, rank: number): Value {
    const { b } = this;
    const rows = this.emitted(this.given.rows);
    const from = b.binary("min", b.mul(b.constant(rank), h), rows);
    return b.sub(b.binary("min", b.add(from, h), rows), from);
  }

  private after(begin: Form, i: Value): Value {
    return begin.size === 0 ? i : this.b.add(this.emitted(begin), i);
  }

  /** @param at the element's place in the product; @param i in its rank's rows, which begin at `begin` */
  private made(made: Made, at: Value, i: Value, begin: Form = ZERO): Value {
    const { b, given } = this;
    const of = (m: Made): Value => this.made(m, at, i, begin);
    const loaded = (name: string, index: Value): Value =>
      b.load(name, [index], scalar(bufferOf(given.kernel, name).dtype));
    switch (made.kind) {
      case "sum":
        return b.load(this.name, [at], scalar("f32"));
      case "constant":
        return b.constant(made.value, scalar(made.of));
      case "scalar":
        return b.scalar(made.name, made.of as never);
      case "input":
        if (!made.isColumn) return loaded(made.name, at);
        return loaded(
          made.name,
          b.rem(
            i,
            this.outside(() => b.binary("max", this.emitted(given.all), b.constant(0))),
          ),
        );
      case "left":
        return loaded(made.buffer, this.after(plus(begin, made.distance), i));
      case "unary":
        return b.unary(made.fn as never, of(made.a));
      case "binary":
        return b.binary(made.fn as never, of(made.a), of(made.b));
      case "cast":
        return b.cast(of(made.a), made.of);
    }
  }

  /** A number of lengths as ops, before all loops. */
  private emitted(f: Form): Value {
    const key = keyOf(f);
    let value = this.lengths.get(key);
    if (value === undefined) this.lengths.set(key, (value = this.outside(() => this.sum(f))));
    return value;
  }

  /** Ops before all loops. */
  private outside<T>(make: () => T): T {
    const { b } = this;
    const inside = b.ops;
    b.ops = this.top;
    try {
      return make();
    } finally {
      b.ops = inside;
    }
  }

  private sum(f: Form): Value {
    const { b } = this;
    let sum: Value | null = null;
    for (const [key, n] of f) {
      let term: Value | null = n === 1 && key !== "" ? null : b.constant(Math.abs(n));
      for (const name of key === "" ? [] : factors(key)) {
        const of = this.atom(name);
        term = term === null ? of : b.mul(term, of);
      }
      term ??= b.constant(1);
      sum = sum === null ? (n < 0 ? b.sub(b.constant(0), term) : term) : n < 0 ? b.sub(sum, term) : b.add(sum, term);
    }
    return sum ?? b.constant(0);
  }

  private dim(name: string): Value {
    let value = this.dims.get(name);
    if (value === undefined) this.dims.set(name, (value = this.outside(() => this.b.dim(name))));
    return value;
  }

  private atom(name: string): Value {
    const { b, given } = this;
    const { fn, of } = given.numbers.atomNamed(name);
    if (fn.startsWith(DIM)) return this.dim(fn.slice(DIM.length));
    const isKnown = (fn === "div" || fn === "rem" || fn === "min" || fn === "max") && of.length === 2;
    expect(isKnown, "a length is one that is not followed", given.roles);
    return b.binary(fn, this.emitted(of[0]!), this.emitted(of[1]!));
  }
}
