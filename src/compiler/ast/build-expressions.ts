/** Concrete tree → expressions, domains and ranges. */
import type { CstNode, IToken } from "chevrotain";
import { joinSpans, type Span } from "../source.js";
import type { ReductionOp } from "../types/layout.js";
import { each, has, Incomplete, nameOf, node, nodes, spanOf, token, tokens, tokenSpan } from "./cst.js";
import type { BinaryOperator, Domain, Expression, RangeExpression, SliceRange } from "./nodes.js";
import { COMPARISON, precedenceOf, PRODUCT } from "./precedence.js";

/** The parser gives operands and operators as they stand; here they are grouped by how tightly they bind. */
export function buildExpression(n: CstNode): Expression {
  const chain = new Chain(nodes(n, "operand"), tokens(n, "operator"));
  return chain.read(0);
}

class Chain {
  private at = 0;

  constructor(
    private readonly operands: readonly CstNode[],
    private readonly operators: readonly IToken[],
  ) {}

  /** Reads operands as long as the operators between them bind at least as tightly as `precedence`. */
  read(precedence: number): Expression {
    return this.extend(this.operand(), precedence);
  }

  private operand(): Expression {
    const n = this.operands[this.at++];
    if (n === undefined) throw new Incomplete();
    const prefixes = [...tokens(n, "prefix"), ...nodes(n, "fold")].sort((a, b) => startOf(a) - startOf(b));
    return this.prefixed(prefixes, 0, n);
  }

  private prefixed(prefixes: readonly (IToken | CstNode)[], index: number, n: CstNode): Expression {
    const prefix = prefixes[index];
    if (prefix === undefined) return buildPrimary(node(n, "primary"));
    const start = startOf(prefix);
    if ("children" in prefix) {
      const body = this.extend(this.prefixed(prefixes, index + 1, n), PRODUCT);
      return {
        kind: "reduce",
        op: token(prefix, "op").image as ReductionOp,
        variable: nameOf(token(prefix, "variable")),
        over: buildDomain(node(prefix, "domain")),
        body,
        span: { start, end: body.span.end },
      };
    }
    const operator = prefix.image as "-" | "not";
    const inner = this.prefixed(prefixes, index + 1, n);
    const operand = operator === "not" ? this.extend(inner, COMPARISON) : inner;
    return { kind: "unary", operator, operand, span: { start, end: operand.span.end } };
  }

  /** Goes on reading after an operand, like `read`. */
  private extend(first: Expression, precedence: number): Expression {
    let left = first;
    for (;;) {
      const operator = this.operators[this.at - 1]?.image as BinaryOperator | "@" | undefined;
      if (operator === undefined || precedenceOf(operator) < precedence || this.at >= this.operands.length) return left;
      const right = this.read(precedenceOf(operator) + 1);
      const span = joinSpans(left.span, right.span);
      left = operator === "@" ? { kind: "matmul", left, right, span } : { kind: "binary", operator, left, right, span };
    }
  }
}

function startOf(e: IToken | CstNode): number {
  return "children" in e ? spanOf(e).start : e.startOffset;
}

function buildPrimary(n: CstNode): Expression {
  return nodes(n, "index").reduce(indexed, buildOperand(n));
}

/** A primary without the indices behind it. */
function buildOperand(n: CstNode): Expression {
  const span = spanOf(n);
  for (const key of ["Number", "Integer"] as const) {
    const t = tokens(n, key)[0];
    if (t !== undefined) return { kind: "number", value: Number(t.image), isInteger: key === "Integer", span };
  }
  const member = tokens(n, "member")[0];
  if (member !== undefined)
    return { kind: "member", range: buildPiece(node(n, "piece")), member: nameOf(member), span };
  const base = tokens(n, "base")[0];
  if (base !== undefined) return { kind: "axis", base: nameOf(base), axis: nameOf(token(n, "axis")), span };
  const call = nodes(n, "call")[0];
  if (call !== undefined) return buildCall(call);
  const place = nodes(n, "place")[0];
  if (place !== undefined) return buildPlace(place);
  const [open, close] = [token(n, "LeftParen"), token(n, "RightParen")].map(tokenSpan) as [Span, Span];
  return { ...buildExpression(node(n, "expression")), span: joinSpans(open, close) }; // the parentheses belong to it
}

function buildPlace(n: CstNode): Expression {
  const name = nameOf(token(n, "Name"));
  const [remote] = nodes(n, "remote");
  const base: Expression =
    remote === undefined
      ? { kind: "name", name: name.text, span: name.span }
      : {
          kind: "element",
          tensor: name,
          peer: buildPeer(remote),
          indices: [],
          span: joinSpans(name.span, spanOf(remote)),
        };
  return nodes(n, "index").reduce(indexed, base);
}

/** `base[…]`: an element of a tensor that is named, here or on a peer, or a part of what the base is. */
function indexed(base: Expression, index: CstNode): Expression {
  const span = joinSpans(base.span, spanOf(index));
  if (!isSlice(index)) {
    if (base.kind === "name") {
      const tensor = { text: base.name, span: base.span };
      return { kind: "element", tensor, peer: null, indices: buildIndices(index), span };
    }
    if (base.kind === "element" && base.indices.length === 0) return { ...base, indices: buildIndices(index), span };
  }
  return { kind: "slice", operand: base, ranges: each(index, "indexItem", buildSliceRange), span };
}

/** Indices of which none is a range. */
export function buildIndices(n: CstNode): Expression[] {
  return each(n, "indexItem", (item) => buildExpression(node(item, "expression")));
}

/** Whether any index is a range. */
export function isSlice(index: CstNode): boolean {
  return nodes(index, "indexItem").some((item) => has(item, "DotDot"));
}

/** A single index is the range of length 1 that it begins: shapes keep their dimensions. */
function buildSliceRange(item: CstNode): SliceRange {
  const [first] = nodes(item, "expression");
  const [last] = nodes(item, "to");
  const from = first === undefined ? null : buildExpression(first);
  const span = spanOf(item);
  if (has(item, "DotDot")) return { from, to: last === undefined ? null : buildExpression(last), isIndex: false, span };
  if (from === null) throw new Incomplete();
  const one: Expression = { kind: "number", value: 1, isInteger: true, span };
  return { from, to: { kind: "binary", operator: "+", left: from, right: one, span }, isIndex: true, span };
}

export function buildPeer(n: CstNode): Expression {
  const [call] = nodes(n, "call");
  if (call !== undefined) return buildCall(call);
  const t = tokens(n, "peer")[0];
  if (t === undefined) return buildExpression(node(n, "expression"));
  const span = tokenSpan(t);
  return /^\d/.test(t.image)
    ? { kind: "number", value: Number(t.image), isInteger: true, span }
    : { kind: "name", name: t.image, span };
}

function buildCall(n: CstNode): Expression {
  const values = each(n, "argument", (a) => {
    const name = tokens(a, "Name")[0];
    return { name: name === undefined ? null : nameOf(name), value: buildExpression(node(a, "expression")) };
  });
  return {
    kind: "call",
    callee: nameOf(token(n, "callee")),
    arguments: values.filter((v) => v.name === null).map((v) => v.value),
    named: values.flatMap((v) => (v.name === null ? [] : [{ name: v.name, value: v.value }])),
    span: spanOf(n),
  };
}

export function buildDomain(n: CstNode): Domain {
  const span = spanOf(n);
  if (has(n, "Ranks") || has(n, "Peers")) {
    const axis = tokens(n, "axis")[0];
    return { kind: "ranks", includeSelf: has(n, "Ranks"), axis: axis === undefined ? null : nameOf(axis), span };
  }
  if (has(n, "Tiles")) return { kind: "tiles", ranges: each(n, "tileRange", buildRange), span };
  return { kind: "serial", range: buildRange(node(n, "serialRange")), span };
}

function buildRange(n: CstNode): RangeExpression {
  const piece = nodes(n, "piece")[0];
  if (piece !== undefined) return buildPiece(piece);
  const first = buildExpression(node(n, "expression"));
  const to = nodes(n, "to")[0];
  return to === undefined
    ? { kind: "bounds", from: null, to: first, span: spanOf(n) }
    : { kind: "bounds", from: first, to: buildExpression(to), span: spanOf(n) };
}

function buildPiece(n: CstNode): RangeExpression {
  const [length, rank] = [buildExpression(node(n, "length")), buildExpression(node(n, "rank"))];
  const [parts] = nodes(n, "parts");
  const kind = has(n, "Shard") ? "shard" : "chunk";
  return { kind, length, rank, parts: parts === undefined ? null : buildExpression(parts), span: spanOf(n) };
}
