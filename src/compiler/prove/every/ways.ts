/**
 * What a stretch does to elements, whatever its loops are: each store goes to an interval of a buffer, once to each element,
 * and what is stored is one expression of elements at a fixed distance. Loops over strips, blocks, threads and vectors are
 * digits of one number; that they count through an interval without a gap and without a repetition is shown here, for every
 * length and with all conditions that lengths and addresses decide taken both ways.
 */
import {
  bufferOf,
  isRemote,
  type Kernel,
  memoryOperands,
  type Op,
  type Region,
  text,
  type Value,
} from "../../ir/module.js";
import { WIDEST_ACCESS } from "../../machine/architectures.js";
import { DTYPES } from "../../types/dtype.js";
import { greatestCommon } from "../../types/requirement.js";
import { lanesOf, scalarOf } from "../../ir/types.js";
import { REDUCE } from "../../ir/functions.js";
import {
  applied,
  Evaluation,
  type Expression,
  type Expressions,
  isAtom,
  isComparison,
  isNeverNegative,
  isRoot,
  NotAffine,
  withoutLimit,
} from "./expressions.js";
import {
  type Box,
  constant,
  constantOf,
  factors,
  type Form,
  isAtLeastZero,
  isConstant,
  keyOf,
  minus,
  ONE,
  parameter,
  plus,
  product,
  quotient,
  type Range,
  rangeOf,
  scaled,
  substituted,
  Undecided,
  ZERO,
} from "./forms.js";
import { Choices, type Decisions, hasLoops, isCondition, truth } from "./choices.js";
import { NotShown } from "./conditions.js";
import { countsElements, madeOfOne, Quotients } from "./quotients.js";
import { EMPTY, kindOf, packetsOf } from "./packets.js";
import { copyOf } from "./stretches.js";
import { stripsOf } from "./strips.js";
import {
  type Access,
  laneOf,
  checkedPeer,
  laneTypeOf,
  loadsOf,
  type Loop,
  ROTATED,
  rotation,
  spreadTerm,
  type StoreSeen,
  type Term,
  unrotated,
} from "./terms.js";
import { OF_VISITS, type Part } from "./unrolled.js";

/** What the number of blocks is called in a box: any from 1 on. */
export const GRID = "grid";

const MOST_ITERATIONS = 64;

/** One way through a stretch: in one box of lengths, with conditions decided. */
export class Way {
  readonly stores: readonly StoreSeen[];
  readonly hasPackets: boolean;
  /** Whether no iteration of threads reads a buffer behind a store to it, here or on another rank. */
  readsFirst = true;
  /** Loops over threads, and what they have stored to. */
  private readonly changed = new Set<string>();
  private readonly seen: StoreSeen[] = [];
  private readonly forms = new Map<Value, Form>();
  private readonly terms = new Map<Value, Term>();
  private readonly loops: Loop[] = [];
  private readonly loads = new Map<Access, boolean>();
  /** Variables of loops with one iteration, which count nothing. */
  private readonly single = new Map<string, Form>();
  private names = 0;
  /** What an iteration over strips goes through, by what makes it. */
  private readonly strips = new Map<Value, Form>();
  /** Packets that are taken, and those that are put together, by their values. */
  private readonly taken = new Map<Value, Access>();
  private readonly packed = new Map<Value, readonly Term[]>();
  private readonly outside: Evaluation;
  private readonly choices: Choices;

  /**
   * @param decisions what this way takes as decided; what else there is to decide does not hold on it
   * @param otherwise told of the decisions of each way that leaves this one at such a place
   */
  constructor(
    private readonly kernel: Kernel,
    private readonly expressions: Expressions,
    private readonly part: Part,
    readonly box: Box,
    private readonly roots: ReadonlyMap<number, string>,
    decisions: Decisions,
    otherwise: (decisions: Decisions) => void,
    readonly quotients = new Quotients(expressions),
  ) {
    this.choices = new Choices(expressions, decisions, otherwise, (e) => this.outside.of(e));
    this.outside = new Evaluation(box.ranges, (e, of) => this.standIn(e, of));
    // A length may be a multiple of a number in the whole box.
    for (const [id, name] of roots) {
      const times = [...box.names.get(name)!.values()].reduce(greatestCommon, 0);
      const of = parameter(`@${withoutLimit(expressions.numbered(id)).id}`);
      if (times > 1) this.choices.multiples.set(keyOf(of), times);
    }
    this.region(part.ops);
    for (const [{ op }, isUsed] of this.loads)
      if (!isUsed) throw new NotShown("an element is read that nothing is made of", op.span);
    this.stores = unrotated(this.seen);
    this.hasPackets = this.seen.some((s) => s.access.isPacket === true);
  }

  // -- what is outside of the stretch -------------------------------------------------------------------------------

  private standIn(e: Expression, of: (e: Expression) => Form): Form | null {
    const root = this.roots.get(e.id);
    if (root !== undefined) return this.box.names.get(root)!;
    if (e.kind === "symbol")
      return e.name === "grid" ? this.grid : parameter(e.name === "block" ? "block" : `@${e.id}`);
    if (e.kind === "constant") return null;
    if (e.kind !== "apply" || isAtom(e)) return parameter(`@${e.id}`);
    try {
      if ((e.fn === "and" || e.fn === "or") && !e.of.every(isCondition)) throw new NotAffine("bits of a number");
      if (e.fn === "and") return this.choices.conjunction(e, of);
      const operands = e.of.map(of);
      if (e.fn === "select" || e.fn === "or" || e.fn === "not") return this.logical(e.fn, operands);
      if (isComparison(e.fn)) return this.compared(e.fn, operands[0]!, operands[1]!);
      return applied(e.fn, operands[0]!, operands[1] ?? ZERO, this.box.ranges, this.signs);
    } catch (x) {
      if (!(x instanceof Undecided || x instanceof NotAffine)) throw x;
      const operands = e.of.map(of);
      const rotated = e.fn === "rem" ? rotation(operands[0]!, operands[1]!) : null;
      if (rotated !== null) return rotated;
      // What goes with the block is no number of the whole stretch.
      if (operands.some((f) => f.has("block"))) throw x;
      return parameter(`@${e.id}`);
    }
  }

  private logical(fn: string, operands: readonly Form[]): Form {
    const [a, b, c] = operands as [Form, Form, Form];
    const first = this.choices.decided(a);
    if (fn === "select") return first ? b : c;
    if (fn === "not") return truth(!first);
    if (first === (fn === "or")) return truth(first);
    return truth(this.choices.decided(b));
  }

  private compared(fn: string, a: Form, b: Form): Form {
    try {
      return applied(fn, a, b, this.box.ranges);
    } catch (x) {
      if (!(x instanceof Undecided)) throw x;
      const difference = minus(a, b);
      if (hasLoops(difference)) throw x;
      return truth(this.choices.choice(`${keyOf(difference)} ${fn} 0`));
    }
  }

  /** Ranges of parameters that are no lengths of the box. */
  private readonly signs = {
    get: (name: string): Range | undefined => {
      const loop = this.loops.find((l) => l.name === name);
      if (loop !== undefined) return { low: 0, high: rangeOf(loop.count, this.box.ranges).high - 1 };
      const isOpaque = name.startsWith("@") && !name.startsWith(ROTATED);
      if (name === "block" || (isOpaque && isNeverNegative(this.expressions.numbered(Number(name.slice(1))))))
        return { low: 0, high: Infinity };
      return this.box.ranges.get(name);
    },
  };

  // -- inside ---------------------------------------------------------------------------------------------------------

  private form(v: Value): Form | null {
    const known = this.forms.get(v);
    if (known !== undefined) return known;
    const e = this.part.values.get(v);
    return e === undefined ? null : this.outside.of(e);
  }

  private needed(op: Op, v: Value, what: string): Form {
    const f = this.form(v);
    if (f === null) throw new NotShown(what, op.span);
    return f;
  }

  private region(ops: readonly Op[]): void {
    for (const op of ops) this.op(op);
  }

  private op(op: Op): void {
    switch (op.name) {
      case "for":
        return this.loop(op);
      case "if":
        return this.branch(op);
      case "load":
        return this.load(op);
      case "store":
        return this.store(op);
      case "packet_load":
        return this.take(op);
      case "packet_store":
        return this.send(op);
      case "reduce":
        return this.reduce(op);
      case "yield":
        return;
      default:
        return this.pure(op);
    }
  }

  private pure(op: Op): void {
    const [result] = op.results;
    if (result === undefined) throw new NotShown(`there is a '${op.name}'`, op.span);
    if (op.name === "pack") {
      const of = op.operands.map((v) => this.term(op, v));
      return void this.packed.set(result, of);
    }
    if (op.name === "lane") return void this.terms.set(result, this.lane(op));
    const kind = scalarOf(result.type);
    const made = kind === "index" || kind === "bool" ? this.index(op) : null;
    if (made !== null) this.forms.set(result, made);
    else this.terms.set(result, this.made(op));
  }

  private made(op: Op): Term {
    const of = op.operands.map((v) => this.term(op, v));
    // A vector of one number is that number in each lane.
    if (op.name === "splat") return spreadTerm(of[0]!, lanesOf(op.results[0]!.type));
    const { fn, value, name } = op.attributes;
    return { text: `${op.name} ${fn ?? ""} ${value ?? ""} ${name ?? ""} ${laneTypeOf(op)}`, of };
  }

  private index(op: Op): Form | null {
    const strip = this.strips.get(op.results[0]!);
    if (strip !== undefined) return strip;
    const of = op.operands.map((v) => this.form(v));
    const [a, b] = of;
    if (op.name === "const") return constant(op.attributes["value"] as number);
    if (op.name === "aligned" || op.name === "block" || op.name === "dim" || op.name === "rank" || op.name === "grid")
      throw new NotShown(`there is a '${op.name}' inside a loop over elements`, op.span);
    if (of.some((f) => f === null)) return null;
    const rows = this.rows(op, a!);
    if (rows !== null) return rows;
    try {
      if (
        op.name === "select" ||
        op.attributes["fn"] === "not" ||
        (op.name === "binary" && scalarOf(op.results[0]!.type) === "bool")
      )
        return this.logical(op.name === "select" ? "select" : text(op, "fn"), of as Form[]);
      if (op.name === "compare") return this.compared(text(op, "fn"), a!, b!);
      if (op.name === "binary") return applied(text(op, "fn"), a!, b!, this.box.ranges, this.signs);
    } catch (x) {
      if (!(x instanceof Undecided || x instanceof NotAffine)) throw x;
      const rotated = op.attributes["fn"] === "rem" ? rotation(a!, b!) : null;
      if (rotated !== null) return rotated;
    }
    const made = this.quotients.overNumber(op.attributes["fn"], a!, b!);
    if (made !== null) return made;
    throw new NotShown(`'${op.attributes["fn"] ?? op.name}' of what goes with the element`, op.span);
  }

  /** An element's row, or its place in it, where rows are as long as a length says; null for other operations. */
  private rows(op: Op, of: Form): Form | null {
    const { fn } = op.attributes;
    const length = op.operands[1] === undefined ? undefined : this.part.values.get(op.operands[1]);
    if ((fn !== "div" && fn !== "rem") || length === undefined || !(isRoot(length) || isAtom(length))) return null;
    return countsElements(of) ? this.quotients.of(fn, of, parameter(`@${withoutLimit(length).id}`)) : null;
  }

  /** Whether a test says that a buffer begins where vectors of so many lanes may, on this way; those of several accesses where one may. */
  beginsAt(buffer: string, lanes: number): boolean {
    const { bytes } = DTYPES[bufferOf(this.kernel, buffer).dtype];
    return (this.choices.starts.get(buffer) ?? 1) % Math.min(lanes * bytes, WIDEST_ACCESS) === 0;
  }

  /** Whether a form is known to be a multiple of a number on this way. */
  isMultiple(f: Form, lanes: number): boolean {
    if ((this.choices.multiples.get(keyOf(f)) ?? 1) % lanes === 0) return true;
    return [...f].every(
      ([key, n]) =>
        n % lanes === 0 ||
        factors(key).some((name) => (this.choices.multiples.get(keyOf(parameter(name))) ?? 1) % lanes === 0),
    );
  }

  private term(op: Op, v: Value): Term {
    const known = this.terms.get(v);
    if (known !== undefined) return known;
    const maker = this.part.makers.get(v);
    const kind = scalarOf(v.type);
    if (maker !== undefined && maker.regions.length === 0 && kind !== "index" && kind !== "bool") {
      const made = this.made(maker);
      this.terms.set(v, made);
      return made;
    }
    const f = this.form(v);
    // A number that is no element's own may become data; what goes with the element differs from one to the next.
    if (f === null || !isConstant(f)) throw new NotShown("an index or a length becomes data", op.span);
    return { text: `number ${constantOf(f)}`, of: [] };
  }

  private branch(op: Op): void {
    const f = this.needed(op, op.operands[0]!, "data decides what is touched");
    let holds: boolean;
    try {
      holds = this.choices.decided(f);
    } catch (x) {
      if (!(x instanceof Undecided)) throw x;
      throw new NotShown("a condition depends on the element", op.span);
    }
    this.region(op.regions[holds ? 0 : 1]!.ops);
  }

  private loop(op: Op): void {
    const [body] = op.regions as readonly [Region];
    const map = op.attributes["map"];
    if (body.arguments.length !== 1 || (map !== "serial" && map !== "ranks" && map !== "blocks" && map !== "threads"))
      throw new NotShown("a loop has several variables", op.span);
    const [variable] = body.arguments as readonly [Value];
    if (op.attributes[OF_VISITS] !== undefined) return this.visits(op);
    const ends = op.operands.map((v) => substituted(this.needed(op, v, "data decides about a loop"), this.single));
    const [low, high] = ends as [Form, Form];
    const count = minus(high, low);
    const { low: least, high: most } = rangeOf(count, this.box.ranges);
    // One that may have no iterations goes through nothing then, which is what its interval says, too.
    if (most <= 0 || (least < 0 && this.settled(op, () => isAtLeastZero(minus(ZERO, count), this.box.ranges)))) return;
    if ((map === "serial" || map === "ranks") && isConstant(count) && isConstant(low)) {
      if (constantOf(count) > MOST_ITERATIONS) throw new NotShown("a loop has many iterations", op.span);
      for (let i = 0; i < constantOf(count); i++) {
        this.forms.set(variable, constant(constantOf(low) + i));
        this.region(body.ops);
      }
      return;
    }
    if (map === "ranks") throw new NotShown("a loop over ranks depends on lengths", op.span);
    const inside = this.loops.map((l) => l.map);
    if (inside.includes("threads") || (map === "blocks" && inside.includes("blocks")))
      throw new NotShown("loops lie inside each other in another way", op.span);
    const name = `~${this.names++}`;
    this.loops.push({ name, map, low, count });
    this.forms.set(variable, plus(low, parameter(name)));
    if (isConstant(count) && constantOf(count) === 1) this.single.set(name, ZERO);
    this.region(body.ops);
    this.loops.pop();
  }

  /** A loop over strips, which any block may take: whole ones, and what is left. */
  private visits(op: Op): void {
    const [body] = op.regions as readonly [Region];
    const [variable] = body.arguments as readonly [Value];
    const name = `~${this.names++}`;
    const strips = stripsOf(body.ops, variable, (v) => this.form(v)?.size === 0);
    const over = strips === null ? null : this.part.values.get(strips.length);
    if (this.loops.length > 0 || strips === null || over === null || over === undefined)
      throw new NotShown("a loop goes through peers in another way", op.span);
    const [length, strip] = [this.form(strips.length)!, this.form(strips.strip)!];
    if (!isConstant(strip) || constantOf(strip) <= 0) throw new NotShown("a strip has no fixed length", op.span);
    const whole = this.settled(op, () => quotient(length, strip, this.box.ranges));
    const rest = minus(length, product(whole, strip));
    const count = this.part.values.get(op.operands[1]!)!;
    const covered = minus(product(parameter(`@${count.id}`), strip), parameter(`@${over.id}`));
    const run = (at: Form, left: Form, goesThrough: Form, loop: Loop): void => {
      this.forms.set(variable, at);
      this.strips.set(strips.left.results[0]!, left);
      this.strips.set(strips.limited.results[0]!, left);
      this.strips.set(strips.count.results[0]!, goesThrough);
      this.loops.push(loop);
      this.region(body.ops);
      this.loops.pop();
    };
    if (rangeOf(whole, this.box.ranges).high > 0) {
      const at = parameter(name);
      run(at, minus(length, product(at, strip)), strip, { name, map: "visits", low: ZERO, count: whole, covered });
    }
    // In what lies behind, where nothing is left, nothing is done.
    const seen = this.seen.length;
    run(parameter(name), ZERO, ZERO, { name, map: "visits", low: ZERO, count: whole });
    if (this.seen.length > seen) throw new NotShown("a loop goes through strips in another way", op.span);
    if (rest.size > 0)
      run(whole, rest, rest, { name: `~${this.names++}`, map: "visits", low: whole, count: ONE, covered });
  }

  private settled<T>(op: Op, ask: () => T): T {
    try {
      return ask();
    } catch (x) {
      if (x instanceof Undecided) throw new NotShown("how often a loop runs is not followed", op.span);
      throw x;
    }
  }

  /** Where a packet of elements of a type lies: the buffer, and the element that its slot begins with. */
  private packet(op: Op, epoch: Value, slot: Value, type: Value["type"], owner: Form): Access {
    if (!this.loops.some((l) => l.map === "threads")) throw new NotShown("all threads touch a packet", op.span);
    const copy = copyOf(this.part.values.get(epoch));
    if (copy === null) throw new NotShown("a packet has another number than that of the launch", op.span);
    const buffer = bufferOf(this.kernel, text(op, copy));
    const kind = kindOf(op, type, buffer);
    const index = scaled(this.needed(op, slot, "data decides which slot a packet has"), kind.lanes);
    return { op, buffer: packetsOf(buffer.name, kind), owner, index, lanes: kind.lanes, isPacket: true };
  }

  private send(op: Op): void {
    const [value, epoch, ...rest] = op.operands as readonly [Value, Value, ...Value[]];
    const owner = isRemote(op) ? this.peerOf(op, rest[0]!) : constant(-1);
    const packed = this.packed.get(value);
    const access = this.packet(op, epoch, rest.at(-1)!, value.type, owner);
    const stored = (term: Term, at: Access): void => {
      this.use(term, at.lanes, op);
      this.seen.push({ access: at, term, loops: [...this.loops] });
    };
    if (packed === undefined) stored(this.term(op, value), access);
    else packed.forEach((term, l) => stored(term, laneOf(access, l)));
  }

  private take(op: Op): void {
    const [epoch, slot] = op.operands as readonly [Value, Value];
    const [result] = op.results as readonly [Value];
    const access = this.packet(op, epoch, slot, result.type, constant(-1));
    this.seen.push({ access, term: EMPTY, loops: [...this.loops] });
    this.taken.set(result, access);
    this.terms.set(result, { load: access });
  }

  private lane(op: Op): Term {
    const access = this.taken.get(op.operands[0]!);
    if (access === undefined) throw new NotShown("elements are taken apart lane by lane", op.span);
    return { load: laneOf(access, op.attributes["lane"] as number) };
  }

  private peerOf(op: Op, value: Value, isTurn?: (f: Form) => boolean): Form {
    return checkedPeer(this.needed(op, value, "data decides which rank is meant"), this.kernel.world, op.span, isTurn);
  }

  private access(op: Op): Access {
    const { peer, indices } = memoryOperands(op);
    const buffer = text(op, "buffer");
    if (!["input", "output", "inout", "scratch"].includes(bufferOf(this.kernel, buffer).role))
      throw new NotShown(`'${buffer}' lies in the memory of a block`, op.span);
    const threads = this.loops.find((l) => l.map === "threads");
    if (threads === undefined) throw new NotShown("all threads touch an element", op.span);
    if (op.name === "store") this.changed.add(`${threads.name} ${buffer}`);
    else if (this.changed.has(`${threads.name} ${buffer}`)) this.readsFirst = false;
    if (indices.length !== 1) throw new NotShown("an index is not linear", op.span);
    const index = this.needed(op, indices[0]!, `data decides where '${buffer}' is touched`);
    const owner = peer === null ? constant(-1) : this.peerOf(op, peer, (f) => madeOfOne(f) !== null);
    const lanes = lanesOf(op.name === "load" ? op.results[0]!.type : op.operands[0]!.type);
    return { op, buffer, owner, index, lanes };
  }

  private load(op: Op): void {
    const access = this.access(op);
    this.loads.set(access, false);
    this.terms.set(op.results[0]!, { load: access });
  }

  private store(op: Op): void {
    const access = this.access(op);
    const term = this.term(op, op.operands[0]!);
    this.use(term, access.lanes, op);
    this.seen.push({ access, term, loops: [...this.loops] });
  }

  private use(term: Term, lanes: number, op: Op): void {
    for (const load of loadsOf(term)) {
      if (load.lanes !== lanes) throw new NotShown("vectors of several lengths meet", op.span);
      this.loads.set(load.spread ?? load, true);
    }
  }

  private reduce(op: Op): void {
    const [body] = op.regions as readonly [Region];
    const [low, high] = op.operands.map((v) => this.needed(op, v, "data decides about a reduction"));
    const [result] = op.results;
    if (!isConstant(low!) || !isConstant(high!) || constantOf(high!) - constantOf(low!) > MOST_ITERATIONS)
      throw new NotShown("a reduction goes over a length", op.span);
    const { fn } = REDUCE[op.attributes["fn"] as keyof typeof REDUCE];
    let total: Term = { text: `start ${fn} ${laneTypeOf(op)}`, of: [] };
    for (let i = constantOf(low!); i < constantOf(high!); i++) {
      this.forms.set(body.arguments[0]!, constant(i));
      this.region(body.ops);
      total = { text: `binary ${fn}   ${laneTypeOf(op)}`, of: [total, this.term(op, body.ops.at(-1)!.operands[0]!)] };
    }
    this.terms.set(result!, total);
  }

  // -- what the stores come to ----------------------------------------------------------------------------------------

  /** Blocks of the launch. */
  get grid(): Form {
    return this.box.names.get(GRID)!;
  }
}
