/** How large the numbers of a program may be. */
import type { IToken } from "chevrotain";
import { TOKENS as T } from "../../../grammar/tokens.js";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import { tokenSpan } from "./cst.js";

/** The largest finite f32. */
const MAX_F32 = 3.4028234663852886e38;

/** Null, or what is wrong with a number at a place. Whole numbers stay exact, others finite. */
export function numberProblem(value: number, isInteger: boolean, span: Span): Diagnostic | null {
  const limit = isInteger ? Number.MAX_SAFE_INTEGER : MAX_F32;
  return value <= limit ? null : diagnostic("number-too-large", span, { number: value, limit });
}

/** Numbers that are too large wherever they stand; so no later stage meets an infinity, or a number that was rounded. */
export function largeNumbers(tokens: readonly IToken[]): Diagnostic[] {
  return tokens.flatMap((t) => {
    if (t.tokenType !== T.Integer && t.tokenType !== T.Number) return [];
    return numberProblem(Number(t.image), t.tokenType === T.Integer, tokenSpan(t)) ?? [];
  });
}
