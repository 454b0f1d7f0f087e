/** Follows the imports of a program: reads the files they name, and theirs, and gives every file its scope. */
import type { Import, Program } from "../ast/nodes.js";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import { MAX_IMPORTS } from "./budget.js";
import { type FileScope, fileScope } from "./scope.js";

/**
 * Finds an imported file.
 * @param path as written in the import.
 * @param from name of the importing file.
 * @returns its text and the name that messages call it by; null if there is none.
 */
export type ResolveImport = (path: string, from: string) => { readonly name: string; readonly text: string } | null;

/** A parsed file. */
export interface ParsedFile {
  readonly name: string;
  readonly program: Program;
  readonly hasErrors: boolean;
}

/**
 * The scope of the main program. Every file is read once.
 * @param parse reads and parses what an import names, for the file that imports it; null if there is no such file.
 */
export function linkProgram(
  main: ParsedFile,
  parse: (path: string, from: string) => ParsedFile | null,
  report: (d: Diagnostic) => void,
): FileScope {
  const done = new Map<string, FileScope>();
  const open: string[] = [];
  const scopeOf = (file: ParsedFile, tell: (d: Diagnostic) => void): FileScope => {
    open.push(file.name);
    const scope = fileScope(file.program, (clause) => follow(clause, file.name, tell), tell);
    open.pop();
    done.set(file.name, scope);
    return scope;
  };
  const follow = (clause: Import, from: string, tell: (d: Diagnostic) => void): FileScope | null => {
    const { path, pathSpan } = clause;
    const file = parse(path, from);
    if (file === null) {
      tell(diagnostic("import-not-found", pathSpan, { path }));
      return null;
    }
    if (open.includes(file.name)) {
      tell(diagnostic("import-cycle", pathSpan, { path }));
      return null;
    }
    if (open.length >= MAX_IMPORTS) {
      const help = "let the file import what it needs from where it is defined";
      tell(diagnostic("too-deep", pathSpan, { limit: MAX_IMPORTS }, { help }));
      return null;
    }
    if (file.hasErrors) {
      tell(diagnostic("import-broken", pathSpan, { path }));
      return null;
    }
    return done.get(file.name) ?? scopeOf(file, tell);
  };
  return scopeOf(main, report);
}
