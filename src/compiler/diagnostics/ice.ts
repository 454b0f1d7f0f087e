/** A bug in the compiler itself, as opposed to a fault in the user's program. Thrown at once. */
export class InternalCompilerError extends Error {
  override readonly name = "InternalCompilerError";

  /** @param moduleText the IR at hand, printed, for the bug report. */
  constructor(
    message: string,
    readonly moduleText: string = "",
  ) {
    super(message);
  }
}
