/** From a file on the command line to compiled collectives, with diagnostics printed. */
import {
  type CompileOptions,
  type CompileResult,
  compile,
  isDType,
  parseProgram,
  SourceFile,
} from "../compiler/index.js";
import { exitCodes, UsageError } from "../runtime/errors.js";
import { importsFromDisk, libraryFromDisk } from "../runtime/imports.js";
import { chosenReach } from "../runtime/reach.js";
import { tunedFromDisk } from "../runtime/tuned.js";
import { hasErrors, printDiagnostics, wrongProgram } from "./diagnostics.js";
import { Exit } from "./failure.js";
import type { Io } from "./io.js";
import type { DTypeChoice } from "./options.js";
import { type ProgramText, readProgram } from "./source-file.js";
import { suggestion } from "./suggest.js";

/** Measured plans, where this machine was tuned. */
const tuned = tunedFromDisk();

type Collective = ReturnType<typeof parseProgram>["program"]["collectives"][number];

/** What dtype variables stand for where nobody says: the dtype of the models people run. */
const defaultDType = "bf16";

/** A file with the collectives that were asked for. */
export interface Selected extends ProgramText {
  readonly source: SourceFile;
  readonly collectives: readonly Collective[];
}

/**
 * Reads and parses a file.
 * @param path of the file, or what was read of it: standard input can be read but once
 * @param name the collective that is wanted; null: all of them.
 * @throws UsageError for a file that is none and for a name that is not in it; Exit after printing syntax errors.
 */
export function selectCollectives(io: Io, path: string | ProgramText, name: string | null): Selected {
  const program = typeof path === "string" ? readProgram(path, io) : path;
  const source = new SourceFile(program.file, program.text);
  const parsed = parseProgram(source);
  if (hasErrors(parsed.diagnostics)) {
    printDiagnostics(io, parsed.diagnostics, source);
    throw new Exit(exitCodes.program, wrongProgram(parsed.diagnostics, source));
  }
  const all = parsed.program.collectives;
  if (name === null) return { ...program, source, collectives: all };
  const found = all.filter((collective) => collective.name.text === name);
  if (found.length > 0) return { ...program, source, collectives: found };
  const names = all.map((collective) => collective.name.text);
  throw new UsageError(`${program.file} has no collective '${name}'`, suggestion(name, names, "collectives"));
}

/**
 * The one collective of the file, or the one that is named.
 * @param naming what stands before a collective's name on the command line
 * @throws as {@link selectCollectives}
 */
export function selectCollective(
  io: Io,
  path: string | ProgramText,
  name: string | undefined,
  naming = "FILE",
): Selected & { readonly collective: Collective } {
  const selected = selectCollectives(io, path, name ?? null);
  const [first, second] = selected.collectives;
  if (first === undefined)
    throw new UsageError(
      `${selected.file} has no collective`,
      "a program is: collective NAME(x: T[n] LAYOUT) -> y: T[n] LAYOUT { … }",
    );
  if (second !== undefined) {
    const names = selected.collectives.map((collective) => collective.name.text).join(", ");
    throw new UsageError(
      `${selected.file} has ${selected.collectives.length} collectives: ${names}`,
      `name the one you mean: ${naming} ${first.name.text}`,
    );
  }
  return { ...selected, collective: first };
}

/** Dtypes for a collective's variables: the choice, else bf16, else the first that its `where` allows. */
export function dtypesFor(
  collective: Collective,
  choice: DTypeChoice | undefined,
): NonNullable<CompileOptions["dtype"]> {
  if (typeof choice === "string") return choice;
  const variables = new Set(
    [...collective.inputs, ...collective.outputs].map((t) => t.dtype.name).filter((name) => !isDType(name)),
  );
  const unknown = Object.keys(choice ?? {}).find((name) => !variables.has(name));
  if (unknown !== undefined) {
    throw new UsageError(
      `${collective.name.text} has no dtype variable '${unknown}'`,
      suggestion(unknown, [...variables], "dtype variables"),
    );
  }
  return Object.fromEntries(
    [...variables].map((variable) => {
      const allowed = collective.where.find((rule) => rule.variable.text === variable)?.dtypes.map((d) => d.dtype);
      const fallback =
        allowed === undefined || allowed.includes(defaultDType) ? defaultDType : (allowed[0] ?? defaultDType);
      return [variable, choice?.[variable] ?? fallback];
    }),
  );
}

/** Whether errors say that the collective is not for this number of ranks, as opposed to wrong. */
export function isExcludedWorld(diagnostics: CompileResult["diagnostics"]): boolean {
  return diagnostics.some((d) => d.code === "world-not-allowed" || d.code === "mesh-does-not-fit");
}

/** The same for numbers of ranks and dtypes. */
export function isExcluded(diagnostics: CompileResult["diagnostics"]): boolean {
  return isExcludedWorld(diagnostics) || diagnostics.some((d) => d.code === "dtype-not-allowed");
}

/** A compilation without errors. */
export type Compiled = CompileResult & {
  readonly kernel: NonNullable<CompileResult["kernel"]>;
  readonly cuda: string;
  readonly manifest: NonNullable<CompileResult["manifest"]>;
};

/** What a command asks of the compiler; `reach` as its option has it, `2x4`. */
type CommandOptions = Omit<CompileOptions, "file" | "collective" | "reach"> & { readonly reach?: string | undefined };

/** Compiles one collective all the way. Prints its diagnostics. @throws Exit when there are errors. */
export function compileWhole(io: Io, selected: Selected, collective: Collective, options: CommandOptions): Compiled {
  return withoutErrors(io, tryCompile(selected, collective, options)) as Compiled;
}

/** The same, for compilations that stop on the way: the result has no CUDA text then. */
export function compilePartly(
  io: Io,
  selected: Selected,
  collective: Collective,
  options: CommandOptions,
): CompileResult {
  return withoutErrors(io, tryCompile(selected, collective, options));
}

/** What a compilation gave, its diagnostics printed. @throws Exit when there are errors. */
export function withoutErrors(io: Io, result: CompileResult): CompileResult {
  printDiagnostics(io, result.diagnostics, result.source);
  if (hasErrors(result.diagnostics)) throw new Exit(exitCodes.program, wrongProgram(result.diagnostics, result.source));
  return result;
}

/** The same, printing nothing: the diagnostics tell. */
export function tryCompile(selected: Selected, collective: Collective, options: CommandOptions): CompileResult {
  const file = { file: selected.file, collective: collective.name.text };
  return compile(selected.text, {
    resolve: importsFromDisk,
    library: libraryFromDisk,
    tuned,
    ...options,
    ...file,
    reach: chosenReach(options.reach, options.ranks),
  });
}
