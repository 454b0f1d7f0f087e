/**
 * Whether all blocks synchronise alike, so that one block and two stand for any number of them (docs/PROOF.md, "Every number
 * of blocks"). The numbers of the block and of the grid may say which row of flags and of counts a block has, which rows it
 * waits for, its own or those of all blocks, and which rows of the counts it keeps for later launches; and that it is the
 * last block, which has flags that no other has; nothing else.
 */
import { foldBinary, foldCompare } from "../../ir/functions.js";
import { bufferOf, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js";
import type { BinaryFunction, Comparison } from "../../ir/ops.js";
import {
  constant,
  constantOf,
  equal,
  type Form,
  isConstant,
  minus,
  parameter,
  plus,
  product,
  scaled,
} from "./forms.js";
import { NotShown } from "./conditions.js";
import { synchronises, touches } from "./stretches.js";

/** A number over these three. */
const BLOCK = "block";
const GRID = "grid";
/** A row of flags that is any block's: a loop goes through all of them. */
const ROW = "row";
/** block + 1 - grid */
const BEHIND_LAST: Form = new Map([
  [BLOCK, 1],
  ["", 1],
  [GRID, -1],
]);

/**
 * What is known of a value: a number; that it is the same for all blocks; a number modulo the grid; the condition that a row is
 * the block's modulo the grid; the condition that the block is the last; a comparison with the grid. Undefined where it is something else.
 */
type Known = Form | "alike" | { readonly modulo: Form } | { readonly ownRow: Form } | "last" | "compared" | undefined;

/**
 * Says whether the last block has a part of its own.
 * @throws NotShown where the number of a block, or how many there are, decides about more than rows and who is the last
 */
export function checkBlocksAlike(kernel: Kernel): boolean {
  let hasLast = false;
  for (let rank = 0; rank < kernel.world; rank++) {
    const blocks = new Blocks(kernel, rank);
    blocks.region(kernel.body, null);
    hasLast ||= blocks.hasLast;
  }
  return hasLast;
}

class Blocks {
  private readonly values = new Map<Value, Known>();
  /** Inside a loop that goes through the rows of all blocks. */
  private isInRows = false;
  /** Where the last block alone is. */
  private isLast = false;
  /** By buffer of flags: whether they are the last block's. */
  private readonly flagsOfLast = new Map<string, boolean>();
  /** Places of rows that a loop keeps, by the op that does; null outside of one. */
  private kept: Map<Op, Set<number>> | null = null;

  constructor(
    private readonly kernel: Kernel,
    private readonly rank: number,
  ) {}

  /** @param ownRow a row that is the block's modulo the grid where the ops run */
  region({ ops }: Region, ownRow: number | null): void {
    for (const op of ops) {
      // What else touches tensors does not synchronise.
      if (synchronises(this.kernel, op)) this.synchronising(op, ownRow);
      else if (!touches(this.kernel, op)) this.pure(op);
    }
  }

  get hasLast(): boolean {
    return [...this.flagsOfLast.values()].includes(true);
  }

  private fail(op: Op): never {
    throw new NotShown("blocks do not all synchronise alike", op.span);
  }

  private get(v: Value): Known {
    return this.values.get(v);
  }

  private numberOf(v: Value): number | null {
    const known = this.get(v);
    return isForm(known) && isConstant(known) ? constantOf(known) : null;
  }

  private synchronising(op: Op, ownRow: number | null): void {
    switch (op.name) {
      case "block_sync":
        return;
      case "signal":
      case "wait":
        return this.flag(op, ownRow);
      case "load":
      case "store":
        return this.count(op, ownRow);
      case "for":
        return this.loop(op, ownRow);
      case "if":
        return this.branch(op, ownRow);
      default:
        return this.fail(op);
    }
  }

  private flag(op: Op, ownRow: number | null): void {
    const { peer, indices } = memoryOperands(op);
    const [value, at, from] = op.operands;
    const slot = op.name === "wait" ? at! : indices[0]!;
    const others = op.name === "wait" ? [value!, from!] : [value!, ...(peer === null ? [] : [peer])];
    const buffer = text(op, "buffer");
    if ((this.flagsOfLast.get(buffer) ?? this.isLast) !== this.isLast) this.fail(op);
    this.flagsOfLast.set(buffer, this.isLast);
    if (this.isLast) {
      if (ownRow !== null || this.isInRows || ![slot, ...others].every((v) => isAlike(this.get(v)))) this.fail(op);
      return;
    }
    const isOwn = this.isInRow(op, this.get(slot), BLOCK);
    if (ownRow !== null || !others.every((v) => isAlike(this.get(v)))) this.fail(op);
    if (op.name === "signal" && this.isInRows) this.fail(op);
    if (!isOwn && !(op.name === "wait" && this.isInRow(op, this.get(slot), ROW))) this.fail(op);
  }

  /** Whether an index is in the row of a buffer that has this number. */
  private isInRow(op: Op, index: Known, row: string): boolean {
    const length = this.rowOf(op);
    if (!isForm(index)) return false;
    const within = minus(index, scaled(parameter(row), length));
    return isConstant(within) && constantOf(within) >= 0 && constantOf(within) < length;
  }

  /** A block's count of epochs, in its row of what outlives the launch or in a register. */
  private count(op: Op, ownRow: number | null): void {
    if (this.isLast) this.fail(op);
    const { value, indices } = memoryOperands(op);
    const { role } = bufferOf(this.kernel, text(op, "buffer"));
    const index = this.get(indices[0]!);
    const isKept = role !== "state" || this.isInRow(op, index, BLOCK) || this.isOwnRow(op, index, ownRow);
    if ((role !== "state" && role !== "register") || !isKept) this.fail(op);
    if (role === "register" && !(isForm(index) && isConstant(index))) this.fail(op);
    if (value !== null && (this.isInRows || !isAlike(this.get(value)))) this.fail(op);
    for (const result of op.results) this.values.set(result, "alike");
  }

  /** A place in a row that is the block's modulo the grid: to be kept for a launch with more blocks. */
  private isOwnRow(op: Op, index: Known, ownRow: number | null): boolean {
    if (!isForm(index) || !isConstant(index) || ownRow === null || this.kept === null) return false;
    const at = constantOf(index);
    this.kept.set(op, (this.kept.get(op) ?? new Set()).add(at));
    return Math.floor(at / this.rowOf(op)) === ownRow;
  }

  /** Flags or counts of a row. */
  private rowOf(op: Op): number {
    const { shape } = bufferOf(this.kernel, text(op, "buffer"));
    return shape.slice(1).reduce<number>((a, n) => a * (typeof n === "number" ? n : NaN), 1);
  }

  private loop(op: Op, ownRow: number | null): void {
    const [body] = op.regions as readonly [Region];
    const map = op.attributes["map"];
    if (body.arguments.length !== 1 || map === "blocks") this.fail(op);
    const [variable] = body.arguments as readonly [Value];
    const [low, high] = op.operands.map((v) => this.numberOf(v));
    if (low === null || low === undefined) return this.fail(op);
    if (high !== null && high !== undefined) {
      const outer = this.kept;
      if (map === "threads") this.kept = new Map();
      for (let i = low; i < high; i++) {
        this.values.set(variable, constant(i));
        this.region(body, ownRow);
      }
      // A row that is left out would be some block's alone.
      for (const [store, places] of this.kept ?? [])
        if (places.size !== this.kernel.maxBlocks * this.rowOf(store)) this.fail(op);
      this.kept = outer;
      return;
    }
    // So many for each block: those of any one.
    const count = this.get(op.operands[1]!);
    if (low !== 0 || !isForm(count) || map !== "threads" || this.isLast) return this.fail(op);
    const each = count.get(GRID);
    if (each === undefined || count.size !== 1 || this.isInRows) return this.fail(op);
    this.isInRows = true;
    for (let i = 0; i < each; i++) {
      this.values.set(variable, plus(scaled(parameter(ROW), each), constant(i)));
      this.region(body, ownRow);
    }
    this.isInRows = false;
  }

  private branch(op: Op, ownRow: number | null): void {
    const [then, otherwise] = op.regions as readonly [Region, Region];
    const condition = this.get(op.operands[0]!);
    if (condition === "alike") {
      this.region(then, ownRow);
      return this.region(otherwise, ownRow);
    }
    if (isForm(condition) && isConstant(condition))
      return this.region(constantOf(condition) !== 0 ? then : otherwise, ownRow);
    if (condition === "last") {
      if (otherwise.ops.length > 0 || ownRow !== null || this.isInRows || this.isLast) this.fail(op);
      this.isLast = true;
      this.region(then, null);
      this.isLast = false;
      return;
    }
    const isRow = typeof condition === "object" && "ownRow" in condition && isConstant(condition.ownRow);
    if (!isRow || otherwise.ops.length > 0) return this.fail(op);
    this.region(then, constantOf(condition.ownRow));
  }

  private pure(op: Op): void {
    const [result] = op.results;
    if (result !== undefined && op.regions.length === 0) this.values.set(result, this.made(op));
  }

  private made(op: Op): Known {
    const of = op.operands.map((v) => this.get(v));
    switch (op.name) {
      case "const":
        return constant(op.attributes["value"] as number);
      case "rank":
        return constant(this.rank);
      case "block":
        return parameter(BLOCK);
      case "grid":
        return parameter(GRID);
      case "dim":
      case "launch_parity":
      case "aligned":
      case "scalar":
        return of.every(isAlike) ? "alike" : undefined;
      case "binary":
      case "compare":
        return combined(op.name, text(op, "fn"), of[0], of[1]);
      case "select":
        if (isForm(of[0]) && isConstant(of[0])) return of[constantOf(of[0]) !== 0 ? 1 : 2];
        return of.every(isAlike) ? "alike" : undefined;
      default:
        return of.every(isAlike) ? "alike" : undefined;
    }
  }
}

function isForm(known: Known): known is Form {
  return known instanceof Map;
}

/** Whether a value is the same for all blocks, whatever it is. */
function isAlike(known: Known): boolean {
  return known === "alike" || (isForm(known) && isConstant(known));
}

function combined(op: "binary" | "compare", fn: string, a: Known, b: Known): Known {
  if (isAlike(a) && isAlike(b)) {
    if (!isForm(a) || !isForm(b)) return "alike";
    const [x, y] = [constantOf(a), constantOf(b)];
    const folded =
      op === "compare" ? Number(foldCompare(fn as Comparison, x, y)) : foldBinary(fn as BinaryFunction, x, y);
    return folded === undefined ? "alike" : constant(folded);
  }
  if (fn === "and") {
    // Where a row is the block's own and something else holds as well, it is the block's own.
    const one = [a, b].find((k) => typeof k === "object" && "ownRow" in k);
    const other = one === a ? b : a;
    return one !== undefined && (other === "compared" || isAlike(other)) ? one : undefined;
  }
  if (fn === "eq") {
    if (op === "compare" && isForm(a) && isForm(b) && equal(minus(a, b), BEHIND_LAST)) return "last";
    const [modulo, block] = isForm(a) ? [b, a] : [a, b];
    const isBlock = isForm(block) && equal(block, parameter(BLOCK));
    return isBlock && typeof modulo === "object" && "modulo" in modulo ? { ownRow: modulo.modulo } : undefined;
  }
  if (!isForm(a) || !isForm(b)) return undefined;
  if (op === "compare") return equal(b, parameter(GRID)) && isConstant(a) ? "compared" : undefined;
  switch (fn) {
    case "add":
      return plus(a, b);
    case "sub":
      return minus(a, b);
    case "mul":
      return product(a, b);
    case "div":
    case "rem":
      if (fn === "rem" && equal(b, parameter(GRID)) && isConstant(a)) return { modulo: a };
      return isConstant(b) ? divisionOf(fn, a, constantOf(b)) : undefined;
    default:
      return undefined;
  }
}

/** By a number that divides what goes with blocks and rows. */
function divisionOf(fn: "div" | "rem", a: Form, by: number): Known {
  const rest = constantOf(a);
  const rows = minus(a, constant(rest));
  if (by <= 0 || rest < 0 || [...rows.values()].some((n) => n < 0 || n % by !== 0)) return undefined;
  if (fn === "rem") return constant(rest % by);
  return plus(new Map([...rows].map(([key, n]) => [key, n / by])), constant(Math.floor(rest / by)));
}
