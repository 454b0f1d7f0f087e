/** What the front end's tests share: programs with marked places, and files that hold what is expected. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Diagnostic, DiagnosticCode } from "../../src/compiler/diagnostics/index.js";
import { checkCollective, parseProgram } from "../../src/compiler/front-end.js";
import {
  compile,
  type CompileResult,
  type DType,
  type Reach,
  type ResolveImport,
  SourceFile,
  type Span,
} from "../../src/compiler/index.js";

export interface CheckSettings {
  /** Number of ranks; 4 if not given. */
  readonly world?: number;
  readonly dtypes?: Readonly<Record<string, DType>>;
  readonly collective?: string;
  /** Files that can be imported, by path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly mesh?: Readonly<Record<string, number>>;
  /** Which ranks share addresses; all if not given. */
  readonly reach?: Reach;
}

/** Everything the front end says about a program, as `compile` would report it. */
export function diagnose(text: string, settings: CheckSettings = {}): Diagnostic[] {
  const file = new SourceFile("test.coll", text);
  const { program, diagnostics } = parseProgram(file);
  if (diagnostics.some((d) => d.severity === "error")) return diagnostics;
  const { world = 4, dtypes = {}, collective, files = {}, mesh } = settings;
  const resolve: ResolveImport = (path) => (Object.hasOwn(files, path) ? { name: path, text: files[path]! } : null);
  const options = { world, dtypes, file, resolve, ...(mesh === undefined ? {} : { mesh }) };
  return [...diagnostics, ...checkCollective(program, collective, options).diagnostics];
}

/** What passes warn of, or refuse, in a program that the front end takes. */
function warnings(text: string, { world: ranks = 4, dtypes: dtype = {}, reach }: CheckSettings): readonly Diagnostic[] {
  return compile(text, { ranks, dtype, reach, file: "test.coll" }).diagnostics;
}

/** Compiles every collective of a program. */
export function compileAll(text: string, ranks: number, dtype?: DType): CompileResult[] {
  const { program } = parseProgram(new SourceFile("test.coll", text));
  return program.collectives.map((c) => compile(text, { file: "test.coll", collective: c.name.text, ranks, dtype }));
}

export interface Expected {
  readonly code: DiagnosticCode;
  /** Must occur in the message. */
  readonly message?: string | RegExp;
  /** Must occur in the help line; null for none. */
  readonly help?: string | RegExp | null;
}

/** Text with marks → plain text and the places between the marks. `⟦…⟧` is a diagnostic, `⟨…⟩` a second place. */
export function unmark(marked: string): { text: string; places: Span[]; labels: Span[] } {
  const places: Span[] = [];
  const labels: Span[] = [];
  const open: { readonly into: Span[]; readonly slot: number; readonly start: number }[] = [];
  let text = "";
  for (const c of marked) {
    if (c === "⟦" || c === "⟨") {
      const into = c === "⟦" ? places : labels;
      open.push({ into, slot: into.push({ start: 0, end: 0 }) - 1, start: text.length });
    } else if (c === "⟧" || c === "⟩") {
      const { into, slot, start } = open.pop()!;
      into[slot] = { start, end: text.length };
    } else text += c;
  }
  return { text, places, labels };
}

/**
 * The program must give exactly these diagnostics, in the order of their places, each at its `⟦marked⟧` place.
 * A program without marks says nothing about places. Where there are `⟨marks⟩`, the second places must be those.
 */
export function expectDiagnostics(
  marked: string,
  expected: readonly Expected[],
  settings: CheckSettings = {},
): readonly Diagnostic[] {
  const { text, places, labels } = unmark(marked);
  const front = diagnose(text, settings);
  const found = front.length > 0 || expected.length === 0 ? front : warnings(text, settings);
  const quoted = (span: Span): string => text.slice(span.start, span.end);
  const order = [...places].sort((a, b) => a.start - b.start || a.end - b.end);
  const said = found.map((d) => `${d.code}${places.length > 0 ? ` at «${quoted(d.span)}»` : ""}`);
  const wanted = expected.map((e, i) => `${e.code}${places.length > 0 ? ` at «${quoted(order[i]!)}»` : ""}`);
  expect(said, found.map((d) => d.message).join("\n")).toEqual(wanted);
  if (places.length > 0) expect(found.map((d) => d.span)).toEqual(order);
  if (labels.length > 0)
    expect(found.flatMap((d) => d.labels.map((l) => quoted(l.span))).sort()).toEqual(labels.map(quoted).sort());
  expected.forEach((e, i) => {
    if (e.message !== undefined) expect(found[i]!.message).toMatch(e.message);
    if (e.help === null) expect(found[i]!.help).toBeNull();
    else if (e.help !== undefined) expect(found[i]!.help ?? "").toMatch(e.help);
  });
  return found;
}

const GOLDENS = join(import.meta.dirname, "goldens");

/** Compares with `goldens/NAME`; with `UPDATE_GOLDENS=1` writes that file instead. */
export function expectGolden(name: string, text: string): void {
  const path = join(GOLDENS, name);
  if (process.env["UPDATE_GOLDENS"] === "1") {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return;
  }
  let golden: string;
  try {
    golden = readFileSync(path, "utf8");
  } catch {
    throw new Error(`there is no goldens/${name}; write it with UPDATE_GOLDENS=1 npx vitest run test/front-end`);
  }
  expect(text, `goldens/${name} differs; update with UPDATE_GOLDENS=1 npx vitest run test/front-end`).toBe(golden);
}

/** A copy without any `span`, for comparing trees that stand at different places. */
export function withoutSpans<T>(tree: T): T {
  if (Array.isArray(tree)) return tree.map((x: unknown) => withoutSpans(x)) as T;
  if (typeof tree !== "object" || tree === null) return tree;
  const kept = Object.entries(tree).filter(([key]) => key !== "span" && key !== "pathSpan");
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutSpans(value as unknown)])) as T;
}
