/**
 * The error classes of the runtime. Every error that a person can meet says what happened in `message`
 * and what to do about it in `help`; the CLI prints both and maps the class to an exit code.
 */

import { CollcError, exitCodes, UsageError } from "../errors.js";

export { CollcError, exitCodes, UsageError };

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

/** A recorded graph is to take the numbers of a run that it has no launch of. */
export function notRecorded(): UsageError {
  const help = "launch it inside the capture; what `launch` of a kernel records keeps its numbers";
  return new UsageError("the graph has no launch of this run", help);
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
