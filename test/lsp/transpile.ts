/** Transpiles a module and all it imports of ours, so that plain Node can run today's source in a process of its own. */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";

const root = resolve(import.meta.dirname, "../..");
const base = join(root, ".out/test-lsp");

/** @param entry path from the package's root. @returns the path of its JavaScript. */
export function transpiled(entry: string): string {
  const sources = closureOf(join(root, entry));
  const hash = createHash("sha256");
  for (const [path, text] of sources) hash.update(path).update("\0").update(text);
  const folder = join(base, hash.digest("hex").slice(0, 16));
  if (!existsSync(folder)) {
    mkdirSync(base, { recursive: true });
    const aside = mkdtempSync(join(base, "new-"));
    const compilerOptions = {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    };
    for (const [path, text] of sources) {
      const to = join(aside, relative(root, path).replace(/ts$/, "js"));
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, ts.transpileModule(text, { compilerOptions }).outputText);
    }
    try {
      renameSync(aside, folder);
    } catch {
      rmSync(aside, { recursive: true }); // another test file was faster
    }
    for (const name of readdirSync(base))
      if (!folder.endsWith(name)) rmSync(join(base, name), { recursive: true, force: true });
  }
  return join(folder, entry.replace(/ts$/, "js"));
}

/** Our sources that a module reaches, by path. */
function closureOf(entry: string): Map<string, string> {
  const found = new Map<string, string>();
  const work = [entry];
  for (let path = work.pop(); path !== undefined; path = work.pop()) {
    if (found.has(path)) continue;
    const text = readFileSync(path, "utf8");
    found.set(path, text);
    for (const { fileName } of ts.preProcessFile(text).importedFiles)
      if (fileName.startsWith(".")) work.push(join(dirname(path), fileName.replace(/js$/, "ts")));
  }
  return found;
}
