/** Tokens of the IR's text form, and the small things that many rows hold. */
import { type DType, isDType } from "../types/dtype.js";
import { extent, type Extent, type ExtentOp } from "../types/extent.js";

export class IrParseError extends Error {
  constructor(
    message: string,
    readonly line: number,
  ) {
    super(`IR text, line ${line}: ${message}`);
  }
}

const TOKEN = /\s*(?:([%#]?[A-Za-z_0-9.+-]+)|("(?:[^"\\]|\\.)*")|([{}()[\]<>,:=]))/y;

export class Reader {
  private at = 0;
  constructor(private readonly source: string) {}

  fail(message: string): never {
    throw new IrParseError(message, this.source.slice(0, this.at).split("\n").length);
  }

  peek(): string {
    TOKEN.lastIndex = this.at;
    const m = TOKEN.exec(this.source);
    return m === null ? "" : (m[1] ?? m[2] ?? m[3])!;
  }

  /** Whether nothing but space is left on this line. */
  isAtLineEnd(): boolean {
    return /^[ \t]*(\n|$)/.test(this.source.slice(this.at, this.source.indexOf("\n", this.at) + 1 || undefined));
  }

  next(): string {
    TOKEN.lastIndex = this.at;
    const m = TOKEN.exec(this.source);
    if (m === null) this.fail(this.source.slice(this.at).trim() === "" ? "the text ends too early" : "unreadable text");
    this.at = TOKEN.lastIndex;
    return (m[1] ?? m[2] ?? m[3])!;
  }

  accept(token: string): boolean {
    if (this.peek() !== token) return false;
    this.next();
    return true;
  }

  expect(token: string): void {
    const got = this.next();
    if (got !== token) this.fail(`expected '${token}', found '${got}'`);
  }

  integer(): number {
    const n = Number(this.next());
    return Number.isInteger(n) ? n : this.fail("expected an integer");
  }

  list<X>(close: string, item: () => X): X[] {
    const items: X[] = [];
    while (!this.accept(close)) {
      if (items.length > 0) this.expect(",");
      items.push(item());
    }
    return items;
  }
}

export function dtype(r: Reader): DType {
  const name = r.next();
  return isDType(name) ? name : r.fail(`no dtype '${name}'`);
}

export function parseExtent(r: Reader): Extent {
  const head = r.next();
  if (/^\d+$/.test(head)) return Number(head);
  if (!r.accept("(")) return head;
  const [a, b] = r.list(")", () => parseExtent(r));
  return extent(head as ExtentOp, a!, b!);
}

export function shape(r: Reader): Extent[] {
  r.expect("[");
  return r.list("]", () => parseExtent(r));
}
