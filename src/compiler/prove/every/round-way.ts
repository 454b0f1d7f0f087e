/** One way through rounds: in one box of lengths, with conditions decided, what each phase touches, for all rounds and iterations at once. */
import { bufferOf, type Kernel, type Op } from "../../ir/module.js";
import { WIDEST_ACCESS } from "../../machine/architectures.js";
import { DTYPES } from "../../types/dtype.js";
import type { Span } from "../../source.js";
import { boundOf, type Counter, digitsOf, exactQuotient } from "./bounds.js";
import { demand, NotShown } from "./conditions.js";
import { addedTo, type Expression, NotAffine } from "./expressions.js";
import {
  constant,
  constantOf,
  factors,
  type Form,
  isConstant,
  minus,
  ONE,
  parameter,
  plus,
  product,
  rangeOf,
  Undecided,
} from "./forms.js";
import { COUNTER, type RoundValues } from "./round-values.js";
import { FixedRound, Round, roundOf } from "./rewritings.js";
import { isOfLengths, type RoundAccess, type RoundBranch, type RoundLoop, type RoundNode, rowsIn } from "./rounds.js";

/** Which rank's memory: a number, -1 for its own; or one of so many, in an order that goes with the block. */
export type RoundOwner = number | { readonly by: number; readonly of: number };

/** A loop over threads: each number that it counts is one thread's. */
export interface RoundThreads {
  readonly loop: RoundLoop;
  /** What it counts, from 0 on, over counters; and how many there are, where that is a polynomial. */
  readonly number: Form;
  readonly count: Form | null;
  /** Names of the counters that are digits of the number. */
  readonly names: ReadonlySet<string>;
}

/** An access of one phase. */
export interface RoundTouch {
  readonly access: RoundAccess;
  readonly owner: RoundOwner;
  /** Over lengths, the round, and counters. */
  readonly index: Form;
  /** Outer ones first. */
  readonly counters: readonly Counter[];
  /** Null for what all threads do. */
  readonly threads: RoundThreads | null;
  readonly phase: number;
  /** The least and the greatest element, over lengths and the round. */
  readonly first: Form;
  readonly last: Form;
}

/** What a thread does in a round, one after the other. A loop that folds something is noted where it has ended; null of one without iterations. */
export type RoundStep =
  | { readonly kind: "touch"; readonly touch: RoundTouch }
  | { readonly kind: "value"; readonly op: Op; readonly counters: readonly Counter[] }
  | {
      readonly kind: "fold";
      readonly op: Op;
      readonly counter: Counter | null;
      /** With its own behind all others. */
      readonly counters: readonly Counter[];
    };

export class RoundWay {
  readonly touches: RoundTouch[] = [];
  readonly steps: RoundStep[] = [];
  /** How often the block meets in a round. */
  meetings = 0;
  /** The number of the round; null where there is none on this way. */
  round: Form | null = null;
  /** Rows of a round, and all rows, as the loop has them. */
  division: { readonly rows: Form; readonly all: Form } | null = null;
  private readonly counters: Counter[] = [];
  private threads: RoundThreads | null = null;
  /** One loop over blocks is followed. */
  private hasLoop = false;
  private names = 0;

  constructor(
    private readonly kernel: Kernel,
    nodes: readonly RoundNode[],
    private readonly values: RoundValues,
  ) {
    this.nodes(nodes);
  }

  private get ranges(): RoundValues["box"]["ranges"] {
    return this.values.box.ranges;
  }

  private nodes(nodes: readonly RoundNode[]): void {
    for (const node of nodes) this.node(node);
  }

  private node(node: RoundNode): void {
    switch (node.kind) {
      case "meeting":
        if (this.round === null || this.counters.length > 0)
          throw new NotShown("threads of a block meet in a loop inside of a round", node.span);
        this.meetings++;
        return;
      case "if":
        return this.branch(node);
      case "loop":
        return node.map === "blocks" ? this.rounds(node) : this.loop(node);
      case "access":
        return this.access(node);
      case "value":
        this.steps.push({ kind: "value", op: node.op, counters: [...this.counters] });
    }
  }

  private branch({ condition, then, otherwise, span }: RoundBranch): void {
    if (condition === null) throw new NotShown("data decides what is touched", span);
    this.nodes(this.asked(span, () => this.values.holds(condition, span)) ? then : otherwise);
  }

  private asked<T>(span: Span, ask: () => T): T {
    try {
      return ask();
    } catch (x) {
      if (x instanceof Undecided) throw new NotShown("lengths are compared in a way that is not followed", span);
      if (x instanceof NotAffine) throw new NotShown(`there is ${x.what}`, span);
      throw x;
    }
  }

  private value(e: Expression | null, span: Span, what: string): Form {
    if (e === null) throw new NotShown(what, span);
    return this.asked(span, () => this.values.of(e));
  }

  // -- loops ----------------------------------------------------------------------------------------------------------

  /** Any one round. */
  private rounds({ variable, low, high, body, span }: RoundLoop): void {
    if (this.hasLoop || this.counters.length > 0)
      throw new NotShown("loops lie inside each other in another way", span);
    this.hasLoop = true;
    const begin = this.value(low, span, "data decides about a loop");
    if (begin.size > 0) throw new NotShown("rounds are not counted from 0", span);
    if (high === null) throw new NotShown("data decides about a loop", span);
    // A box is written for it on all ways.
    if (!isOfLengths(high)) throw new NotShown("addresses decide how many rounds there are", span);
    const counted = rowsIn(high);
    const [rows, all] = [counted === null ? ONE : this.value(counted.rows, span, ""), this.value(counted?.all ?? high, span, "")]; // prettier-ignore
    const round = this.values.box.names.get(roundOf(high));
    const hasRows = this.asked(span, () => this.values.isAtLeastZero(minus(rows, ONE)));
    if (!hasRows) throw new NotShown("a round may have no rows", span);
    if (round === undefined) throw this.counted(roundOf(high), rows, all, span);
    this.values.set(variable, round);
    const left = minus(all, product(round, rows));
    if (!this.asked(span, () => this.values.isAtLeastZero(minus(left, ONE)))) return;
    this.round = round;
    this.division = { rows, all };
    this.nodes(body);
  }

  /** The box with the number of a round, which has rows before it and rows left. */
  private counted(called: string, rows: Form, all: Form, span: Span): Error {
    if (isConstant(all)) return new FixedRound(called, Math.max(1, constantOf(all)));
    for (const [name, times] of all) {
      const more = new Map([...all].filter(([key]) => key !== name));
      const isAlone = [...more.keys(), ...rows.keys()].every((key) => !factors(key).includes(name));
      if (name !== "" && times === 1 && this.ranges.has(name) && isAlone) return new Round(called, name, rows, more);
    }
    return new NotShown("how many rounds there are is not followed", span);
  }

  private loop(node: RoundLoop): void {
    const { low, span, map } = node;
    if (this.round === null) throw new NotShown("a loop lies outside of the rounds", span);
    if (map === "threads" && this.threads !== null)
      throw new NotShown("loops lie inside each other in another way", span);
    const begin = this.value(low, span, "data decides about a loop");
    const { times, limit, isWhole } = this.ends(node, begin);
    const count = minus(limit, begin);
    if (times === ONE && this.hasNone(count)) {
      if (node.op.name === "reduce")
        this.steps.push({ kind: "fold", op: node.op, counter: null, counters: [...this.counters] });
      return;
    }
    const name = `${COUNTER}${this.names++}`;
    const depth = this.counters.length;
    let number: Form = parameter(name);
    const names = new Set<string>();
    if (map === "threads" && node.divided.length > 0) {
      if (times !== ONE || begin.size > 0) throw new NotShown("a division of what threads count is not followed", span);
      number = this.digits(node, name, count);
    } else this.counters.push({ name, times, limit: times === ONE ? count : limit, isWhole });
    for (const counter of this.counters.slice(depth)) names.add(counter.name);
    this.values.set(node.variable, plus(begin, number));
    if (map === "threads") {
      this.threads = { loop: node, number, count: times === ONE ? count : null, names };
    }
    this.nodes(node.body);
    if (map === "threads") this.threads = null;
    if (node.op.name === "reduce")
      this.steps.push({ kind: "fold", op: node.op, counter: this.counters[depth]!, counters: [...this.counters] });
    this.counters.length = depth;
  }

  /** What a loop counts up to; of a quotient that is no polynomial, what is divided, and by what. */
  private ends({ high, span }: RoundLoop, begin: Form): Omit<Counter, "name"> {
    if (high === null) throw new NotShown("data decides about a loop", span);
    try {
      return { times: ONE, limit: this.values.of(high), isWhole: true };
    } catch (x) {
      if (!(x instanceof Undecided || x instanceof NotAffine)) throw x;
      if (high.kind !== "apply" || high.fn !== "div" || begin.size > 0)
        throw new NotShown("how often a loop runs is not followed", span);
      const [a, times] = high.of.map((e) => this.value(e, span, "")) as [Form, Form];
      const whole = this.asked(span, () => this.values.wholeUpTo(high));
      const limit = whole ?? a;
      if (!this.asked(span, () => this.values.isAtLeastZero(minus(times, ONE))))
        throw new NotShown("there is a division by what may be 0", span);
      return { times, limit, isWhole: whole !== null };
    }
  }

  /** Whether a loop has no iterations, whatever is around it. */
  private hasNone(count: Form): boolean {
    // What may have some is followed as if it had.
    return rangeOf(boundOf(count, this.counters, true, this.ranges), this.ranges).high <= 0;
  }

  /** What threads count as a number of rows and a place in a row; each division by the length of a row then is one of the two. */
  private digits({ divided, span }: RoundLoop, name: string, count: Form): Form {
    const [first] = divided as readonly [RoundLoop["divided"][number]];
    const length = this.value(first.by, span, "data decides about a row");
    const row = exactQuotient(length, constant(first.times));
    const rows = row === null ? null : exactQuotient(count, row);
    const isAlike = divided.every(({ by, times }) => by === first.by && times === first.times);
    if (rows === null || row === null || !isAlike) throw new NotShown("a loop goes through parts of rows", span);
    const digits = digitsOf(name, rows, row);
    this.counters.push(...digits);
    const [q, r] = digits.map((c) => parameter(c.name)) as [Form, Form];
    for (const { of, fn, times } of divided) this.values.set(of, fn === "div" ? q : product(r, constant(times)));
    return plus(product(q, row), r);
  }

  // -- accesses -------------------------------------------------------------------------------------------------------

  private access(access: RoundAccess): void {
    const { buffer, lanes, span, isStored } = access;
    if (this.round === null) throw new NotShown("an element is touched outside of the rounds", span);
    if (isStored && this.threads === null) throw new NotShown("all threads store an element", span);
    const index = this.value(access.index, span, `data decides where '${buffer}' is touched`);
    const [first, last] = this.asked(span, () => [
      boundOf(index, this.counters, false, this.ranges),
      plus(boundOf(index, this.counters, true, this.ranges), constant(lanes - 1)),
    ]);
    if (lanes > 1) this.checkVector(access, index);
    const { counters, threads, meetings: phase } = this;
    const touch = { access, owner: this.owner(access), index, counters: [...counters], threads, phase, first: first!, last: last! }; // prettier-ignore
    this.touches.push(touch);
    this.steps.push({ kind: "touch", touch });
  }

  private checkVector({ buffer: name, lanes, span }: RoundAccess, index: Form): void {
    const buffer = bufferOf(this.kernel, name);
    const may = Math.min(lanes * DTYPES[buffer.dtype].bytes, WIDEST_ACCESS);
    // Shared buffers begin at multiples of far more.
    const begins = buffer.role === "shared" ? may : (this.values.starts.get(name) ?? 1);
    demand("starts", begins % may === 0, `nothing shows that '${name}' begins where vectors may`, span);
    const isMultiple = this.values.isMultiple(index, may / DTYPES[buffer.dtype].bytes);
    demand("vectors", isMultiple, "nothing shows that a vector is where vectors begin", span);
  }

  private owner({ owner, span }: RoundAccess): RoundOwner {
    if (owner === undefined) return -1;
    if (owner === null) throw new NotShown("data decides which rank is meant", span);
    if (owner.kind === "constant") {
      const isThere = owner.value >= 0 && owner.value < this.kernel.world;
      demand("inside", isThere, "a rank is meant that may be none of those that there are", span);
      return owner.value;
    }
    if (owner.kind === "apply" && owner.fn === "rem" && owner.of[1]!.kind === "constant") {
      const [by, of] = [addedTo(owner.of[0]!, "block"), owner.of[1]!.value];
      if (by !== null && of > 0 && of <= this.kernel.world) return { by: by % of, of };
    }
    throw new NotShown("lengths decide which rank is meant", span);
  }
}
