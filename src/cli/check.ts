/** `collc check`: what is wrong with a program, for every number of ranks that was asked for. */
import { Command, Option } from "commander";
import { type Claims, compile, type DimValues, parseProgram, SourceFile } from "../compiler/index.js";
import { type Diagnostic, toJson } from "../index.js";
import { exitCodes, UsageError } from "../runtime/errors.js";
import { dtypesFor } from "./collectives.js";
import { hasErrors, printDiagnostics } from "./diagnostics.js";
import { Exit } from "./failure.js";
import { type Io, paletteOf } from "./io.js";
import { collectDims, type DTypeChoice, examples, shared } from "./options.js";
import { claimProblems, printClaims, proveCollective } from "./proofs.js";
import { readProgram } from "./source-file.js";
import { suggestion } from "./suggest.js";

interface CheckOptions {
  readonly ranks: readonly number[];
  readonly dtype?: DTypeChoice;
  readonly json?: boolean;
  readonly prove?: boolean;
  readonly strict?: boolean;
  readonly dim?: DimValues;
}

/** The command, printing to `io`. */
export function checkCommand(io: Io): Command {
  return new Command("check")
    .description("Report what is wrong with a program. Compiles all the way, so that every pass has its say.")
    .argument("<file>", "program, or - for standard input")
    .argument("[name]", "collective to check (default: all in the file)")
    .addOption(shared.rankList().default([2, 4], "2,4"))
    .addOption(shared.dtype())
    .option("--prove", "prove the answer and the ordering for each number of ranks")
    .addOption(
      new Option(
        "-d, --dim <name=n...>",
        "with --prove: this shape only (default: some that take every path)",
      ).argParser(collectDims),
    )
    .option("--strict", "with --prove: what cannot be proved counts as wrong")
    .option("--json", "print an array of diagnostics")
    .addHelpText(
      "after",
      examples(
        ["collc check my.coll", "all collectives of a file"],
        ["collc check my.coll ring --ranks 1,3,8", "one of them, for worlds of 1, 3 and 8"],
        ["collc check my.coll --prove --ranks 2,4,8", "proof for all data, and of every interleaving"],
        ["collc check my.coll --json", "for editors and build systems"],
      ),
    )
    .action((file: string, name: string | undefined, options: CheckOptions) => check(io, file, name, options));
}

function check(io: Io, path: string, name: string | undefined, options: CheckOptions): void {
  const program = readProgram(path, io);
  const source = new SourceFile(program.file, program.text);
  const diagnostics = diagnose(source, name, options);
  const claims = options.prove === true && !hasErrors(diagnostics) ? claimsOf(source, name, options) : [];
  if (options.json === true) {
    const all = [...diagnostics.map((d) => toJson(d, source)), ...claims.flatMap((c) => claimProblems(c, source))];
    io.out.write(JSON.stringify(all, null, 2) + "\n");
  } else {
    printDiagnostics(io, diagnostics, source);
    io.out.write(summary(io, source, diagnostics, options.ranks) + "\n");
    for (const c of claims) printClaims(io, c, source);
  }
  const bad = options.strict === true ? ["wrong", "unknown"] : ["wrong"];
  const refuted = claims.some((c) => bad.includes(c.answer.status) || bad.includes(c.ordering.status));
  if (hasErrors(diagnostics) || refuted) throw new Exit(exitCodes.program);
}

function claimsOf(source: SourceFile, name: string | undefined, options: CheckOptions): Claims[] {
  const { collectives } = parseProgram(source).program;
  return collectives
    .filter((collective) => name === undefined || collective.name.text === name)
    .flatMap((collective) =>
      options.ranks.map((ranks) =>
        proveCollective(source, {
          collective: collective.name.text,
          ranks,
          dtype: dtypesFor(collective, options.dtype),
          dims: options.dim,
        }),
      ),
    )
    .filter((c) => c !== null);
}

/** Diagnostics of the file, each once, in the order of their places. */
function diagnose(source: SourceFile, name: string | undefined, options: CheckOptions): Diagnostic[] {
  const parsed = parseProgram(source);
  const found = new Map<string, Diagnostic>();
  const keep = (all: readonly Diagnostic[]): void => {
    for (const d of all) found.set(JSON.stringify([d.code, d.span, d.message]), d);
  };
  keep(parsed.diagnostics);
  if (!hasErrors(parsed.diagnostics)) {
    const names = parsed.program.collectives.map((collective) => collective.name.text);
    if (name !== undefined && !names.includes(name))
      throw new UsageError(`${source.name} has no collective '${name}'`, suggestion(name, names, "collectives"));
    for (const collective of parsed.program.collectives) {
      if (name !== undefined && collective.name.text !== name) continue;
      for (const ranks of options.ranks) {
        keep(
          compile(source.text, {
            file: source.name,
            collective: collective.name.text,
            ranks,
            dtype: dtypesFor(collective, options.dtype),
          }).diagnostics,
        );
      }
    }
  }
  return [...found.values()].sort((a, b) => a.span.start - b.span.start);
}

function summary(io: Io, source: SourceFile, diagnostics: readonly Diagnostic[], ranks: readonly number[]): string {
  const c = paletteOf(io.out, io.env);
  const errors = diagnostics.filter((d) => d.severity === "error").length;
  const warnings = diagnostics.length - errors;
  const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
  const worlds = `for ${ranks.join(", ")} rank${ranks.length === 1 && ranks[0] === 1 ? "" : "s"}`;
  if (diagnostics.length === 0) return `${c.green("✓")} ${source.name}: nothing wrong ${worlds}`;
  return `${errors > 0 ? c.red("✗") : c.yellow("!")} ${source.name}: ${count(errors, "error")}, ${count(warnings, "warning")} ${worlds}`;
}
