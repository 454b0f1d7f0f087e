/**
 * Domains, ranges and expressions: what statements and signatures are made of.
 *
 * An expression is a flat list of operands and operators; the builder knows how tightly operators bind. That keeps
 * the parser's recursion at three rules a level of parentheses.
 */
import type { IToken } from "chevrotain";
import { CstParser, tokenMatcher } from "./chevrotain.js";
import { TOKENS as T } from "./tokens.js";

/** The parser of whole files extends it, and analyses the grammar once all rules are there. */
export class ExpressionParser extends CstParser {
  // -- domains and ranges --------------------------------------------------------------------------

  readonly domain = this.RULE("domain", () => {
    this.OR([
      {
        ALT: () => {
          this.OR2([{ ALT: () => this.CONSUME(T.Ranks) }, { ALT: () => this.CONSUME(T.Peers) }]);
          this.OPTION({
            GATE: () => this.isOnSameLine(),
            DEF: () => {
              this.CONSUME2(T.LeftParen);
              this.CONSUME(T.Name, { LABEL: "axis" });
              this.CONSUME2(T.RightParen);
            },
          });
        },
      },
      {
        ALT: () => {
          this.CONSUME(T.Tiles);
          this.CONSUME(T.LeftParen);
          this.AT_LEAST_ONE_SEP({ SEP: T.Comma, DEF: () => this.SUBRULE(this.range, { LABEL: "tileRange" }) });
          this.CONSUME(T.RightParen);
        },
      },
      { ALT: () => this.SUBRULE2(this.range, { LABEL: "serialRange" }) },
    ]);
  });

  readonly range = this.RULE("range", () => {
    this.OR({
      DEF: [
        { GATE: () => !this.isMemberAhead(), ALT: () => this.SUBRULE(this.piece) },
        {
          ALT: () => {
            this.SUBRULE(this.expression);
            this.OPTION(() => {
              this.CONSUME(T.DotDot);
              this.SUBRULE2(this.expression, { LABEL: "to" });
            });
          },
        },
      ],
      IGNORE_AMBIGUITIES: true, // the gate decides
    });
  });

  readonly piece = this.RULE("piece", () => {
    this.OR([{ ALT: () => this.CONSUME(T.Shard) }, { ALT: () => this.CONSUME(T.Chunk) }]);
    this.CONSUME(T.LeftParen);
    this.SUBRULE(this.expression, { LABEL: "length" });
    this.CONSUME(T.Comma);
    this.SUBRULE2(this.expression, { LABEL: "rank" });
    this.OPTION(() => {
      this.CONSUME2(T.Comma);
      this.SUBRULE3(this.expression, { LABEL: "parts" });
    });
    this.CONSUME(T.RightParen);
  });

  // -- expressions ---------------------------------------------------------------------------------

  /** @param isBound of a range that a `where` gives: an `and` behind it begins the next condition */
  readonly expression = this.RULE("expression", (isBound = false) => {
    this.SUBRULE(this.operand);
    this.MANY({
      GATE: () => !(tokenMatcher(this.LA(1), T.And) && (isBound || this.isLimitAhead())),
      DEF: () => {
        this.OR([
          { ALT: () => this.CONSUME(T.Or, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.And, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Equal, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.NotEqual, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.LessEqual, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.GreaterEqual, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Less, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Greater, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Plus, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Minus, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Caret, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Ampersand, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.ShiftLeft, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.ShiftRight, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Star, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Slash, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.Percent, { LABEL: "operator" }) },
          { ALT: () => this.CONSUME(T.MatMul, { LABEL: "operator" }) },
        ]);
        this.SUBRULE2(this.operand);
      },
    });
  });

  readonly operand = this.RULE("operand", () => {
    this.MANY({
      GATE: () => !tokenMatcher(this.LA(1), T.Name) || this.isFoldAhead(),
      DEF: () =>
        this.OR([
          { ALT: () => this.CONSUME(T.Minus, { LABEL: "prefix" }) },
          { ALT: () => this.CONSUME(T.Not, { LABEL: "prefix" }) },
          { ALT: () => this.SUBRULE(this.fold) },
        ]),
    });
    this.SUBRULE(this.primary);
  });

  /** The head of a reduction, `sum(p in ranks)`: a prefix of the product that follows. */
  readonly fold = this.RULE("fold", () => {
    this.CONSUME(T.Name, { LABEL: "op" });
    this.CONSUME(T.LeftParen);
    this.CONSUME2(T.Name, { LABEL: "variable" });
    this.CONSUME(T.In);
    this.SUBRULE(this.domain);
    this.CONSUME(T.RightParen);
  });

  readonly primary = this.RULE("primary", () => {
    this.OR([
      { ALT: () => this.CONSUME(T.Number) },
      { ALT: () => this.CONSUME(T.Integer) },
      {
        ALT: () => {
          this.CONSUME(T.LeftParen);
          this.SUBRULE(this.expression);
          this.CONSUME(T.RightParen);
        },
      },
      {
        ALT: () => {
          this.SUBRULE(this.piece);
          this.CONSUME(T.Dot);
          this.CONSUME(T.Name, { LABEL: "member" });
        },
      },
      { GATE: () => this.isCallAhead(), ALT: () => this.SUBRULE(this.call) },
      {
        GATE: () => this.LA(2).tokenType === T.Dot,
        ALT: () => {
          this.CONSUME2(T.Name, { LABEL: "base" });
          this.CONSUME2(T.Dot);
          this.CONSUME3(T.Name, { LABEL: "axis" });
        },
      },
      { ALT: () => this.SUBRULE(this.place) },
    ]);
    this.MANY({ GATE: () => this.isIndexAhead(), DEF: () => this.SUBRULE(this.index) });
  });

  readonly call = this.RULE("call", () => {
    this.OR([
      { ALT: () => this.CONSUME(T.Name, { LABEL: "callee" }) },
      { ALT: () => this.CONSUME(T.Where, { LABEL: "callee" }) },
    ]);
    this.CONSUME(T.LeftParen);
    this.MANY_SEP({ SEP: T.Comma, DEF: () => this.SUBRULE(this.argument) });
    this.CONSUME(T.RightParen);
  });

  readonly argument = this.RULE("argument", () => {
    this.OPTION(() => {
      this.CONSUME(T.Name);
      this.CONSUME(T.Colon);
    });
    this.SUBRULE(this.expression);
  });

  readonly place = this.RULE("place", () => {
    this.CONSUME(T.Name);
    this.OPTION(() => this.SUBRULE(this.remote));
    this.OPTION2({ GATE: () => this.isOnSameLine(), DEF: () => this.SUBRULE(this.index) });
  });

  readonly remote = this.RULE("remote", () => {
    this.CONSUME(T.RemoteAt);
    this.OR([
      { GATE: () => this.isCallAhead(), ALT: () => this.SUBRULE(this.call) },
      { ALT: () => this.CONSUME(T.Name, { LABEL: "peer" }) },
      { ALT: () => this.CONSUME(T.Integer, { LABEL: "peer" }) },
      {
        ALT: () => {
          this.CONSUME(T.LeftParen);
          this.SUBRULE(this.expression);
          this.CONSUME(T.RightParen);
        },
      },
    ]);
  });

  readonly index = this.RULE("index", () => {
    this.CONSUME(T.LeftBracket);
    this.AT_LEAST_ONE_SEP({ SEP: T.Comma, DEF: () => this.SUBRULE(this.indexItem) });
    this.CONSUME(T.RightBracket);
  });

  /** One index, or of a whole tensor a part: `a..b`, `a..`, `..b`, `..`. */
  readonly indexItem = this.RULE("indexItem", () => {
    this.OR([
      {
        ALT: () => {
          this.SUBRULE(this.expression);
          this.OPTION(() => {
            this.CONSUME(T.DotDot);
            this.OPTION2({
              GATE: () => this.isIndexOpen(),
              DEF: () => this.SUBRULE2(this.expression, { LABEL: "to" }),
            });
          });
        },
      },
      {
        ALT: () => {
          this.CONSUME2(T.DotDot);
          this.OPTION3({ GATE: () => this.isIndexOpen(), DEF: () => this.SUBRULE3(this.expression, { LABEL: "to" }) });
        },
      },
    ]);
  });

  // -- looking ahead -------------------------------------------------------------------------------

  /** Whether the next token stands on the line on which the last one ends. */
  protected isOnSameLine(): boolean {
    const last = this.LA(0) as IToken | undefined;
    return last?.endLine === this.LA(1).startLine;
  }

  /** Whether a `[` follows what can be indexed: a call, parentheses, or an index. */
  private isIndexAhead(): boolean {
    const last = this.LA(0).tokenType;
    return this.isOnSameLine() && (last === T.RightParen || last === T.RightBracket);
  }

  /** Whether something follows a `..` inside an index. */
  private isIndexOpen(): boolean {
    const next = this.LA(1).tokenType;
    return next !== T.Comma && next !== T.RightBracket;
  }

  protected isCallAhead(): boolean {
    return this.LA(2).tokenType === T.LeftParen && this.LA(1).endLine === this.LA(2).startLine;
  }

  /** Whether `and counts in …` is ahead: after a condition of a `where`, one that limits elements. */
  private isLimitAhead(): boolean {
    return this.LA(2).tokenType === T.Name && this.LA(3).tokenType === T.In;
  }

  private isFoldAhead(): boolean {
    return this.LA(2).tokenType === T.LeftParen && this.LA(4).tokenType === T.In;
  }

  /** Whether `shard(…)` or `chunk(…)` ahead is followed by `.start` and so is a number, not a range. */
  private isMemberAhead(): boolean {
    const head = this.LA(1).tokenType;
    if (head !== T.Shard && head !== T.Chunk) return false;
    let depth = 0;
    for (let at = 2; ; at++) {
      const { tokenType, startOffset } = this.LA(at);
      if (tokenType === T.LeftParen) depth++;
      else if (tokenType === T.RightParen && --depth <= 0) return this.LA(at + 1).tokenType === T.Dot;
      else if (Number.isNaN(startOffset) || tokenType === T.LeftBrace) return false;
    }
  }
}
