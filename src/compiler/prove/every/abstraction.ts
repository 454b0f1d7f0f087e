/**
 * A part of a stretch without what it is not looked into: lengths, and where intervals begin, as unknowns; peers and address tests by
 * number. Parts that differ in these alone, as those of other ranks, iterations and launches do, are one abstraction, and what
 * is shown of that holds for each of them: it holds whatever an unknown is.
 */
import { memoryOperands, type Op, type Value } from "../../ir/module.js";
import { printType } from "../../ir/types.js";
import { type Expression, type Expressions, isComparison, isNeverNegative, isPlain, isRoot } from "./expressions.js";
import { constant, type Form, minus, parameter, plus, product, substituted, factors } from "./forms.js";
import type { Movement } from "./pieces.js";
import { renamedPlace } from "./places.js";
import { addressTest, startOf } from "./stretches.js";
import type { Part } from "./unrolled.js";

/**
 * What is unknown: each number of dimensions alone, but for what is added to it. Of one that equals the length of a loop that is
 * known, too, where unknowns are `joint`.
 */
export const DEPTHS = ["apart", "joint"] as const;
export type Depth = (typeof DEPTHS)[number];

/** An abstraction of a part, and the way back. */
export class Abstraction {
  /** One text for parts that are one abstraction. */
  readonly key: string;
  /** The ops with the unknowns in place of expressions. */
  readonly part: Part;
  /** What unknowns are, by their number. */
  private readonly unknowns: Expression[] = [];
  private readonly numbers = new Map<string, Expression>();
  private readonly tests = new Map<Expression, Expression>();
  private readonly written = new Map<Expression, Expression>();
  private readonly concrete = new Map<Expression, Expression>();
  private readonly peers: number[] = [];
  /** What the first rotation of peers begins with. */
  private turn: number | null = null;

  constructor(
    private readonly expressions: Expressions,
    part: Part,
    private readonly depth: Depth,
  ) {
    const { ops, makers } = part;
    const values = new Map<Value, Expression>();
    const made = new Map<Value, number>();
    /** Data that one iteration or rank makes is not that of another: what it is made of is written, too. */
    const write = (v: Value): string => {
      const expression = part.values.get(v);
      if (expression !== undefined) {
        const own = this.abstracted(expression);
        values.set(v, own);
        return String(own.id);
      }
      const maker = makers.get(v);
      if (maker === undefined) return "";
      const known = made.get(v);
      if (known !== undefined) return `M${known}`;
      made.set(v, made.size);
      const attributes = Object.entries(maker.attributes).map(([name, value]) => `${name} ${String(value)}`);
      return `${maker.name} ${attributes.join(" ")} ${printType(v.type)}(${maker.operands.map(write).join()})`;
    };
    const all = [...valuesOf(ops)];
    const texts = all.map(write);
    // Where all peers are gone through in turn, their numbers come out of that.
    if (this.turn === null) {
      const owners = ownersOf(ops);
      const peers = all.flatMap((v, i) => {
        const e = owners.has(v) ? values.get(v) : undefined;
        return e === undefined ? [] : [{ v, i, e }];
      });
      for (const { v, i, e } of peers.length === owners.size && peers.every(({ e }) => e.kind === "constant")
        ? peers
        : []) {
        const { value } = e as { value: number };
        if (!this.peers.includes(value)) this.peers.push(value);
        const number = this.peers.indexOf(value);
        texts[i] = `P${number}`;
        values.set(v, expressions.constant(number));
      }
    }
    this.part = { ops, makers, shape: part.shape, values };
    this.key = `${depth} ${part.shape}: ${texts.join(";")}`;
  }

  /** A movement of the abstraction as one of the part. */
  movement(m: Movement): Movement {
    const renamed = (f: Form): Form => this.form(f);
    const ownerOf = (owner: number): number => this.peers[owner] ?? owner;
    const { length } = m;
    return {
      ...m,
      owner: ownerOf(m.owner),
      base: renamed(m.base),
      length: "root" in length ? { root: this.known(this.expressions.numbered(length.root)).id } : length,
      sources: m.sources.map((s) => ({ ...s, owner: ownerOf(s.owner), place: renamedPlace(s.place, renamed) })),
      aligned: m.aligned.map(({ form, lanes }) => ({ form: renamed(form), lanes })),
      divisors: m.divisors.map(renamed),
    };
  }

  // -- there ----------------------------------------------------------------------------------------------------------

  private abstracted(e: Expression): Expression {
    let own = this.written.get(e);
    if (own === undefined) this.written.set(e, (own = this.replaced(e)));
    return own;
  }

  private replaced(e: Expression): Expression {
    const { expressions } = this;
    if (e.kind === "constant") return e;
    if (e.kind === "dim" || e.kind === "unknown") return this.unknown(e, "number");
    if (e.kind === "symbol") return this.test(e);
    if (e.fn === "max" && isRoot(e)) {
      return expressions.apply("max", this.unknown(e.of[0]!, "length"), expressions.constant(0));
    }
    if (this.isUnknown(e)) return this.unknown(e, "number");
    const rotation = rotationOf(e);
    if (rotation !== null) {
      // All blocks go through all peers: with which they begin has no part in what comes out.
      this.turn ??= rotation.by;
      const by = (((rotation.by - this.turn) % rotation.of) + rotation.of) % rotation.of;
      const sum = expressions.apply("add", expressions.symbol("block"), expressions.constant(by));
      return expressions.apply("rem", sum, expressions.constant(rotation.of));
    }
    if (isComparison(e.fn)) {
      // What is asked of a remainder says something of the number.
      const of = e.of.map((x) =>
        x.kind === "apply" && x.fn === "rem" && isPlain(x)
          ? expressions.apply("rem", ...x.of.map((y) => this.abstracted(y)))
          : this.abstracted(x),
      );
      return expressions.apply(e.fn, ...of);
    }
    return expressions.apply(e.fn, ...e.of.map((x) => this.abstracted(x)));
  }

  private isUnknown(e: Expression & { readonly kind: "apply" }): boolean {
    if (!isPlain(e) || !isNumber(e)) return false;
    return !((e.fn === "add" || e.fn === "sub") && e.of.some((x) => x.kind === "constant"));
  }

  private unknown(e: Expression, role: "number" | "length"): Expression {
    const key = this.depth === "apart" ? `${role} ${e.id}` : `${e.id}`;
    let own = this.numbers.get(key);
    if (own === undefined) {
      const isLimited = isNeverNegative(e) && (role === "number" || isPlain(e));
      own = this.expressions.unknown(this.unknowns.push(e) - 1, isLimited);
      this.numbers.set(key, own);
    }
    return own;
  }

  /** A test of the address of a peer's buffer is one of some peer's. */
  private test(e: Expression & { readonly name: string }): Expression {
    const start = startOf(e.name);
    if (start === null) return e;
    const own = this.expressions.symbol(addressTest(start.buffer, start.bytes, `?${this.tests.size}`));
    this.tests.set(own, e);
    return own;
  }

  // -- and back -------------------------------------------------------------------------------------------------------

  /** An expression over unknowns as what it is of. */
  private known(e: Expression): Expression {
    if (e.kind === "unknown") return this.unknowns[e.number]!;
    if (e.kind !== "apply") return this.tests.get(e) ?? e;
    let known = this.concrete.get(e);
    if (known === undefined)
      this.concrete.set(e, (known = this.expressions.apply(e.fn, ...e.of.map((x) => this.known(x)))));
    return known;
  }

  private form(f: Form): Form {
    const by = new Map<string, Form>();
    for (const key of f.keys())
      for (const name of factors(key))
        if (name.startsWith("@")) by.set(name, formOf(this.known(this.expressions.numbered(Number(name.slice(1))))));
    return substituted(f, by);
  }
}

/** An expression as a polynomial in what is no sum and no multiple. */
function formOf(e: Expression): Form {
  if (e.kind === "constant") return constant(e.value);
  if (e.kind === "apply" && !isRoot(e)) {
    const [a, b] = e.of;
    if (e.fn === "add") return plus(formOf(a!), formOf(b!));
    if (e.fn === "sub") return minus(formOf(a!), formOf(b!));
    if (e.fn === "mul" && e.of.some((x) => x.kind === "constant")) return product(formOf(a!), formOf(b!));
  }
  return parameter(`@${e.id}`);
}

/** Whether an expression is no condition. */
function isNumber(e: Expression): boolean {
  if (e.kind !== "apply") return e.kind !== "symbol";
  if (e.fn === "select") return e.of.slice(1).every(isNumber);
  return !isComparison(e.fn) && e.fn !== "and" && e.fn !== "or" && e.fn !== "not";
}

/** (block + a + b + …) % c, of constants. */
function rotationOf(e: Expression): { readonly by: number; readonly of: number } | null {
  if (e.kind !== "apply" || e.fn !== "rem" || e.of[1]!.kind !== "constant") return null;
  let [by, blocks] = [0, 0];
  const isSum = (x: Expression): boolean => {
    if (x.kind === "constant") by += x.value;
    else if (x.kind === "symbol" && x.name === "block") blocks++;
    else return x.kind === "apply" && x.fn === "add" && x.of.every(isSum);
    return true;
  };
  return isSum(e.of[0]!) && blocks === 1 && by >= 0 ? { by, of: e.of[1]!.value } : null;
}

const used = new WeakMap<readonly Op[], ReadonlySet<Value>>();

/** The operands of ops, of those inside them, too. */
export function valuesOf(ops: readonly Op[]): ReadonlySet<Value> {
  const known = used.get(ops);
  if (known !== undefined) return known;
  const all = new Set<Value>();
  const visit = (op: Op): void => {
    op.operands.forEach((v) => all.add(v));
    op.regions.forEach((r) => r.ops.forEach(visit));
  };
  ops.forEach(visit);
  used.set(ops, all);
  return all;
}

/**
 * Values that say whose memory is touched, and nothing else. None where some rank that is touched comes from elsewhere, from a value
 * that is an index or a bound, too, or from a loop inside: its number could be the one of another, and tell no more which of them it is.
 */
function ownersOf(ops: readonly Op[]): ReadonlySet<Value> {
  const [owners, others, peers] = [new Set<Value>(), new Set<Value>(), new Set<Value>()];
  const visit = (op: Op): void => {
    const { peer } = op.name === "load" || op.name === "store" ? memoryOperands(op) : { peer: null };
    if (peer !== null) peers.add(peer);
    // One value may be the peer and the index of one access.
    for (const v of op.operands)
      (v === peer && op.operands.indexOf(v) === op.operands.lastIndexOf(v) ? owners : others).add(v);
    op.regions.forEach((r) => r.ops.forEach(visit));
  };
  ops.forEach(visit);
  for (const v of others) owners.delete(v);
  return [...peers].every((v) => owners.has(v)) ? owners : new Set();
}
