/** `collc check`: what is wrong with a program, for every number of ranks that was asked for. */
import { importsFromDisk } from "../runtime/imports.js";
import { Command, Option } from "commander";
import { compile, type DimValues, parseProgram, type Printable, SourceFile } from "../compiler/index.js";
import { type Diagnostic, toJson } from "../index.js";
import { exitCodes, UsageError } from "../runtime/errors.js";
import { dtypesFor } from "./collectives.js";
import { hasErrors, printDiagnostics } from "./diagnostics.js";
import { Exit } from "./failure.js";
import { type Io, paletteOf } from "./io.js";
import { collectDims, type DTypeChoice, examples, shared, wholeNumber } from "./options.js";
import { type Progress, withProgress } from "./progress.js";
import { DEFAULT_SCHEDULES, inquire, type Inquiry, printInquiry } from "./proofs.js";
import { readProgram } from "./source-file.js";
import { suggestion } from "./suggest.js";

interface CheckOptions {
  readonly ranks: readonly number[];
  readonly dtype?: DTypeChoice;
  readonly json?: boolean;
  readonly prove?: boolean;
  readonly schedules?: number;
  readonly seed?: number;
  readonly strict?: boolean;
  readonly dim?: DimValues;
}

/** The command, printing to `io`. */
export function checkCommand(io: Io): Command {
  return new Command("check")
    .description(
      "Report what is wrong with a program: compile it, prove its answer and its ordering, run it under hostile schedules.",
    )
    .argument("<file>", "program, or - for standard input")
    .argument("[name]", "collective to check (default: all in the file)")
    .addOption(shared.rankList().default([2, 4], "2,4"))
    .addOption(shared.dtype())
    .addOption(
      new Option("-d, --dim <name=n...>", "this shape only (default: some that take every path)").argParser(
        collectDims,
      ),
    )
    .addOption(
      new Option(
        "--schedules <k>",
        `hostile schedules to run on emulated ranks (default: ${DEFAULT_SCHEDULES})`,
      ).argParser(wholeNumber(0, 1_000_000)),
    )
    .addOption(
      new Option("--seed <s>", "first schedule; the others count up from it").argParser(wholeNumber(0, 2 ** 31 - 1)),
    )
    .addOption(new Option("--prove", "prove, which is the default").hideHelp())
    .option("--no-prove", "compile only, without proofs and schedules")
    .option("--strict", "what cannot be proved counts as wrong")
    .option("--json", "print an array of diagnostics")
    .addHelpText(
      "after",
      examples(
        ["collc check my.coll", "all collectives of a file"],
        ["collc check my.coll ring --ranks 1,3,8", "one of them, for worlds of 1, 3 and 8"],
        ["collc check my.coll --ranks 2 --dim n=100", "proofs at one shape"],
        ["collc check my.coll --schedules 1000 --seed 7", "many hostile schedules"],
        ["collc check my.coll --json", "for editors and build systems"],
      ),
    )
    .action((file: string, name: string | undefined, options: CheckOptions) =>
      withProgress(io, (progress) => check(io, progress, file, name, options)),
    );
}

async function check(
  io: Io,
  progress: Progress,
  path: string,
  name: string | undefined,
  options: CheckOptions,
): Promise<void> {
  const program = readProgram(path, io);
  const source = new SourceFile(program.file, program.text);
  const diagnostics = diagnose(source, name, options);
  const inquiries = hasErrors(diagnostics) ? [] : await inquireAll(progress, source, name, options);
  progress.end();
  const found = eachOnce(inquiries);
  if (options.json === true) {
    const json = [...diagnostics.map((d) => toJson(d, source)), ...found.map((f) => findingToJson(f, source))];
    io.out.write(JSON.stringify(json, null, 2) + "\n");
  } else {
    printDiagnostics(io, [...diagnostics, ...found], source);
    io.out.write(summary(io, source, [...diagnostics, ...found], options.ranks) + "\n");
    for (const inquiry of inquiries) printInquiry(io, inquiry);
  }
  const isBad = (f: Printable): boolean => f.severity === "error" || options.strict === true;
  if (hasErrors(diagnostics) || found.some(isBad)) throw new Exit(exitCodes.program);
}

async function inquireAll(
  progress: Progress,
  source: SourceFile,
  name: string | undefined,
  options: CheckOptions,
): Promise<Inquiry[]> {
  const proves = options.prove !== false;
  if (!proves && options.schedules === undefined) return [];
  const asked = options.schedules ?? (options.seed === undefined ? null : DEFAULT_SCHEDULES);
  const schedule = asked === null ? null : { schedules: asked, seed: options.seed ?? 0 };
  const inquiries: Inquiry[] = [];
  const start = performance.now();
  for (const collective of parseProgram(source).program.collectives) {
    if (name !== undefined && collective.name.text !== name) continue;
    for (const ranks of options.ranks) {
      const text = `checking ${collective.name.text} on ${ranks} rank${ranks === 1 ? "" : "s"}`;
      // The proof keeps the event loop, so no timer can show the line later.
      if (performance.now() - start > 500) progress.now(text);
      const dtype = dtypesFor(collective, options.dtype);
      const request = { collective: collective.name.text, ranks, dtype, dims: options.dim };
      const inquiry = inquire(source, request, proves, schedule);
      if (inquiry !== null) inquiries.push(inquiry);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return inquiries;
}

/** What is the same for several worlds is said once, with the worlds that come after. */
function eachOnce(inquiries: readonly Inquiry[]): Printable[] {
  const unique = new Map<string, { readonly finding: Printable; readonly worlds: number[] }>();
  for (const { findings, request } of inquiries)
    for (const f of findings) {
      const places = [f.span, ...f.labels.map((l) => l.span)].map((s) => `${s.start}-${s.end}`);
      // Findings without a place differ in what they say, but for the numbers in it.
      const said = f.span.end === 0 ? f.message.replace(/[-\d.]+/g, "#") : "";
      const key = [request.collective, f.code, ...new Set(places), said].join(" ");
      const known = unique.get(key);
      if (known === undefined) unique.set(key, { finding: f, worlds: [] });
      else if (!known.worlds.includes(request.ranks)) known.worlds.push(request.ranks);
    }
  return [...unique.values()].map(({ finding, worlds }) =>
    worlds.length === 0
      ? finding
      : { ...finding, notes: [...(finding.notes ?? []), `the same is found for ${worlds.join(", ")} ranks`] },
  );
}

function findingToJson(f: Printable, source: SourceFile): object {
  return { ...toJson(f, source), notes: f.notes ?? [] };
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
            resolve: importsFromDisk,
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

function summary(io: Io, source: SourceFile, diagnostics: readonly Printable[], ranks: readonly number[]): string {
  const c = paletteOf(io.out, io.env);
  const errors = diagnostics.filter((d) => d.severity === "error").length;
  const warnings = diagnostics.length - errors;
  const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
  const worlds = `for ${ranks.join(", ")} rank${ranks.length === 1 && ranks[0] === 1 ? "" : "s"}`;
  if (diagnostics.length === 0) return `${c.green("✓")} ${source.name}: nothing wrong ${worlds}`;
  return `${errors > 0 ? c.red("✗") : c.yellow("!")} ${source.name}: ${count(errors, "error")}, ${count(warnings, "warning")} ${worlds}`;
}
