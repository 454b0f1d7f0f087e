/**
 * Thrown to give up what is being computed and try another way, and caught close by, often thousands of times: it has no stack,
 * whose capture takes longer than most of what is tried.
 */
export class Unwinding extends Error {
  constructor(message?: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}
