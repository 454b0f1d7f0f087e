/** Texts that follow the grammar, made from the parser itself, so that every construct is in them the day it exists. */
import type { Alternative, IProduction, Rule, TokenType } from "chevrotain";
import type fc from "fast-check";
import { chevrotain } from "../../grammar/chevrotain.js";
import { CollParser } from "../../grammar/parser.js";
import { TOKENS as T, VOCABULARY, type TokenName } from "../../grammar/tokens.js";
import { type Choices, drawn } from "./choices.js";

const { Alternation, NonTerminal, Option, Repetition, RepetitionMandatory } = chevrotain;
const { RepetitionMandatoryWithSeparator, RepetitionWithSeparator, Terminal } = chevrotain;
const rules = new CollParser().getGAstProductions();

/** Names that mean something somewhere, more often than those that do not. */
const NAMES = [
  ..."x y n i p T rank world f32 bf16 i32 m q s f g sum max avg exp where index log2 replicated sharded partial local".split(" "), // prettier-ignore
  ..."on all_reduce all_gather reduce_scatter dim to gpu node start length from".split(" "),
];
const INTEGERS = ["0", "1", "2", "3", "7", "64", "9007199254740991", "9007199254740992", "99999999999999999999"];
const NUMBERS = ["0.5", "1e-3", "1.0", "1e39", "1e400"];

/** A whole file, or what one rule reads. */
export function grammarTexts(): fc.Arbitrary<string> {
  return drawn((choices) => {
    const out: string[] = [];
    const size = { left: 40 + choices.below(160) };
    write(rules["program"]!, 0, size, choices, out);
    return joined(out, choices);
  });
}

interface Size {
  left: number;
}

function write(p: IProduction, depth: number, size: Size, c: Choices, out: string[]): void {
  const all = (parts: readonly IProduction[]): void => {
    for (const part of parts) write(part, depth + 1, size, c, out);
  };
  const isTired = size.left <= 0 || depth > 120;
  if (p instanceof Terminal) {
    size.left--;
    out.push(imageOf(p.terminalType, c));
  } else if (p instanceof NonTerminal) write(p.referencedRule, depth + 1, size, c, out);
  else if (p instanceof Alternation) {
    const cheap = [...p.definition].sort((a, b) => costOf(a) - costOf(b));
    all([isTired ? cheap[0]! : c.pick(p.definition)]);
  } else if (p instanceof Option) {
    if (!isTired && c.chance(0.5)) all(p.definition);
  } else if (p instanceof Repetition) {
    for (let n = isTired ? 0 : c.below(4); n > 0; n--) all(p.definition);
  } else if (p instanceof RepetitionMandatory) {
    for (let n = isTired ? 1 : 1 + c.below(3); n > 0; n--) all(p.definition);
  } else if (p instanceof RepetitionWithSeparator || p instanceof RepetitionMandatoryWithSeparator) {
    const least = p instanceof RepetitionWithSeparator ? 0 : 1;
    const n = isTired ? least : least + c.below(3);
    for (let i = 0; i < n; i++) {
      if (i > 0) out.push(imageOf(p.separator, c));
      all(p.definition);
    }
  } else all((p as Alternative | Rule).definition);
}

const costs = new Map<IProduction, number>();

/** Fewest rules that must be entered to finish a production; so that a text that is long enough comes to its end. */
function costOf(p: IProduction): number {
  const known = costs.get(p);
  if (known !== undefined) return known;
  costs.set(p, 1000); // while it is being found out, it is the dearest
  const cost = found(p);
  costs.set(p, cost);
  return cost;
}

function found(p: IProduction): number {
  if (p instanceof Terminal) return 1;
  if (p instanceof NonTerminal) return 1 + costOf(p.referencedRule);
  if (p instanceof Alternation) return Math.min(...p.definition.map(costOf));
  if (p instanceof Option || p instanceof Repetition || p instanceof RepetitionWithSeparator) return 0;
  return (p as Rule).definition.reduce((sum, part) => sum + costOf(part), 0);
}

function imageOf(type: TokenType, c: Choices): string {
  const { pattern } = VOCABULARY[type.name as TokenName];
  if (typeof pattern === "string") return pattern;
  if (type === T.Name) return c.pick(NAMES);
  if (type === T.Integer) return c.pick(INTEGERS);
  if (type === T.Number) return c.pick(NUMBERS);
  if (type === T.Text) return c.pick(['"a.coll"', '""', '"all_reduce/ring.coll"']);
  if (type === T.DocComment) return "/// about it\n";
  if (type === T.RemoteAt) return "\u0001"; // neither side has a space
  throw new Error(`no text for the token ${type.name}`);
}

function joined(images: readonly string[], c: Choices): string {
  const breaks = c.below(3);
  const text = images.map((image, i) => (i > 0 && breaks > 0 && c.below(12) < breaks ? `\n${image}` : image)).join(" ");
  return text.replace(/\s*\u0001\s*/g, "@");
}
