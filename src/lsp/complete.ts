/** What might be written at a place. */
import { tokenMatcher } from "../../grammar/chevrotain.js";
import { type CompletionItem, CompletionItemKind } from "vscode-languageserver/node";
import { collLexer, TOKENS as T } from "../../grammar/tokens.js";
import type { Analysis } from "./analysis.js";
import { describeSymbol } from "./hover.js";
import { neighbourhood } from "./places.js";
import { type NamedSymbol, type SymbolKind } from "./symbols.js";
import { type Word, type WordKind, WORDS } from "./words.js";
import { exportsOf, imported, type Workspace } from "./workspace.js";

const WORD_ICONS: Readonly<Record<WordKind, CompletionItemKind>> = {
  keyword: CompletionItemKind.Keyword,
  function: CompletionItemKind.Function,
  conversion: CompletionItemKind.Function,
  reduction: CompletionItemKind.Operator,
  dtype: CompletionItemKind.TypeParameter,
  layout: CompletionItemKind.EnumMember,
  value: CompletionItemKind.Constant,
};

const SYMBOL_ICONS: Readonly<Record<SymbolKind, CompletionItemKind>> = {
  constant: CompletionItemKind.Constant,
  function: CompletionItemKind.Function,
  parameter: CompletionItemKind.Variable,
  import: CompletionItemKind.Reference,
  axis: CompletionItemKind.EnumMember,
  "output index": CompletionItemKind.Variable,
  collective: CompletionItemKind.Module,
  input: CompletionItemKind.Field,
  output: CompletionItemKind.Field,
  "scratch array": CompletionItemKind.Field,
  dimension: CompletionItemKind.Constant,
  number: CompletionItemKind.Constant,
  "dtype variable": CompletionItemKind.TypeParameter,
  "loop variable": CompletionItemKind.Variable,
  "reduction variable": CompletionItemKind.Variable,
  let: CompletionItemKind.Variable,
};

export function completionsAt(w: Workspace, a: Analysis, offset: number): CompletionItem[] {
  const { before, isComment } = neighbourhood(a.source.text, offset);
  if (isComment) return [];
  const path = importAround(a.source.text, offset);
  if (path !== null) {
    const file = imported(w, a, path);
    return file === null ? [] : exportsOf(file).map((s) => symbolItem(w, file, s));
  }
  if (before[0] === ".") return members(w, a, offset, before[1] ?? "");
  const { kinds, wantsNames, wantsDTypes } = expectedAfter(before);
  const visible = a.symbols.visibleAt(offset).filter((s) => s.kind !== "collective");
  const isAxisWanted = before[0] === "(" && (before[1] === "ranks" || before[1] === "peers");
  const symbols = visible.filter((s) =>
    s.kind === "axis" ? isAxisWanted : s.kind === "dtype variable" ? wantsDTypes : wantsNames,
  );
  const items = [
    ...symbols.map((s) => symbolItem(w, a, s)),
    ...WORDS.filter((w) => kinds.includes(w.kind)).map(wordItem),
  ];
  // What is being written breaks the text around it: names that the parser had to leave out are offered, too.
  if (a.isBroken && wantsNames) items.push(...looseNames(a, offset, items));
  return [...new Map([...items].reverse().map((i) => [`${i.label} ${i.kind}`, i])).values()].reverse();
}

interface Expected {
  readonly kinds: readonly WordKind[];
  readonly wantsNames: boolean;
  readonly wantsDTypes: boolean;
}

/** What may follow, from the tokens before, the last one first. */
function expectedAfter(before: readonly string[]): Expected {
  const [last, second] = before;
  const words = (...kinds: WordKind[]): Expected => ({
    kinds,
    wantsNames: false,
    wantsDTypes: kinds.includes("dtype"),
  });
  const isSignature = !hasBodyOpen(before);
  if (last === undefined || (last === "}" && isSignature)) return words("keyword");
  if (isSignature && last === "]") return words("layout");
  if (last === ":" && (isSignature || before[2] === "scratch")) return words("dtype");
  if (last === "(" && second === "partial") return words("reduction");
  const all: WordKind[] = ["keyword", "function", "conversion", "reduction", "dtype", "value"];
  return { kinds: all, wantsNames: true, wantsDTypes: true };
}

/** Whether a `{` is open. */
function hasBodyOpen(before: readonly string[]): boolean {
  let closed = 0;
  for (const image of before) {
    if (image === "}") closed++;
    else if (image === "{" && closed-- === 0) return true;
    else if (image === "collective" && closed <= 0) return false;
  }
  return false;
}

/** The path of the import whose names are being written at an offset; null if none are. */
function importAround(text: string, offset: number): string | null {
  const before = /\bimport\s+[\w\s,]*$/.test(text.slice(Math.max(0, offset - 2000), offset));
  const behind = /^[\w\s,]*\bfrom\s+"([^"\n]*)"/.exec(text.slice(offset, offset + 2000));
  return before && behind !== null ? behind[1]! : null;
}

/** What may stand behind a point: an axis of the mesh, or a number of a range. */
function members(w: Workspace, a: Analysis, offset: number, base: string): CompletionItem[] {
  if (base === "rank" || base === "world")
    return a.symbols.visibleAt(offset).flatMap((s) => (s.kind === "axis" ? symbolItem(w, a, s) : []));
  if (base !== ")") return [];
  return ["start", "end", "length"].map((label) => ({ label, kind: CompletionItemKind.Field, detail: "of a range" }));
}

function symbolItem(w: Workspace, a: Analysis, s: NamedSymbol): CompletionItem {
  const documentation = { kind: "markdown" as const, value: describeSymbol(w, a, s) };
  return { label: s.name, kind: SYMBOL_ICONS[s.kind], detail: s.kind, documentation, sortText: `0${s.name}` };
}

function wordItem(w: Word): CompletionItem {
  return { label: w.name, kind: WORD_ICONS[w.kind], detail: w.usage, documentation: w.doc, sortText: `1${w.name}` };
}

function looseNames(a: Analysis, offset: number, offered: readonly CompletionItem[]): CompletionItem[] {
  const { text } = a.source;
  const known = new Set([...WORDS.map((w) => w.name), ...offered.map((i) => i.label)]);
  const tokens = collLexer.tokenize(text.slice(0, offset)).tokens;
  const start = tokens.findLastIndex((t) => t.tokenType === T.Collective);
  const names = tokens.slice(Math.max(0, start)).filter((t, i, all) => tokenMatcher(t, T.Name) && i < all.length - 1);
  return [...new Set(names.map((t) => t.image))]
    .filter((name) => !known.has(name))
    .map((name) => ({ label: name, kind: CompletionItemKind.Text, sortText: `2${name}` }));
}
