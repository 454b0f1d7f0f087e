/** Which productions of the grammar a text is made of: tokens and rules, by the rule and the part of it in which they stand. */
import type { CstNode, IProduction, IToken } from "chevrotain";
import { chevrotain } from "../../grammar/chevrotain.js";
import { CollParser } from "../../grammar/parser.js";
import { collLexer } from "../../grammar/tokens.js";

const { NonTerminal, RepetitionMandatoryWithSeparator, RepetitionWithSeparator, Terminal } = chevrotain;
const parser = new CollParser();

/** All that the rules can read, as `rule part: what`. A part's name is its label, or that of what stands there. */
export const PRODUCTIONS: ReadonlySet<string> = new Set(
  Object.entries(parser.getGAstProductions()).flatMap(([rule, made]) => partsOf(made).map((part) => `${rule} ${part}`)),
);

function partsOf(p: IProduction): string[] {
  if (p instanceof Terminal) return [`${p.label ?? p.terminalType.name}: ${p.terminalType.name}`];
  if (p instanceof NonTerminal) return [`${p.label ?? p.nonTerminalName}: ${p.nonTerminalName}`];
  const isSeparated = p instanceof RepetitionWithSeparator || p instanceof RepetitionMandatoryWithSeparator;
  const separator = isSeparated ? [`${p.separator.name}: ${p.separator.name}`] : [];
  return [
    ...separator,
    ...(p as unknown as { readonly definition: readonly IProduction[] }).definition.flatMap(partsOf),
  ];
}

/** Those that a text without syntax errors is made of. */
export function productionsIn(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  const look = (node: CstNode): void => {
    for (const [part, children] of Object.entries(node.children))
      for (const child of children) {
        const isRule = "children" in child;
        found.add(`${node.name} ${part}: ${isRule ? (child as CstNode).name : (child as IToken).tokenType.name}`);
        if (isRule) look(child as CstNode);
      }
  };
  parser.input = collLexer.tokenize(text).tokens;
  look(parser.program() as CstNode);
  return new Set([...found].filter((one) => PRODUCTIONS.has(one)));
}
