/**
 * How a process becomes a rank: it reads what its launcher says, opens the store, learns who is on which host,
 * and makes sure that it does not outlive the run.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { atExit } from "./at-exit.js";
import { isProcessAlive } from "./atomic-file.js";
import {
  type Environment,
  type LauncherInfo,
  defaultTimeoutMs,
  detectLauncher,
  processEnvironment,
  readEnv,
} from "./env.js";
import { MachineError, RuntimeError, UsageError, exitCodes, messageOf, systemCode } from "./errors.js";
import { Exchange } from "./exchange.js";
import { type HostRanks, groupByHost, hostIdentity, ranksText } from "./hosts.js";
import { closeServer, openStore } from "./open-store.js";
import { type Store, describeMember, memoryStores } from "./store.js";
import { distrust } from "./trust.js";
import { endWithLauncher, printLine, watchLauncher } from "./watch-launcher.js";

export type { HostRanks } from "./hosts.js";

export interface JoinOptions {
  /** Given together with `world`, instead of what the environment says; then `masterAddr` or `storeFile` is needed. */
  readonly rank?: number;
  readonly world?: number;
  readonly localRank?: number;
  /** Host and port from which the store's address follows, see store-address.ts. */
  readonly masterAddr?: string;
  readonly masterPort?: number;
  /** File in a shared folder that leads to the store, see store-file.ts. Default: COLLC_STORE_FILE. */
  readonly storeFile?: string;
  /** An open store, for ranks that share a process. Its owner closes it after the group. */
  readonly store?: Store;
  /** Bound of each wait, milliseconds. Default COLLC_TIMEOUT_MS or 60 s. */
  readonly timeoutMs?: number;
  /**
   * Called once, when another rank or the store is gone. Default: one line on stderr and exit code 76, because
   * a rank alone can only hang; with `store` given, nothing (waits fail by themselves).
   */
  readonly onLost?: (error: RuntimeError) => void;
  readonly env?: Environment;
}

/** A rank's place in its run. */
export interface BootstrapGroup {
  readonly rank: number;
  readonly world: number;
  /** Rank among those of this host, as the launcher says, else by counting. */
  readonly localRank: number;
  /** Ranks of this host, ascending. */
  readonly localRanks: readonly number[];
  /** All hosts, in the order of their first rank. */
  readonly hosts: readonly HostRanks[];
  readonly launcher: LauncherInfo["launcher"] | "none";
  readonly store: Store;
  readonly exchange: Exchange;
  /** Folder of mode 0700 that the ranks of this host share, for sockets. Goes away with the run. */
  readonly runDirectory: string;
  /** Tells the others that this rank is done for, and why. They fail within moments. */
  abort(error: unknown): void;
  /** From now on this rank gives back what it has: that the host of the store is done before it is no reason to stop. */
  beginToLeave(): void;
  /**
   * Leaves the group; the rank that hosts the store waits until the others have left too, up to 10 s and up to `boundMs`,
   * default the group's time-out. Never throws; twice is fine. A process that exits with 0 leaves by itself, unless it hosts the store.
   */
  close(boundMs?: number): Promise<void>;
}

/**
 * Joins the run that the environment or `options` describe; with neither, a group of one.
 * @throws UsageError for contradictory variables; MachineError when rank 0 finds no port for the store;
 *   RuntimeError `refused`, or `timeout` naming the ranks that did not come.
 */
export async function joinGroup(options: JoinOptions = {}): Promise<BootstrapGroup> {
  const env = options.env ?? processEnvironment();
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs(env);
  watchLauncher(env);
  const info = options.store ? null : describeRun(options, env);
  const { store, server, removeFile } = options.store
    ? { store: options.store, server: null, removeFile: null }
    : info === null
      ? { store: memoryStores(1)[0]!, server: null, removeFile: null }
      : await openStore(info, env, timeoutMs, options.storeFile ?? readEnv("COLLC_STORE_FILE", env), (message) =>
          printLine(`collc: ${message}`),
        );
  const cleanups: (() => void)[] = [];
  try {
    let names: readonly string[] = [];
    const watch = watchOthers(store, info, options, (rank) => hostOf(rank, names));
    cleanups.push(watch.stop);
    cleanups.push(publishOwnEnd(store));
    if (removeFile) {
      cleanups.push(removeFile, atExit(removeFile));
    }
    const exchange = new Exchange(store, "world", { timeoutMs });
    const given = readEnv("COLLC_HOST", env);
    const seats = await exchange.allGather("hosts", {
      // What a launcher calls two hosts is taken for two, also where both names lead to one machine.
      host: [hostIdentity(), given ?? ""].join("/"),
      name: given ?? hostname(),
    });
    names = seats.map(({ name }) => name);
    const hosts = groupByHost(seats);
    const here = hosts.find(({ ranks }) => ranks.includes(store.rank))!;
    const runDirectory = await shareDirectory(exchange, here.ranks, store.rank, env, cleanups);
    let isClosed = false;
    const end = (): void => {
      isClosed = true;
      for (const cleanup of cleanups) cleanup();
    };
    return {
      rank: store.rank,
      world: store.world,
      localRank: options.localRank ?? info?.localRank ?? here.ranks.indexOf(store.rank),
      localRanks: here.ranks,
      hosts,
      launcher: info?.launcher ?? "none",
      store,
      exchange,
      runDirectory,
      beginToLeave: watch.beginToLeave,
      abort(error) {
        if (isClosed) return;
        end();
        store.abandon(messageOf(error));
        void server?.close();
      },
      async close(boundMs = timeoutMs) {
        if (isClosed) return;
        end();
        await store.close();
        if (server) await closeServer(server, boundMs);
      },
    };
  } catch (error) {
    for (const cleanup of cleanups) cleanup();
    store.abandon(messageOf(error));
    await server?.close();
    throw error;
  }
}

function describeRun(options: JoinOptions, env: Environment): LauncherInfo | null {
  const { rank, world, localRank = null, masterPort = null, storeFile } = options;
  const masterAddr = options.masterAddr ?? (storeFile === undefined ? undefined : "127.0.0.1");
  if (rank === undefined && world === undefined) return detectLauncher(env);
  if (rank === undefined || world === undefined) throw new UsageError("rank and world go together");
  const isRank = Number.isSafeInteger(rank) && Number.isSafeInteger(world) && rank >= 0 && rank < world;
  if (!isRank) throw new UsageError(`there is no rank ${rank} among ${world}`);
  if (world === 1) return null;
  if (masterAddr === undefined) throw new UsageError("masterAddr or storeFile is needed with rank and world");
  const runId = readEnv("COLLC_RUN_ID", env) ?? `explicit/${masterAddr}/${masterPort ?? ""}`;
  return { launcher: "explicit", rank, world, localRank, localWorld: null, masterAddr, masterPort, runId };
}

/** ", on host node2 with ranks 4 to 7", where there are several hosts; nothing while nobody knows yet. */
function hostOf(rank: number, names: readonly string[]): string {
  if (new Set(names).size < 2) return "";
  const ranks = [...names.keys()].filter((r) => names[r] === names[rank]);
  return `, on host ${names[rank]} with ${ranksText(ranks)}`;
}

/** Reacts to the loss of a rank or of the store, once. @param where words on a rank's host */
function watchOthers(
  store: Store,
  info: LauncherInfo | null,
  { onLost, store: given }: JoinOptions,
  where: (rank: number) => string,
): { readonly beginToLeave: () => void; readonly stop: () => void } {
  const exit = (error: RuntimeError): void => {
    if (error.code === "store-lost") endWithLauncher();
    // `collc run` reports for all ranks; elsewhere each one says why it stops.
    if (info?.launcher !== "collc") printLine(`collc: rank ${store.rank} stops: ${error.message}`);
    process.exit(exitCodes.rankLost);
  };
  const react = onLost ?? (given ? () => {} : exit);
  let isDone = false;
  let isLeaving = false;
  const once = (error: RuntimeError): void => {
    if (isDone) return;
    isDone = true;
    react(error);
  };
  const host = info?.launcher === "collc" ? "the launcher, which hosts it, is gone" : "rank 0 hosts it";
  const unsubscribe = [
    store.onMemberLost((member) =>
      once(new RuntimeError(`${describeMember(member)}${where(member.rank)}`, undefined, "rank-lost")),
    ),
    store.onStoreLost((error, isOrderly) => {
      if (isOrderly && isLeaving) return;
      once(new RuntimeError(`${error.message} (${host})`, undefined, "store-lost"));
    }),
  ];
  return {
    beginToLeave: () => void (isLeaving = true),
    stop() {
      isDone = true;
      for (const each of unsubscribe) each();
    },
  };
}

/** Sees to it that the others learn how this process ends. Writes on exit get through: the kernel takes them at once. */
function publishOwnEnd(store: Store): () => void {
  let last: string | null = null;
  const onError = (error: unknown): void => {
    last = messageOf(error);
  };
  const onExit = (code: number): void => {
    if (code === 0) store.leave();
    else if (code === exitCodes.rankLost) store.abandon("stopped because another rank was lost");
    else store.abandon(last ?? `it exited with code ${code}`);
  };
  process.on("uncaughtExceptionMonitor", onError);
  const stop = atExit(onExit);
  return () => {
    process.off("uncaughtExceptionMonitor", onError);
    stop();
  };
}

/** The launcher's folder, or one that the first rank of the host makes. */
async function shareDirectory(
  exchange: Exchange,
  localRanks: readonly number[],
  rank: number,
  env: Environment,
  cleanups: (() => void)[],
): Promise<string> {
  const given = readEnv("COLLC_RUN_DIR", env);
  if (given !== undefined) claimRunDirectory(given);
  let own: string | null = null;
  if (given === undefined && rank === localRanks[0]) {
    const path = (own = await makeRunDirectory());
    const remove = (): void => rmSync(path, { recursive: true, force: true });
    cleanups.push(remove, atExit(remove));
  }
  const paths = await exchange.allGather("run directories", given ?? own);
  return paths[localRanks[0]!]!;
}

/**
 * A path `collc-<pid>-XXXXXX` in the temporary folder, for a run's folder that its first rank makes. UNIX socket paths hold
 * 107 bytes, so a long TMPDIR is passed over.
 */
export function runDirectoryPath(): string {
  const base = tmpdir().length <= 60 ? tmpdir() : "/tmp";
  return join(
    base,
    `collc-${process.pid}-${randomBytes(8).toString("base64url").replaceAll(/[-_]/g, "x").slice(0, 6)}`,
  );
}

/** Makes the launcher's folder unless another rank has. @throws MachineError when it is there and not this user's alone. */
function claimRunDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    const why = distrust(path);
    if (why !== null) throw new MachineError(`the run's folder is not used: ${why}`, "start the run again");
  }
}

async function makeRunDirectory(): Promise<string> {
  const path = runDirectoryPath();
  await mkdir(path, { mode: 0o700 });
  return path;
}

/** Removes folders of runs whose launcher and ranks were all killed at once; nobody else could. */
export function sweepRunDirectories(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = /^collc-(\d+)-[A-Za-z0-9]{6}$/.exec(name)?.[1];
    if (pid === undefined || isProcessAlive(Number(pid))) continue;
    try {
      const { uid, mtimeMs } = statSync(join(base, name));
      // Ranks of a launcher that just died clean up themselves; a pid of another container may look dead.
      if (uid === process.getuid?.() && Date.now() - mtimeMs > 3600_000) {
        rmSync(join(base, name), { recursive: true, force: true });
      }
    } catch {
      // gone meanwhile
    }
  }
}
