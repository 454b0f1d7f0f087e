/** From anything that was thrown to a message and an exit code. No stack ever reaches a person. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommanderError } from "commander";
import type { InternalCompilerError } from "../compiler/index.js";
import { CollcError, exitCodes, messageOf, systemCode } from "../runtime/errors.js";
import { isNativeError } from "../runtime/native.js";
import { collcVersion } from "../runtime/version.js";
import { type Io, paletteOf } from "./io.js";

/** Exit code of a fault that is ours: EX_SOFTWARE of sysexits.h, out of the way of 0 to 3. */
export const bugExitCode = 70;

/** What a rank tells its launcher about its end; see spawned-rank.ts. */
export interface Failure {
  readonly message: string;
  readonly help: string | undefined;
  readonly exitCode: number;
}

/** The exit code was decided and all was said to people: nothing to print. */
export class Exit extends Error {
  /** @param said what was printed, for those who asked for JSON and have got none yet. */
  constructor(
    readonly exitCode: number,
    readonly said: { readonly message: string; readonly help?: string; readonly diagnostics?: unknown } | null = null,
  ) {
    super(`exit ${exitCode}`);
  }
}

/** What a person is told about an error. Writes a report file when the fault is ours. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CollcError) return { message: error.message, help: error.help, exitCode: error.exitCode };
  const code = systemCode(error);
  if (code === "ENOSPC" || code === "EACCES" || code === "EROFS" || code === "EMFILE") {
    return { message: messageOf(error), help: systemHelp[code], exitCode: exitCodes.machine };
  }
  if (isNativeError(error)) {
    // The driver's words: an illegal address, a launch that died. The emulation checks what a GPU does not.
    const help =
      "run it with --backend cpu, which checks every access; if that is content, please report a bug in collc";
    return { message: error.message, help, exitCode: exitCodes.program };
  }
  const report = writeReport(error);
  const what = messageOf(error).split("\n")[0]!;
  return {
    message: `this is a bug in collc, not in your program: ${what}`,
    help: report === null ? "please report it" : `please report it with ${report}, which holds the details`,
    exitCode: bugExitCode,
  };
}

const systemHelp: Readonly<Record<string, string>> = {
  ENOSPC: "free some space on that disk, or name another folder",
  EACCES: "check who owns the file or folder",
  EROFS: "name a folder on a file system that can be written",
  EMFILE: "raise the limit of open files (ulimit -n)",
};

/** Prints a failure: the message, and a line on what to do. */
export function printFailure(io: Io, failure: Failure): void {
  const c = paletteOf(io.err, io.env);
  io.err.write(`${c.red(c.bold("error:"))} ${failure.message}\n`);
  if (failure.help !== undefined) io.err.write(`${c.cyan(c.bold("help:"))} ${failure.help}\n`);
}

/**
 * Prints what has to be printed and gives the exit code.
 * @param asJson the command line asked for JSON: stdout gets `{"error": {exitCode, message, help, diagnostics?}}`.
 */
export function reportFailure(io: Io, error: unknown, asJson = false): number {
  const print = (exitCode: number, said: Exit["said"]): number => {
    if (asJson && said !== null) io.out.write(JSON.stringify({ error: { exitCode, help: null, ...said } }) + "\n");
    return exitCode;
  };
  if (error instanceof Exit) return print(error.exitCode, error.said);
  // Commander has printed its message; help and version are no errors.
  if (error instanceof CommanderError)
    return error.exitCode === 0
      ? exitCodes.fine
      : print(exitCodes.usage, { message: error.message.replace(/^error: /, "") });
  const failure = describeFailure(error);
  printFailure(io, failure);
  const { message, help, exitCode } = failure;
  return print(exitCode, { message, ...(help === undefined ? {} : { help }) });
}

/** The stack and the compiler's module, in a file: too long for a terminal, needed for the report. */
function writeReport(error: unknown): string | null {
  const stamp = new Date().toISOString().replace(/[:.]/g, "-");
  // A name that nobody can foresee, and no file that is there already: the folder is everybody's.
  const path = join(tmpdir(), `collc-bug-${stamp}-${randomBytes(8).toString("hex")}.txt`);
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  // By its field, not its class: `collc --version` has no use for the compiler.
  const module = (error as Partial<InternalCompilerError> | null)?.moduleText ?? "";
  const head = `collc ${collcVersion()}, node ${process.version}, ${process.platform} ${process.arch}\n`;
  try {
    writeFileSync(path, `${head}arguments: ${JSON.stringify(process.argv.slice(2))}\n\n${stack}\n\n${module}`, {
      mode: 0o600,
      flag: "wx",
    });
    return path;
  } catch {
    return null;
  }
}
