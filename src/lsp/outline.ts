/** The constants, functions and collectives of a file, and what these declare. */
import { type DocumentSymbol, SymbolKind } from "vscode-languageserver/node";
import type { Ast, Span } from "../compiler/index.js";
import type { Analysis } from "./analysis.js";
import { rangeOf } from "./places.js";

export function outlineOf(a: Analysis): DocumentSymbol[] {
  const inCollective = new Set(["input", "output", "number", "scratch array", "let"]);
  const shared = [
    ...a.program.constants.map((c) => ({ node: c, detail: "constant", kind: SymbolKind.Constant })),
    ...a.program.functions.map((f) => ({ node: f, detail: "function", kind: SymbolKind.Function })),
  ].map(({ node, detail, kind }) => ({ name: node.name.text, detail, kind, ...ranges(a, node.span, node.name.span) }));
  const collectives = a.program.collectives.map((c) => {
    const children = a.symbols.symbols
      .filter((s) => s.owner === c && inCollective.has(s.kind))
      .map((s): DocumentSymbol => {
        const { span } = s.node as { span: Span };
        const kind = s.kind === "let" ? SymbolKind.Variable : SymbolKind.Field;
        return { name: s.name, detail: s.kind, kind, ...ranges(a, span, s.span) };
      });
    const kind = SymbolKind.Function;
    return { name: c.name.text, detail: detailOf(c), kind, ...ranges(a, c.span, c.name.span), children };
  });
  return [...shared, ...collectives];
}

/** "partial → replicated" */
function detailOf(c: Ast.Collective): string {
  const layouts = (all: readonly Ast.TensorDeclaration[]): string => all.map((t) => t.layout.name).join(", ");
  return `${layouts(c.inputs)} → ${layouts(c.outputs)}`;
}

/** An editor refuses a symbol whose name does not lie inside it, as may be after recovery from a syntax error. */
function ranges(a: Analysis, whole: Span, name: Span): Pick<DocumentSymbol, "range" | "selectionRange"> {
  const start = Math.min(whole.start, name.start);
  const end = Math.max(whole.end, name.end);
  return { range: rangeOf(a.source, { start, end }), selectionRange: rangeOf(a.source, name) };
}
