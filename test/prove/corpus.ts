/**
 * The corpus: small programs, most of them wrong, each with what `collc check` says of it in a file beside it. The first
 * comment lines say how many ranks (`ranks 3`, of a `.coll` file) or launches (`launches 1`) are looked at, then what
 * the program is about.
 */
import { readdirSync, readFileSync } from "node:fs";
import { compile } from "../../src/compiler/driver.js";
import type { Kernel, Op } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { verify } from "../../src/compiler/ir/verify.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { SourceFile, type Span } from "../../src/compiler/source.js";

export interface CorpusEntry {
  readonly name: string;
  readonly kernel: Kernel;
  readonly source: SourceFile;
  readonly launches: number;
  /** What the author says of it. */
  readonly about: string;
}

export const CORPUS_FOLDER = "test/prove/corpus";

export const CORPUS: readonly string[] = readdirSync(CORPUS_FOLDER)
  .filter((f) => /\.(coll|ir)$/.test(f))
  .sort();

export function loadEntry(file: string): CorpusEntry {
  const text = readFileSync(`${CORPUS_FOLDER}/${file}`, "utf8");
  const source = new SourceFile(file, text);
  const setting = (name: string, otherwise: number): number =>
    Number(new RegExp(`^// ${name} (\\d+)$`, "m").exec(text)?.[1] ?? otherwise);
  const about = [...text.matchAll(/^\/\/ (.*)$/gm)].map((m) => m[1]!).filter((l) => !/^(ranks|launches) \d+$/.test(l));
  const kernel = file.endsWith(".ir") ? kernelOf(source) : compiled(source, setting("ranks", 2));
  return { name: file, kernel, source, launches: setting("launches", file.endsWith(".ir") ? 3 : 2), about: about[0]! };
}

function compiled(source: SourceFile, ranks: number): Kernel {
  const result = compile(source.text, { file: source.name, ranks, dtype: "f32", mapping: PROOF_MAPPING });
  if (result.kernel === null) throw new Error(result.diagnostics.map((d) => d.message).join("; "));
  return result.kernel;
}

/** A kernel of IR text with comments; its ops get their lines as places. */
function kernelOf({ name, text }: SourceFile): Kernel {
  const bare = text.replace(/\/\/.*/g, (comment) => " ".repeat(comment.length));
  const kernel = parseKernel(bare);
  verify(kernel, name);
  const spans: Span[] = [];
  const body = bare.indexOf("  body {\n") + "  body {\n".length;
  for (const line of bare.slice(body).matchAll(/^ *((?:%\w+ = )?[a-z_]+.*?)( \(?%?\w*\)? \{)?$/gm)) {
    const start = body + line.index + line[0].indexOf(line[1]!);
    spans.push({ start, end: start + line[1]!.length });
  }
  let n = 0;
  walkKernel(kernel, (op) => void ((op as { -readonly [K in keyof Op]: Op[K] }).span = spans[n++]!));
  if (n !== spans.length) throw new Error(`${name}: ${n} ops on ${spans.length} lines`);
  return kernel;
}
