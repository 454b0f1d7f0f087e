/** Quotients of what counts elements by lengths: symbols that go with the element, as the variables of loops do. */
import { factors, type Form, keyOf, minus, parameter, product } from "./forms.js";

/** What counts elements, over a length: the number of a row. */
export interface Quotient {
  readonly of: Form;
  /** An opaque length, or a product of such. */
  readonly by: Form;
}

/** What the name of a quotient begins with. */
const QUOTIENT = "~/";

/** The name of a quotient that is all there is in a form; null of other forms. */
export function quotientIn(f: Form): string | null {
  const [[key, n] = ["", 0]] = f;
  return f.size === 1 && n === 1 && key.startsWith(QUOTIENT) ? key : null;
}

/** Names of the quotients in a form. */
function namesIn(f: Form): readonly string[] {
  return [...f.keys()].flatMap((key) => factors(key).filter((name) => name.startsWith(QUOTIENT)));
}

export class Quotients {
  private readonly all = new Map<string, Quotient>();

  /**
   * What counts elements, or a quotient of it, over a length; or what that leaves. Null of other quotients.
   * @param by an opaque length
   */
  of(fn: "div" | "rem", of: Form, by: Form): Form | null {
    const row = quotientIn(of);
    if (row === null && namesIn(of).length > 0) return null;
    // A row over so many is an element over as many rows.
    const rows = row === null ? null : this.all.get(row)!;
    const quotient = rows === null ? { of, by } : { of: rows.of, by: product(by, rows.by) };
    const name = `${QUOTIENT}${keyOf(quotient.of)} / ${keyOf(quotient.by)}`.replaceAll("*", "·");
    this.all.set(name, quotient);
    return fn === "div" ? parameter(name) : minus(of, product(by, parameter(name)));
  }

  /** Those that a form has, by their names. */
  in(f: Form): ReadonlyMap<string, Quotient> {
    return new Map(namesIn(f).map((name) => [name, this.all.get(name)!]));
  }

  /** What elements are divided by. */
  divisors(): readonly Form[] {
    return [...new Map([...this.all.values()].map(({ by }) => [keyOf(by), by])).values()];
  }
}
