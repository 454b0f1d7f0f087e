/** Quotients of what counts elements by lengths: symbols that go with the element, as the variables of loops do. */
import { isLoop } from "./choices.js";
import {
  constant,
  constantOf,
  equal,
  factors,
  type Form,
  isConstant,
  keyOf,
  minus,
  parameter,
  product,
} from "./forms.js";
import type { Expressions } from "./expressions.js";
import type { Step } from "./places.js";
import { ROTATED } from "./terms.js";

/** What counts elements, over a length: the number of a row. */
export interface Quotient {
  readonly of: Form;
  /** An opaque length, or a product of such. */
  readonly by: Form;
}

/** What the name of a quotient begins with. */
const QUOTIENT = "~/";

/** What the name of a number begins with that is made of a quotient by dividing it, or what is added to it, by a constant. */
const STEPPED = "~%";

/** The name of a quotient that is all there is in a form; null of other forms. */
function quotientIn(f: Form): string | null {
  const [[key, n] = ["", 0]] = f;
  return f.size === 1 && n === 1 && key.startsWith(QUOTIENT) && factors(key).length === 1 ? key : null;
}

/** The name of a quotient, or of what is made of one, that is all there is in a form; null of other forms. */
export function madeOfOne(f: Form): string | null {
  const [[key, n] = ["", 0]] = f;
  return f.size === 1 && n === 1 && namesIn(f).length === 1 && factors(key).length === 1 ? key : null;
}

/** Names of the quotients in a form, and of what is made of quotients. */
function namesIn(f: Form): readonly string[] {
  const names: string[] = [];
  for (const key of f.keys())
    for (const name of factors(key)) if (name.startsWith(QUOTIENT) || name.startsWith(STEPPED)) names.push(name);
  return names;
}

/** Whether a form goes with elements, and not with peers that go with the block. */
export function countsElements(f: Form): boolean {
  const names = [...f.keys()].flatMap((key) => [...factors(key)]);
  return names.some((name) => isLoop(name)) && !names.some((name) => name.startsWith(ROTATED));
}

/** What is made of a quotient: its name, and how. */
interface Stepped {
  readonly quotient: string;
  readonly steps: readonly Step[];
}

export class Quotients {
  private readonly all = new Map<string, Quotient>();
  private readonly stepped = new Map<string, Stepped>();

  constructor(private readonly expressions: Expressions) {}

  /**
   * What counts elements, or a quotient of it, over a length; or what that leaves. Null of other quotients.
   * @param by an opaque length, or a positive number
   */
  of(fn: "div" | "rem", of: Form, by: Form): Form | null {
    const row = quotientIn(of);
    if (row === null && namesIn(of).length > 0) return this.inRow(fn, of, by);
    // A row over so many is an element over as many rows.
    const rows = row === null ? null : this.all.get(row)!;
    const quotient = rows === null ? { of, by } : { of: rows.of, by: product(by, rows.by) };
    const name = `${QUOTIENT}${keyOf(quotient.of)} / ${keyOf(quotient.by)}`.replaceAll("*", "·");
    this.all.set(name, quotient);
    return fn === "div" ? parameter(name) : minus(of, product(by, parameter(name)));
  }

  /** Of an element's place in its row, as many parts of which are one row as a number says: the number of its part, or its place in that. */
  private inRow(fn: "div" | "rem", of: Form, by: Form): Form | null {
    const [name, ...further] = namesIn(of);
    const row = this.all.get(name!);
    if (row === undefined || further.length > 0) return null;
    const isPlace = equal(of, minus(row.of, product(row.by, parameter(name!))));
    const parts = isPlace ? this.timesOf(row.by, by) : null;
    if (parts === null) return null;
    const part = this.of("div", row.of, by)!;
    return fn === "rem" ? minus(row.of, product(by, part)) : this.step("rem", part, constant(parts));
  }

  /** How many times one opaque length is another; null where that is not seen. */
  private timesOf(length: Form, other: Form): number | null {
    const [a, b] = [length, other].map((f) => {
      const [[key, n] = ["", 0]] = f;
      const isOne = f.size === 1 && n === 1 && key.startsWith("@") && factors(key).length === 1;
      return isOne ? this.expressions.numbered(Number(key.slice(1))) : null;
    });
    return a == null || b == null ? null : this.expressions.timesOf(a, b);
  }

  /** What is made of a row's number by dividing it by a number; or an element's row, or its place in it, of rows that are so long. Null of others. */
  overNumber(fn: unknown, of: Form, by: Form): Form | null {
    if ((fn !== "div" && fn !== "rem") || !isConstant(by) || constantOf(by) <= 0) return null;
    return this.step(fn, of, by) ?? (countsElements(of) ? this.of(fn, of, by) : null);
  }

  /** A quotient, a multiple of it, or what is made of it, and a number, over a positive one; or what that leaves. Null of others. */
  private step(fn: "div" | "rem", of: Form, by: Form): Form | null {
    const [name, ...further] = namesIn(of);
    if (name === undefined || further.length > 0) return null;
    const times = of.get(name);
    // Nothing but that and a number.
    if (times === undefined || [...of.keys()].some((key) => key !== name && key !== "")) return null;
    const step: Step = { fn, times, add: constantOf(of), by: constantOf(by) };
    const before = this.stepped.get(name) ?? { quotient: name, steps: [] };
    const own = `${STEPPED}${name} ${fn} ${step.times} ${step.add} ${step.by}`;
    this.stepped.set(own, { quotient: before.quotient, steps: [...before.steps, step] });
    return parameter(own);
  }

  /** Quotients that a form has, or that something in it is made of, by the names in the form. */
  in(f: Form): ReadonlyMap<string, Quotient> {
    return new Map(namesIn(f).map((name) => [name, this.all.get(this.quotientOf(name))!]));
  }

  /** The name of the quotient that something is, or is made of. */
  quotientOf(name: string): string {
    return this.stepped.get(name)?.quotient ?? name;
  }

  /** How something is made of its quotient: in no steps where it is that. */
  stepsOf(name: string): readonly Step[] {
    return this.stepped.get(name)?.steps ?? [];
  }

  /** What elements are divided by. */
  divisors(): readonly Form[] {
    return [...new Map([...this.all.values()].map(({ by }) => [keyOf(by), by])).values()];
  }
}
