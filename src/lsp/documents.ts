/** Open documents: their analysis, made once a version, and their diagnostics, sent when the typing rests. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Connection,
  type Diagnostic as LspDiagnostic,
  TextDocuments,
  TextDocumentSyncKind,
} from "vscode-languageserver/node";
import { TextDocument } from "vscode-languageserver-textdocument";
import { analyse, type Analysis, diagnose } from "./analysis.js";
import { programsBelow, resolver, textOf } from "./imports.js";
import { toLsp } from "./report.js";
import { uriOfPath, type Workspace } from "./workspace.js";

/** How long the typing must rest, in milliseconds. */
const DEBOUNCE_MS = 150;

export const SYNC = TextDocumentSyncKind.Incremental;

export class Documents implements Workspace {
  /** Folders that the editor has open, by path. */
  folders: readonly string[] = [];
  private readonly open = new TextDocuments(TextDocument);
  private readonly analyses = new Map<string, { readonly version: number; readonly analysis: Analysis }>();
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(private readonly connection: Connection) {
    this.open.onDidOpen(({ document }) => this.publish(document));
    this.open.onDidChangeContent(({ document }) => this.schedule(document));
    this.open.onDidClose(({ document }) => this.forget(document.uri));
    this.open.listen(connection);
  }

  private readonly resolve = resolver((path) => this.atPath(path)?.getText());

  /** The open document of a file. */
  private atPath(path: string): TextDocument | undefined {
    return this.open.all().find((d) => (fileName(d.uri) ?? d.uri) === path);
  }

  analysisOf(path: string): Analysis | null {
    const document = this.atPath(path);
    if (document !== undefined) return this.analysis(document.uri);
    const text = textOf(path);
    return text === null ? null : analyse(path, text, this.resolve);
  }

  paths(): string[] {
    const open = this.open.all().map((d) => fileName(d.uri) ?? d.uri);
    const beside = open.filter((path) => path.includes("/")).map((path) => dirname(path));
    return [...new Set([...open, ...programsBelow(this.folders.length > 0 ? this.folders : beside)])];
  }

  uriOf(path: string): string {
    return this.atPath(path)?.uri ?? uriOfPath(path);
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
    const analysis = analyse(fileName(uri) ?? uri, document.getText(), this.resolve);
    this.analyses.set(uri, { version: document.version, analysis });
    return analysis;
  }

  /** A document has changed, and with it what others import from it. */
  private schedule(document: TextDocument): void {
    for (const other of this.open.all()) {
      const analysis = this.analyses.get(other.uri)?.analysis;
      if (other.uri === document.uri || analysis === undefined || analysis.program.imports.length === 0) continue;
      this.analyses.delete(other.uri);
      this.later(other);
    }
    // A document that was just opened is said to have changed, too; its diagnostics are on their way already.
    if (this.analyses.get(document.uri)?.version !== document.version) this.later(document);
  }

  private later(document: TextDocument): void {
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
      diagnostics = diagnose(analysis).map((d) => toLsp(d, analysis, uri, this));
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
