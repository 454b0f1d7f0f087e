/** Names across files: where what an import names is defined, and which files use it. */
import { pathToFileURL } from "node:url";
import { analyse, type Analysis } from "./analysis.js";
import type { NamedSymbol } from "./symbols.js";

/** What a session knows of files, beyond the one that is looked at. */
export interface Workspace {
  /** The analysis of a file as the editor shows it, or as it lies on the disk; null where there is none. */
  analysisOf(path: string): Analysis | null;
  /** Files that might import something, by path. */
  paths(): string[];
  /** The address by which the editor calls a file. */
  uriOf(path: string): string;
}

/** A symbol in its file. */
export interface Located {
  readonly analysis: Analysis;
  readonly symbol: NamedSymbol;
}

const EXPORTED = new Set(["constant", "function", "collective", "import"]);

/** What a file makes known to others by a name. */
export function exportOf(a: Analysis, name: string): NamedSymbol | null {
  return a.symbols.symbols.find((s) => s.name === name && EXPORTED.has(s.kind)) ?? null;
}

/** All names that a file makes known. */
export function exportsOf(a: Analysis): NamedSymbol[] {
  return a.symbols.symbols.filter((s) => EXPORTED.has(s.kind));
}

/** The file that an import of this file names; null where there is none. */
export function imported(w: Workspace | null, a: Analysis, path: string): Analysis | null {
  const found = a.resolve(path, a.source.name);
  if (found === null) return null;
  return w?.analysisOf(found.name) ?? analyse(found.name, found.text, a.resolve);
}

/** Follows an import, and imports of imports, to the definition. Other symbols are their own. */
export function definitionOf(w: Workspace | null, at: Located): Located | null {
  let { analysis, symbol } = at;
  for (let hops = 0; symbol.kind === "import"; hops++) {
    const { path } = symbol.node as { path: string };
    const next = imported(w, analysis, path);
    const found = next === null ? null : exportOf(next, symbol.name);
    if (next === null || found === null || hops > 100) return null;
    [analysis, symbol] = [next, found];
  }
  return { analysis, symbol };
}

/** Each file's own symbol for a definition: the definition itself, and the imports that lead to it. */
export function everywhere(w: Workspace, at: Located): Located[] {
  const definition = definitionOf(w, at) ?? at;
  if (!EXPORTED.has(definition.symbol.kind)) return [definition];
  const home = definition.analysis.source.name;
  const paths = new Set([at.analysis.source.name, home, ...w.paths()]);
  const isSame = (l: Located | null): boolean =>
    l !== null && l.analysis.source.name === home && l.symbol.span.start === definition.symbol.span.start;
  return [...paths].flatMap((path) => {
    const analysis = path === home ? definition.analysis : w.analysisOf(path);
    const symbols = analysis?.symbols.symbols.filter((s) => s.name === definition.symbol.name) ?? [];
    return symbols.flatMap((symbol) => {
      const here = { analysis: analysis!, symbol };
      if (symbol.kind === "import") return isSame(definitionOf(w, here)) ? [here] : [];
      return isSame(here) ? [here] : [];
    });
  });
}

export const uriOfPath = (path: string): string => pathToFileURL(path).href;
