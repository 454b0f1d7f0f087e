/** Errors that the compiler and the runtime both throw at their callers. The runtime has the others. */

/** Exit codes of collc. `rankLost` is used between ranks and their launcher only: "I stopped because of another". */
export const exitCodes = {
  fine: 0,
  program: 1,
  usage: 2,
  machine: 3,
  rankLost: 76,
} as const;

/** Base of all errors that a person can meet. `help` is one line that tells a person what to do, or undefined. */
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

/** The command line, an option, an argument or an environment variable is wrong. Exit code 2. */
export class UsageError extends CollcError {
  constructor(message: string, help?: string) {
    super(message, help, exitCodes.usage);
  }
}
