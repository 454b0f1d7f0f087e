/**
 * A part of a stretch without what it is not looked into: lengths, and where intervals and slots begin, as unknowns; peers and address tests by
 * number; packets in the copy of their slots that even launches take. Parts that differ in these alone, as those of other ranks, iterations and launches do, are one abstraction, and what
 * is shown of that holds for each of them: it holds whatever an unknown is.
 */
import { isRemote, memoryOperands, type Op, text, type Value } from "../../ir/module.js";
import { greatestCommon } from "../../types/requirement.js";
import { lanesOf, printType } from "../../ir/types.js";
import {
  addedTo,
  type Expression,
  type Expressions,
  isComparison,
  isNeverNegative,
  isPlain,
  isRoot,
} from "./expressions.js";
import { constant, type Form, minus, parameter, plus, product, substituted, factors } from "./forms.js";
import { packetsAt, packetsOf } from "./packets.js";
import type { Movement, Source } from "./pieces.js";
import { renamedCounted, renamedPlace } from "./places.js";
import { addressTest, copyOf, EVEN_EPOCH, startOf } from "./stretches.js";
import { renamedTaker } from "./takers.js";
import type { Part } from "./unrolled.js";

/**
 * What is unknown: each number of dimensions alone, but for what is added to it. Of one that equals the length of a loop that is
 * known, too, where unknowns are `joint`. Of `parts`, that such a number of them is another unknown.
 */
export const DEPTHS = ["apart", "joint", "parts"] as const;
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
  /** By the copy that even launches take, the one that odd launches do. Null where that is not one for each, and where there are none. */
  private readonly copies: ReadonlyMap<string, string> | null;
  private readonly slots: ReadonlyMap<Value, Slots>;
  private isOdd = false;
  private readonly sources = new Map<readonly Source[], readonly Source[]>();
  /** What the first rotation of peers begins with. */
  private turn: number | null = null;

  constructor(
    private readonly expressions: Expressions,
    part: Part,
    private readonly depth: Depth,
    world: number,
  ) {
    const { ops, makers } = part;
    this.copies = copiesIn(ops);
    this.slots = slotsIn(part);
    const values = new Map<Value, Expression>();
    const made = new Map<Value, number>();
    /** Data that one iteration or rank makes is not that of another: what it is made of is written, too. */
    const write = (v: Value): string => {
      const expression = part.values.get(v);
      if (expression !== undefined) {
        const own = this.counted(v, expression);
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
      // One that there is not, is refused as what it is.
      const isRank = (e: Expression): boolean => e.kind === "constant" && e.value >= 0 && e.value < world;
      for (const { v, i, e } of peers.length === owners.size && peers.every(({ e }) => isRank(e)) ? peers : []) {
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
    const sourceOf = ({ buffer, owner, place }: Source): Source => ({
      buffer: this.buffer(buffer),
      owner: ownerOf(owner),
      place: renamedPlace(place, renamed),
    });
    // What is sent to all peers is made of the same.
    let sources = this.sources.get(m.sources);
    if (sources === undefined) this.sources.set(m.sources, (sources = m.sources.map(sourceOf)));
    return {
      ...m,
      buffer: this.buffer(m.buffer),
      owner: ownerOf(m.owner),
      base: renamed(m.base),
      turns: m.turns.map((c) => renamedCounted(c, renamed)),
      length: "root" in length ? { root: this.known(this.expressions.numbered(length.root)).id } : length,
      sources,
      covered: m.covered.map(renamed),
      aligned: m.aligned.map(({ form, lanes }) => ({ form: renamed(form), lanes })),
      divisors: m.divisors.map(renamed),
      takers: m.takers.map((t) => renamedTaker(t, renamed)),
    };
  }

  // -- there ----------------------------------------------------------------------------------------------------------

  /** What slots are counted from begins at a whole packet, wherever that is. */
  private counted(v: Value, e: Expression): Expression {
    const slots = this.slots.get(v);
    if (slots === undefined) return this.abstracted(e);
    const { expressions } = this;
    const by = expressions.constant(slots.lanes);
    return expressions.apply("mul", this.unknown(expressions.apply("div", e, by), slots.of), by);
  }

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

  /** @param role one expression may be several unknowns, each in a role of its own */
  private unknown(e: Expression, role: string): Expression {
    const isJoint = this.depth !== "apart" && (role === "number" || role === "length");
    const isOfParts = isJoint && this.depth === "parts";
    if (isOfParts && e.kind === "apply" && e.fn === "div") {
      const [of, by] = e.of as [Expression, Expression];
      const isPart = by.kind === "constant" && by.value > 0 && this.expressions.multipleOf(of) % by.value === 0;
      if (isPart && of.kind === "dim") return this.expressions.apply("div", this.unknown(of, role), by);
    }
    const key = isJoint ? `${e.id}` : `${role} ${e.id}`;
    let own = this.numbers.get(key);
    if (own === undefined) {
      const isLimited = isNeverNegative(e) && (role !== "length" || isPlain(e));
      // Of others nothing is asked but whether they are multiples where one says so.
      const whole = isJoint || role === "length" ? wholeVectors(this.expressions, e) : 1;
      const divisor = isOfParts ? this.expressions.multipleOf(e) : whole;
      own = this.expressions.unknown(this.unknowns.push(e) - 1, isLimited, divisor);
      this.numbers.set(key, own);
    }
    return own;
  }

  /** A test of the address of a peer's buffer is one of some peer's. */
  private test(e: Expression & { readonly name: string }): Expression {
    if (this.copies !== null && copyOf(e) === "odd") {
      this.isOdd = true;
      return this.expressions.symbol(EVEN_EPOCH);
    }
    const start = startOf(e.name);
    if (start === null) return e;
    const own = this.expressions.symbol(addressTest(start.buffer, start.bytes, `?${this.tests.size}`));
    this.tests.set(own, e);
    return own;
  }

  private buffer(name: string): string {
    const packets = this.isOdd ? packetsAt(name) : null;
    return packets === null ? name : packetsOf(this.copies!.get(packets.buffer)!, packets);
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

/** The most lanes of a vector: of bytes. */
const MOST_LANES = 16;

/** What a length is a multiple of, of those that vectors may have lanes: whether loops need a tail of single elements goes by nothing else. */
export function wholeVectors(expressions: Expressions, length: Expression): number {
  return greatestCommon(MOST_LANES, expressions.multipleOf(length));
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
  const by = addedTo(e.of[0]!, "block");
  return by === null ? null : { by, of: e.of[1]!.value };
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
    const isAccess = op.name === "load" || op.name === "store";
    const isSent = op.name === "packet_store" && isRemote(op);
    const peer = isAccess ? memoryOperands(op).peer : isSent ? op.operands[2]! : null;
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

const packetOps = new WeakMap<Op, readonly Op[]>();

/** Ops that store packets or take them. */
function packetOpsIn(ops: readonly Op[]): readonly Op[] {
  return ops.flatMap((op) => {
    let known = packetOps.get(op);
    if (known === undefined) {
      const own = op.name === "packet_load" || op.name === "packet_store" ? [op] : [];
      packetOps.set(op, (known = [...own, ...op.regions.flatMap((r) => packetOpsIn(r.ops))]));
    }
    return known;
  });
}

function copiesIn(ops: readonly Op[]): ReadonlyMap<string, string> | null {
  const copies = new Map<string, string>();
  for (const op of packetOpsIn(ops)) {
    const [even, odd] = [text(op, "even"), text(op, "odd")];
    if ((copies.get(even) ?? odd) !== odd) return null;
    copies.set(even, odd);
  }
  return copies.size > 0 && new Set(copies.values()).size === copies.size ? copies : null;
}

/** What slots of packets are counted from. */
interface Slots {
  /** It is a multiple of so many. */
  readonly lanes: number;
  /** Ops that it goes to. */
  readonly of: string;
}

/** What slots are counted from, by values that numbers of packets are added to, and that go nowhere else. */
function slotsIn({ ops, values }: Part): ReadonlyMap<Value, Slots> {
  const lanes = Math.max(0, ...packetOpsIn(ops).map((op) => lanesOf((op.results[0] ?? op.operands[0]!).type)));
  if (lanes === 0) return new Map();
  const uses = new Map<Value, Op[]>();
  const note = (op: Op): void => {
    for (const v of op.operands) {
      const list = uses.get(v);
      if (list === undefined) uses.set(v, [op]);
      else list.push(op);
    }
    op.regions.forEach((r) => r.ops.forEach(note));
  };
  ops.forEach(note);
  /** Buffers whose slots it goes to; null where it goes elsewhere. */
  const goesTo = (v: Value, to: Set<string>): Set<string> | null =>
    (uses.get(v) ?? []).every((op) => isUse(op, v, to)) ? to : null;
  const isUse = (op: Op, v: Value, to: Set<string>): boolean => {
    if (op.operands.indexOf(v) !== op.operands.lastIndexOf(v)) return false;
    if (op.name === "packet_store" || op.name === "packet_load") {
      to.add(`${op.name} ${text(op, "even")}`);
      return op.operands[op.name === "packet_load" ? 1 : op.operands.length - 1] === v;
    }
    const isCounted = op.name === "binary" && (op.attributes["fn"] === "add" || op.operands[0] === v);
    return isCounted && ["add", "sub", "div"].includes(text(op, "fn")) && goesTo(op.results[0]!, to) !== null;
  };
  const slots = new Map<Value, Slots>();
  for (const v of valuesOf(ops)) {
    const e = values.get(v);
    if (e === undefined || (e.kind === "constant" && e.value !== 0) || !isPlain(e) || !isNeverNegative(e)) continue;
    const to = [...formOf(e).values()].every((n) => n % lanes === 0) ? goesTo(v, new Set()) : null;
    if (to !== null) slots.set(v, { lanes, of: [...to].sort().join() });
  }
  return slots;
}
