/**
 * Loops of a stretch that run a fixed number of times around others, iteration by iteration. A block may go through peers in an
 * order of its own: all that it does for (block + i + k) % c, for c numbers i in a row, it does for all numbers below c. And blocks may
 * go through strips and peers together, in one loop: iteration c · s + q is that of strip s and peer (q + k) % c; or, of one peer, of strip s.
 */
import { type Op, type Region, Value } from "../../ir/module.js";
import { scalarOf } from "../../ir/types.js";
import { addedTo, type Expression, type Expressions, isRoot } from "./expressions.js";
import { stripsOf } from "./strips.js";

/** Ops of a stretch that are followed together, and what the values outside are when a rank comes to them. */
export interface Part {
  readonly ops: readonly Op[];
  readonly values: ReadonlyMap<Value, Expression>;
  /** What makes the other values outside, which are data: numbers, and what is made of them. */
  readonly makers: ReadonlyMap<Value, Op>;
  /** The same for parts with the same ops. */
  readonly shape: string;
}

/** What an op makes of expressions; null where that is none. */
export type Make = (op: Op, of: readonly (Expression | undefined)[]) => Expression | null;

const MOST_ITERATIONS = 64;
const MOST_OPS = 20_000;
/** The variable of a loop whose order goes with the block. */
const TURN = "turn";
/** The variable of a loop through strips and peers. */
const VISIT = "visit";
/** Attribute of a loop over strips, of which any block may take any. */
export const OF_VISITS = "visits";

const numbers = new WeakMap<Op, number>();
let count = 0;

function numberOf(op: Op): number {
  let number = numbers.get(op);
  if (number === undefined) numbers.set(op, (number = count++));
  return number;
}

/** The parts of a stretch: each iteration of such a loop is one, and what is between them. */
export function partsOf(
  ops: readonly Op[],
  outside: Pick<Part, "values" | "makers">,
  expressions: Expressions,
  make: Make,
): readonly Part[] {
  const whole = { ops, values: new Map(outside.values), makers: outside.makers, shape: `${numberOf(ops[0]!)}` };
  const isConstant = (v: Value): boolean => outside.values.get(v)?.kind === "constant";
  const visits = (op: Op): boolean =>
    visitsOf(op, (v) => outside.values.get(v)) !== null || op.regions.some((r) => r.ops.some(visits));
  const mayUnroll = (op: Op): boolean =>
    visits(op) ||
    (isAround(op) && op.operands.every(isConstant)) ||
    (op.name === "if" && isConstant(op.operands[0]!) && op.regions.some((r) => r.ops.some(mayUnroll)));
  if (!ops.some(mayUnroll)) return [whole];
  try {
    return new Unrolling(outside, expressions, make).run(ops);
  } catch (e) {
    if (!(e instanceof NotUnrolled)) throw e;
    return [whole];
  }
}

function isAround(op: Op): boolean {
  const { map } = op.attributes;
  return op.name === "for" && (map === "serial" || map === "ranks") && op.regions[0]!.arguments.length === 1;
}

interface Visits {
  readonly strips: Expression;
  readonly peers: number;
}

/** How many strips a loop goes through, each for so many peers; null of other loops. */
function visitsOf(op: Op, expressionOf: (v: Value) => Expression | undefined): Visits | null {
  if (op.name !== "for" || op.attributes["map"] !== "blocks" || op.operands.length !== 2) return null;
  const [low, high] = op.operands.map(expressionOf);
  if (low?.kind !== "constant" || low.value !== 0 || high?.kind !== "apply") return null;
  const [body] = op.regions as readonly [Region];
  const isZero = (v: Value): boolean => {
    const e = expressionOf(v);
    return e?.kind === "constant" && e.value === 0;
  };
  if (stripsOf(body.ops, body.arguments[0]!, isZero) !== null) return { strips: high, peers: 1 };
  if (high.fn !== "mul") return null;
  const [strips, peers] = high.of as readonly [Expression, Expression];
  if (peers.kind !== "constant" || peers.value > MOST_ITERATIONS) return null;
  const isDivided = body.ops.some(
    (o) =>
      o.attributes["fn"] === "div" && o.operands[0] === body.arguments[0] && expressionOf(o.operands[1]!) === peers,
  );
  return isDivided ? { strips, peers: peers.value } : null;
}

class NotUnrolled extends Error {}

/** A loop whose variable is a turn: of so many, and which number stands for it now. */
interface Turn {
  readonly of: number;
  readonly now: number;
  /** What is added to the block and the turn where that was seen first. */
  first: number | null;
}

class Unrolling {
  private readonly parts: Part[] = [];
  private readonly values: Map<Value, Expression>;
  private readonly makers: Map<Value, Op>;
  private readonly renamed = new Map<Value, Value>();
  /** Values in which a turn is left that is no peer. */
  private readonly turning = new Set<Value>();
  private turn: Turn | null = null;
  private visit: { readonly of: number; readonly now: number; readonly strip: Value } | null = null;
  private ops: Op[] = [];
  private shape: (number | string)[] = [];
  private made = 0;

  constructor(
    { values, makers }: Pick<Part, "values" | "makers">,
    private readonly expressions: Expressions,
    private readonly make: Make,
  ) {
    this.values = new Map(values);
    this.makers = new Map(makers);
  }

  run(ops: readonly Op[]): readonly Part[] {
    this.top(ops);
    this.close();
    return this.parts.map((p) => ({ ...p, values: this.values, makers: this.makers }));
  }

  private close(): void {
    const { values, makers } = this;
    if (this.ops.length > 0) this.parts.push({ ops: this.ops, values, makers, shape: this.shape.join(" ") });
    this.ops = [];
    this.shape = [];
  }

  private value(v: Value): Value {
    return this.renamed.get(v) ?? v;
  }

  private expression(v: Value): Expression | undefined {
    return this.values.get(this.value(v));
  }

  /** Ops around which there is no loop over elements. */
  private top(ops: readonly Op[]): void {
    for (const op of ops) {
      const of = op.operands.map((v) => this.expression(v));
      const isFixed = of.every((e) => e?.kind === "constant");
      if (this.isExpression(op)) continue;
      const visits = visitsOf(op, (v) => this.expression(v));
      if (visits !== null)
        for (let now = 0; now < visits.peers; now++) {
          this.close();
          this.ops.push(this.visits(op, visits, now));
          this.close();
        }
      else if (isAround(op) && isFixed) this.loop(op);
      else if (op.name === "if" && isFixed) this.top(op.regions[(of[0] as { value: number }).value !== 0 ? 0 : 1]!.ops);
      else if (op.regions.length === 0 && op.results.length === 1 && op.name !== "load") {
        const copy = this.copy(op);
        this.makers.set(copy.results[0]!, copy);
      } else {
        const at = this.shape.length;
        this.ops.push(this.copy(op));
        this.shape.splice(at, 0, ";");
      }
    }
  }

  private loop(op: Op): void {
    const [low, high] = op.operands.map((v) => (this.expression(v) as { value: number }).value) as [number, number];
    if (high - low > MOST_ITERATIONS) throw new NotUnrolled();
    this.close();
    const [body] = op.regions as readonly [Region];
    const before = this.parts.length;
    const outer = this.turn;
    try {
      let first: number | null = null;
      for (let i = 0; i < high - low; i++) {
        this.turn = { of: high - low, now: i, first };
        this.iteration(body, this.expressions.symbol(TURN));
        first = this.turn.first;
      }
    } catch (e) {
      if (!(e instanceof NotUnrolled)) throw e;
      this.parts.length = before;
      this.ops = [];
      this.shape = [];
      this.turn = outer;
      for (let i = low; i < high; i++) this.iteration(body, this.expressions.constant(i));
    }
    this.turn = outer;
  }

  /** What a loop through strips and peers does for one peer: a loop over strips. */
  private visits(op: Op, { strips, peers }: Visits, now: number): Op {
    const [body] = op.regions as readonly [Region];
    const [variable] = body.arguments as readonly [Value];
    const valued = (e: Expression): Value => {
      const value = new Value(variable.type);
      this.values.set(value, e);
      return value;
    };
    const strip = new Value(variable.type);
    // Of one peer, iterations are strips.
    const own = peers === 1 ? strip : valued(this.expressions.symbol(VISIT));
    this.renamed.set(variable, own);
    if (own !== strip) this.turning.add(own);
    this.visit = { of: peers, now, strip };
    this.shape.push(OF_VISITS, numberOf(op), "(");
    const ops = this.copies(body.ops);
    this.shape.push(")");
    this.visit = null;
    const operands = [valued(this.expressions.constant(0)), valued(strips)];
    const region = { arguments: [strip], ops: this.withLength(ops, strip) };
    return { ...op, operands, attributes: { ...op.attributes, [OF_VISITS]: peers }, regions: [region] };
  }

  /** What strips are cut from as a length, which is not negative: of one that is, nothing is left either. */
  private withLength(ops: readonly Op[], strip: Value): readonly Op[] {
    const isZero = (v: Value): boolean => this.values.get(v) === this.expressions.constant(0);
    const strips = stripsOf(ops, strip, isZero);
    const length = strips === null ? undefined : this.values.get(strips.length);
    if (strips === null || length === undefined || isRoot(length)) return ops;
    const own = new Value(strips.length.type);
    this.values.set(own, this.expressions.apply("max", length, this.expressions.constant(0)));
    return ops.map((op) => (op === strips.left ? { ...op, operands: [own, op.operands[1]!] } : op));
  }

  private iteration(body: Region, variable: Expression): void {
    const own = new Value(body.arguments[0]!.type);
    this.renamed.set(body.arguments[0]!, own);
    this.values.set(own, variable);
    if (variable.kind === "symbol") this.turning.add(own);
    this.top(body.ops);
    this.close();
  }

  /** Whether an op is an expression of what is known. */
  private isExpression(op: Op): boolean {
    const [result] = op.results;
    if (result === undefined || op.regions.length > 0 || op.name === "load") return false;
    const kind = scalarOf(result.type);
    if (kind !== "index" && kind !== "bool") return false;
    const of = op.operands.map((v) => this.expression(v));
    const isTurning = op.operands.some((v) => this.turning.has(this.value(v)));
    if (isTurning && this.isStrip(op, of)) {
      this.renamed.set(result, this.visit!.strip);
      return true;
    }
    const made = (isTurning ? (this.visited(op, of) ?? this.peer(op, of)) : null) ?? this.make(op, of);
    if (made === null) return false;
    const own = new Value(result.type);
    this.renamed.set(result, own);
    this.values.set(own, made);
    if (isTurning && made.kind !== "constant") this.turning.add(own);
    return true;
  }

  /** c · s + q over c. */
  private isStrip(op: Op, [a, by]: readonly (Expression | undefined)[]): boolean {
    if (this.visit === null || op.attributes["fn"] !== "div" || a?.kind !== "symbol" || a.name !== VISIT) return false;
    return by?.kind === "constant" && by.value === this.visit.of;
  }

  /** (c · s + q + k) % c. */
  private visited(op: Op, [a, by]: readonly (Expression | undefined)[]): Expression | null {
    const { visit } = this;
    if (visit === null || op.attributes["fn"] !== "rem" || by?.kind !== "constant" || by.value !== visit.of)
      return null;
    const k = a === undefined ? null : addedTo(a, VISIT);
    return k === null ? null : this.expressions.constant((visit.now + k) % visit.of);
  }

  /** (block + turn + k) % c as the number that stands for it. */
  private peer(op: Op, [a, by]: readonly (Expression | undefined)[]): Expression | null {
    const { turn } = this;
    if (op.attributes["fn"] !== "rem" || turn === null || by?.kind !== "constant" || by.value !== turn.of) return null;
    const k = a === undefined ? null : addedTo(a, "block", TURN);
    if (k === null) return null;
    turn.first ??= k;
    return this.expressions.constant((turn.now + (((k - turn.first) % turn.of) + turn.of)) % turn.of);
  }

  private copies(ops: readonly Op[]): Op[] {
    return ops.flatMap((op) => {
      if (this.isExpression(op)) return [];
      const visits = this.visit === null ? visitsOf(op, (v) => this.expression(v)) : null;
      return visits === null
        ? [this.copy(op)]
        : Array.from({ length: visits.peers }, (_, now) => this.visits(op, visits, now));
    });
  }

  /** An op with values of its own, and what it is made of noted in the shape. */
  private copy(op: Op): Op {
    if (++this.made > MOST_OPS || op.operands.some((v) => this.turning.has(this.value(v)))) throw new NotUnrolled();
    this.shape.push(numberOf(op));
    const operands = op.operands.map((v) => this.value(v));
    const regions = op.regions.map((region) => {
      const own = region.arguments.map((a) => new Value(a.type));
      region.arguments.forEach((a, i) => this.renamed.set(a, own[i]!));
      this.shape.push("(");
      const ops = this.copies(region.ops);
      this.shape.push(")");
      return { arguments: own, ops };
    });
    const results = op.results.map((v) => new Value(v.type));
    op.results.forEach((v, i) => this.renamed.set(v, results[i]!));
    return { ...op, operands, regions, results };
  }
}
