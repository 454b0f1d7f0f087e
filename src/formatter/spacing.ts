/** Which tokens stand together and which apart. Only neighbours matter, so constructs to come need nothing here. */
import type { TokenType } from "chevrotain";
import { TOKENS as T } from "../../grammar/tokens.js";
import type { Leaf } from "./tree.js";

/** Nothing follows these directly but what belongs to them. */
const TIGHT_AFTER = new Set<TokenType>([T.LeftParen, T.LeftBracket, T.RemoteAt, T.Dot, T.DotDot]);
const TIGHT_BEFORE = new Set<TokenType>([
  T.RightParen,
  T.RightBracket,
  T.LeftBracket,
  T.Comma,
  T.Colon,
  T.RemoteAt,
  T.Dot,
  T.DotDot,
]);
/** A `(` behind these opens their arguments. */
const TAKES_ARGUMENTS = new Set<TokenType>([T.Name, T.Tiles, T.Shard, T.Chunk, T.Where, T.Mesh, T.Ranks, T.Peers]);

/** Whether a space stands between two tokens of one line. */
export function hasSpace(before: Leaf, after: Leaf): boolean {
  if (TIGHT_AFTER.has(before.type) || TIGHT_BEFORE.has(after.type)) return false;
  if (after.type === T.LeftParen) return !TAKES_ARGUMENTS.has(before.type);
  return !(before.type === T.Minus && before.label === "prefix");
}

/** How loosely operators bind, for where lines are broken first. */
const LEVELS: readonly (readonly TokenType[])[] = [
  [T.Or],
  [T.And],
  [T.Equal, T.NotEqual, T.Less, T.LessEqual, T.Greater, T.GreaterEqual],
  [T.Plus, T.Minus, T.Caret],
];

/** 0 for the loosest operators. */
export function levelOf(operator: Leaf): number {
  const level = LEVELS.findIndex((types) => types.includes(operator.type));
  return level === -1 ? LEVELS.length : level;
}
