/**
 * The grammar of Coll: pure, without actions. `ast/build.ts` reads the concrete tree it makes.
 *
 * Line breaks are spaces, with one exception: the `(` of a call and the `[` of an index stand on the line on which
 * the name before them ends. So no line begins by continuing the line above with a bracket.
 */
import type { IParserErrorMessageProvider } from "chevrotain";
import { defaultParserErrorProvider } from "./chevrotain.js";
import { ExpressionParser } from "./expression-parser.js";
import { LateLookahead } from "./lookahead.js";
import { TOKENS as T } from "./tokens.js";

/** A mismatch is described by the name of the token that was expected alone: words are the compiler's business. */
const errorMessageProvider: IParserErrorMessageProvider = {
  ...defaultParserErrorProvider,
  buildMismatchTokenMessage: ({ expected }) => expected.name,
};

/** Tokens by which alternatives are told apart. */
const MOST_TOKENS_AHEAD = 3;

export class CollParser extends ExpressionParser {
  /** @param validates whether to look for ambiguities and the like: a third of the time that it takes, so a test does. */
  constructor(validates = false) {
    super(Object.values(T), {
      skipValidations: !validates,
      recoveryEnabled: true,
      lookaheadStrategy: new LateLookahead({ maxLookahead: MOST_TOKENS_AHEAD }),
      maxLookahead: MOST_TOKENS_AHEAD,
      nodeLocationTracking: "full",
      errorMessageProvider,
    });
    this.performSelfAnalysis();
  }

  readonly program = this.RULE("program", () => {
    this.MANY(() =>
      this.OR([{ ALT: () => this.SUBRULE(this.importClause) }, { ALT: () => this.SUBRULE(this.definition) }]),
    );
  });

  readonly definition = this.RULE("definition", () => {
    this.MANY(() => this.CONSUME(T.DocComment));
    this.OR([
      { ALT: () => this.SUBRULE(this.constant) },
      { ALT: () => this.SUBRULE(this.func) },
      { ALT: () => this.SUBRULE(this.collective) },
    ]);
  });

  readonly importClause = this.RULE("importClause", () => {
    this.CONSUME(T.Import);
    this.AT_LEAST_ONE_SEP({ SEP: T.Comma, DEF: () => this.CONSUME(T.Name) });
    this.CONSUME(T.From);
    this.CONSUME(T.Text);
  });

  readonly constant = this.RULE("constant", () => {
    this.CONSUME(T.Const);
    this.CONSUME(T.Name);
    this.CONSUME(T.Assign);
    this.SUBRULE(this.expression);
  });

  readonly func = this.RULE("func", () => {
    this.CONSUME(T.Fn);
    this.CONSUME(T.Name);
    this.CONSUME(T.LeftParen);
    this.MANY_SEP({ SEP: T.Comma, DEF: () => this.CONSUME2(T.Name, { LABEL: "parameter" }) });
    this.CONSUME(T.RightParen);
    this.CONSUME(T.Assign);
    this.SUBRULE(this.expression);
  });

  readonly collective = this.RULE("collective", () => {
    this.CONSUME(T.Collective);
    this.CONSUME(T.Name);
    this.CONSUME(T.LeftParen);
    this.OPTION(() => this.SUBRULE(this.tensors, { LABEL: "inputs" }));
    this.CONSUME(T.RightParen);
    this.CONSUME(T.Arrow);
    this.OR([
      { ALT: () => this.SUBRULE(this.tensor, { LABEL: "output" }) },
      {
        ALT: () => {
          this.CONSUME2(T.LeftParen);
          this.SUBRULE2(this.tensors, { LABEL: "outputs" });
          this.CONSUME2(T.RightParen);
        },
      },
    ]);
    this.MANY2(() =>
      this.OR2([
        { ALT: () => this.SUBRULE(this.mesh) },
        { ALT: () => this.SUBRULE(this.where) },
        { ALT: () => this.SUBRULE(this.ensures) },
      ]),
    );
    this.SUBRULE(this.block);
  });

  readonly where = this.RULE("where", () => {
    this.CONSUME(T.Where);
    this.SUBRULE(this.clause);
    this.MANY(() => {
      this.CONSUME(T.And);
      this.SUBRULE2(this.clause);
    });
  });

  readonly clause = this.RULE("clause", () => {
    this.OR([
      {
        GATE: () => this.LA(2).tokenType === T.In,
        ALT: () => {
          this.CONSUME(T.Name);
          this.CONSUME(T.In);
          this.OR2({
            DEF: [
              { GATE: () => this.LA(1).tokenType === T.LeftParen, ALT: () => this.SUBRULE(this.choices) },
              {
                ALT: () => {
                  this.SUBRULE(this.expression, { LABEL: "from" });
                  this.CONSUME(T.DotDot);
                  this.SUBRULE2(this.expression, { LABEL: "to", ARGS: [true] });
                },
              },
            ],
            IGNORE_AMBIGUITIES: true, // the gate decides
          });
        },
      },
      { ALT: () => this.SUBRULE3(this.expression, { LABEL: "condition" }) },
    ]);
  });

  /** Dtypes, or numbers of ranks. */
  readonly choices = this.RULE("choices", () => {
    this.CONSUME(T.LeftParen);
    this.AT_LEAST_ONE_SEP({
      SEP: T.Comma,
      DEF: () =>
        this.OR([
          { ALT: () => this.CONSUME(T.Name, { LABEL: "choice" }) },
          { ALT: () => this.CONSUME(T.Integer, { LABEL: "choice" }) },
        ]),
    });
    this.CONSUME(T.RightParen);
  });

  readonly mesh = this.RULE("mesh", () => {
    this.CONSUME(T.Mesh);
    this.CONSUME(T.LeftParen);
    this.AT_LEAST_ONE_SEP({ SEP: T.Comma, DEF: () => this.CONSUME(T.Name) });
    this.CONSUME(T.RightParen);
  });

  readonly ensures = this.RULE("ensures", () => {
    this.CONSUME(T.Ensures);
    this.CONSUME(T.Name);
    this.OPTION(() => {
      this.CONSUME(T.LeftBracket);
      this.AT_LEAST_ONE_SEP({ SEP: T.Comma, DEF: () => this.CONSUME2(T.Name, { LABEL: "variable" }) });
      this.CONSUME(T.RightBracket);
    });
    this.CONSUME(T.Equal);
    this.SUBRULE(this.expression);
  });

  readonly tensors = this.RULE("tensors", () => {
    this.AT_LEAST_ONE_SEP({ SEP: T.Comma, DEF: () => this.SUBRULE(this.tensor) });
  });

  readonly tensor = this.RULE("tensor", () => {
    this.CONSUME(T.Name);
    this.CONSUME(T.Colon);
    this.OR({
      DEF: [
        { GATE: () => this.isScalarAhead(), ALT: () => this.CONSUME2(T.Name, { LABEL: "scalar" }) },
        {
          ALT: () => {
            this.SUBRULE(this.shapedType);
            this.SUBRULE(this.layout);
            this.MANY({ GATE: () => this.isCallAhead(), DEF: () => this.SUBRULE2(this.layout) });
          },
        },
      ],
      MAX_LOOKAHEAD: 1,
      IGNORE_AMBIGUITIES: true, // the gate decides
    });
  });

  /** Whether a dtype comes next and nothing else of a tensor: `eps: f32`. */
  private isScalarAhead(): boolean {
    return this.LA(2).tokenType === T.Comma || this.LA(2).tokenType === T.RightParen;
  }

  readonly shapedType = this.RULE("shapedType", () => {
    this.CONSUME(T.Name);
    this.OPTION(() => {
      this.CONSUME(T.LeftParen);
      this.CONSUME2(T.Name, { LABEL: "of" });
      this.CONSUME(T.RightParen);
    });
    this.CONSUME(T.LeftBracket);
    this.AT_LEAST_ONE_SEP({ SEP: T.Comma, DEF: () => this.SUBRULE(this.expression) });
    this.CONSUME(T.RightBracket);
  });

  readonly layout = this.RULE("layout", () => {
    this.CONSUME(T.Name);
    this.OPTION(() => {
      this.CONSUME(T.LeftParen);
      this.AT_LEAST_ONE_SEP({
        SEP: T.Comma,
        DEF: () =>
          this.OR([
            { ALT: () => this.CONSUME(T.Integer, { LABEL: "argument" }) },
            { ALT: () => this.CONSUME2(T.Name, { LABEL: "argument" }) },
          ]),
      });
      this.CONSUME(T.RightParen);
    });
  });

  // -- statements ----------------------------------------------------------------------------------

  readonly block = this.RULE("block", () => {
    this.CONSUME(T.LeftBrace);
    this.MANY(() => this.SUBRULE(this.statement));
    this.CONSUME(T.RightBrace);
  });

  readonly statement = this.RULE("statement", () => {
    this.OR([
      { ALT: () => this.SUBRULE(this.letStatement) },
      { ALT: () => this.SUBRULE(this.scratchStatement) },
      { ALT: () => this.SUBRULE(this.forStatement) },
      { ALT: () => this.SUBRULE(this.ifStatement) },
      { ALT: () => this.CONSUME(T.Barrier) },
      { ALT: () => this.SUBRULE(this.signalStatement) },
      { ALT: () => this.SUBRULE(this.waitStatement) },
      { ALT: () => this.SUBRULE(this.assignment) },
    ]);
  });

  readonly letStatement = this.RULE("letStatement", () => {
    this.CONSUME(T.Let);
    this.CONSUME(T.Name);
    this.CONSUME(T.Assign);
    this.SUBRULE(this.expression);
  });

  readonly scratchStatement = this.RULE("scratchStatement", () => {
    this.CONSUME(T.Scratch);
    this.CONSUME(T.Name);
    this.CONSUME(T.Colon);
    this.SUBRULE(this.shapedType);
    this.OPTION({
      GATE: () => !this.isTarget(),
      DEF: () => {
        this.SUBRULE(this.layout);
        this.MANY({ GATE: () => this.isCallAhead(), DEF: () => this.SUBRULE2(this.layout) });
      },
    });
  });

  /** Whether the name that comes next is assigned to, and so begins a statement. */
  private isTarget(): boolean {
    return [T.Assign, T.LeftBracket, T.RemoteAt].some((t) => this.LA(2).tokenType === t);
  }

  readonly signalStatement = this.RULE("signalStatement", () => {
    this.CONSUME(T.Signal);
    this.SUBRULE(this.expression);
  });

  readonly waitStatement = this.RULE("waitStatement", () => {
    this.CONSUME(T.Wait);
    this.SUBRULE(this.expression);
  });

  readonly forStatement = this.RULE("forStatement", () => {
    this.CONSUME(T.For);
    this.AT_LEAST_ONE_SEP({ SEP: T.Comma, DEF: () => this.CONSUME(T.Name) });
    this.CONSUME(T.In);
    this.SUBRULE(this.domain);
    this.SUBRULE(this.block);
  });

  readonly ifStatement = this.RULE("ifStatement", () => {
    this.CONSUME(T.If);
    this.SUBRULE(this.expression);
    this.SUBRULE(this.block, { LABEL: "then" });
    this.OPTION(() => {
      this.CONSUME(T.Else);
      this.OR([
        { ALT: () => this.SUBRULE(this.ifStatement, { LABEL: "elseIf" }) },
        { ALT: () => this.SUBRULE2(this.block, { LABEL: "otherwise" }) },
      ]);
    });
  });

  readonly assignment = this.RULE("assignment", () => {
    this.CONSUME(T.Name);
    this.OPTION(() => this.SUBRULE(this.remote));
    this.OPTION2({ GATE: () => this.isOnSameLine(), DEF: () => this.SUBRULE(this.index) });
    this.CONSUME(T.Assign);
    this.SUBRULE(this.expression);
  });
}
