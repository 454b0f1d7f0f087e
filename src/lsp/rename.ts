/** Giving a name another one, everywhere at once, or a reason why not. */
import type { TextEdit } from "vscode-languageserver/node";
import { type Analysis, analyse } from "./analysis.js";
import { rangeOf } from "./places.js";
import type { NamedSymbol } from "./symbols.js";
import { everywhere, type Workspace } from "./workspace.js";
import { KEYWORDS, RESERVED } from "./words.js";

/** Why a rename is not possible, in words for the person. */
export class RenameRefused extends Error {}

/**
 * The changes in each file, by the address of the file.
 * @throws RenameRefused where the program would change its meaning, or what it means now is not known.
 */
export function renameAt(w: Workspace, a: Analysis, offset: number, newName: string): Record<string, TextEdit[]> {
  const found = a.symbols.at(offset);
  if (found === null) throw new RenameRefused("there is no name here that could be changed");
  if (newName === found.symbol.name) return {};
  const places = everywhere(w, { analysis: a, symbol: found.symbol });
  const changes: Record<string, TextEdit[]> = {};
  for (const { analysis, symbol } of places) {
    refuse(analysis, symbol, newName, analysis.source.name === a.source.name ? "" : ` of ${analysis.source.name}`);
    const edits = symbol.occurrences.map((span) => ({ range: rangeOf(analysis.source, span), newText: newName }));
    changes[w.uriOf(analysis.source.name)] = edits;
  }
  return changes;
}

function refuse(a: Analysis, symbol: NamedSymbol, newName: string, where: string): void {
  if (a.isBroken) throw new RenameRefused(`the file${where.replace(" of", "")} has syntax errors; correct them first`);
  refuseName(symbol, newName);
  const clash = clashWith(a, symbol, newName);
  if (clash !== null) {
    const { line } = a.source.position(clash.span.start);
    const place = `line ${line}${where}`;
    throw new RenameRefused(`'${newName}' is taken: ${article(clash.kind)} of that name is defined on ${place}`);
  }
  if (!keepsMeaning(a, symbol, newName)) throw new RenameRefused(`'${newName}' is used for something else here`);
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
  // What the whole file knows may be named inside any collective or function.
  const isNear = (s: NamedSymbol): boolean =>
    meets(s) && (s.owner === symbol.owner || s.owner === null || symbol.owner === null);
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
  const after = analyse(a.source.name, text + a.source.text.slice(at), a.resolve);
  const shape = (b: Analysis): string => b.symbols.symbols.map((s) => `${s.kind} ${s.occurrences.length}`).join();
  return shape(a) === shape(after);
}

function article(kind: string): string {
  return `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`;
}
