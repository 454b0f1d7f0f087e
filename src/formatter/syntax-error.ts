/** What is thrown for a file that does not follow the grammar: the compiler's own diagnostics, as Prettier shows them. */
import type { Diagnostic } from "../index.js";
import type { SourceFile } from "../compiler/index.js";

/** A file that cannot be formatted. `loc` is where Prettier's own messages look for the place. */
export class CollSyntaxError extends SyntaxError {
  readonly loc: { readonly start: { line: number; column: number }; readonly end: { line: number; column: number } };

  constructor(
    readonly diagnostics: readonly Diagnostic[],
    readonly source: SourceFile,
  ) {
    const [first] = diagnostics;
    super(first === undefined ? "this is not Coll" : `${first.message}${first.help === null ? "" : `; ${first.help}`}`);
    this.name = "CollSyntaxError";
    const { start, end } = first?.span ?? { start: 0, end: 0 };
    this.loc = { start: source.position(start), end: source.position(end) };
  }
}

/** Diagnostics that mean that the text was not read as a whole, so that formatting it could lose some of it. */
const UNREADABLE: ReadonlySet<string> = new Set(["unknown-character", "syntax", "too-deep"]);

export function isUnreadable(d: Diagnostic): boolean {
  return UNREADABLE.has(d.code);
}
