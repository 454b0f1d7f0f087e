/** Which rows of elements each block of movers takes: every so many one, as many blocks as send. */
import type { Op, Value } from "../../../ir/module.js";
import { walk } from "../../../ir/visit.js";
import {
  constant,
  constantOf,
  equal,
  factors,
  type Form,
  isConstant,
  keyOf,
  minus,
  ONE,
  plus,
  scaled,
  ZERO,
} from "../forms.js";
import { argumentOf, expect, type Follow, type Makers } from "./follow.js";
import { BLOCK, type Numbers } from "./numbers.js";

/** Loops that follow each other, in which the blocks that send go through rows, each of which one block takes. */
export interface Share {
  readonly loops: readonly Op[];
  /** The first row; null where that is 0. And how many there are. */
  readonly from: Value | null;
  readonly count: Value;
}

/** A row that a block takes. */
interface Row {
  /** The block's number of it. */
  readonly number: Value;
  /** What is before the rows of all blocks; null of nothing. */
  readonly from: Value | null;
}

export class Shares {
  /** How many blocks send: all but the last, or the only one. */
  private readonly senders: Form;
  /** How many rows a block takes, by the value that says so. */
  private readonly counts = new Map<Value, Value>();
  private readonly known = new Map<Op, readonly Value[]>();
  private readonly rows = new Map<Value, Row>();
  private readonly ofLoops = new Map<Op, Map<Value, boolean>>();

  constructor(
    private readonly follow: Follow,
    private readonly makers: Makers,
  ) {
    const { numbers } = follow;
    this.senders = numbers.apply("max", minus(numbers.named("grid"), ONE), ONE);
  }

  /** Loops that follow each other, by the rows that they go through: the last of each goes row by row to the end of the block's. */
  of(loops: readonly Op[]): readonly Share[] {
    const shares: Share[] = [];
    let begun: Op[] = [];
    for (const loop of loops) {
      expect(loop.attributes["map"] === "serial", "rows are sent in a way that is not followed", loop);
      begun.push(loop);
      const of = this.countOf(loop.operands[1]!);
      if (of === null) continue;
      shares.push({ loops: begun, from: this.goesThrough(begun), count: of });
      begun = [];
    }
    if (begun.length > 0) expect(false, "a block sends other rows than its own", begun[0]!);
    return shares;
  }

  /** How many rows there are for all blocks, of which a number says how many a block takes; null of other numbers. */
  private countOf(v: Value): Value | null {
    const known = this.counts.get(v);
    if (known !== undefined) return known;
    const { follow, makers } = this;
    const { numbers } = follow;
    const choice = makers.get(v);
    const isChoice = choice?.name === "select" && this.isSending(choice.operands[0]!);
    if (!isChoice || !equal(follow.of(choice.operands[2]!), ZERO)) return null;
    const operand = (u: Value | undefined, fn: string): Value | undefined => {
      const op = u === undefined ? undefined : makers.get(u);
      return op?.attributes["fn"] === fn ? op.operands[0] : undefined;
    };
    const all = operand(operand(operand(operand(choice.operands[1], "div"), "add"), "max"), "sub");
    if (all === undefined) return null;
    const left = numbers.apply("max", minus(follow.of(all), numbers.named(BLOCK)), ZERO);
    const own = numbers.apply("div", plus(left, minus(this.senders, ONE)), this.senders);
    if (!equal(follow.of(choice.operands[1]!), own)) return null;
    // So many there are, of any number.
    follow.set(v, numbers.named(`rows ${this.counts.size} of a block`));
    this.counts.set(v, all);
    return all;
  }

  /** Whether a value says that the block is one of those that send. */
  private isSending(v: Value): boolean {
    const { numbers } = this.follow;
    const isSending = numbers.isPositive(minus(this.senders, numbers.named(BLOCK)));
    return this.makers.get(v)?.name === "compare" && equal(this.follow.of(v), isSending);
  }

  /** Asks whether loops go through all numbers of a block's rows, each once. @returns the first row of all */
  private goesThrough(loops: readonly Op[]): Value | null {
    const { follow } = this;
    const { numbers } = follow;
    const froms: (Value | null)[] = [];
    let done: Form = ZERO;
    for (const [i, loop] of loops.entries()) {
      const variable = numbers.named(`iteration ${i} of a run`, -Infinity);
      follow.set(argumentOf(loop), variable);
      const [low, high] = loop.operands.map((v) => follow.of(v)) as [Form, Form];
      const rows = this.rowsIn(loop).map((v) => this.rows.get(v)!);
      froms.push(...rows.map((r) => r.from));
      const taken = new Set(rows.map((r) => keyOf(follow.of(r.number))));
      const many = taken.size;
      // Those of one iteration are neighbours, and so are those of two.
      const begin = plus(done, scaled(minus(variable, low), many));
      const isEach = Array.from({ length: many }, (_, j) => keyOf(plus(begin, constant(j)))).every((key) => taken.has(key)); // prettier-ignore
      const isForward = many > 0 && isNatural(numbers, minus(high, low));
      expect(isEach && isForward && (many === 1) === (loop === loops.at(-1)), "a block sends other rows than its own", loop); // prettier-ignore
      done = plus(done, scaled(minus(high, low), many));
    }
    const last = loops.at(-1)!;
    expect(equal(done, follow.of(last.operands[1]!)), "a block sends other rows than its own", last);
    const formOf = (v: Value | null): Form => (v === null ? ZERO : follow.of(v));
    const isOne = froms.every((v) => equal(formOf(v), formOf(froms[0]!)));
    expect(isOne, "a block sends other rows than its own", last);
    // Which row it is says nothing from here on.
    for (const loop of loops)
      for (const v of this.rowsIn(loop)) follow.set(v, numbers.named("row of a run", -Infinity));
    return froms[0]!;
  }

  /** Values in a loop that are rows. */
  rowsIn(loop: Op): readonly Value[] {
    let known = this.known.get(loop);
    if (known !== undefined) return known;
    const found: Value[] = [];
    walk(loop.regions[0]!, (op) => {
      const [result] = op.results;
      const row = result === undefined ? null : this.rowOf(result, loop);
      if (row === null) return;
      this.rows.set(result!, row);
      found.push(result!);
    });
    this.known.set(loop, (known = found));
    return known;
  }

  /** Rows that a value is made of. */
  rowsOf(v: Value): readonly string[] {
    const found: string[] = [];
    const seen = new Set<Value>();
    const visit = (u: Value): void => {
      if (this.rows.has(u)) found.push(this.keyOf(u));
      else if (!seen.has(u)) {
        seen.add(u);
        this.makers.get(u)?.operands.forEach(visit);
      }
    };
    visit(v);
    return found;
  }

  /** One text for the rows of one number. */
  keyOf(row: Value): string {
    return keyOf(this.follow.of(this.rows.get(row)!.number));
  }

  /** Whether a value is a block's number and so many times as many rows as blocks send. */
  private rowOf(v: Value, loop: Op): Row | null {
    const { follow, makers } = this;
    const op = makers.get(v);
    if (op?.attributes["fn"] !== "add") return null;
    const [first, further] = op.operands as readonly [Value, Value];
    const times = makers.get(further);
    if (times?.attributes["fn"] !== "mul" || !this.isOfLoop(times.operands[0]!, loop)) return null;
    const [number, by] = times.operands as readonly [Value, Value];
    if (this.isOfLoop(by, loop) || this.isOfLoop(first, loop) || !equal(follow.of(by), this.senders)) return null;
    const isBlock = (u: Value): boolean => makers.get(u)?.name === "block";
    if (isBlock(first)) return { number, from: null };
    const sum = makers.get(first);
    const [from, block] = sum?.attributes["fn"] === "add" ? sum.operands : [];
    return block !== undefined && isBlock(block) ? { number, from: from! } : null;
  }

  /** Whether a value is made of the variable of a loop. */
  private isOfLoop(v: Value, loop: Op): boolean {
    let known = this.ofLoops.get(loop);
    if (known === undefined) this.ofLoops.set(loop, (known = new Map()));
    let is = known.get(v);
    if (is === undefined) {
      const isVariable = loop.regions[0]!.arguments.includes(v);
      is = isVariable || (this.makers.get(v)?.operands.some((o) => this.isOfLoop(o, loop)) ?? false);
      known.set(v, is);
    }
    return is;
  }
}

/** Whether a number is never below 0, where quotients by constants are subtracted from what is divided. */
function isNatural(numbers: Numbers, f: Form): boolean {
  if (numbers.least(f) >= 0) return true;
  for (const [key, n] of f) {
    if (key === "" || factors(key).length !== 1) continue;
    const atom = numbers.atomNamed(key);
    const { of } = atom;
    if (atom.fn !== "div" || !isConstant(of[1]!) || constantOf(of[1]!) < 1 || !isNatural(numbers, of[0]!)) continue;
    const quotient: Form = new Map([[key, 1]]);
    const by = constantOf(of[1]!);
    if (n > 0 && isNatural(numbers, minus(f, scaled(quotient, n)))) return true;
    const times = -n / by;
    // What is left over is not below 0.
    const rest = plus(f, minus(scaled(quotient, -n), scaled(of[0]!, times)));
    if (n < 0 && Number.isInteger(times) && isNatural(numbers, rest)) return true;
  }
  return false;
}
