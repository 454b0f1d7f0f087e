/**
 * Runs one process a rank, on this host or by ssh on others, and sees to it that they end together.
 *
 * Each rank leads a process group of its own, so that what it starts dies with it, and a terminal's Ctrl-C
 * reaches only the launcher, which passes it on in order. Ranks notice a launcher that was killed outright by
 * themselves, see watch-launcher.ts.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { constants } from "node:os";
import { dirname, isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runDirectoryPath, sweepRunDirectories } from "./bootstrap.js";
import { type Environment, childEnvironment, environmentTable } from "./env.js";
import { MachineError, UsageError, exitCodes, messageOf } from "./errors.js";
import { type RemoteHost, type Seat, absentText, hostNeeds, lostText, remoteProcess, seatsOf, storePlace, unreachableText } from "./remote-hosts.js"; // prettier-ignore
import { newSecret } from "./store-address.js";
import { type StoreServer, hostStore } from "./store.js";

export interface LaunchOptions {
  readonly ranks: number;
  /** Program, default this Node. */
  readonly command?: string;
  readonly args: readonly string[];
  /** Changes to the environment; undefined removes a variable. */
  readonly env?: Environment;
  /** Of ranks on this host. */
  readonly cwd?: string;
  /** Hosts of the ranks, as many as these have together; by default all are here. `onMessage` then hears nothing. */
  readonly hosts?: readonly RemoteHost[];
  /** Files that each of these hosts needs besides the command, at the same absolute paths. */
  readonly files?: readonly string[];
  /** Bound of the whole run in milliseconds. Default: none. */
  readonly timeoutMs?: number;
  /** From the first sign of the end (SIGTERM) to SIGKILL, milliseconds, default 1500. */
  readonly graceMs?: number;
  /**
   * Each line that a rank prints, without its end. Default: rank 0's stdout goes to stdout, everything else to
   * stderr behind `[rank N]`.
   */
  readonly onOutput?: (rank: number, stream: "stdout" | "stderr", line: string) => void;
  /** Each value that a rank passes to `process.send`. */
  readonly onMessage?: (rank: number, message: unknown) => void;
  /** Told of connections that the store turned away. Default: a line on stderr. */
  readonly onRefused?: (message: string) => void;
  /** Told once all ranks are started. */
  readonly onStart?: (pids: readonly number[]) => void;
}

/** The rank that took the run down; `rank` is null when the run as a whole ran out of time. */
export interface RankFailure {
  readonly rank: number | null;
  /** What happened, with the rank's own last words. */
  readonly message: string;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What to do, where that is known. */
  readonly help?: string;
}

export interface LaunchResult {
  /** 0; a rank's own 1, 2 or 3; 1 for whatever else went wrong. */
  readonly exitCode: number;
  readonly failure: RankFailure | null;
}

interface Rank {
  readonly rank: number;
  readonly child: ChildProcess;
  readonly pid: number;
  /** Last lines of stderr, for a rank that dies without publishing an error. */
  readonly lastLines: string[];
  readonly seat: Seat | null;
  /** How it was lost: it had joined, and was killed, or the connection to its host ended. */
  lostBy: string | null;
  /** The leader has exited and its group is killed: the id may belong to somebody else from now on. */
  isGone: boolean;
  /** All that is to be learnt from its end is learnt. */
  isSettled: boolean;
}

/** Where the store of ranks on this host is. */
const here = { listen: ["127.0.0.1"], address: "127.0.0.1" } as const;
/** A line longer than this is passed on in pieces, in characters. */
const maxLine = 64 * 1024;
/** Exit code of ssh itself. */
const sshFailed = 255;
/** How long news of an exit may take on other ways (store, stderr), in milliseconds. */
const settleMs = 250;
/** How long a rank may live on after it was lost to the others, in milliseconds. */
const lostMs = 1500;
const endSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Starts `ranks` processes, waits for all to end, and leaves none behind. If one fails, the others get SIGTERM
 * and then SIGKILL. SIGINT, SIGTERM and SIGHUP end all ranks and then this process, with 128 + the signal's
 * number; a second one skips the grace.
 * @throws UsageError for a number of ranks that cannot be; MachineError when the processes or the store cannot start.
 */
export async function launchRanks(options: LaunchOptions): Promise<LaunchResult> {
  const { ranks } = options;
  if (!Number.isSafeInteger(ranks) || ranks < 1 || ranks > 4096) {
    throw new UsageError(`${ranks} ranks cannot be started`, "ranks count from 1");
  }
  // The ranks make it: a launcher that is killed before it has started them leaves nothing behind.
  const runDirectory = runDirectoryPath();
  sweepRunDirectories(dirname(runDirectory));
  const removeDirectory = (): void => rmSync(runDirectory, { recursive: true, force: true });
  const secret = newSecret();
  const runId = randomBytes(8).toString("hex");
  const onRefused = options.onRefused ?? ((message: string) => void process.stderr.write(`collc: ${message}\n`));
  const { listen, address } = options.hosts === undefined ? here : await storePlace(options.hosts);
  let server: StoreServer | undefined;
  try {
    server = await hostStore({ world: ranks, secret, runId, onRefused, host: listen });
    const run = new Run(options, server, removeDirectory, secret, {
      COLLC_STORE: `${address.includes(":") ? `[${address}]` : address}:${server.port}`,
      COLLC_RUN_ID: runId,
      ...(options.hosts === undefined && {
        COLLC_STORE_SECRET: secret,
        COLLC_RUN_DIR: runDirectory,
        COLLC_LAUNCHER: String(process.pid),
      }),
      MASTER_ADDR: address,
      MASTER_PORT: String(server.port),
    });
    return await run.finish();
  } finally {
    await server?.close();
    removeDirectory();
  }
}

class Run {
  readonly #options: LaunchOptions;
  readonly #server: StoreServer;
  readonly #ranks: Rank[] = [];
  readonly #removeDirectory: () => void;
  readonly #secret: string;
  /** Places of the ranks where they are on other hosts. */
  readonly #seats: readonly Seat[] | null;
  /** What a host must have to start a rank. */
  readonly #needed: readonly string[];
  readonly #startedAt = performance.now();
  readonly #done: Promise<void>;
  #resolveDone: () => void = () => {};
  #failure: RankFailure | null = null;
  /** The rank that was lost first, and why: what the others then stop for. */
  #firstLost: { rank: number; what: string } | null = null;
  readonly #ending = new AbortController();
  #interrupted: NodeJS.Signals | null = null;

  constructor(
    options: LaunchOptions,
    server: StoreServer,
    removeDirectory: () => void,
    secret: string,
    runEnv: Readonly<Record<string, string>>,
  ) {
    this.#options = options;
    this.#secret = secret;
    this.#seats = options.hosts === undefined ? null : seatsOf(options.hosts);
    this.#needed = [options.command ?? process.execPath, ...(options.files ?? [])].filter(isAbsolute);
    this.#server = server;
    this.#removeDirectory = removeDirectory;
    this.#done = new Promise((resolve) => (this.#resolveDone = resolve));
    // First the hooks, then the processes: a signal between two spawns must find the first one.
    for (const signal of endSignals) process.on(signal, this.#onSignal);
    process.on("exit", this.#onExit);
    try {
      for (let rank = 0; rank < options.ranks; rank++) this.#ranks.push(this.#start(rank, runEnv));
    } catch (error) {
      this.#killAll("SIGKILL");
      this.#unhook();
      throw error;
    }
  }

  async finish(): Promise<LaunchResult> {
    const { timeoutMs, onStart } = this.#options;
    const stopWatching = this.#server.onMemberLost(({ rank, reason }) => {
      const what = `rank ${rank} left the run (${reason})`;
      this.#firstLost ??= { rank, what };
      // Its process should end now. One that goes on alone would keep the launcher waiting for ever.
      setTimeout(() => {
        if (this.#ranks[rank]?.isGone === false) this.#fail(rank, what);
      }, lostMs).unref();
    });
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            const late = this.#ranks.filter(({ isGone }) => !isGone).map(({ rank }) => rank);
            this.#fail(null, `the run was not done within ${timeoutMs} ms; still running: rank ${late.join(", ")}`);
          }, timeoutMs);
    try {
      await this.#started(); // waits until every spawn has worked or failed
      onStart?.(this.#ranks.map(({ pid }) => pid));
      await this.#done;
    } finally {
      clearTimeout(timer);
      stopWatching();
      if (this.#ranks.some(({ isSettled }) => !isSettled)) {
        this.#killAll("SIGKILL");
        await this.#done;
      }
      this.#unhook();
    }
    if (this.#interrupted) {
      await this.#server.close();
      this.#removeDirectory();
      process.exit(128 + constants.signals[this.#interrupted]);
    }
    return { exitCode: exitCodeOf(this.#failure), failure: this.#failure };
  }

  #start(rank: number, runEnv: Readonly<Record<string, string>>): Rank {
    const { ranks, command = process.execPath, args, cwd = process.cwd(), env } = this.#options;
    const launcherVariables = Object.entries(environmentTable).filter(([, { owner }]) => owner === "launcher");
    const noOuter = Object.fromEntries(launcherVariables.map(([name]) => [name, undefined]));
    const seat = this.#seats?.[rank] ?? null;
    const own = {
      ...runEnv,
      RANK: String(rank),
      WORLD_SIZE: String(ranks),
      LOCAL_RANK: String(seat?.localRank ?? rank),
      LOCAL_WORLD_SIZE: String(seat?.host.ranks ?? ranks),
    };
    let child: ChildProcess;
    if (seat === null) {
      const stdio = ["ignore", "pipe", "pipe", "ipc"] as const;
      child = spawn(command, [...args], { cwd, detached: true, stdio: [...stdio], env: childEnvironment({ ...noOuter, ...env, ...own }) }); // prettier-ignore
    } else {
      const named = { ...own, COLLC_HOST: seat.host.name };
      const remote = remoteProcess(seat.host, [command, ...args], named, this.#needed);
      child = spawn(remote.command, [...remote.args], { detached: true, stdio: "pipe", env: childEnvironment({ ...noOuter, ...env }) }); // prettier-ignore
      child.stdin?.on("error", () => {}); // of an ssh that has ended
      child.stdin?.write(`${this.#secret}\n`);
    }
    const state: Rank = { rank, child, pid: child.pid ?? 0, lastLines: [], seat, lostBy: null, isGone: false, isSettled: false }; // prettier-ignore
    for (const stream of ["stdout", "stderr"] as const) this.#readLines(state, stream);
    child.on("message", (message) => this.#options.onMessage?.(rank, message));
    child.on("error", () => {}); // of the channel; failed spawns are seen in #started
    child.on("exit", (code, signal) => void this.#onRankExit(state, code, signal));
    return state;
  }

  async #started(): Promise<void> {
    const failed = this.#ranks.find(({ child }) => child.pid === undefined);
    if (failed === undefined) return;
    for (const rank of this.#ranks) if (rank.pid === 0) rank.isGone = rank.isSettled = true;
    this.#killAll("SIGKILL");
    this.#checkDone();
    const error = await new Promise<unknown>((resolve) => {
      failed.child.once("error", resolve);
      setTimeout(() => resolve(new Error("it could not be started")), 1000).unref();
    });
    throw new MachineError(
      `rank ${failed.rank} did not start: ${messageOf(error)}`,
      failed.seat === null ? "is the program there, and may it run?" : "install ssh, or set COLLC_SSH",
    );
  }

  #readLines(rank: Rank, stream: "stdout" | "stderr"): void {
    const { onOutput } = this.#options;
    let rest = "";
    const print = (line: string): void => {
      if (stream === "stderr") {
        rank.lastLines.push(line.slice(0, 500));
        if (rank.lastLines.length > 20) rank.lastLines.shift();
      }
      if (onOutput) onOutput(rank.rank, stream, line);
      else if (stream === "stdout" && rank.rank === 0) process.stdout.write(`${line}\n`);
      else process.stderr.write(`[rank ${rank.rank}] ${line}\n`);
    };
    const source = rank.child[stream]!;
    source.setEncoding("utf8");
    source.on("error", () => {});
    source.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      lines.forEach(print);
      if (rest.length > maxLine) {
        print(rest);
        rest = "";
      }
    });
    source.on("end", () => rest !== "" && print(rest));
  }

  async #onRankExit(state: Rank, code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    const { rank, child, seat } = state;
    const isCut = seat !== null && code === sshFailed;
    const how = isCut
      ? "the connection to it ended, or it was killed there"
      : signal
        ? `it was killed by ${signal}`
        : `it exited with code ${code}`;
    // Its good-bye or its last words may still be on their way; its grandchildren may hold its pipes for ever.
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    // What it started dies with it, also after a good end.
    this.#kill(state, "SIGKILL");
    state.isGone = true;
    const hasJoined = this.#server.members()[rank]?.state !== "absent";
    if (hasJoined && (signal !== null || isCut) && !this.#isEnding) state.lostBy = how;
    await Promise.race([closed, sleep(settleMs)]);
    if (code === 0) await sleep(50);
    // Before this one's end counts, what it published is read: then the others' failures name it.
    this.#server.markLost(rank, how);
    if (code === exitCodes.rankLost && !this.#isEnding) {
      // It stopped because of another, whose own exit is the one to report if it comes.
      await this.#untilEnding(seat === null ? settleMs : lostMs);
      const { rank: culprit, what } = this.#firstLost ?? { rank, what: "" };
      if (culprit !== rank) this.#fail(culprit, what);
    }
    if (code !== 0) {
      // Others of its host may have ended with it.
      if (seat !== null) await sleep(settleMs);
      const unreachable = seat !== null && !hasJoined && code !== null ? unreachableText(code, this.#needed) : null;
      if (unreachable !== null) this.#failOnHost(state, unreachable);
      else this.#fail(rank, `rank ${rank} failed: ${how}`, code, signal);
    }
    state.isSettled = true;
    this.#checkDone();
  }

  #checkDone(): void {
    if (this.#ranks.every(({ isSettled }) => isSettled)) this.#resolveDone();
  }

  get #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  async #untilEnding(boundMs: number): Promise<void> {
    await sleep(boundMs, undefined, { signal: this.#ending.signal }).catch(() => {});
  }

  #fail(rank: number | null, what: string, exitCode: number | null = null, signal: NodeJS.Signals | null = null): void {
    if (this.#isEnding) return;
    // Others fail because of a lost host, and may tell first.
    const lost = this.#ranks.find(({ seat, lostBy }) => seat !== null && lostBy !== null);
    const state = lost ?? (rank === null ? undefined : this.#ranks[rank]);
    const members = this.#server.members();
    const absent = this.#ranks.filter((r) => r.seat !== null && !r.isGone && members[r.rank]!.state === "absent");
    // Nobody gets past joining without all: whoever has joined and fails has waited for these.
    const hasWaited = lost === undefined && (state === undefined || members[state.rank]!.where !== null);
    if (hasWaited && absent[0] !== undefined) {
      const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
      return this.#failOnHost(absent[0], absentText(absent, seconds));
    }
    const words = (state && members[state.rank]!.fault) ?? state?.lastLines.slice(-8).join("\n") ?? "";
    const told =
      state?.seat == null
        ? what
        : lost === undefined
          ? `host ${state.seat.host.name}: ${what}`
          : `${lostText(state.seat.host, this.#seats!)}: rank ${lost.rank} failed: ${lost.lostBy!}`;
    const message = words === "" ? told : `${told}: ${words}`;
    this.#failure = { rank: state?.rank ?? null, message, exitCode: lost === undefined ? exitCode : null, signal };
    void this.#end();
  }

  /** A host did not start what it was to start. */
  #failOnHost({ rank, seat, lastLines }: Rank, what: string): void {
    if (this.#isEnding) return;
    const message = [`host ${seat!.host.name} ${what}`, ...lastLines.slice(-8)].join("\n");
    this.#failure = { rank, message, exitCode: exitCodes.machine, signal: null, help: hostNeeds };
    void this.#end();
  }

  /** SIGTERM to all groups, SIGKILL after the grace. */
  async #end(): Promise<void> {
    this.#ending.abort();
    this.#killAll("SIGTERM");
    await Promise.race([this.#done, sleep(this.#options.graceMs ?? 1500)]);
    this.#killAll("SIGKILL");
  }

  #onSignal = (signal: NodeJS.Signals): void => {
    if (this.#interrupted) return this.#killAll("SIGKILL");
    this.#interrupted = signal;
    void this.#end();
  };

  /** The launcher dies of something else, an error of its caller: no time for grace. */
  #onExit = (): void => {
    this.#killAll("SIGKILL");
    this.#removeDirectory();
  };

  #unhook(): void {
    for (const signal of endSignals) process.off(signal, this.#onSignal);
    process.off("exit", this.#onExit);
  }

  #killAll(signal: NodeJS.Signals): void {
    for (const rank of this.#ranks) this.#kill(rank, signal);
  }

  #kill({ pid, isGone }: Rank, signal: NodeJS.Signals): void {
    if (isGone || pid === 0) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // the group is empty
    }
  }
}

function exitCodeOf(failure: RankFailure | null): number {
  if (failure === null) return exitCodes.fine;
  const isOurs = failure.exitCode === exitCodes.usage || failure.exitCode === exitCodes.machine;
  return isOurs ? failure.exitCode! : exitCodes.program;
}
