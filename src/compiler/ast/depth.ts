/**
 * Limits on nesting. Every stage walks the tree by recursion, so a program that nests without end would exhaust the
 * stack; it gets an answer instead. People stay far below these numbers, and generators can name parts with `let`.
 */
import type { IToken } from "chevrotain";
import { TOKENS as T } from "../../../grammar/tokens.js";
import type { Span } from "../source.js";
import type { Program } from "./nodes.js";

/** Brackets, braces, prefix operators, reductions and `else if`s inside one another. */
export const MAX_NESTING = 256;
/** Levels of the syntax tree; the operators of a long sum are one inside the other, too. */
export const MAX_DEPTH = 600;

const OPEN = new Set([T.LeftParen, T.LeftBracket, T.LeftBrace]);
const CLOSE = new Set([T.RightParen, T.RightBracket, T.RightBrace]);
/** After these, a `-` is between two operands. */
const OPERAND_END = new Set([T.Name, T.Integer, T.Number, T.RightParen, T.RightBracket]);
/** Tokens that end the reach of the prefixes before them. */
const ENDS_PREFIXES = new Set([T.Comma, T.Assign, T.Plus, T.Let, T.For, T.If, T.LeftBrace, T.RightBrace]);

/** The first token that stands too deep, before anything is parsed; null if none does. */
export function tooDeepToken(tokens: readonly IToken[]): IToken | null {
  const outer: { prefixes: number; elses: number; isFold: boolean }[] = [];
  let here = { prefixes: 0, elses: 0, isFold: false };
  let total = 0;
  for (let i = 0; i < tokens.length; i++) {
    const { tokenType } = tokens[i]!;
    const before = tokens[i - 1]?.tokenType;
    if (OPEN.has(tokenType)) {
      outer.push(here);
      total += 1 + here.prefixes + here.elses;
      here = { prefixes: 0, elses: 0, isFold: false };
    } else if (CLOSE.has(tokenType)) {
      const { isFold } = here;
      here = outer.pop() ?? { prefixes: 0, elses: 0, isFold: false };
      total = Math.max(0, total - 1 - here.prefixes - here.elses);
      if (isFold) here.prefixes++;
    } else if (tokenType === T.In && outer.length > 0) here.isFold = tokens[i - 2]?.tokenType === T.LeftParen;
    else if (tokenType === T.Not) here.prefixes++;
    else if (tokenType === T.Minus)
      here.prefixes = before !== undefined && OPERAND_END.has(before) ? 0 : here.prefixes + 1;
    if (ENDS_PREFIXES.has(tokenType)) here.prefixes = 0;
    if (tokenType === T.Else) here.elses++;
    else if (before === T.RightBrace) here.elses = 0;
    if (total + here.prefixes + here.elses > MAX_NESTING) return tokens[i]!;
  }
  return null;
}

/** A place where the tree is too deep; null if it is nowhere. Walks without recursion. */
export function tooDeepNode(program: Program): Span | null {
  const work: { readonly value: object; readonly depth: number; readonly span: Span }[] = [
    { value: program, depth: 0, span: { start: 0, end: 0 } },
  ];
  for (let item = work.pop(); item !== undefined; item = work.pop()) {
    if (item.depth > MAX_DEPTH) return item.span;
    const span = (item.value as { span?: Span }).span ?? item.span;
    const depth = Array.isArray(item.value) ? item.depth : item.depth + 1;
    for (const [key, value] of Object.entries(item.value))
      if (typeof value === "object" && value !== null && key !== "span")
        work.push({ value: value as object, depth, span });
  }
  return null;
}
