/**
 * Texts that follow the grammar, made from the parser itself, so that every construct is in them the day it exists. Whole
 * files of them mean nothing, and show that errors are told. Put into a program in the place of an expression, with the
 * names that are known there, many a one is a program.
 */
import type { Alternative, IProduction, Rule, TokenType } from "chevrotain";
import type fc from "fast-check";
import { chevrotain } from "../../grammar/chevrotain.js";
import { CollParser } from "../../grammar/parser.js";
import { parseProgram, SourceFile, type Span } from "../../src/compiler/index.js";
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

/** What a rule of the grammar reads, whatever it means. */
export function anyOf(choices: Choices, rule: string, names: readonly string[], tokens: number): string {
  const out: string[] = [];
  write(rules[rule]!, 0, { left: tokens }, { choices, names, integers: ["0", "1", "2", "3"] }, out);
  return joined(out, choices);
}

/** A comment above a definition, or none. */
export function doc(c: Choices): string {
  return c.chance(0.2) ? c.pick(["/// About it.\n", "///about\n", "/// One.\n/// Two.\n"]) : "";
}

/** A whole file that means nothing. */
export function grammarTexts(): fc.Arbitrary<string> {
  return drawn((choices) => {
    const out: string[] = [];
    const size = { left: 40 + choices.below(160) };
    write(rules["program"]!, 0, size, { choices, names: NAMES, integers: INTEGERS }, out);
    return joined(out, choices);
  });
}

const EXPRESSIONS = ["number", "name", "element", "unary", "binary", "call", "reduce", "matmul", "slice"];

/** One of the programs with one or two of its expressions replaced by ones that the grammar makes of its names. */
export function grammarPrograms(sources: readonly string[]): fc.Arbitrary<string> {
  const known = sources.flatMap((text) => {
    const places = expressionsIn(text);
    const names = [...new Set(places.map((p) => text.slice(p.start, p.end)).filter((t) => /^[A-Za-z_]\w*$/.test(t)))];
    return places.length === 0 ? [] : [{ text, places, names: [...names, ...NAMES.slice(0, 4), "rank", "world"] }];
  });
  return drawn((choices) => {
    const { text, places, names } = choices.pick(known);
    const [first, second] = [choices.pick(places), choices.pick(places)];
    const chosen = choices.chance(0.4) && (first.end <= second.start || second.end <= first.start) ? [first, second] : [first]; // prettier-ignore
    return chosen
      .toSorted((a, b) => b.start - a.start)
      .reduce((program, place) => {
        const made = anyOf(choices, "expression", names, 1 + choices.below(9));
        return `${program.slice(0, place.start)}(${made})${program.slice(place.end)}`;
      }, text);
  });
}

/** Where expressions stand in a program's bodies and clauses. */
function expressionsIn(text: string): Span[] {
  const { program, diagnostics } = parseProgram(new SourceFile("f.coll", text));
  if (diagnostics.some((d) => d.severity === "error")) return [];
  const found = new Map<string, Span>();
  const look = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { kind, span } = node as { kind?: string; span?: Span };
    if (kind !== undefined && span !== undefined && EXPRESSIONS.includes(kind))
      found.set(`${span.start} ${span.end}`, span);
    Object.values(node).forEach(look);
  };
  for (const { body, ensures, requires } of program.collectives) look([body, ensures, requires]);
  return [...found.values()];
}

/** What texts are made with. */
interface Making {
  readonly choices: Choices;
  readonly names: readonly string[];
  readonly integers: readonly string[];
}

interface Size {
  left: number;
}

function write(p: IProduction, depth: number, size: Size, making: Making, out: string[]): void {
  const c = making.choices;
  const all = (parts: readonly IProduction[]): void => {
    for (const part of parts) write(part, depth + 1, size, making, out);
  };
  const isTired = size.left <= 0 || depth > 120;
  if (p instanceof Terminal) {
    size.left--;
    out.push(imageOf(p.terminalType, making));
  } else if (p instanceof NonTerminal) write(p.referencedRule, depth + 1, size, making, out);
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
      if (i > 0) out.push(imageOf(p.separator, making));
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

function imageOf(type: TokenType, { choices: c, names, integers }: Making): string {
  const { pattern } = VOCABULARY[type.name as TokenName];
  if (typeof pattern === "string") return pattern;
  if (type === T.Name) return c.pick(names);
  if (type === T.Integer) return c.pick(integers);
  if (type === T.Number) return c.pick(NUMBERS);
  if (type === T.Text) return c.pick(['"a.coll"', '""', '"all_reduce/ring.coll"']);
  if (type === T.DocComment) return c.pick(["/// about it\n", "///about\n", "///  it \n", "////\n"]);
  if (type === T.RemoteAt) return "\u0001"; // neither side has a space
  throw new Error(`no text for the token ${type.name}`);
}

function joined(images: readonly string[], c: Choices): string {
  const breaks = c.below(3);
  const text = images.map((image, i) => (i > 0 && breaks > 0 && c.below(12) < breaks ? `\n${image}` : image)).join(" ");
  return text.replace(/\s*\u0001\s*/g, "@");
}
