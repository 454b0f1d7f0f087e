/** One process a rank: the command runs itself again, once a rank, under the launcher, which prints once for all. */
import { fileURLToPath } from "node:url";
import { exitCodes, RuntimeError } from "../runtime/errors.js";
import { launchRanks } from "../runtime/launcher.js";
import { Exit, type Failure, printFailure } from "./failure.js";
import type { Io } from "./io.js";
import { withProgress } from "./progress.js";
import type { Message } from "./spawned-rank.js";
import { fromWire } from "../bench/wire.js";

/** The command's own file, of which ranks are made. */
export const mainPath = fileURLToPath(new URL("./main.js", import.meta.url));

/**
 * Runs `collc` with `args` as `ranks` processes and gives what rank 0 sent.
 * @throws Exit after printing what made the run fail.
 */
export async function runAsRanks<T>(io: Io, ranks: number, args: readonly string[]): Promise<T> {
  const failures = new Map<number, Failure>();
  let result: string | null = null;
  const launched = await withProgress(io, (progress) => {
    progress.set(`starting ${ranks} ranks`);
    return launchRanks({
      ranks,
      args: [mainPath, ...args],
      onMessage: (rank, message) => {
        const m = message as Message;
        if (m.kind === "failure") failures.set(rank, m.failure);
        else if (rank !== 0) return;
        else if (m.kind === "progress") progress.set(m.text);
        else if (m.kind === "result") result = m.text;
      },
      onOutput: (rank, _stream, line) => io.err.write(`[rank ${rank}] ${line}\n`),
    });
  });
  const { failure, exitCode } = launched;
  if (failure === null) {
    if (result === null) throw new RuntimeError("the ranks ended without a result");
    return fromWire<T>(result);
  }
  // A rank that found a fault says it better than its exit code does.
  const own = failure.rank === null ? undefined : failures.get(failure.rank);
  const said = own ?? (exitCode === exitCodes.fine ? undefined : [...failures.values()][0]);
  const shown: Failure =
    said === undefined
      ? { message: failure.message, help: undefined, exitCode }
      : { ...said, message: sameOnAll(failures, ranks) ? said.message : `rank ${failure.rank}: ${said.message}` };
  printFailure(io, shown);
  const { message, help } = shown;
  throw new Exit(shown.exitCode, { message, ...(help === undefined ? {} : { help }) });
}

function sameOnAll(failures: ReadonlyMap<number, Failure>, ranks: number): boolean {
  return failures.size === ranks && new Set([...failures.values()].map((f) => f.message)).size === 1;
}
