/** Where a command runs its ranks: emulated here, as processes of its own, or as what another launcher started. */
import { backendNames, isBackend } from "../runtime/backends.js";
import { connect } from "../runtime/connect.js";
import { detectLauncher, type LauncherInfo, readEnv } from "../runtime/env.js";
import { UsageError } from "../runtime/errors.js";
import type { BackendName, Group } from "../runtime/group.js";
import { ranksOfReach } from "../runtime/reach.js";
import { gpuCount, hasFabricHandles, requireGpus } from "./gpus.js";
import type { Io } from "./io.js";
import { withProgress } from "./progress.js";
import { isSpawnedRank, sendPart, sendProgress, sendResult } from "./spawned-rank.js";

/** Ranks where nobody says: a small world in which every collective is interesting. */
const defaultRanks = 4;

export interface PlaceOptions {
  readonly ranks?: number;
  readonly backend?: BackendName | "auto";
  /** Hosts, as `--reach` has them. They are so many ranks where `ranks` does not say, and no launcher has started some. */
  readonly reach?: string;
  /** How long a rank may wait for another, in milliseconds. */
  readonly timeout?: number;
}

export interface Place {
  readonly backend: BackendName;
  readonly ranks: number;
  readonly launcher: LauncherInfo | null;
  /** A rank that {@link runAsRanks} started: its launcher prints. */
  readonly isSpawned: boolean;
  /** This process prints for all. */
  readonly speaks: boolean;
  readonly timeoutMs: number | undefined;
}

/** What the work tells about its progress; `blocking`: the event loop stands still from now on. */
export type OnProgress = (what: string, blocking: boolean) => void;

/** Takes a part of a result before the rest is there. */
export type OnPart<P> = (part: P) => Promise<void>;

/**
 * Decides from options, environment and machine.
 * @throws UsageError when they contradict each other, MachineError when there are fewer GPUs than ranks.
 */
export function choosePlace(io: Io, options: PlaceOptions): Place {
  const launcher = detectLauncher(io.env);
  const isSpawned = isSpawnedRank(io);
  const backend = chooseBackend(io, options, launcher);
  const ranks = chooseRanks(backend, options, launcher);
  if (backend !== "cpu" && launcher === null) requireGpus(ranks);
  const speaks = !isSpawned && (launcher === null || launcher.rank === 0);
  return { backend, ranks, launcher, isSpawned, speaks, timeoutMs: options.timeout };
}

/**
 * Runs `work` on every rank of the place.
 * @param args command line of a rank process, where such are to be started.
 * @param take is given the parts that rank 0 hands on, one after the other, in the process that speaks
 * @returns what `work` gave; null in a spawned rank, whose launcher has it.
 */
export async function distribute<T, P = never>(
  io: Io,
  place: Place,
  args: () => readonly string[],
  work: (group: Group, onProgress: OnProgress, onPart: OnPart<P>) => Promise<T>,
  take: OnPart<P> = async () => {},
): Promise<T | null> {
  const { backend, ranks, launcher, timeoutMs } = place;
  if (backend !== "cpu" && launcher === null) {
    const { runAsRanks } = await import("./spawn-ranks.js");
    return runAsRanks<T, P>(io, ranks, args(), take);
  }
  const join = async (onProgress: OnProgress, onPart: OnPart<P>): Promise<T> => {
    const group = await connect({ backend, ranks, timeoutMs });
    try {
      return await work(group, onProgress, onPart);
    } finally {
      await group.close();
    }
  };
  if (place.isSpawned) {
    const isFirst = launcher?.rank === 0;
    const value = await join(sendProgress, async (part) => (isFirst ? sendPart(part) : undefined));
    if (isFirst) await sendResult(value);
    return null;
  }
  return withProgress(io, (progress) =>
    join(
      (what, blocking) => {
        if (!place.speaks) return;
        if (blocking) progress.now(what);
        else progress.set(what);
      },
      async (part) => (place.speaks ? take(part) : undefined),
    ),
  );
}

/** Where the place does not speak, diagnostics go nowhere: another process prints them. */
export function voiceOf(io: Io, place: Place): Io {
  return place.speaks ? io : { ...io, err: { write: () => {}, isTTY: false, columns: 80 } };
}

/** The backend of the command line, else of COLLC_BACKEND. @throws UsageError for one that is none */
export function askedBackend(io: Io, options: PlaceOptions): BackendName | "auto" {
  const asked = options.backend ?? readEnv("COLLC_BACKEND", io.env) ?? "auto";
  if (asked !== "auto" && !isBackend(asked))
    throw new UsageError(`COLLC_BACKEND=${asked} is no backend`, `choose ${backendNames.join(", ")} or auto`);
  return asked;
}

function chooseBackend(io: Io, options: PlaceOptions, launcher: LauncherInfo | null): BackendName {
  const asked = askedBackend(io, options);
  const gpus = asked === "auto" ? gpuCount() : 0;
  const enough = gpus > 0 && (launcher !== null || gpus >= (options.ranks ?? ranksOfReach(options.reach) ?? 1));
  const backend =
    asked !== "auto" ? asked : !enough ? "cpu" : isApart(launcher) && !hasFabricHandles() ? "nccl" : "cuda";
  if (backend === "cpu" && launcher !== null && launcher.world > 1) {
    throw new UsageError(
      "the cpu backend emulates all ranks in one process, but a launcher started several",
      "start collc alone, with --ranks, or use --backend cuda",
    );
  }
  return backend;
}

/** Whether the launcher says that ranks are on several hosts. */
function isApart(launcher: LauncherInfo | null): boolean {
  return launcher !== null && launcher.localWorld !== null && launcher.localWorld < launcher.world;
}

function chooseRanks(backend: BackendName, options: PlaceOptions, launcher: LauncherInfo | null): number {
  if (launcher === null || backend === "cpu") {
    const asked = options.ranks ?? ranksOfReach(options.reach);
    return asked ?? (backend !== "cpu" ? gpuCount() || defaultRanks : defaultRanks);
  }
  if (options.ranks !== undefined && options.ranks !== launcher.world) {
    throw new UsageError(
      `--ranks ${options.ranks}, but ${launcher.launcher} started ${launcher.world}`,
      "leave --ranks out under a launcher",
    );
  }
  return launcher.world;
}
