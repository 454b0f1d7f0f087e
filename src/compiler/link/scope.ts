/** What the definitions of one file can name: its own constants, functions and collectives, and those it imports. */
import type { Collective, Constant, Func, Import, Name, Program } from "../ast/nodes.js";
import { diagnostic, type Diagnostic, type Label } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";

export type Definition = (
  | { readonly kind: "constant"; readonly node: Constant }
  | { readonly kind: "function"; readonly node: Func }
  | { readonly kind: "collective"; readonly node: Collective }
) & {
  /** Where the names inside it are looked up. */
  readonly scope: FileScope;
};

export interface FileScope {
  readonly definitions: ReadonlyMap<string, Definition>;
}

/** The scope of a program, with everything that is wrong with its imports and the names it defines. */
export function fileScope(
  program: Program,
  scopeOf: (clause: Import) => FileScope | null,
  report: (d: Diagnostic) => void,
): FileScope {
  const definitions = new Map<string, Definition>();
  const scope: FileScope = { definitions };
  const places = new Map<string, Name>();
  const add = (name: Name, definition: Definition): void => {
    const first = places.get(name.text);
    if (first !== undefined) {
      // Two collectives of one name are reported where the file is parsed.
      if (definition.kind === "collective" && definitions.get(name.text)?.kind === "collective") return;
      const labels: Label[] = [{ span: first.span, text: "first defined here" }];
      report(diagnostic("duplicate-name", name.span, { name: name.text }, { labels }));
      return;
    }
    places.set(name.text, name);
    definitions.set(name.text, definition);
  };
  for (const clause of program.imports) {
    const imported = scopeOf(clause);
    if (imported === null) continue;
    for (const name of clause.names) {
      const found = imported.definitions.get(name.text);
      if (found !== undefined) {
        add(name, found);
        continue;
      }
      const names = [...imported.definitions.keys()];
      const help = suggestion(name.text, names) ?? undefined;
      const parameters = { path: clause.path, name: name.text, known: names.join(", ") || "nothing" };
      report(diagnostic("import-unknown", name.span, parameters, help === undefined ? {} : { help }));
    }
  }
  for (const node of program.constants) add(node.name, { kind: "constant", node, scope });
  for (const node of program.functions) add(node.name, { kind: "function", node, scope });
  for (const node of program.collectives) add(node.name, { kind: "collective", node, scope });
  return scope;
}
