/**
 * What movers send in one turn, a part of their rank's rows to one rank, as a kernel by itself: it copies a run of elements, one after the other. Elements of rows
 * are counted through by one number, of which the kernel that is looked at makes a row and a place in it, and this one makes nothing.
 */
import { Builder } from "../../../ir/builder.js";
import {
  bufferOf,
  isRemote,
  type Kernel,
  memoryOperands,
  type Op,
  type Region,
  text,
  type Value,
} from "../../../ir/module.js";
import { BOOL, lanesOf } from "../../../ir/types.js";
import { problemsOf } from "../../../ir/verify.js";
import { Substitution } from "../../../ir/visit.js";
import { WIDEST_ACCESS } from "../../../machine/architectures.js";
import type { SignatureTensor } from "../../../manifest.js";
import { DTYPES } from "../../../types/dtype.js";
import { NotShown } from "../conditions.js";
import { constant, constantOf, equal, type Form, isConstant, keyOf, plus, product, ZERO } from "../forms.js";
import { expect, type Follow, type Makers, refuse } from "./follow.js";
import { Shares } from "./mover-rows.js";

/** The part of a rank's rows that goes to one rank. */
export interface Run {
  /** The rank's rows, and where those of all come together. */
  readonly own: string;
  readonly gathered: string;
  readonly peer: Form;
  readonly rows: Form;
  /** Elements of a row, from which one on, and how many. */
  readonly all: Form;
  readonly from: Form;
  readonly width: Form;
  /** The first element of the rank's rows where all come together. */
  readonly begin: Form;
}

/** The dimension of the kernels that are made: how many elements there are. */
export const LENGTH = "length";

const [FROM, TO] = ["from", "to"] as const;

/**
 * The kernel that copies a run as the blocks that send do.
 * @throws NotShown for what is no copy of the run
 */
export function sending(follow: Follow, makers: Makers, ops: readonly Op[], run: Run): Kernel {
  const around = ops[0];
  if (around === undefined) throw new NotShown("nothing is sent", follow.kernel.body.ops[0]!.span);
  const body = new Sending(follow, makers, run, around).make(ops);
  const { kernel } = follow;
  const { dtype } = bufferOf(kernel, run.own);
  const shape = [LENGTH];
  const tensor = (name: string): SignatureTensor => {
    return { name, dtype, layout: { kind: "replicated" }, shape, localShape: shape };
  };
  const { name, blockThreads, maxBlocks, dtypes } = kernel;
  const made: Kernel = {
    ...{ name, level: "device", world: 1, dtypes, dims: [LENGTH], scalars: [], mesh: [], requirements: [] },
    ...{ inputs: [tensor(FROM)], outputs: [tensor(TO)], specification: [{ kind: "input", name: FROM }] },
    buffers: [
      { name: FROM, role: "input", dtype, shape, symmetric: false },
      { name: TO, role: "output", dtype, shape, symmetric: false },
    ],
    ...{ blockThreads, maxBlocks, work: [LENGTH], body },
  };
  const [problem] = problemsOf(made);
  if (problem !== undefined) throw new NotShown(`what is sent is no kernel: ${problem.message}`, around.span);
  return made;
}

/** A store of a row, whichever row it is. */
interface Sent {
  readonly op: Op;
  /** Rows that its place is made of. */
  readonly rows: ReadonlySet<string>;
  /** What is alike in all copies of the same store. */
  readonly key: string;
}

class Sending {
  private readonly b: Builder;
  private readonly top: Op[];
  /** Values that do not differ in loops. */
  private readonly outer = new Map<Value, Value>();
  private values = new Substitution();
  private readonly varying = new Map<Value, boolean>();
  /** Conditions that hold where an op stands. */
  private holding: readonly Form[] = [];
  /** The condition of all choices; null before the first. */
  private chosen: Form | null = null;
  private readonly length: Form;
  private readonly shares: Shares;

  constructor(
    private readonly follow: Follow,
    private readonly makers: Makers,
    private readonly run: Run,
    around: Op,
  ) {
    this.b = new Builder(around.span);
    this.top = this.b.ops;
    this.length = product(run.rows, run.width);
    // A number that is known may be another one, too.
    expect(!isConstant(this.length), "a part of rows is of a known length", around);
    this.shares = new Shares(follow, makers);
  }

  make(ops: readonly Op[]): Region {
    this.choices(this.follow.effectsOf(ops));
    return { arguments: [], ops: this.top };
  }

  /** Choices, and loops of a block over its rows: those that follow each other go through them together. */
  private choices(ops: readonly Op[]): void {
    for (let at = 0; at < ops.length;) {
      const op = ops[at]!;
      if (op.name === "if") {
        this.choice(op);
        at++;
        continue;
      }
      const end = ops.findIndex((o, i) => i >= at && o.name !== "for");
      const loops = ops.slice(at, end < 0 ? ops.length : end);
      if (loops.length === 0) refuse(op);
      for (const share of this.shares.of(loops)) this.rows(share.loops, share);
      at += loops.length;
    }
  }

  /** A choice between wide accesses and others: both are right where buffers begin where they may. */
  private choice(op: Op): void {
    const { b, follow, run } = this;
    const condition = follow.of(op.operands[0]!);
    const [then, otherwise] = op.regions as readonly [Region, Region];
    if (isConstant(condition)) return this.choices(follow.effects(constantOf(condition) !== 0 ? then : otherwise));
    // All choices of a run are one: ways on which they differ are not looked at.
    this.chosen ??= condition;
    expect(equal(condition, this.chosen), "what is sent depends on several things", op);
    const parts = follow.numbers.partsOf(condition);
    const begins = [
      [run.own, FROM],
      [run.gathered, TO],
    ].map(([name, as]) => {
      const isAsked = parts.some((p) => equal(p, follow.begins(name!, WIDEST_ACCESS)));
      expect(isAsked, "what is sent depends on other things than where buffers begin", op);
      return b.op("aligned", [], { buffer: as!, bytes: WIDEST_ACCESS }, BOOL)!;
    }) as [Value, Value];
    const { holding } = this;
    b.if(
      b.binary("and", ...begins),
      () => {
        this.holding = [...holding, ...parts];
        this.choices(follow.effects(then));
        this.holding = holding;
      },
      () => this.choices(follow.effects(otherwise)),
    );
  }

  /** Loops over a block's rows, the last of them row by row, as one over the rows of all blocks. */
  private rows(loops: readonly Op[], { from, count }: { readonly from: Value | null; readonly count: Value }): void {
    const { b } = this;
    const last = loops.at(-1)!;
    const begin = from === null ? b.constant(0) : this.of(from);
    const seen: Sent[] = [];
    const look = (loop: Op, row: Value, found: Sent[]): void => {
      for (const v of this.shares.rowsIn(loop)) {
        this.values.set(v, row);
        this.varying.set(v, true);
      }
      this.inRow(loop.regions[0]!, (sent) => found.push(sent));
    };
    b.for("blocks", [[begin, this.endOf(from, begin, count)]], ([row]) => look(last, row!, seen));
    // Loops that take several rows at a time do with each what that one does.
    for (const loop of loops.slice(0, -1)) {
      const stores: Sent[] = [];
      const { ops } = b;
      b.ops = [];
      look(loop, begin, stores);
      b.ops = ops;
      const rows = new Set(this.shares.rowsIn(loop).map((v) => this.shares.keyOf(v)));
      const isEach = [...rows].every((row) => stores.filter((s) => s.rows.has(row)).length === seen.length);
      const isAlike = stores.every((s) => s.rows.size === 1 && s.key === seen[0]?.key);
      expect(seen.length === 1 && stores.length === rows.size && isEach && isAlike, "rows are not sent alike", loop);
    }
  }

  /** So many behind the first: where they are what is left up to a number, that number. */
  private endOf(from: Value | null, begin: Value, count: Value): Value {
    if (from === null) return this.of(count);
    const rest = this.makers.get(count);
    const [end, less] = rest?.attributes["fn"] === "sub" ? rest.operands : [];
    const isUpTo = less !== undefined && equal(this.follow.of(less), this.follow.of(from));
    return isUpTo ? this.of(end!) : this.b.add(begin, this.of(count));
  }

  /** Loops of a row's threads. */
  private inRow(region: Region, seen: (sent: Sent) => void): void {
    const { b, follow } = this;
    for (const op of follow.effects(region)) {
      if (op.name !== "for" || op.attributes["map"] !== "threads") refuse(op);
      const bounds = op.operands.map((v) => keyOf(follow.of(v))).join(" ");
      const [from, to] = op.operands.map((v) => this.of(v)) as [Value, Value];
      const [argument] = op.regions[0]!.arguments as readonly [Value];
      follow.set(argument, follow.numbers.named("thread of a run", -Infinity));
      this.varying.set(argument, true);
      b.for("threads", [[from, to]], ([i]) => {
        const { values } = this;
        this.values = new Substitution(values);
        this.values.set(argument, i!);
        for (const inner of follow.effects(op.regions[0]!)) {
          if (inner.name === "load") this.load(inner);
          else if (inner.name === "store") seen(this.store(inner, bounds));
          else refuse(inner);
        }
        this.values = values;
      });
    }
  }

  private load(op: Op): void {
    const { run, b } = this;
    expect(text(op, "buffer") === run.own && !isRemote(op) && op.operands.length === 1, "something else is sent than the rank's rows", op); // prettier-ignore
    const e = this.elementOf(op, op.operands[0]!, run.from, run.own);
    this.values.set(op.results[0]!, b.load(FROM, [this.of(e)], op.results[0]!.type));
    this.varying.set(op.results[0]!, true);
  }

  private store(op: Op, bounds: string): Sent {
    const { run, b, follow, makers, shares } = this;
    const { value, peer, indices } = memoryOperands(op);
    const isTo = text(op, "buffer") === run.gathered && peer !== null && equal(follow.of(peer), run.peer);
    expect(isTo && indices.length === 1, "rows are sent elsewhere", op);
    const load = makers.get(value!);
    const loaded = load?.name === "load" ? this.values.get(value!) : value;
    expect(load !== undefined && loaded !== value, "something else is sent than the rank's rows", op);
    const e = this.elementOf(op, indices[0]!, plus(run.begin, run.from), run.gathered);
    b.store(TO, loaded!, [this.of(e)]);
    // An element of the rows goes to its own place.
    const rows = new Set([...shares.rowsOf(indices[0]!), ...shares.rowsOf(load.operands[0]!)]);
    const isCopy = equal(follow.of(e), follow.of(this.counted(load.operands[0]!)!));
    expect(isCopy, "an element is sent to another place", op);
    return { op, rows, key: `${bounds} ${lanesOf(value!.type)} ${keyOf(follow.of(e))}` };
  }

  /** The number in the run of an element, whose place is `begin` and its row and column from there on. */
  private elementOf(op: Op, index: Value, begin: Form, buffer: string): Value {
    const { follow, run } = this;
    const { numbers } = follow;
    const e = this.counted(index);
    expect(e !== null, "an element is sent of another place", op);
    const at = follow.of(e);
    const [row, column] = [numbers.apply("div", at, run.width), numbers.apply("rem", at, run.width)];
    const isPlace = equal(follow.of(index), plus(begin, plus(product(row, run.all), column)));
    expect(isPlace, "an element is sent of another place", op);
    this.checkLanes(op, begin, buffer);
    return e;
  }

  /** What a row is made of in an index: the number that is divided by the length of one. */
  private counted(index: Value): Value | null {
    const op = this.makers.get(index);
    if (op?.name !== "binary") return null;
    const fn = op.attributes["fn"];
    if (fn === "div" || fn === "rem")
      return equal(this.follow.of(op.operands[1]!), this.run.width) ? op.operands[0]! : null;
    if (fn !== "add" && fn !== "mul") return null;
    return op.operands.map((v) => this.counted(v)).find((v) => v !== null) ?? null;
  }

  /** The lanes of a vector lie in one row, and where vectors may; in the kernel that is made, it begins at a multiple of its lanes. */
  private checkLanes(op: Op, begin: Form, buffer: string): void {
    const { follow, run, holding } = this;
    const { numbers } = follow;
    const lanes = lanesOf(op.name === "load" ? op.results[0]!.type : op.operands[0]!.type);
    if (lanes === 1) return;
    const isGiven = (f: Form): boolean => (isConstant(f) ? constantOf(f) === 1 : holding.some((h) => equal(h, f)));
    const isMultiple = (f: Form): boolean =>
      isGiven(numbers.apply("eq", numbers.apply("rem", f, constant(lanes)), ZERO));
    expect([run.width, run.all, begin].every(isMultiple), "a row may end within a vector", op);
    const isOne = lanes * DTYPES[bufferOf(follow.kernel, buffer).dtype].bytes <= WIDEST_ACCESS;
    expect(isOne && isGiven(follow.begins(buffer, WIDEST_ACCESS)), "a vector may lie where none may", op);
  }

  /** A value as the kernel that is made has it. */
  private of(v: Value): Value {
    const known = this.values.get(v);
    if (known !== v) return known;
    const made = this.outer.get(v);
    if (made !== undefined) return made;
    if (this.varies(v)) {
      const value = this.made(v);
      this.values.set(v, value);
      return value;
    }
    const { ops } = this.b;
    this.b.ops = this.top;
    const value = this.known(v) ?? this.made(v);
    this.b.ops = ops;
    this.outer.set(v, value);
    return value;
  }

  /** Whether a value is one of a loop. */
  private varies(v: Value): boolean {
    let varies = this.varying.get(v);
    if (varies === undefined) {
      varies = this.makers.get(v)?.operands.some((o) => this.varies(o)) ?? false;
      this.varying.set(v, varies);
    }
    return varies;
  }

  /** What has another name in the kernel that is made. */
  private known(v: Value): Value | null {
    const form = this.follow.of(v);
    if (isConstant(form)) return this.b.constant(constantOf(form), v.type);
    const { b } = this;
    return equal(form, this.length) ? b.binary("max", b.dim(LENGTH), b.constant(0)) : null;
  }

  private made(v: Value): Value {
    const { b } = this;
    const op = this.makers.get(v);
    if (op === undefined) throw new NotShown("a number is one of another loop", b.span);
    const fn = op.attributes["fn"] as never;
    const of = (i: number): Value => this.of(op.operands[i]!);
    if (op.name === "binary") return b.binary(fn, of(0), of(1));
    if (op.name === "compare") return b.compare(fn, of(0), of(1));
    return refuse(op);
  }
}
