/** Offsets ↔ the protocol's positions, which count lines and UTF-16 units from 0. */
import type { Position, Range } from "vscode-languageserver/node";
import { collLexer, TOKENS as T } from "../../grammar/tokens.js";
import type { SourceFile, Span } from "../compiler/index.js";

export function positionOf(source: SourceFile, offset: number): Position {
  // Beyond the text there may be files that it imports; in the text, a place at its end is one.
  const isEnd = source.fileOf(offset) === source.name;
  const { line, column } = source.position(isEnd ? Math.min(offset, source.text.length) : offset);
  return { line: line - 1, character: column - 1 };
}

export function rangeOf(source: SourceFile, span: Span): Range {
  return { start: positionOf(source, span.start), end: positionOf(source, span.end) };
}

export interface Neighbourhood {
  /** The token that the offset is in, or just behind; null between tokens. */
  readonly token: { readonly image: string; readonly span: Span; readonly isWord: boolean } | null;
  /** Tokens before it, the last one first. */
  readonly before: readonly string[];
  readonly isComment: boolean;
}

/** The tokens around an offset. */
export function neighbourhood(text: string, offset: number): Neighbourhood {
  const { tokens } = collLexer.tokenize(text);
  const index = tokens.findLastIndex((t) => t.startOffset < offset || (t.startOffset === offset && isWord(t.image)));
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  const at = tokens[index];
  const end = at === undefined ? -1 : at.startOffset + at.image.length;
  const isIn = at !== undefined && (offset < end || (offset === end && isWord(at.image)));
  const before = tokens.slice(Math.max(0, index + (isIn ? 0 : 1) - 400), index + (isIn ? 0 : 1));
  return {
    token: isIn ? { image: at.image, span: { start: at.startOffset, end }, isWord: isWord(at.image) } : null,
    before: before.filter((t) => t.tokenType !== T.DocComment).map((t) => t.image).reverse(), // prettier-ignore
    isComment: line.includes("//"),
  };
}

export const isWord = (image: string): boolean => /^[A-Za-z_]/.test(image);
