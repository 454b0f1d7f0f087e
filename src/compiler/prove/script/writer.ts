/** The growing JavaScript text of a kernel: functions in the making, and what stands for the IR's values in them. */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import type { Op, Value } from "../../ir/module.js";

/** What stands for a value of the IR. */
export interface Form {
  /** A variable, or a literal. */
  readonly text: string;
  readonly isVariable: boolean;
  /** One number for all lanes, an array with one for each, or whichever of the two. */
  readonly lanes: "one" | "many" | "either";
  /** Whether it is surely a number, and no term. */
  readonly isKnown: boolean;
}

interface Scope {
  readonly lines: string[];
  readonly defined: Set<string>;
  readonly used: Set<string>;
}

export class Writer {
  /** By number, as the text names them. */
  readonly ops: Op[] = [];
  private readonly opNumbers = new Map<Op, number>();
  private readonly forms = new Map<Value, Form>();
  /** Constants of a run, computed before it. */
  private readonly constants = new Map<string, string>();
  private readonly functions: string[] = [];
  private readonly scopes: Scope[] = [];
  private counter = 0;
  /** Whether the code at hand is an iteration of a loop over threads; its strand, if traced, is then `s`. */
  inThreads = false;

  private get scope(): Scope {
    return this.scopes.at(-1)!;
  }

  line(text: string): void {
    this.scope.lines.push(text);
  }

  /** Text of an op. */
  op(op: Op): string {
    return `O[${this.opNumber(op)}]`;
  }

  /** Text of the number of an op in the trace. */
  opInTrace(op: Op): string {
    const number = this.opNumber(op);
    return this.constant(`Q${number}`, `T.numberOf(O[${number}])`);
  }

  /** Notes that an op runs. */
  ran(op: Op): void {
    this.line(`E[${this.opNumber(op)}] = 1;`);
  }

  private opNumber(op: Op): number {
    let number = this.opNumbers.get(op);
    if (number === undefined) this.opNumbers.set(op, (number = this.ops.push(op) - 1));
    return number;
  }

  /** The name of what is computed once, before a run. */
  constant(name: string, text: string): string {
    this.constants.set(name, text);
    return name;
  }

  /** Notes that the text of the function at hand uses a local variable. */
  use(name: string): string {
    this.scope.used.add(name);
    return name;
  }

  fresh(prefix: string): string {
    const name = `${prefix}${this.counter++}`;
    this.scope.defined.add(name);
    return name;
  }

  /** A new variable with this value. */
  variable(prefix: string, text: string): string {
    const name = this.fresh(prefix);
    this.line(`const ${name} = ${text};`);
    return name;
  }

  bind(value: Value, form: Form): void {
    this.forms.set(value, form);
  }

  /** Gives a value the variable of its own. */
  define(value: Value, text: string, lanes: Form["lanes"], isKnown: boolean): void {
    this.bind(value, { text: this.variable("v", text), isVariable: true, lanes, isKnown });
  }

  /** What stands for a value; null for one that does not matter and so was never computed. */
  formOf(value: Value): Form | null {
    const form = this.forms.get(value);
    if (form === undefined) return null;
    if (form.isVariable) this.use(form.text);
    return form;
  }

  /** The same for a value that was computed. */
  form(value: Value): Form {
    const form = this.formOf(value);
    if (form === null) throw new InternalCompilerError("the prover met a value that is not defined");
    return form;
  }

  /** Text of a value that decides what happens, which must be a number. */
  known(value: Value, what: string): string {
    const { text, isKnown } = this.form(value);
    return isKnown ? text : `known(${text}, ${JSON.stringify(what)})`;
  }

  /** The same, as something that can be used twice. */
  knownName(value: Value, what: string): string {
    const text = this.known(value, what);
    return this.form(value).isKnown ? text : this.variable("k", text);
  }

  /**
   * Writes `body` into a function of its own, whose parameters are the frame and what it uses from outside; gives the text
   * of the call. Loops that run often become small functions, which V8 compiles well, apart from the coroutine of a block.
   */
  outline(body: () => void): string {
    const name = `t${this.counter++}`;
    const { lines, free } = this.collect(body);
    this.functions.push(`function ${name}(${["f", ...free].join(", ")}) {\n${lines.join("\n")}\n}`);
    for (const n of free) this.use(n);
    return `${name}(${["f", ...free].join(", ")})`;
  }

  private collect(body: () => void): { readonly lines: readonly string[]; readonly free: readonly string[] } {
    this.scopes.push({ lines: [], defined: new Set(), used: new Set() });
    body();
    const { lines, defined, used } = this.scopes.pop()!;
    return { lines, free: [...used].filter((n) => !defined.has(n)) };
  }

  /** The whole text: functions and, given back, the coroutine of a block, which `body` writes. */
  finish(body: () => void): string {
    const { lines } = this.collect(body);
    const constants = [...this.constants].map(([name, text]) => `const ${name} = ${text};`);
    return [...constants, ...this.functions, `return function* (f) {\n${lines.join("\n")}\n};`].join("\n");
  }
}

/** A literal's text, which JavaScript reads as the same number. */
export function literal(x: number): string {
  return Object.is(x, -0) ? "-0" : String(x);
}
