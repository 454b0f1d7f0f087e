/**
 * The growing JavaScript text of a kernel: functions in the making, the names of values in them,
 * and places that can fail. `codegen.ts` and `codegen-memory.ts` write through this.
 */
import {
  InternalCompilerError,
  evaluateExtent,
  lanesOf,
  type Kernel,
  type Op,
  type Value,
} from "../../compiler/index.js";
import type { Site } from "./faults.js";

/** What the generated code should check or vary beyond its meaning. */
export interface CodeOptions {
  /** Keep track of what was written, and fault on loads of anything else. */
  readonly detectUnwritten: boolean;
  /** Let the scheduler take a block off between steps, not only when it waits. */
  readonly preempt: boolean;
  /** Run loops over threads from the last index to the first. */
  readonly reverseThreads: boolean;
  /** Every access to memory and flags goes through `Launch.watch`; see `hostile/watch.ts`. */
  readonly hostile: boolean;
}

interface Frame {
  readonly lines: string[];
  readonly defined: Set<string>;
  readonly used: Set<string>;
  /** Whether `yield` may stand here. */
  readonly generator: boolean;
}

const LITERAL_WORDS = new Set(["true", "false", "NaN", "Infinity"]);

/** Names the outermost function gets as parameters. */
const PARAMETERS = ["L", "K", "rank", "block"];

export class Emitter {
  readonly sites: Site[] = [];
  /** Finished functions, inner ones first. */
  readonly functions: string[] = [];
  private readonly names = new Map<Value, readonly string[]>();
  private readonly hoists = new Map<string, string>();
  private frames: Frame[] = [{ lines: [], defined: new Set(PARAMETERS), used: new Set(), generator: true }];
  private counter = 0;
  /** Text of what stands for the thread: null in code that all threads of the block run. */
  strand = "null";

  constructor(
    readonly kernel: Kernel,
    readonly options: CodeOptions,
  ) {}

  private get frame(): Frame {
    return this.frames.at(-1)!;
  }

  get inGenerator(): boolean {
    return this.frame.generator;
  }

  line(text: string): void {
    this.frame.lines.push(text);
  }

  /** Notes that the text uses `name`, and gives it back. */
  use(name: string): string {
    this.frame.used.add(name);
    return name;
  }

  /** A fresh name, defined in the current function. */
  fresh(prefix: string): string {
    const name = `${prefix}${this.counter++}`;
    this.frame.defined.add(name);
    return name;
  }

  /** A name that is computed once at the start of the block. */
  hoist(name: string, text: string): string {
    this.hoists.set(name, text);
    return this.use(name);
  }

  /** Binds a value to texts that need no variable (literals). */
  bind(value: Value, lanes: readonly string[]): void {
    this.names.set(value, lanes);
  }

  /** Fresh names for all lanes of a value. */
  define(value: Value): readonly string[] {
    const lanes = Array.from({ length: lanesOf(value.type) }, () => this.fresh("v"));
    this.names.set(value, lanes);
    return lanes;
  }

  /** Text of one lane of a value; a scalar serves every lane. */
  lane(value: Value, i = 0): string {
    const lanes = this.names.get(value);
    if (lanes === undefined) throw new InternalCompilerError("the cpu backend met a value that is not defined");
    const text = lanes.length === 1 ? lanes[0]! : lanes[i]!;
    return this.mention(text);
  }

  /** Notes the use of a text that is a variable's name or a literal. */
  mention(text: string): string {
    return /^[A-Za-z]/.test(text) && !LITERAL_WORDS.has(text) ? this.use(text) : text;
  }

  /** Text of who watches accesses. */
  get watch(): string {
    this.use("K");
    if (this.strand !== "null") this.use(this.strand);
    return this.hoist("W", "L.watch");
  }

  /** Writes the body of an iteration of a loop over threads. */
  iteration(body: () => void): void {
    if (!this.options.hostile) return body();
    const outer = this.strand;
    const { watch } = this;
    this.strand = this.fresh("s");
    this.line(`const ${this.strand}=${watch}.strand(K);`);
    body();
    this.strand = outer;
  }

  /** A point where a seeded schedule may switch to another block. */
  preemption(): void {
    if (this.options.preempt && this.inGenerator) this.line(`if(${this.use("L")}.preempt())yield null;`);
  }

  /** Defines a value lane by lane. */
  assign(value: Value, text: (lane: number) => string): void {
    const parts = Array.from({ length: lanesOf(value.type) }, (_, i) => text(i));
    const names = this.define(value);
    parts.forEach((part, i) => this.line(`const ${names[i]}=${part};`));
  }

  /** Number of a place that can fail; `who` is the text of the fault's next two arguments. */
  site(op: Op, buffer: string | null = null): { readonly id: number; readonly who: string } {
    this.sites.push({ op, buffer });
    this.use("L");
    return { id: this.sites.length - 1, who: `${this.use("rank")},${this.use("block")}` };
  }

  /** The number of a buffer in the kernel. */
  buffer(name: string): number {
    return this.kernel.buffers.findIndex((b) => b.name === name);
  }

  /** Text of a buffer's length along a dimension: a literal where it is known. */
  dimension(buffer: number, d: number): string {
    const e = this.kernel.buffers[buffer]!.shape[d]!;
    return typeof e === "number" ? String(e) : this.hoist(`S${buffer}_${d}`, `L.shapes[${buffer}][${d}]`);
  }

  /** Text of a buffer's number of elements. */
  length(buffer: number): string {
    const { shape } = this.kernel.buffers[buffer]!;
    if (shape.every((e) => typeof e === "number")) return String(shape.reduce((a, e) => a * evaluateExtent(e, {}), 1));
    return this.hoist(`N${buffer}`, `L.lengths[${buffer}]`);
  }

  /**
   * Writes `body` into a function of its own, whose parameters are what it uses from outside, and gives
   * the text of the call. Hot loops become small functions that V8 compiles well, apart from the coroutine.
   */
  outline(
    generator: boolean,
    extra: readonly string[],
    body: () => void,
  ): (extraArguments: readonly string[]) => string {
    const name = `f${this.counter++}`;
    this.frames.push({ lines: [], defined: new Set(extra), used: new Set(), generator });
    body();
    const { lines, defined, used } = this.frames.pop()!;
    const free = [...used].filter((n) => !defined.has(n));
    this.functions.push(
      `function${generator ? "*" : ""} ${name}(${[...free, ...extra].join(",")}){\n${lines.join("\n")}\n}`,
    );
    for (const n of free) this.use(n);
    return (extraArguments) => `${name}(${[...free, ...extraArguments].join(",")})`;
  }

  /** The finished text: all functions and `return main`. */
  finish(): string {
    const { lines, used } = this.frame;
    const prologue = [...used].filter((n) => this.hoists.has(n)).map((n) => `const ${n}=${this.hoists.get(n)};`);
    const main = `function* main(${PARAMETERS.join(",")}){\nL.enter(K);\n${[...prologue, ...lines].join("\n")}\nL.leave(K);\n}`;
    return [...this.functions, main, "return main;"].join("\n");
  }
}
