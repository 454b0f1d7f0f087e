/** An editor's side of a session: starts the server as a process and speaks JSON-RPC to it. */
import { type ChildProcess, spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import {
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-jsonrpc/node";
import type { Diagnostic, InitializeResult, Position, Range } from "vscode-languageserver/node";
import { transpiled } from "./transpile.js";

interface Published {
  readonly uri: string;
  readonly version?: number;
  readonly diagnostics: Diagnostic[];
}

/** Places marked with `¦` in a text, and the text without the marks. */
export function unmark(marked: string): { text: string; places: Position[] } {
  const places: Position[] = [];
  let text = "";
  for (const c of marked) {
    if (c === "¦") {
      const lines = text.split("\n");
      places.push({ line: lines.length - 1, character: lines.at(-1)!.length });
    } else text += c;
  }
  return { text, places };
}

/** The text in a range. */
export function textIn(text: string, range: Range): string {
  const lines = text.split("\n");
  const offset = (p: Position): number => lines.slice(0, p.line).join("\n").length + (p.line > 0 ? 1 : 0) + p.character;
  return text.slice(offset(range.start), offset(range.end));
}

export class Editor {
  readonly published: Published[] = [];
  /** What the server says it can do. */
  capabilities: InitializeResult["capabilities"] = {};
  readonly ended: Promise<number | null>;
  private version = 0;

  private constructor(
    private readonly child: ChildProcess,
    private readonly connection: MessageConnection,
  ) {
    this.ended = new Promise((done) => child.once("close", (code) => done(code)));
    connection.onNotification("textDocument/publishDiagnostics", (p: Published) => void this.published.push(p));
    connection.listen();
  }

  /** Starts a server and introduces itself. @param folder what the editor has open. */
  static async start(folder: string | null = null): Promise<Editor> {
    const module = pathToFileURL(transpiled("src/lsp/index.ts")).href;
    const script = `import { serve } from ${JSON.stringify(module)}; await serve(process.stdin, process.stdout, "0");`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    const editor = new Editor(child, connection);
    const answer = await editor.request<InitializeResult>("initialize", {
      processId: process.pid,
      rootUri: folder === null ? null : pathToFileURL(folder).href,
      capabilities: {},
    });
    editor.capabilities = answer.capabilities;
    await connection.sendNotification("initialized", {});
    return editor;
  }

  request<R>(method: string, parameters?: object): Promise<R> {
    return this.connection.sendRequest<R>(method, parameters);
  }

  async open(uri: string, text: string): Promise<void> {
    const textDocument = { uri, languageId: "coll", version: ++this.version, text };
    await this.connection.sendNotification("textDocument/didOpen", { textDocument });
  }

  /** Replaces the whole text, or a part of it. @returns the version that it makes. */
  async change(uri: string, text: string, range?: Range): Promise<number> {
    const textDocument = { uri, version: ++this.version };
    const contentChanges = [range === undefined ? { text } : { text, range }];
    await this.connection.sendNotification("textDocument/didChange", { textDocument, contentChanges });
    return this.version;
  }

  async close(uri: string): Promise<void> {
    await this.connection.sendNotification("textDocument/didClose", { textDocument: { uri } });
  }

  /** The next diagnostics of a document, from a version on. */
  async diagnostics(uri: string, version = this.version): Promise<Diagnostic[]> {
    const deadline = performance.now() + 300_000;
    for (;;) {
      const found = this.published.find((p) => p.uri === uri && (p.version ?? 0) >= version);
      if (found !== undefined) return found.diagnostics;
      if (performance.now() > deadline) throw new Error(`no diagnostics of version ${version}`);
      await new Promise((done) => setTimeout(done, 10));
    }
  }

  /** A request about a place. */
  at<R>(method: string, uri: string, position: Position, more: object = {}): Promise<R> {
    return this.request<R>(`textDocument/${method}`, { textDocument: { uri }, position, ...more });
  }

  /** Says goodbye. @returns the server's exit code. */
  async stop(): Promise<number | null> {
    await this.request("shutdown");
    await this.connection.sendNotification("exit");
    const code = await this.ended;
    this.connection.dispose();
    return code;
  }

  /** Goes away without a word. */
  async vanish(): Promise<number | null> {
    this.child.stdin!.end();
    return this.ended;
  }
}
