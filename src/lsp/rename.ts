/** Giving a name another one, everywhere at once, or a reason why not. */
import type { TextEdit } from "vscode-languageserver/node";
import { type Analysis, analyse } from "./analysis.js";
import { rangeOf } from "./places.js";
import type { NamedSymbol } from "./symbols.js";
import { KEYWORDS, RESERVED } from "./words.js";

/** Why a rename is not possible, in words for the person. */
export class RenameRefused extends Error {}

/** @throws RenameRefused where the program would change its meaning, or what it means now is not known. */
export function renameAt(a: Analysis, offset: number, newName: string): TextEdit[] {
  const found = a.symbols.at(offset);
  if (found === null) throw new RenameRefused("there is no name here that could be changed");
  if (a.isBroken) throw new RenameRefused("the file has syntax errors; correct them first");
  const { symbol } = found;
  if (newName === symbol.name) return [];
  refuseName(symbol, newName);
  const clash = clashWith(a, symbol, newName);
  if (clash !== null) {
    const { line } = a.source.position(clash.span.start);
    throw new RenameRefused(`'${newName}' is taken: ${article(clash.kind)} of that name is defined on line ${line}`);
  }
  if (!keepsMeaning(a, symbol, newName)) throw new RenameRefused(`'${newName}' is used for something else here`);
  return symbol.occurrences.map((span) => ({ range: rangeOf(a.source, span), newText: newName }));
}

function refuseName(symbol: NamedSymbol, newName: string): void {
  if (!/^[A-Za-z_][A-Za-z_0-9]*$/.test(newName))
    throw new RenameRefused(`'${newName}' is not a name: letters, digits and _, not beginning with a digit`);
  // A collective is never named inside an expression, so it may well be called all_gather.
  const taken = symbol.kind === "collective" ? KEYWORDS : RESERVED;
  if (taken.has(newName)) throw new RenameRefused(`'${newName}' already means something in Coll`);
  if (symbol.kind === "dtype variable" && !/^[A-Z]/.test(newName))
    throw new RenameRefused("a dtype variable begins with a capital letter");
}

/** What has that name already where both could be named: nothing is shadowed in Coll. */
function clashWith(a: Analysis, symbol: NamedSymbol, newName: string): NamedSymbol | null {
  const meets = (s: NamedSymbol): boolean => s.scope.start < symbol.scope.end && symbol.scope.start < s.scope.end;
  const isNear = (s: NamedSymbol): boolean => s.owner === symbol.owner && meets(s);
  return a.symbols.symbols.find((s) => s !== symbol && s.name === newName && isNear(s)) ?? null;
}

/** Whether, afterwards, every name is still that of the same definition. */
function keepsMeaning(a: Analysis, symbol: NamedSymbol, newName: string): boolean {
  let text = "";
  let at = 0;
  for (const span of symbol.occurrences) {
    text += a.source.text.slice(at, span.start) + newName;
    at = span.end;
  }
  const after = analyse(a.source.name, text + a.source.text.slice(at));
  const shape = (b: Analysis): string => b.symbols.symbols.map((s) => `${s.kind} ${s.occurrences.length}`).join();
  return shape(a) === shape(after);
}

function article(kind: string): string {
  return `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`;
}
