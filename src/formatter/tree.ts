/** A file as an ordered tree of tokens, with the comments and blank lines between them: nothing of the text is lost. */
import type { CstNode, IToken, TokenType } from "chevrotain";
import { CollParser } from "../../grammar/parser.js";
import { collLexer, TOKENS as T } from "../../grammar/tokens.js";

/** A token, and its place in the file's sequence of tokens. */
export interface Leaf {
  readonly type: TokenType;
  readonly text: string;
  readonly index: number;
  /** What the rule that reads it calls it: `operator`, `prefix`, or the token's own name. */
  readonly label: string;
}

/** What a rule of the grammar has read, from left to right. */
export interface Branch {
  readonly rule: string;
  readonly parts: readonly Part[];
  /** A `{` stands in it, so it takes several lines. */
  readonly hasBlock: boolean;
}

export type Part = Leaf | Branch;

export interface Comment {
  readonly text: string;
  /** It stands behind the token before, on the same line. */
  readonly isTrailing: boolean;
  /** A blank line stands before it. */
  readonly afterBlank: boolean;
}

/** What stands before a token. */
export interface Gap {
  readonly comments: readonly Comment[];
  /** A blank line stands between the token and whatever is before it. */
  readonly isBlank: boolean;
}

export interface FileTree {
  readonly root: Branch;
  /** One before each token, and one at the end of the file. */
  readonly gaps: readonly Gap[];
}

export const isLeaf = (p: Part): p is Leaf => "index" in p;

/** The first token of a part. */
export function firstLeaf(p: Part): Leaf {
  let at = p;
  while (!isLeaf(at)) at = at.parts[0]!;
  return at;
}

let parser: CollParser | undefined;

/** Reads a text that is known to have no syntax error. Comments of all kinds are in the gaps, none in the tree. */
export function readTree(text: string): FileTree {
  const tokens = collLexer.tokenize(text).tokens.filter((t) => t.tokenType !== T.DocComment);
  parser ??= new CollParser();
  parser.input = tokens;
  const cst = parser.program();
  const places = new Map(tokens.map((t, i) => [t.startOffset, i]));
  const gaps: Gap[] = [];
  let end = 0;
  for (const t of tokens) {
    gaps.push(readGap(text, end, t.startOffset));
    end = t.startOffset + t.image.length;
  }
  gaps.push(readGap(text, end, text.length));
  return { root: branch("program", cst, places), gaps };
}

/** Chevrotain keeps children by name; here they are in the order of the text. */
function branch(rule: string, node: CstNode, places: ReadonlyMap<number, number>): Branch {
  const found: { readonly start: number; readonly part: Part }[] = [];
  for (const [label, children] of Object.entries(node.children)) {
    for (const child of children) {
      if (!("children" in child)) found.push({ start: child.startOffset, part: leaf(child, label, places) });
      else if (child.location !== undefined && !Number.isNaN(child.location.startOffset))
        found.push({ start: child.location.startOffset, part: branch(child.name, child, places) });
    }
  }
  const parts = found.sort((a, b) => a.start - b.start).map((f) => f.part);
  return { rule, parts, hasBlock: parts.some((p) => (isLeaf(p) ? p.type === T.LeftBrace : p.hasBlock)) };
}

function leaf(t: IToken, label: string, places: ReadonlyMap<number, number>): Leaf {
  return { type: t.tokenType, text: t.image, index: places.get(t.startOffset)!, label };
}

/** Between two tokens there are only spaces and comments. */
function readGap(text: string, start: number, end: number): Gap {
  const comments: Comment[] = [];
  let at = start;
  const breaksUpTo = (next: number): number => text.slice(at, next).split("\n").length - 1;
  for (const match of text.slice(start, end).matchAll(/\/\/[^\n]*/g)) {
    const from = start + match.index;
    const breaks = breaksUpTo(from);
    const isTrailing = comments.length === 0 && breaks === 0 && start > 0;
    comments.push({ text: match[0].trimEnd(), isTrailing, afterBlank: breaks > 1 });
    at = from + match[0].length;
  }
  return { comments, isBlank: breaksUpTo(end) > 1 };
}
