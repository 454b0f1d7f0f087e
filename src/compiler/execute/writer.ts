/**
 * The growing JavaScript text of a kernel: functions in the making, and what stands for the IR's values in them.
 * Vectors become one variable a lane. `semantics/` writes through this.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Buffer, type Kernel, type Op, type Region, type Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { printKernel } from "../ir/print.js";
import { lanesOf } from "../ir/types.js";
import { walk } from "../ir/visit.js";
import { evaluateExtent } from "../types/extent.js";
import { type Steering, steeringOf } from "./steering.js";
import type { Domain, Form, Setting } from "./setting.js";

interface Scope {
  /** What the function starts with. */
  readonly heads: string[];
  readonly lines: string[];
  readonly defined: Set<string>;
  readonly used: Set<string>;
  /** Whether `yield` may stand here. */
  readonly canWait: boolean;
}

/**
 * What every function of the text takes first: the block, the machine, the observer, the values of tiles, the algebra, and
 * the record of ops that ran. They change from run to run, and functions do not: V8 then takes what functions close over
 * for constant.
 */
export const RUN = ["f", "M", "T", "V", "A", "E"];

const LITERAL_WORDS = new Set(["true", "false", "NaN", "Infinity", "OPAQUE"]);

export class Writer {
  /** By number, as the text names them: `O[number]`. */
  readonly ops: Op[] = [];
  readonly domain: Domain;
  readonly steering: Steering;
  private readonly opNumbers = new Map<Op, number>();
  private readonly forms = new Map<Value, readonly Form[]>();
  /** Of what messages have loaded, texts of whether somebody has written it, lane by lane. */
  readonly sent = new Map<Value, readonly string[]>();
  /** Names that are computed once as a block starts. */
  private readonly constants = new Map<string, string>();
  private readonly functions: string[] = [];
  private readonly scopes: Scope[] = [];
  private readonly suspends = new Map<Region, boolean>();
  /** By result; filled when it is first asked for. */
  private readonly makers = new Map<Value, Op>();
  private untouched: ReadonlySet<string> | null = null;
  private counter = 0;
  /** The op that is being written. */
  current: Op | null = null;
  /** Text of what stands for the thread in code that one thread runs; null in code of the whole block. */
  private thread: string | null = null;
  /** Whether what is written is done by consumers or producers. */
  isInRole = false;
  /** Whether threads of the role tell, each by itself, what they have stored: then iterations of their loops are the role's strand, too. */
  private tells = false;
  /** Whether it is done by one of several threads. */
  private isSpread = false;
  /** Whether the block, or the role, has met right before what is written. */
  hasMet = false;

  constructor(
    readonly kernel: Kernel,
    readonly setting: Setting,
  ) {
    this.domain = setting.domain;
    this.steering = steeringOf(kernel);
  }

  // -- lines and names --------------------------------------------------------------------------------------------

  private get scope(): Scope {
    return this.scopes.at(-1)!;
  }

  line(text: string): void {
    this.scope.lines.push(text);
  }

  /** Notes that the function at hand uses a name, and gives it back. */
  use(name: string): string {
    this.scope.used.add(name);
    return name;
  }

  /** A fresh name, defined in the function at hand. */
  fresh(prefix: string): string {
    const name = `${prefix}${this.counter++}`;
    this.scope.defined.add(name);
    return name;
  }

  /** A new variable with this value. */
  variable(prefix: string, text: string): string {
    const name = this.fresh(prefix);
    this.line(`const ${name}=${text};`);
    return name;
  }

  /** The name of what is computed once, as a block starts. */
  constant(name: string, text: string): string {
    this.constants.set(name, text);
    return this.use(name);
  }

  /**
   * The name of what is looked up as the function at hand starts: memory of a block's own is made where it is first looked up, and
   * a block that has no tile of its own, or takes one of several forms of a product, needs little of it.
   */
  lookedUp(name: string, text: string): string {
    const { defined, heads } = this.scope;
    if (!defined.has(name)) heads.push(`const ${name}=${text};`);
    defined.add(name);
    return this.use(name);
  }

  /** Text of an op, for those who are told of it. */
  op(op: Op): string {
    return `O[${this.opNumber(op)}]`;
  }

  /** Text of an op's number in the observer's record. */
  opInTrace(op: Op): string {
    const number = this.opNumber(op);
    return this.constant(`Q${number}`, `T.numberOf(O[${number}])`);
  }

  /** Notes that an op runs, where proofs say how many took part. */
  ran(op: Op): void {
    if (this.setting.counts) this.line(`E[${this.opNumber(op)}]=1;`);
  }

  private opNumber(op: Op): number {
    let number = this.opNumbers.get(op);
    if (number === undefined) this.opNumbers.set(op, (number = this.ops.push(op) - 1));
    return number;
  }

  // -- values -----------------------------------------------------------------------------------------------------

  /** Lets texts stand for the lanes of a value; one serves every lane. */
  bind(value: Value, lanes: readonly Form[]): void {
    this.forms.set(value, lanes);
  }

  /** Gives each lane of a value a variable of its own. */
  define(value: Value, lane: (i: number) => Form): void {
    const forms = Array.from({ length: lanesOf(value.type) }, (_, i) => lane(i));
    this.bind(
      value,
      forms.map(({ text, isKnown }) => ({ text: this.variable("v", text), isKnown })),
    );
  }

  /** A variable that the text counts up: an index. */
  index(value: Value): string {
    const name = this.fresh("i");
    this.bind(value, [{ text: name, isKnown: true }]);
    return name;
  }

  /** What stands for one lane of a value; null for a value that decides nothing and so was left out. */
  formOf(value: Value, lane = 0): Form | null {
    const lanes = this.forms.get(value);
    if (lanes === undefined) return null;
    const form = lanes.length === 1 ? lanes[0]! : lanes[lane]!;
    if (/^[A-Za-z]/.test(form.text) && !LITERAL_WORDS.has(form.text)) this.use(form.text);
    return form;
  }

  form(value: Value, lane = 0): Form {
    const form = this.formOf(value, lane);
    if (form === null) throw new InternalCompilerError("the executor met a value that is not defined");
    return form;
  }

  lane(value: Value, lane = 0): string {
    return this.form(value, lane).text;
  }

  /** Text of a value that decides what happens, so must be a number; it can be used more than once. */
  known(value: Value, what: string): string {
    const { text, isKnown } = this.form(value);
    if (isKnown) return text;
    const op = this.makerOf(value) ?? this.current;
    const from = this.dataBehind(value);
    const why = `${what} depends on data${from.length === 0 ? "" : `, of ${from.map((n) => `'${n}'`).join(" and ")}`}`;
    return this.variable("k", `known(${text},${JSON.stringify(why)},${op === null ? "null" : this.op(op)})`);
  }

  private makerOf(value: Value): Op | null {
    if (this.makers.size === 0) walk(this.kernel.body, (op) => op.results.forEach((r) => this.makers.set(r, op)));
    return this.makers.get(value) ?? null;
  }

  /** Names of the buffers that a value is made from, inputs that steer excepted: of those it may be. */
  private dataBehind(value: Value): string[] {
    const names = new Set<string>();
    const seen = new Set<Value>();
    const work = [value];
    for (let v = work.pop(); v !== undefined; v = work.pop()) {
      const op = seen.has(v) ? null : this.makerOf(v);
      seen.add(v);
      if (op === null) continue;
      if (op.name === "load") names.add(op.attributes["buffer"] as string);
      else work.push(...op.operands);
      for (const region of op.regions) work.push(...(region.ops.at(-1)?.operands ?? []));
    }
    return [...names].filter((name) => !this.steering.inputs.has(name)).sort();
  }

  // -- the kernel -------------------------------------------------------------------------------------------------

  /** Text of a buffer's length along a dimension: a literal where it is known. */
  dimension(buffer: number, d: number): string {
    const e = this.kernel.buffers[buffer]!.shape[d]!;
    return typeof e === "number" ? String(e) : this.constant(`S${buffer}_${d}`, `M.shapes[${buffer}][${d}]`);
  }

  /** Text of a buffer's number of elements. */
  length(buffer: number): string {
    const { shape } = this.kernel.buffers[buffer]!;
    if (shape.every((e) => typeof e === "number")) return String(shape.reduce((a, e) => a * evaluateExtent(e, {}), 1));
    return this.constant(`N${buffer}`, `M.lengths[${buffer}]`);
  }

  /** Text of whether there is a rank of this number whose memory this one has addresses of. */
  reaches(owner: string): string {
    const { world, ranksPerDomain: size } = this.kernel;
    const exists = `${owner}>=0&&${owner}<${world}`;
    return size === undefined
      ? exists
      : `${exists}&&Math.floor(${owner}/${size})===Math.floor(${this.use("rank")}/${size})`;
  }

  /** Text of the grid. */
  get grid(): string {
    return this.constant("grid", "M.gridAt(f.launch)");
  }

  // -- functions and coroutines -----------------------------------------------------------------------------------

  /** Whether an op of the region may suspend what runs it. */
  mayWait(region: Region): boolean {
    let may = this.suspends.get(region);
    if (may === undefined) {
      may = false;
      walk(region, (op) => void (may ||= definitionOf(op.name).suspends === true));
      this.suspends.set(region, may);
    }
    return may;
  }

  /** Whether a buffer is an input that no op writes to: it holds the same from the start of a launch to its end. */
  isUntouched({ name, role }: Buffer): boolean {
    if (role !== "input") return false;
    if (this.untouched === null) {
      const inputs = new Set(this.kernel.buffers.filter((b) => b.role === "input").map((b) => b.name));
      walk(this.kernel.body, (op) => {
        if (op.name === "load" || op.name === "aligned" || op.name === "packet_load") return;
        for (const [key, value] of Object.entries(op.attributes)) if (key !== "from") inputs.delete(value as string);
      });
      this.untouched = inputs;
    }
    return this.untouched.has(name);
  }

  get canWait(): boolean {
    return this.scope.canWait;
  }

  /**
   * Waits until a JavaScript condition holds.
   * @param blocked text of the `Blocked` that says so to people; its `ready` must be of the same condition
   */
  until(condition: string, blocked: string): void {
    if (!this.canWait) throw new InternalCompilerError("a wait where nothing can suspend", printKernel(this.kernel));
    const b = this.fresh("b");
    this.line(`if(!(${condition})){const ${b}=${blocked};M.blocks(${b});`);
    this.line(`do yield ${b};while(!(${condition}));}`);
  }

  /** Writes parts of a block that run beside each other: each a coroutine, which the others overtake where it waits. */
  together(bodies: readonly (() => void)[]): void {
    const calls = bodies.map((body) => this.outline(true, [], body)([]));
    this.line(`yield* together([${calls.join(",")}]);`);
  }

  /** A point where a schedule may let another block go on. */
  preemption(): void {
    if (this.setting.preempts && this.canWait) this.line("if(M.preempts())yield READY;");
  }

  /** Name of the strand that does what follows, for the observer: the thread's, or a new one of the whole block. */
  get strandName(): string {
    return this.thread === null ? this.variable("s", "T.strand(f.entity,f.launch)") : this.use(this.thread);
  }

  /** Whether what is written is done by one of several threads, which cannot meet there. */
  get isInThread(): boolean {
    return this.thread !== null && (!this.isInRole || this.isSpread);
  }

  /** Writes what one thread does between two synchronisations of its block. */
  asThread(body: () => void): void {
    if (this.isInRole && this.tells) return this.asRoles(body);
    this.apart(body);
  }

  /** Writes what one thread does as a strand of its own. */
  private apart(body: () => void): void {
    const outer = this.thread;
    const wasSpread = this.isSpread;
    this.thread = this.fresh("s");
    this.isSpread = true;
    if (this.setting.observes) this.line(`const ${this.thread}=T.strand(f.entity,f.launch);`);
    body();
    this.thread = outer;
    this.isSpread = wasSpread;
  }

  /** Writes what threads of a role do that wait, and then meet: the strand of the role has waited. */
  asWaiting(body: () => void): void {
    if (!this.isInRole) return this.asThread(body);
    this.asRoles(body);
  }

  /** Writes what a thread tells others of: right after the threads of its role have met, it speaks for all of them. */
  asTelling(body: () => void): void {
    if (this.isInRole && this.hasMet) return this.asRoles(body);
    this.apart(body);
  }

  /** Writes what one thread does, as the strand of the role. */
  private asRoles(body: () => void): void {
    this.isSpread = true;
    body();
    this.isSpread = false;
  }

  /** Writes what the movers of a block do: as a block, with phases of their own. */
  asMovers(body: () => void): void {
    this.line(`f={...f,${this.setting.observes ? "entity:T.moversOf(f.entity)," : ""}open:[],groups:[],products:[]};`);
    body();
  }

  /** Writes what the threads of a role do: one strand, and a block of its own as far as copies and products go. */
  asRole(body: () => void, tells: boolean): void {
    const outer = this.thread;
    this.thread = this.fresh("s");
    this.isInRole = true;
    this.hasMet = false;
    this.tells = tells;
    this.line(`const ${this.thread}=${this.setting.observes ? "T.strand(f.entity,f.launch)" : "0"};`);
    this.line(`f={...f,strand:${this.thread},open:[],groups:[],products:[]};`);
    body();
    this.thread = outer;
    this.isInRole = this.tells = false;
  }

  /**
   * Writes `body` into a function of its own, whose parameters are those of the run and what it uses from outside; gives the text
   * of the call. Hot loops become small functions, which V8 compiles well, apart from the coroutine of a block.
   * @param extra names of further parameters
   */
  outline(canWait: boolean, extra: readonly string[], body: () => void): (extra: readonly string[]) => string {
    const name = `t${this.counter++}`;
    const { lines, free } = this.collect(canWait, new Set([...RUN, ...extra]), body);
    this.functions.push(
      `function${canWait ? "*" : ""} ${name}(${[...RUN, ...free, ...extra].join(",")}){\n${lines.join("\n")}\n}`,
    );
    for (const n of free) this.use(n);
    return (given) => `${name}(${[...RUN, ...free, ...given].join(",")})`;
  }

  private collect(
    canWait: boolean,
    defined: Set<string>,
    body: () => void,
  ): { readonly lines: readonly string[]; readonly free: readonly string[]; readonly used: ReadonlySet<string> } {
    this.scopes.push({ heads: [], lines: [], defined, used: new Set(), canWait });
    body();
    const { heads, lines, used } = this.scopes.pop()!;
    return { lines: [...heads, ...lines], free: [...used].filter((n) => !defined.has(n)), used };
  }

  /** The whole text: functions and, given back, the coroutine of a block, which `body` writes. */
  finish(body: () => void): string {
    const { lines, used } = this.collect(true, new Set(), body);
    const constants = [...this.constants].filter(([n]) => used.has(n)).map(([n, text]) => `const ${n}=${text};`);
    const main = [
      `function* main(${RUN.join(",")}){`,
      "M.enter(f);",
      "const{rank,block}=f;",
      ...constants,
      ...lines,
      "M.leave(f);",
    ];
    return [...this.functions, ...main, "}", "return main;"].join("\n");
  }
}
