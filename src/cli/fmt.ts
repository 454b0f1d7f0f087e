/** `collc fmt`: puts programs into the one style of Coll. */
import { join } from "node:path";
import { Command } from "commander";
import { exitCodes, messageOf, UsageError } from "../runtime/errors.js";
import { writeOutput } from "../runtime/output-file.js";
import { printDiagnostics } from "./diagnostics.js";
import { Exit } from "./failure.js";
import { type Io, paletteOf } from "./io.js";
import { examples } from "./examples.js";
import { programFiles, readProgram } from "./source-file.js";

interface FmtOptions {
  readonly check?: boolean;
  readonly stdin?: boolean;
}

/** The command, printing to `io`. */
export function fmtCommand(io: Io): Command {
  return new Command("fmt")
    .description("Format programs. Comments stay where they are; a file with syntax errors is left as it is.")
    .argument("[paths...]", "files, or folders whose .coll files are meant (default: the current folder)")
    .option("--check", "change nothing; list what is not formatted, and exit with 1 if anything is")
    .option("--stdin", "format standard input to standard output")
    .addHelpText(
      "after",
      examples(
        ["collc fmt", "all programs in and below this folder"],
        ["collc fmt --check kernels", "for continuous integration"],
        ["collc fmt --stdin < my.coll", "for editors"],
      ),
    )
    .action(async (paths: string[], options: FmtOptions) => {
      if (options.stdin === true && paths.length > 0)
        throw new UsageError("--stdin formats standard input, but files are named too", "leave out one of them");
      if (options.stdin === true) return formatStdin(io, options);
      await formatFiles(io, paths.length === 0 ? ["."] : paths, options);
    });
}

async function formatStdin(io: Io, options: FmtOptions): Promise<void> {
  const { file, text } = readProgram("-", io);
  const formatted = await formatOrReport(io, file, text, join(process.cwd(), "stdin.coll"));
  if (formatted === null) throw new Exit(exitCodes.program);
  if (options.check !== true) io.out.write(formatted);
  else if (formatted !== text) {
    io.out.write(`${file}\n`);
    throw new Exit(exitCodes.program);
  }
}

async function formatFiles(io: Io, paths: readonly string[], options: FmtOptions): Promise<void> {
  const files = [...new Set(paths.flatMap((path) => programFiles(path, io)))];
  const changed: string[] = [];
  let failed = 0;
  for (const file of files) {
    const { text } = readProgram(file, io);
    const formatted = await formatOrReport(io, file, text, file);
    if (formatted === null) failed++;
    else if (formatted !== text) {
      changed.push(file);
      if (options.check !== true) await writeOutput(file, formatted);
    }
  }
  for (const file of changed) io.out.write(`${file}\n`);
  io.err.write(summary(io, files.length, changed.length, failed, options) + "\n");
  if (failed > 0 || (options.check === true && changed.length > 0)) throw new Exit(exitCodes.program);
}

/** The formatted text; null after a syntax error that has been reported. */
async function formatOrReport(io: Io, file: string, text: string, configured: string): Promise<string | null> {
  // Prettier takes a moment to load, which other commands need not wait for.
  const { CollSyntaxError, formatColl, printWidthFor } = await import("../formatter/index.js");
  const printWidth = await printWidthFor(configured).catch((error: unknown) => {
    throw new UsageError(`Prettier's configuration for ${file} cannot be read: ${messageOf(error)}`, "correct it");
  });
  try {
    return await formatColl(text, { file, printWidth });
  } catch (error) {
    if (!(error instanceof CollSyntaxError)) throw error;
    printDiagnostics(io, error.diagnostics, error.source);
    return null;
  }
}

function summary(io: Io, all: number, changed: number, failed: number, options: FmtOptions): string {
  const c = paletteOf(io.err, io.env);
  const count = (n: number): string => `${n} file${n === 1 ? "" : "s"}`;
  if (all === 0) return `${c.yellow("!")} no .coll files here`;
  const said = [
    ...(failed > 0 ? [`${count(failed)} with syntax errors`] : []),
    ...(changed > 0 ? [`${count(changed)} ${options.check === true ? "not formatted" : "formatted"}`] : []),
  ];
  const isFine = failed === 0 && (changed === 0 || options.check !== true);
  return `${isFine ? c.green("✓") : c.red("✗")} ${said.length === 0 ? `${count(all)}, all formatted` : `${said.join(", ")} of ${all}`}`;
}
