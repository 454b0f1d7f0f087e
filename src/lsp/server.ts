/** The language server: requests of an editor → answers of the analysis. */
import type { Readable, Writable } from "node:stream";
import {
  createConnection,
  ErrorCodes,
  type InitializeResult,
  type Location,
  ProposedFeatures,
  ResponseError,
  type TextDocumentPositionParams,
  type TextEdit,
} from "vscode-languageserver/node";
import type { Span } from "../compiler/index.js";
import type { Analysis } from "./analysis.js";
import { completionsAt } from "./complete.js";
import { Documents, fileName, SYNC } from "./documents.js";
import { hoverAt } from "./hover.js";
import { outlineOf } from "./outline.js";
import { rangeOf } from "./places.js";
import { renameAt, RenameRefused } from "./rename.js";
import { definitionOf, everywhere, imported } from "./workspace.js";

const CAPABILITIES: InitializeResult["capabilities"] = {
  textDocumentSync: SYNC,
  hoverProvider: true,
  definitionProvider: true,
  referencesProvider: true,
  renameProvider: { prepareProvider: true },
  completionProvider: { triggerCharacters: [":", "@", "(", "."] },
  documentFormattingProvider: true,
  documentSymbolProvider: true,
};

/**
 * Serves one editor over two streams until it says `exit` or goes away; either ends the process.
 * @returns never, but by the end of the process.
 */
export function serve(input: Readable, output: Writable, version: string): Promise<never> {
  const connection = createConnection(ProposedFeatures.all, input, output);
  const documents = new Documents(connection);
  const locate = ({ analysis, span }: { analysis: Analysis; span: Span }): Location => ({
    uri: documents.uriOf(analysis.source.name),
    range: rangeOf(analysis.source, span),
  });

  /** Answers from the analysis of the document and the offset that is pointed at. */
  const at = <P extends TextDocumentPositionParams, R>(answer: (a: Analysis, offset: number, p: P) => R) => {
    return (p: P): R | null => {
      const analysis = documents.analysis(p.textDocument.uri);
      const offset = documents.document(p.textDocument.uri)?.offsetAt(p.position);
      return analysis === null || offset === undefined ? null : answer(analysis, offset, p);
    };
  };

  connection.onInitialize((p) => {
    const uris = p.workspaceFolders?.map((f) => f.uri) ?? [p.rootUri ?? ""];
    documents.folders = uris.flatMap((uri) => fileName(uri) ?? []);
    return { capabilities: CAPABILITIES, serverInfo: { name: "collc", version } };
  });
  connection.onHover(at((a, offset) => hoverAt(documents, a, offset)));
  connection.onCompletion(at((a, offset) => completionsAt(documents, a, offset)));
  connection.onDefinition(
    at((a, offset): Location | null => {
      const clause = a.program.imports.find(({ pathSpan: s }) => s.start <= offset && offset <= s.end);
      const file = clause === undefined ? null : imported(documents, a, clause.path);
      if (file !== null) return locate({ analysis: file, span: { start: 0, end: 0 } });
      const found = a.symbols.at(offset);
      if (found === null) return null;
      const definition = definitionOf(documents, { analysis: a, symbol: found.symbol });
      const { analysis, symbol } = definition ?? { analysis: a, symbol: found.symbol };
      return locate({ analysis, span: symbol.span });
    }),
  );
  connection.onReferences(
    at((a, offset, p): Location[] => {
      const symbol = a.symbols.at(offset)?.symbol;
      if (symbol === undefined) return [];
      return everywhere(documents, { analysis: a, symbol }).flatMap(({ analysis, symbol: s }) =>
        s.occurrences
          .filter((span) => p.context.includeDeclaration || s.kind === "import" || span !== s.span)
          .map((span) => locate({ analysis, span })),
      );
    }),
  );
  connection.onPrepareRename(
    at((a, offset) => {
      const found = a.symbols.at(offset);
      return found === null ? null : { range: rangeOf(a.source, found.span), placeholder: found.symbol.name };
    }),
  );
  connection.onRenameRequest(
    at((a, offset, p) => {
      try {
        return { changes: renameAt(documents, a, offset, p.newName) };
      } catch (error) {
        if (error instanceof RenameRefused) throw new ResponseError(ErrorCodes.InvalidRequest, error.message);
        throw error;
      }
    }),
  );
  connection.onDocumentSymbol((p) => {
    const analysis = documents.analysis(p.textDocument.uri);
    return analysis === null ? [] : outlineOf(analysis);
  });
  connection.onDocumentFormatting((p) => format(documents, p.textDocument.uri));
  connection.listen();
  return new Promise<never>(() => {});
}

/** One edit for the whole text; none for a text that cannot be formatted, whose diagnostics say why. */
async function format(documents: Documents, uri: string): Promise<TextEdit[] | null> {
  const analysis = documents.analysis(uri);
  if (analysis === null) return null;
  const { CollSyntaxError, formatColl, printWidthFor } = await import("../formatter/index.js");
  const path = fileName(uri);
  const printWidth = path === null ? undefined : await printWidthFor(path).catch(() => undefined);
  const { source } = analysis;
  try {
    const newText = await formatColl(source.text, { file: source.name, printWidth });
    const all = rangeOf(source, { start: 0, end: source.text.length });
    return newText === source.text ? [] : [{ range: all, newText }];
  } catch (error) {
    if (error instanceof CollSyntaxError) return null;
    throw error;
  }
}
