/**
 * Tree → Prettier document. Every token is printed once, in order, and every gap with its comments, whatever the rule;
 * rules differ only in where lines break. A construct that is new to the grammar so gets a sensible form at once.
 */
import { doc as prettierDoc, type Doc } from "prettier";
import { TOKENS as T } from "../../grammar/tokens.js";
import { hasSpace, levelOf } from "./spacing.js";
import { type Branch, type Comment, firstLeaf, type FileTree, type Gap, isLeaf, type Leaf, type Part } from "./tree.js";

const { group, hardline, ifBreak, indent, line, softline } = prettierDoc.builders;

/** The whole file, ending in a line break; empty for a file without anything. */
export function printFile(file: FileTree): Doc {
  return new Printer(file.gaps).file(file.root);
}

class Printer {
  private next = 0;
  private last: Leaf | null = null;

  constructor(private readonly gaps: readonly Gap[]) {}

  file(root: Branch): Doc {
    const body = this.items(root.parts, true);
    const end = this.gaps.length - 1;
    const rest = this.commentLines(this.gaps[end]!, root.parts.length === 0);
    if (this.next !== end) throw new Error(`the formatter left out token ${this.next} of ${end}`);
    const all = [...body, ...rest];
    return all.length === 0 ? "" : [all, hardline];
  }

  // -- tokens and what stands between them ---------------------------------------------------------

  /** Prints a token. That none is lost or moved is checked here, for all files and all rules. */
  private token(t: Leaf): Doc {
    if (t.index !== this.next) throw new Error(`the formatter would print '${t.text}' out of its place`);
    this.next++;
    this.last = t;
    return t.text;
  }

  /** What stands before a token inside a construct: `plain`, or its comments, each at the end of its line. */
  private gap(index: number, plain: Doc): Doc {
    const { comments } = this.gaps[index]!;
    if (comments.length === 0) return plain;
    // A space behind the `@` of a peer would make it a matrix product.
    const apart = this.last?.type === T.RemoteAt ? "" : " ";
    return [...comments.flatMap((c) => [c.isTrailing ? apart : hardline, c.text]), hardline];
  }

  /** The space before a part, from the tokens on both sides. */
  private space(p: Part): Doc {
    const t = firstLeaf(p);
    if (this.last === null) return "";
    if (this.last.type === T.Comma) return this.gap(t.index, line);
    const plain = hasSpace(this.last, t) ? " " : "";
    return this.gaps[t.index]!.comments.length === 0 ? plain : indent(this.gap(t.index, plain));
  }

  // -- lines ---------------------------------------------------------------------------------------

  /** Statements or collectives, each on lines of its own, with the comments above it. */
  private items(parts: readonly Part[], isFile = false): Doc[] {
    const out: Doc[] = [];
    parts.forEach((p, i) => {
      const { index } = firstLeaf(p);
      const gap = this.gaps[index]!;
      const isFirst = i === 0;
      // Collectives are always apart; lines are where the author has set them apart.
      const isLoose = isFile && (isFirst || hasBlock(p) || hasBlock(parts[i - 1]!) || gap.isBlank);
      const comments = this.commentLines(gap, isFirst, isLoose && !isFirst, isFile);
      const isDoc = gap.comments.at(-1)?.text.startsWith("///") === true && isFile;
      const hasLinesAbove = gap.comments.some((c) => !trails(c, isFile));
      const isApart = isLoose && !hasLinesAbove ? !isFirst : gap.isBlank && !isDoc && !(isFirst && !hasLinesAbove);
      const isTop = isFile && isFirst && gap.comments.length === 0;
      out.push(...comments, isTop ? "" : hardline, isApart ? hardline : "", this.statement(p));
    });
    return out;
  }

  /** Comments on lines of their own, but for one that trails what is before. Begins where that ends. */
  private commentLines(gap: Gap, isFirst: boolean, isApart = false, isFile = false): Doc[] {
    let hasAbove = !isFirst;
    let mustPart = isApart;
    return gap.comments.flatMap((c): Doc[] => {
      if (trails(c, isFile)) return [" ", c.text];
      const isBlank = (c.afterBlank && hasAbove) || mustPart;
      const isTop = this.last === null && !hasAbove;
      [hasAbove, mustPart] = [true, false];
      return [isTop ? "" : hardline, isBlank ? hardline : "", c.text];
    });
  }

  private block(b: Branch): Doc {
    const [open, ...rest] = b.parts as [Leaf, ...Part[]];
    const close = rest.pop() as Leaf;
    const start = this.token(open);
    const body = this.items(rest);
    const end = this.commentLines(this.gaps[close.index]!, rest.length === 0);
    const isEmpty = body.length === 0 && end.length === 0;
    return isEmpty ? [start, this.token(close)] : [start, indent([...body, ...end]), hardline, this.token(close)];
  }

  /** Heads on one line if they fit, blocks on several. */
  private statement(p: Part): Doc {
    if (isLeaf(p)) return this.token(p);
    if (p.rule === "collective") return this.collective(p);
    if (!p.hasBlock) return group(this.sequence(p.parts));
    if (isBlock(p)) return this.block(p);
    const out: Doc[] = [];
    for (let i = 0; i < p.parts.length; i++) {
      const part = p.parts[i]!;
      if (i > 0) out.push(this.gap(firstLeaf(part).index, " "));
      if (!isLeaf(part) && part.hasBlock) out.push(this.statement(part));
      else {
        let end = i + 1;
        while (end < p.parts.length && !hasBlock(p.parts[end]!)) end++;
        // What goes on below is so indented twice, and not taken for a statement of the block.
        out.push(group(indent(this.sequence(p.parts.slice(i, end)))));
        i = end - 1;
      }
    }
    return out;
  }

  /** Parameters, results and clauses; what does not fit is broken at the parameters last. */
  private collective(c: Branch): Doc {
    const arrow = c.parts.findIndex((p) => isLeaf(p) && p.type === T.Arrow);
    const clauses = c.parts.findIndex((p, i) => i > arrow && !isLeaf(p) && !p.rule.startsWith("tensor"));
    if (arrow === -1 || clauses === -1) return this.sequence(c.parts);
    const parameters = Symbol("parameters");
    const head = group(this.sequence(c.parts.slice(0, arrow)), { id: parameters });
    const { index } = firstLeaf(c.parts[arrow]!);
    const hasComment = this.gaps[index]!.comments.length > 0;
    const before = hasComment ? indent(this.gap(index, "")) : null;
    const result = this.sequence(c.parts.slice(arrow, clauses));
    const out: Doc[] = [head];
    if (before !== null) out.push(before, result);
    else out.push(ifBreak([" ", result], group(indent([line, result])), { groupId: parameters }));
    for (const p of c.parts.slice(clauses)) {
      if (hasBlock(p)) out.push(this.gap(firstLeaf(p).index, " "), this.statement(p));
      else out.push(indent([this.gap(firstLeaf(p).index, hardline), this.part(p)]));
    }
    return out;
  }

  // -- inside a statement --------------------------------------------------------------------------

  private part(p: Part, isAlone = false): Doc {
    if (isLeaf(p)) return this.token(p);
    if (p.rule === "expression") return this.chain(p.parts, isAlone);
    if (isBlock(p)) return this.block(p);
    return this.sequence(p.parts, isAlone);
  }

  /** Parts with spaces as their neighbours ask for; brackets break around what they hold. */
  private sequence(parts: readonly Part[], isAlone = false): Doc[] {
    const out: Doc[] = [];
    for (let i = 0; i < parts.length; i++) {
      const p = parts[i]!;
      if (i > 0) out.push(this.space(p));
      const closer = isLeaf(p) ? CLOSERS.get(p.type) : undefined;
      const close = closer === undefined ? -1 : parts.findIndex((q, j) => j > i && isLeaf(q) && q.type === closer);
      if (close === -1) out.push(this.part(p, isAlone && parts.length === 1));
      else {
        out.push(this.brackets(p as Leaf, parts.slice(i + 1, close), parts[close] as Leaf));
        i = close;
      }
    }
    return out;
  }

  private brackets(open: Leaf, inner: readonly Part[], close: Leaf): Doc {
    const start = this.token(open);
    const first = inner[0];
    const content = first === undefined ? [] : [this.gap(firstLeaf(first).index, softline), this.contents(inner)];
    const { comments } = this.gaps[close.index]!;
    const end = comments.flatMap((c): Doc[] => [c.isTrailing ? " " : hardline, c.text]);
    const isEmpty = content.length === 0 && end.length === 0;
    return group([
      start,
      indent([...content, ...end]),
      isEmpty ? "" : end.length > 0 ? hardline : softline,
      this.token(close),
    ]);
  }

  private contents(inner: readonly Part[]): Doc {
    return this.sequence(inner, inner.length === 1);
  }

  /**
   * Operands and operators. Lines break behind the loosest operators, all of them or none.
   * @param isAlone nothing else stands in the brackets around it, which indent it already.
   */
  private chain(parts: readonly Part[], isAlone: boolean): Doc {
    if (parts.length === 1) return this.part(parts[0]!, isAlone);
    const loosest = Math.min(...parts.filter(isLeaf).map(levelOf));
    const ends = parts.flatMap((p, i) => (isLeaf(p) && levelOf(p) === loosest ? [i] : []));
    const first = this.chain(parts.slice(0, ends[0]), isAlone);
    const rest = ends.map((at, i): Doc => {
      const operator = parts[at] as Leaf;
      const right = parts.slice(at + 1, ends[i + 1]);
      const head = [this.gap(operator.index, " "), this.token(operator)];
      return [head, this.gap(firstLeaf(right[0]!).index, line), this.chain(right, false)];
    });
    return group([first, isAlone ? rest : indent(rest)]);
  }
}

const CLOSERS = new Map([
  [T.LeftParen, T.RightParen],
  [T.LeftBracket, T.RightBracket],
]);

/** Between definitions, a `///` describes the one below, wherever it stands. */
const trails = (c: Comment, isFile: boolean): boolean => c.isTrailing && !(isFile && c.text.startsWith("///"));

const hasBlock = (p: Part): boolean => !isLeaf(p) && p.hasBlock;

function isBlock(b: Branch): boolean {
  const first = b.parts[0];
  return first !== undefined && isLeaf(first) && first.type === T.LeftBrace;
}
