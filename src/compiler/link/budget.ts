/**
 * Limits on what functions and constants become when they are put in place. A few lines can stand for a tree that no
 * machine holds, `fn f9(v) = f8(v) + f8(v)`, or for one that is deeper than any stack.
 */
import type { Constant } from "../ast/nodes.js";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import type { ConstantValue } from "./constants.js";

/** Levels of an expression, functions and constants put in place. */
export const MAX_EXPANDED_DEPTH = 1200;
/** Parts of expressions that come from functions, in one collective. */
export const MAX_EXPANDED_PARTS = 30_000;
/** Files that import each other in a row. */
export const MAX_IMPORTS = 200;

/** What the expansion of one collective has used so far. */
export class Budget {
  readonly constants = new Map<Constant, ConstantValue | null>();
  private depth = 0;
  private parts = 0;
  private isSpent = false;

  constructor(private readonly report: (d: Diagnostic) => void) {}

  /** Runs one level deeper; once a limit is reached, which is reported once, nothing runs any more and this is null. */
  deeper<T>(span: Span, run: () => T): T | null {
    if (this.isSpent) return null;
    if (this.depth >= MAX_EXPANDED_DEPTH) return this.end("too-deep", span, MAX_EXPANDED_DEPTH);
    this.depth++;
    const made = run();
    this.depth--;
    return made;
  }

  /** Counts a part of a function or constant that is put in place. @returns whether there may be more. */
  part(span: Span): boolean {
    if (!this.isSpent && ++this.parts > MAX_EXPANDED_PARTS) this.end("too-large", span, MAX_EXPANDED_PARTS);
    return !this.isSpent;
  }

  private end(code: "too-deep" | "too-large", span: Span, limit: number): null {
    this.isSpent = true;
    const help = "let functions call fewer functions, or name what they have in common with `let`";
    this.report(diagnostic(code, span, { limit }, { help }));
    return null;
  }
}
