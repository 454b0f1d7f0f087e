/** Open documents: their analysis, made once a version, and their diagnostics, sent when the typing rests. */
import { fileURLToPath } from "node:url";
import {
  type Connection,
  type Diagnostic as LspDiagnostic,
  DiagnosticSeverity,
  TextDocuments,
  TextDocumentSyncKind,
} from "vscode-languageserver/node";
import { TextDocument } from "vscode-languageserver-textdocument";
import { analyse, type Analysis, diagnose, type Diagnostic } from "./analysis.js";
import { rangeOf } from "./places.js";

/** How long the typing must rest, in milliseconds. */
const DEBOUNCE_MS = 150;

export const SYNC = TextDocumentSyncKind.Incremental;

export class Documents {
  private readonly open = new TextDocuments(TextDocument);
  private readonly analyses = new Map<string, { readonly version: number; readonly analysis: Analysis }>();
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(private readonly connection: Connection) {
    this.open.onDidOpen(({ document }) => this.publish(document));
    this.open.onDidChangeContent(({ document }) => this.schedule(document));
    this.open.onDidClose(({ document }) => this.forget(document.uri));
    this.open.listen(connection);
  }

  document(uri: string): TextDocument | undefined {
    return this.open.get(uri);
  }

  /** The analysis of what the editor shows now; null for a document that is not open. */
  analysis(uri: string): Analysis | null {
    const document = this.open.get(uri);
    if (document === undefined) return null;
    const known = this.analyses.get(uri);
    if (known?.version === document.version) return known.analysis;
    const analysis = analyse(fileName(uri) ?? uri, document.getText());
    this.analyses.set(uri, { version: document.version, analysis });
    return analysis;
  }

  private schedule(document: TextDocument): void {
    clearTimeout(this.timers.get(document.uri));
    this.timers.set(
      document.uri,
      setTimeout(() => this.publish(document), DEBOUNCE_MS),
    );
  }

  private publish(document: TextDocument): void {
    const { uri, version } = document;
    const analysis = this.analysis(uri);
    if (analysis === null) return;
    let diagnostics: LspDiagnostic[] = [];
    try {
      diagnostics = diagnose(analysis).map((d) => toLsp(d, analysis, uri));
    } catch (error) {
      // A bug in the compiler must not take the editor's other services with it.
      this.connection.console.error(
        `collc: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
    }
    void this.connection.sendDiagnostics({ uri, version, diagnostics });
  }

  private forget(uri: string): void {
    clearTimeout(this.timers.get(uri));
    this.timers.delete(uri);
    this.analyses.delete(uri);
    void this.connection.sendDiagnostics({ uri, diagnostics: [] });
  }
}

/** The path of a `file:` document; null for one that is on no disk. */
export function fileName(uri: string): string | null {
  try {
    return uri.startsWith("file:") ? fileURLToPath(uri) : null;
  } catch {
    return null;
  }
}

function toLsp(d: Diagnostic, a: Analysis, uri: string): LspDiagnostic {
  return {
    range: rangeOf(a.source, d.span),
    severity: d.severity === "error" ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
    code: d.code,
    source: "collc",
    message: d.help === null ? d.message : `${d.message}\nhelp: ${d.help}`,
    relatedInformation: d.labels.map((l) => ({ location: { uri, range: rangeOf(a.source, l.span) }, message: l.text })),
  };
}
