/**
 * Loops over blocks in which the threads of a block meet, as where they add up rows together: an iteration is a *round*, which `block_sync` cuts into
 * *phases*. How many rounds a block has goes by lengths. Nothing in them has to do with other blocks or ranks, so to these they are one
 * stretch, whatever the rounds are. Here they become a tree of loops, conditions and accesses over expressions, for all lengths; what is
 * asked of it is asked in `footprints.ts`.
 */
import { type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js";
import { lanesOf, scalarOf } from "../../ir/types.js";
import type { Span } from "../../source.js";
import { NotShown } from "./conditions.js";
import { type Expression, type Expressions, isComparison } from "./expressions.js";
import type { Make, Part } from "./unrolled.js";

/** A load or store of a round. Expressions are over the variables of loops, too; null of what data decides. */
export interface RoundAccess {
  readonly kind: "access";
  readonly buffer: string;
  readonly isStored: boolean;
  /** Undefined for the rank's own memory. */
  readonly owner: Expression | null | undefined;
  readonly index: Expression | null;
  readonly lanes: number;
  readonly op: Op;
  readonly span: Span;
}

export interface RoundLoop {
  readonly kind: "loop";
  readonly op: Op;
  readonly map: "blocks" | "threads" | "serial";
  /** A symbol. */
  readonly variable: Expression & { readonly kind: "symbol" };
  readonly low: Expression | null;
  readonly high: Expression | null;
  readonly body: readonly RoundNode[];
  /** Divisions, by what is not looked into here, of the variable or a multiple of it. */
  readonly divided: readonly DividedVariable[];
  readonly span: Span;
}

/** A variable, `times` so much, over `by` or modulo it. */
export interface DividedVariable {
  readonly of: Expression;
  readonly fn: "div" | "rem";
  readonly times: number;
  readonly by: Expression;
}

export interface RoundBranch {
  readonly kind: "if";
  readonly condition: Expression | null;
  readonly then: readonly RoundNode[];
  readonly otherwise: readonly RoundNode[];
  readonly span: Span;
}

/** An op that makes data of data. */
export interface RoundValue {
  readonly kind: "value";
  readonly op: Op;
}

export type RoundNode =
  RoundAccess | RoundLoop | RoundBranch | RoundValue | { readonly kind: "meeting"; readonly span: Span };

/** Rounds, as a rank comes to them. */
export interface Rounds {
  readonly op: Op;
  readonly nodes: readonly RoundNode[];
  /** What indices and conditions are, in the rounds and before. */
  readonly values: ReadonlyMap<Value, Expression>;
  /** What makes the values before the rounds. */
  readonly makers: ReadonlyMap<Value, Op>;
  /** One text for equal rounds, by what they touch. */
  readonly key: string;
  /** Which lengths values are made of, as one text. */
  readonly lengths: string;
  readonly span: Span;
}

/** What the names of variables of loops begin with; and those of loops over blocks. */
const VARIABLE = "~";
const ROUND_VARIABLE = "~~";

/** Whether an expression is the variable of a loop in rounds. */
export function isVariable(e: Expression): boolean {
  return e.kind === "symbol" && e.name.startsWith(VARIABLE);
}

/** Whether an expression is made of lengths alone, with nothing to decide. */
export function isOfLengths(e: Expression): boolean {
  if (e.kind !== "apply") return e.kind === "dim" || e.kind === "constant";
  return e.fn !== "select" && !isComparison(e.fn) && e.of.every(isOfLengths);
}

/** Whether an expression is the number of a round. */
export function isRound(e: Expression): boolean {
  return e.kind === "symbol" && e.name.startsWith(ROUND_VARIABLE);
}

/** Of a number of rounds, (all + (rows - 1)) / rows: so many rows in rounds of so many. Null of other numbers. */
export function rowsIn(rounds: Expression): { readonly rows: Expression; readonly all: Expression } | null {
  if (rounds.kind !== "apply" || rounds.fn !== "div") return null;
  const [sum, rows] = rounds.of as readonly [Expression, Expression];
  if (sum.kind !== "apply" || sum.fn !== "add") return null;
  const [all, more] = sum.of as readonly [Expression, Expression];
  const isOneLess =
    more.kind === "constant"
      ? rows.kind === "constant" && rows.value === more.value + 1
      : more.kind === "apply" && more.fn === "sub" && more.of[0] === rows && isOne(more.of[1]!);
  return isOneLess ? { rows, all } : null;
}

function isOne(e: Expression): boolean {
  return e.kind === "constant" && e.value === 1;
}

const known = new WeakMap<Op, boolean>();

/** Whether threads meet in a loop over blocks, in an op in which nothing else synchronises. @param synchronises whether an op does otherwise */
export function hasRounds(op: Op, synchronises: (op: Op) => boolean): boolean {
  let has = known.get(op);
  if (has === undefined) {
    has = meetsInBlocks(op, false) && !op.regions.some((r) => r.ops.some(synchronises));
    known.set(op, has);
  }
  return has;
}

function meetsInBlocks(op: Op, isInBlocks: boolean): boolean {
  if (op.name === "block_sync") return isInBlocks;
  const isIn = isInBlocks || (op.name === "for" && op.attributes["map"] === "blocks");
  return op.regions.some((r) => r.ops.some((o) => meetsInBlocks(o, isIn)));
}

/** Whether the block meets at the end of each round of an op that has rounds, so that all that they do comes before what follows. */
export function endsInMeetings(op: Op): boolean {
  if (op.name === "for" && op.attributes["map"] === "blocks") return op.regions[0]!.ops.at(-1)?.name === "block_sync";
  return op.regions.every((r) => r.ops.every((o) => o.regions.length === 0 || endsInMeetings(o)));
}

/** @throws NotShown */
export function roundsOf(
  kernel: Kernel,
  op: Op,
  outside: Pick<Part, "values" | "makers">,
  expressions: Expressions,
  make: Make,
): Rounds {
  const lifting = new Lifting(kernel, outside.values, expressions, make);
  const nodes = lifting.nodes([op]);
  const { values } = lifting;
  const { makers } = outside;
  const lengths = lengthsIn([op], values, makers);
  return { op, nodes, values, makers, key: nodes.map(keyOfNode).join(";"), lengths, span: op.span };
}

/** Which expressions ops make data of, in them and before them. */
function lengthsIn(ops: readonly Op[], values: Rounds["values"], makers: Rounds["makers"]): string {
  const known = new Set<Value>();
  const found: (number | undefined)[] = [];
  const look = (op: Op): void => {
    for (const v of op.operands) {
      if (known.has(v)) continue;
      known.add(v);
      found.push(values.get(v)?.id);
      const maker = makers.get(v);
      if (maker !== undefined) look(maker);
    }
    op.regions.forEach((r) => r.ops.forEach(look));
  };
  ops.forEach(look);
  return found.join(" ");
}

class Lifting {
  readonly values: Map<Value, Expression>;
  private variables = 0;
  /** Divisions of the variables of loops that are open. */
  private readonly divided: DividedVariable[] = [];

  constructor(
    private readonly kernel: Kernel,
    values: ReadonlyMap<Value, Expression>,
    private readonly expressions: Expressions,
    private readonly make: Make,
  ) {
    this.values = new Map(values);
  }

  nodes(ops: readonly Op[]): readonly RoundNode[] {
    return ops.flatMap((op) => this.node(op) ?? []);
  }

  private expression(v: Value): Expression | null {
    return this.values.get(v) ?? null;
  }

  private node(op: Op): RoundNode | null {
    const { span } = op;
    switch (op.name) {
      case "block_sync":
        return { kind: "meeting", span };
      case "load":
      case "store":
        return this.access(op);
      case "if": {
        const [then, otherwise] = op.regions as readonly [Region, Region];
        const condition = this.expression(op.operands[0]!);
        return { kind: "if", condition, then: this.nodes(then.ops), otherwise: this.nodes(otherwise.ops), span };
      }
      case "for":
      case "reduce":
        return this.loop(op);
      default:
        if (op.regions.length > 0 || op.name.startsWith("packet"))
          throw new NotShown(`there is a '${op.name}' in a round`, span);
        this.value(op);
        return op.results.length > 0 && scalarOf(op.results[0]!.type) !== "index" ? { kind: "value", op } : null;
    }
  }

  private access(op: Op): RoundNode {
    const { peer, indices } = memoryOperands(op);
    const buffer = text(op, "buffer");
    if (indices.length !== 1) throw new NotShown("an index is not linear", op.span);
    return {
      kind: "access",
      buffer,
      isStored: op.name === "store",
      owner: peer === null ? undefined : this.expression(peer),
      index: this.expression(indices[0]!),
      lanes: lanesOf(op.name === "load" ? op.results[0]!.type : op.operands[0]!.type),
      op,
      span: op.span,
    };
  }

  private loop(op: Op): RoundNode {
    const [body] = op.regions as readonly [Region];
    const map = op.name === "reduce" || op.attributes["map"] === "ranks" ? "serial" : op.attributes["map"];
    if (body.arguments.length !== 1 || (map !== "serial" && map !== "blocks" && map !== "threads"))
      throw new NotShown("a loop has several variables", op.span);
    const [low, high] = op.operands.map((v) => this.expression(v)) as [Expression | null, Expression | null];
    const variable = this.expressions.symbol(
      `${map === "blocks" ? ROUND_VARIABLE : VARIABLE}${this.variables++}`,
    ) as RoundLoop["variable"];
    this.values.set(body.arguments[0]!, variable);
    const before = this.divided.length;
    const nodes = this.nodes(body.ops);
    const found = this.divided.splice(before);
    const isOwn = ({ of }: DividedVariable): boolean => of.kind === "apply" && timesOf(of.of[0]!, variable) !== null;
    const divided = found.filter(isOwn);
    this.divided.push(...found.filter((d) => !isOwn(d)));
    return { kind: "loop", op, map, variable, low, high, body: nodes, divided, span: op.span };
  }

  private value(op: Op): void {
    const [result] = op.results;
    if (result === undefined) return;
    const of = op.operands.map((v) => this.values.get(v));
    const made = this.make(op, of);
    if (made === null) return;
    this.values.set(result, made);
    if (made.kind !== "apply" || (made.fn !== "div" && made.fn !== "rem")) return;
    const [a, by] = made.of as readonly [Expression, Expression];
    const times = a.kind === "apply" ? a.of.find(isVariable) : a;
    const count = times === undefined ? null : timesOf(a, times);
    if (count !== null) this.divided.push({ of: made, fn: made.fn, times: count, by });
  }
}

/** How many times a variable an expression is, that is nothing else; null of others. */
function timesOf(e: Expression, variable: Expression): number | null {
  if (!isVariable(variable)) return null;
  if (e === variable) return 1;
  if (e.kind !== "apply" || e.fn !== "mul") return null;
  const [a, b] = e.of;
  const by = a === variable ? b : b === variable ? a : undefined;
  return by?.kind === "constant" ? by.value : null;
}

function keyOfNode(node: RoundNode): string {
  switch (node.kind) {
    case "meeting":
      return "meeting";
    case "value":
      return "";
    case "access":
      return `${node.buffer} ${node.isStored} ${node.owner === null ? "?" : node.owner?.id} ${node.index?.id} ${node.lanes} ${node.span.start}`;
    case "if":
      return `if ${node.condition?.id} (${node.then.map(keyOfNode).join(";")})(${node.otherwise.map(keyOfNode).join(";")})`;
    case "loop":
      return `${node.map} ${node.variable.id} ${node.low?.id} ${node.high?.id} (${node.body.map(keyOfNode).join(";")})`;
  }
}

/** All accesses in nodes. */
export function accessesIn(nodes: readonly RoundNode[]): readonly RoundAccess[] {
  return nodes.flatMap((node) => {
    if (node.kind === "access") return [node];
    if (node.kind === "loop") return accessesIn(node.body);
    return node.kind === "if" ? [...accessesIn(node.then), ...accessesIn(node.otherwise)] : [];
  });
}

/** All loops in nodes. */
export function loopsIn(nodes: readonly RoundNode[]): readonly RoundLoop[] {
  return nodes.flatMap((node) => {
    if (node.kind === "loop") return [node, ...loopsIn(node.body)];
    return node.kind === "if" ? [...loopsIn(node.then), ...loopsIn(node.otherwise)] : [];
  });
}
