/**
 * The error classes of the runtime. Every error that a person can meet says what happened in `message`
 * and what to do about it in `help`; the CLI prints both and maps the class to an exit code.
 */

/** Exit codes of collc. `rankLost` is used between ranks and their launcher only: "I stopped because of another". */
export const exitCodes = {
  fine: 0,
  program: 1,
  usage: 2,
  machine: 3,
  rankLost: 76,
} as const;

/** Why a {@link RuntimeError} happened, for callers that react to some of them. */
export type RuntimeErrorCode =
  | "failed"
  /** A bounded wait ran out. */
  | "timeout"
  /** The rendezvous store went away or was closed. */
  | "store-lost"
  /** The store refused this process: wrong secret, wrong run, rank taken. */
  | "refused"
  /** A rank of the group died or left while it was needed. */
  | "rank-lost"
  /** Ranks disagree on which collective step they are in. */
  | "mismatch";

/** Base of all errors below. `help` is one line that tells a person what to do, or undefined. */
export class CollcError extends Error {
  readonly help: string | undefined;
  readonly exitCode: number;

  constructor(message: string, help: string | undefined, exitCode: number) {
    super(message);
    this.name = new.target.name;
    this.help = help;
    this.exitCode = exitCode;
  }
}

/** The machine lacks something: a library, a GPU, a Python, disk. Exit code 3. */
export class MachineError extends CollcError {
  constructor(message: string, help?: string) {
    super(message, help, exitCodes.machine);
  }
}

/** A run failed: a rank died, a wait ran out, a peer refused. Exit code 1. */
export class RuntimeError extends CollcError {
  readonly code: RuntimeErrorCode;

  constructor(message: string, help?: string, code: RuntimeErrorCode = "failed") {
    super(message, help, exitCodes.program);
    this.code = code;
  }
}

/** The command line, an option or an environment variable is wrong. Exit code 2. */
export class UsageError extends CollcError {
  constructor(message: string, help?: string) {
    super(message, help, exitCodes.usage);
  }
}

/** The message of anything that was thrown, without a stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The system's code of an error (`ENOENT`, `ENOSPC`, …), or undefined. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}
