/** Reading Chevrotain's concrete tree: children by name, spans, and what to do where recovery left a hole. */
import type { CstElement, CstNode, IToken } from "chevrotain";
import { NO_SPAN, type Span } from "../source.js";
import type { Name } from "./nodes.js";

/** Thrown inside a subtree that recovery left incomplete; the nearest list drops the item. */
export class Incomplete extends Error {}

const isNode = (e: CstElement): e is CstNode => "children" in e;

export function nodes(n: CstNode, key: string): CstNode[] {
  return (n.children[key] ?? []).filter(isNode);
}

/** The first child of that name. @throws Incomplete if there is none. */
export function node(n: CstNode, key: string): CstNode {
  const found = nodes(n, key)[0];
  if (found === undefined) throw new Incomplete();
  return found;
}

/** Tokens of that name that stand in the text; those that recovery made up are left out. */
export function tokens(n: CstNode, key: string): IToken[] {
  return (n.children[key] ?? []).filter((e): e is IToken => !isNode(e) && !(e.isInsertedInRecovery ?? false));
}

/** The first token of that name. @throws Incomplete if there is none. */
export function token(n: CstNode, key: string): IToken {
  const found = tokens(n, key)[0];
  if (found === undefined) throw new Incomplete();
  return found;
}

export function has(n: CstNode, key: string): boolean {
  return (n.children[key]?.length ?? 0) > 0;
}

/** What is built, or nothing where the text is incomplete. */
export function attempt<X>(build: () => X): X[] {
  try {
    return [build()];
  } catch (e) {
    if (!(e instanceof Incomplete)) throw e;
    return [];
  }
}

/** Builds every subtree of a kind, leaving out incomplete ones. */
export function each<X>(n: CstNode, key: string, build: (child: CstNode) => X): X[] {
  return nodes(n, key).flatMap((child) => attempt(() => build(child)));
}

export function spanOf(n: CstNode): Span {
  const l = n.location;
  if (l === undefined || Number.isNaN(l.startOffset)) throw new Incomplete();
  return { start: l.startOffset, end: (l.endOffset ?? l.startOffset) + 1 };
}

export function tokenSpan(t: IToken): Span {
  if (Number.isNaN(t.startOffset)) return NO_SPAN;
  return { start: t.startOffset, end: (t.endOffset ?? t.startOffset) + 1 };
}

export function nameOf(t: IToken): Name {
  return { text: t.image, span: tokenSpan(t) };
}
