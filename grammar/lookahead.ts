/**
 * How the parser chooses between alternatives: as Chevrotain does, but each choice is prepared where the parser first makes it. To prepare
 * all of them takes half of the time that a parser takes to make, and one program makes few of them.
 */
import type { BaseParser, ILookaheadStrategy, IOrAlt } from "chevrotain";
import { LLkLookaheadStrategy } from "./chevrotain.js";

type Alternation = Parameters<ILookaheadStrategy["buildLookaheadForAlternation"]>[0];
type Optional = Parameters<ILookaheadStrategy["buildLookaheadForOptional"]>[0];

export class LateLookahead extends LLkLookaheadStrategy {
  override buildLookaheadForAlternation(
    options: Alternation,
  ): ReturnType<ILookaheadStrategy["buildLookaheadForAlternation"]> {
    let choose: ReturnType<ILookaheadStrategy["buildLookaheadForAlternation"]> | undefined;
    const prepared = () => super.buildLookaheadForAlternation(options);
    return function (this: BaseParser, alternatives?: IOrAlt<unknown>[]) {
      return (choose ??= prepared()).call(this, alternatives);
    };
  }

  override buildLookaheadForOptional(options: Optional): ReturnType<ILookaheadStrategy["buildLookaheadForOptional"]> {
    let isTaken: ReturnType<ILookaheadStrategy["buildLookaheadForOptional"]> | undefined;
    const prepared = () => super.buildLookaheadForOptional(options);
    return function (this: BaseParser) {
      return (isTaken ??= prepared()).call(this);
    };
  }
}
