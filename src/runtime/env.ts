/**
 * Every environment variable that collc reads or sets, in one table. Nothing else in the project reads
 * `process.env`: a knob that is not a row here does not exist, and `collc doctor` can print them all.
 */
import { UsageError } from "./errors.js";

/** An environment, as `process.env` is one. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Who a variable belongs to: `user` may be set by people, `run` is set by `collc run` for its ranks. */
export type EnvironmentOwner = "user" | "run" | "launcher" | "system";

const row = (owner: EnvironmentOwner, description: string) => ({ owner, description });

/** The table. Units are in the descriptions. */
export const environmentTable = {
  COLLC_NVRTC: row("user", "libnvrtc to use: the file, or the directory that holds it. Wrong means an error"),
  COLLC_NCCL: row("user", "libnccl to use: the file, or the directory that holds it"),
  COLLC_NVSHMEM: row("user", "libnvshmem_host to use: the file, or the directory that holds it"),
  COLLC_NVML: row("user", "libnvidia-ml to use: the file, or the directory that holds it"),
  COLLC_DISABLE_MULTICAST: row("user", "1: NVLink multicast is off in everything that a run opens"),
  COLLC_NVSHMEM_ARENA_MB: row("user", "part of NVSHMEM's heap for groups of some ranks only, in MiB (default: 64)"),
  COLLC_PRETEND_UNREACHABLE: row(
    "user",
    "2x2: programs are compiled as for 2 hosts of 2 GPUs each, though all share addresses; 1: peers have no addresses on the nvshmem and nccl backends; for tests",
  ),
  COLLC_BACKEND: row("user", "backend where none is named: cpu, cuda, nvshmem, nccl or auto"),
  COLLC_CACHE_DIR: row(
    "user",
    "folder of the kernel cache, of `collc setup`, `collc tune` and the regions of torch.compile (default: ~/.cache/collc)",
  ),
  COLLC_CACHE_MAX_MB: row("user", "size cap of the kernel cache in MiB (default: 1024; 0: no cache)"),
  COLLC_MESSAGES: row(
    "user",
    "what carries messages between hosts on GPUs: nccl or nvshmem (default: nvshmem on the nvshmem backend, else nccl). The same on all ranks",
  ),
  COLLC_ALLOW_OVERLAPPING_DEVICES: row("user", "1 lets several ranks share a GPU, for tests on machines with one"),
  COLLC_TIMEOUT_MS: row("user", "how long any wait between ranks may take, in milliseconds (default: 60000)"),
  COLLC_ADDON: row("user", "collc.node to load: the file of the native addon"),
  COLLC_COMMAND: row("user", "the compiler's command, where the Python package calls it for torch.compile"),
  COLLC_PYTHON: row("user", "Python interpreter whose packages are searched for libnvrtc (default: python3)"),
  COLLC_STORE_SECRET: row("user", "secret of the run: ranks must prove that they know it to join"),
  COLLC_STORE_PORT: row("user", "port of the store under torchrun, mpirun and srun (default: from MASTER_PORT)"),
  COLLC_STORE_FILE: row("user", "file through which ranks find each other, where they share a folder and no launcher"),
  COLLC_SSH: row(
    "user",
    "command, split at blanks, that `collc run --hosts` runs with a host and a shell command, in place of ssh and its options",
  ),
  COLLC_STORE: row("run", "host:port of the store that `collc run` hosts"),
  COLLC_RUN_ID: row("run", "name of the run; tells the stores of several runs on one machine apart"),
  COLLC_LAUNCHER: row("run", "process id of `collc run`; a rank that does not find it alive ends"),
  COLLC_HOST: row("run", "name of this rank's host in messages, as `collc run --hosts` calls it"),
  COLLC_ENDS_WITH_INPUT: row(
    "run",
    "1: the rank ends when its standard input does, as its launcher is on another host",
  ),
  COLLC_RUN_DIR: row("run", "private folder of the run, mode 0700; sockets live there"),

  RANK: row("launcher", "torchrun: rank of this process"),
  WORLD_SIZE: row("launcher", "torchrun: number of ranks"),
  LOCAL_RANK: row("launcher", "torchrun: rank among those of this host"),
  LOCAL_WORLD_SIZE: row("launcher", "torchrun: number of ranks of this host"),
  MASTER_ADDR: row("launcher", "host of rank 0, where the store is"),
  MASTER_PORT: row("launcher", "port of the launcher's own rendezvous; the store picks one derived from it"),
  TORCHELASTIC_RUN_ID: row("launcher", "torchrun: name of the job"),
  TORCHELASTIC_RESTART_COUNT: row("launcher", "torchrun: how often the job was restarted"),
  OMPI_COMM_WORLD_RANK: row("launcher", "Open MPI: rank"),
  OMPI_COMM_WORLD_SIZE: row("launcher", "Open MPI: number of ranks"),
  OMPI_COMM_WORLD_LOCAL_RANK: row("launcher", "Open MPI: rank among those of this host"),
  OMPI_COMM_WORLD_LOCAL_SIZE: row("launcher", "Open MPI: number of ranks of this host"),
  PMIX_NAMESPACE: row("launcher", "PMIx: name of the job"),
  PMI_RANK: row("launcher", "MPICH, Intel MPI: rank"),
  PMI_SIZE: row("launcher", "MPICH, Intel MPI: number of ranks"),
  MPI_LOCALRANKID: row("launcher", "MPICH, Intel MPI: rank among those of this host"),
  MPI_LOCALNRANKS: row("launcher", "MPICH, Intel MPI: number of ranks of this host"),
  SLURM_PROCID: row("launcher", "srun: rank"),
  SLURM_NTASKS: row("launcher", "srun: number of ranks"),
  SLURM_LOCALID: row("launcher", "srun: rank among those of this host"),
  SLURM_NNODES: row("launcher", "srun: number of hosts"),
  SLURM_JOB_ID: row("launcher", "Slurm: the job"),
  SLURM_STEP_ID: row("launcher", "Slurm: the step; set in ranks of srun, not in the batch script itself"),
  SLURM_STEP_NUM_TASKS: row("launcher", "srun: number of ranks of the step, where it differs from the job's"),
  SLURM_STEP_NODELIST: row("launcher", "srun: hosts of the step"),

  NVSHMEM_HOME: row("system", "NVSHMEM's folder, with lib/ in it"),
  NVSHMEM_DISABLE_NVLS: row("system", "1: no NVLink multicast in NVSHMEM; collc sets it unless it is set"),
  NCCL_NVLS_ENABLE: row("system", "0: no NVLink multicast in NCCL; collc sets it unless it is set"),
  CUDA_HOME: row("system", "CUDA toolkit"),
  CUDA_PATH: row("system", "CUDA toolkit"),
  VIRTUAL_ENV: row("system", "active Python environment"),
  LD_LIBRARY_PATH: row("system", "the loader's search path"),
  XDG_CACHE_HOME: row("system", "where caches live"),
  HOME: row("system", "home folder"),
  PATH: row("system", "where programs are looked for"),
  TMPDIR: row("system", "where temporary folders live (default: /tmp)"),
  CI: row("system", "set on build machines: what would be skipped for want of a library fails instead"),
  NO_COLOR: row("system", "no colours in the output"),
  TERM: row("system", "the terminal's kind; dumb: no colours in the output"),
} as const;

/** Name of a row of {@link environmentTable}. */
export type EnvironmentName = keyof typeof environmentTable;

/** This process's environment. The only place that touches it. */
export function processEnvironment(): Environment {
  return process.env;
}

/** Value of a variable; empty counts as not set, because shells make it hard to unset one. */
export function readEnv(name: EnvironmentName, env: Environment = process.env): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : value;
}

/**
 * Value of a variable that must be a whole number.
 * @throws UsageError when it is set and is not one, or lies outside `min`..`max`.
 */
export function readEnvInteger(
  name: EnvironmentName,
  env: Environment = process.env,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {},
): number | undefined {
  const text = readEnv(name, env);
  if (text === undefined) return undefined;
  const value = /^\d{1,15}$/.test(text.trim()) ? Number(text) : NaN;
  if (!(value >= min && value <= max)) {
    const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `from ${min} to ${max}`;
    throw new UsageError(
      `${name}=${JSON.stringify(text)} is not a whole number ${range}`,
      environmentTable[name].description,
    );
  }
  return value;
}

/** How long waits between ranks may take, in milliseconds: COLLC_TIMEOUT_MS or 60 s. @throws UsageError */
export function defaultTimeoutMs(env: Environment = process.env): number {
  return readEnvInteger("COLLC_TIMEOUT_MS", env, { min: 1, max: 2 ** 31 - 1 }) ?? 60_000;
}

/** The environment of a child process: this one's with changes on top; `undefined` removes a variable. */
export function childEnvironment(changes: Environment, base: Environment = process.env): Record<string, string> {
  const merged = { ...base, ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** What a launcher told this process about itself. */
export interface LauncherInfo {
  /** `explicit`: the caller of joinGroup said it, no launcher. */
  readonly launcher: "collc" | "torchrun" | "openmpi" | "mpich" | "slurm" | "explicit";
  readonly rank: number;
  readonly world: number;
  /** Rank among those of this host; null where the launcher does not say (the ranks then find out together). */
  readonly localRank: number | null;
  /** Number of ranks of this host, or null. */
  readonly localWorld: number | null;
  /** Host of rank 0; null when the ranks may be on several hosts and nothing names the first. */
  readonly masterAddr: string | null;
  /** The launcher's own port, or null. */
  readonly masterPort: number | null;
  /** What tells this run apart from another one on the same hosts. Not a secret. */
  readonly runId: string;
}

interface Family {
  readonly launcher: Exclude<LauncherInfo["launcher"], "collc" | "explicit">;
  readonly rank: EnvironmentName;
  readonly world: EnvironmentName;
  readonly localRank: EnvironmentName;
  readonly localWorld: EnvironmentName | null;
  readonly runId: readonly EnvironmentName[];
}

/** In order of precedence: the one nearest to the process first. */
const families: readonly Family[] = [
  {
    launcher: "torchrun",
    rank: "RANK",
    world: "WORLD_SIZE",
    localRank: "LOCAL_RANK",
    localWorld: "LOCAL_WORLD_SIZE",
    runId: ["TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"],
  },
  {
    launcher: "openmpi",
    rank: "OMPI_COMM_WORLD_RANK",
    world: "OMPI_COMM_WORLD_SIZE",
    localRank: "OMPI_COMM_WORLD_LOCAL_RANK",
    localWorld: "OMPI_COMM_WORLD_LOCAL_SIZE",
    runId: ["PMIX_NAMESPACE"],
  },
  {
    launcher: "mpich",
    rank: "PMI_RANK",
    world: "PMI_SIZE",
    localRank: "MPI_LOCALRANKID",
    localWorld: "MPI_LOCALNRANKS",
    runId: [],
  },
  {
    launcher: "slurm",
    rank: "SLURM_PROCID",
    world: "SLURM_NTASKS",
    localRank: "SLURM_LOCALID",
    localWorld: null,
    runId: ["SLURM_JOB_ID", "SLURM_STEP_ID"],
  },
];

/**
 * Finds out from the environment whether this process is one rank of several, and which.
 * Null: no launcher is there. Slurm counts only inside a step that srun started with more than one task,
 * because a batch script carries SLURM_PROCID=0 and SLURM_NTASKS too.
 * @throws UsageError for half-set variables (RANK without WORLD_SIZE), for values that cannot be
 *   (rank 4 of 4), and for two launchers that disagree.
 */
export function detectLauncher(env: Environment = process.env): LauncherInfo | null {
  const underCollc = readEnv("COLLC_STORE", env) !== undefined;
  const found = families.map((family) => readFamily(family, env)).filter((info) => info !== null);
  const first = found[0];
  if (first === undefined) {
    if (underCollc) throw halfSet("COLLC_STORE", ["RANK", "WORLD_SIZE"]);
    return null;
  }
  // torchrun started by srun or mpirun, once a host, numbers its ranks anew. By hand, both must agree.
  const numbersAnew = underCollc || readEnv("TORCHELASTIC_RUN_ID", env) !== undefined;
  const second = found.find((info) => info !== first && info.launcher !== "slurm");
  if (second !== undefined && !numbersAnew && (second.rank !== first.rank || second.world !== first.world)) {
    throw new UsageError(
      `two launchers disagree: ${first.launcher} says rank ${first.rank} of ${first.world}, ` +
        `${second.launcher} says rank ${second.rank} of ${second.world}`,
      `unset ${familyOf(first).rank} and ${familyOf(first).world}, or ${familyOf(second).rank} and ${familyOf(second).world}`,
    );
  }
  return underCollc ? { ...first, launcher: "collc", runId: readEnv("COLLC_RUN_ID", env) ?? first.runId } : first;
}

function familyOf(info: LauncherInfo): Family {
  return families.find((family) => family.launcher === info.launcher) ?? families[0]!;
}

function readFamily(family: Family, env: Environment): LauncherInfo | null {
  const { launcher } = family;
  if (launcher === "slurm") {
    const inBatchScript = readEnv("SLURM_JOB_ID", env) !== undefined && readEnv("SLURM_STEP_ID", env) === undefined;
    // SLURM_NTASKS alone is what `salloc` leaves in its shell.
    if (inBatchScript || readEnv("SLURM_PROCID", env) === undefined) return null;
  }
  const rank = readEnvInteger(family.rank, env);
  const stepWorld = launcher === "slurm" ? readEnvInteger("SLURM_STEP_NUM_TASKS", env, { min: 1 }) : undefined;
  const world = stepWorld ?? readEnvInteger(family.world, env, { min: 1, max: 65536 });
  const localRank = readEnvInteger(family.localRank, env) ?? null;
  let localWorld = family.localWorld === null ? null : (readEnvInteger(family.localWorld, env, { min: 1 }) ?? null);
  if (rank === undefined && world === undefined) {
    // LOCAL_RANK alone comes from scripts that mean a device; a whole launcher sets more.
    if (localRank !== null) throw halfSet(family.localRank, [family.rank, family.world]);
    return null;
  }
  if (rank === undefined) throw halfSet(family.world, [family.rank]);
  if (world === undefined) throw halfSet(family.rank, [family.world]);
  if (launcher === "slurm") {
    if (world === 1) return null;
    if (readEnvInteger("SLURM_NNODES", env) === 1) localWorld = world;
  }
  checkBelow(family.rank, rank, family.world, world);
  if (localRank !== null && localWorld !== null) {
    checkBelow(family.localRank, localRank, family.localWorld ?? family.world, localWorld);
  }
  if (localRank !== null) checkBelow(family.localRank, localRank, family.world, world);
  if (localWorld !== null && localWorld > world) {
    throw new UsageError(`${family.localWorld}=${localWorld} is more than ${family.world}=${world}`);
  }
  const masterPort = readEnvInteger("MASTER_PORT", env, { min: 1, max: 65535 }) ?? null;
  const masterAddr =
    readEnv("MASTER_ADDR", env) ??
    (localWorld === world ? "127.0.0.1" : launcher === "slurm" ? firstSlurmHost(env) : null);
  const ids = family.runId.map((name) => readEnv(name, env) ?? "");
  const runId = readEnv("COLLC_RUN_ID", env) ?? [launcher, ...ids, masterAddr ?? "", masterPort ?? ""].join("/");
  return { launcher, rank, world, localRank, localWorld, masterAddr, masterPort, runId };
}

function halfSet(present: EnvironmentName, missing: readonly EnvironmentName[]): UsageError {
  return new UsageError(
    `${present} is set, but ${missing.join(" and ")} ${missing.length > 1 ? "are" : "is"} not`,
    `set all of them, as torchrun or mpirun does, or unset ${present} to run without a launcher`,
  );
}

function checkBelow(name: EnvironmentName, value: number, limitName: EnvironmentName, limit: number): void {
  if (value < limit) return;
  throw new UsageError(`${name}=${value} cannot be with ${limitName}=${limit}`, `ranks count from 0 to ${limit - 1}`);
}

/** First host of "node[03-05,9],other": "node03"; of "gpu[1-2]n[3-4]-ib": "gpu1n3-ib". */
function firstSlurmHost(env: Environment): string | null {
  const first = /^(?:[^,[\]]|\[\d[^\]]*\])+/.exec(readEnv("SLURM_STEP_NODELIST", env) ?? "");
  return first === null ? null : first[0].replaceAll(/\[(\d+)[^\]]*\]/g, "$1");
}
