/** One process a rank: the command runs itself again, once a rank, under the launcher; what a run is about is printed once for all. */
import { fileURLToPath } from "node:url";
import { exitCodes, RuntimeError } from "../runtime/errors.js";
import { launchRanks } from "../runtime/launcher.js";
import { Exit, type Failure, printFailure } from "./failure.js";
import type { Io } from "./io.js";
import { type RemoteHost, seatsOf } from "../runtime/remote-hosts.js";
import { withProgress } from "./progress.js";
import type { Message } from "./spawned-rank.js";
import { fromWire } from "../bench/wire.js";

/** The command's own file, of which ranks are made. */
export const mainPath = fileURLToPath(new URL("./main.js", import.meta.url));

/**
 * Runs `collc` with `args` as `ranks` processes and gives what rank 0 sent.
 * @param take is given the parts that rank 0 sent before, one after the other
 * @throws Exit after printing what made the run fail.
 */
export async function runAsRanks<T, P>(
  io: Io,
  ranks: number,
  args: readonly string[],
  take: (part: P) => Promise<void>,
): Promise<T> {
  const failures = new Map<number, Failure>();
  let result: string | null = null;
  let taken = Promise.resolve();
  let untaken: unknown = null;
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
        else if (m.kind === "part") {
          const part = fromWire<P>(m.text);
          taken = taken.then(() => take(part)).catch((error: unknown) => void (untaken ??= error));
        } else result = m.text;
      },
      onOutput: (rank, _stream, line) => io.err.write(`[rank ${rank}] ${line}\n`),
    });
  });
  const { failure, exitCode } = launched;
  await taken;
  // What made the ranks fail says more than what could not be kept.
  if (failure === null && untaken !== null) throw untaken;
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

interface OverSsh {
  /** What each host needs besides collc, absolute. */
  readonly files: readonly string[];
  readonly asJson: boolean;
}

/**
 * Runs `collc` with `args`, a command and its arguments, as ranks of hosts, of which the first prints what one process would.
 * With `asJson` that is one object: its result, or the failure of the rank that took the run down.
 * @throws Exit after printing what made the run fail.
 */
export async function runOverSsh(
  io: Io,
  hosts: readonly RemoteHost[],
  [command, ...args]: readonly string[],
  { files, asJson }: OverSsh,
): Promise<void> {
  const failures = new Map<number, Failure>();
  let hasResult = false;
  /** What ranks say from their errors on, which is the last they say: the launcher's words have most of it. */
  const last = new Map<number, string[]>();
  const ranks = hosts.reduce((sum, host) => sum + host.ranks, 0);
  const { failure, exitCode } = await launchRanks({
    ...{ ranks, hosts, files: [mainPath, ...files] },
    args: [mainPath, command!, ...(asJson ? ["--json"] : []), ...args],
    onOutput: (rank, stream, line) => {
      const own = asJson && stream === "stdout" ? failureOf(line) : null;
      const said = last.get(rank);
      if (own !== null) failures.set(rank, own);
      else if (stream === "stderr" && said !== undefined) said.push(line);
      else if (stream === "stderr" && line.startsWith("error: ")) last.set(rank, [line]);
      else if (rank !== 0 || stream === "stderr") io.err.write(`[rank ${rank}] ${line}\n`);
      else {
        hasResult = true;
        io.out.write(`${line}\n`);
      }
    },
  });
  const known = `${failure?.message ?? ""}\n${failure?.help ?? ""}`;
  for (const [rank, lines] of last)
    for (const line of lines)
      if (!known.includes(line.replace(/^(error|help): /, ""))) io.err.write(`[rank ${rank}] ${line}\n`);
  if (failure === null) return;
  // The ranks have said of a wrong result what is wrong with it.
  if (asJson && hasResult && failure.exitCode === exitCodes.program) throw new Exit(exitCode);
  // What the launcher knows of a host says more than its rank does.
  const own = failure.help === undefined && failure.rank !== null ? failures.get(failure.rank) : undefined;
  const seat = own === undefined ? undefined : seatsOf(hosts)[failure.rank!];
  const shown: Failure =
    own === undefined
      ? { message: failure.message, help: failure.help, exitCode }
      : {
          ...own,
          message: sameOnAll(failures, ranks)
            ? own.message
            : `host ${seat!.host.name}: rank ${failure.rank}: ${own.message}`,
        };
  printFailure(io, shown);
  const { message, help } = shown;
  const isSaid = asJson && hasResult;
  throw new Exit(shown.exitCode, isSaid ? null : { message, ...(help !== undefined && { help }) });
}

/** The failure that a rank prints as JSON; null for any other line. */
function failureOf(line: string): Failure | null {
  if (!line.startsWith('{"error":')) return null;
  try {
    const { exitCode, message, help } = (JSON.parse(line) as { error: Failure }).error;
    return { exitCode, message, help: help ?? undefined };
  } catch {
    return null;
  }
}
