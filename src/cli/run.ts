/** `collc run`: compile, fill inputs with random data, launch, check against the signature, time. */
import { Command, Option } from "commander";
import { printLayout, type DimValues } from "../compiler/index.js";
import { connect } from "../runtime/connect.js";
import { detectLauncher, type LauncherInfo, readEnv } from "../runtime/env.js";
import { exitCodes, UsageError } from "../runtime/errors.js";
import type { BackendName } from "../runtime/group.js";
import { type Compiled, compileWhole, dtypesFor, selectCollective } from "./collectives.js";
import { chooseDims } from "./dims.js";
import { dtypeOf, execute, type Execution } from "./execute.js";
import { Exit } from "./failure.js";
import type { Io } from "./io.js";
import { collectDims, type DTypeChoice, examples, seconds, shared, wholeNumber } from "./options.js";
import { gpuCount, requireGpus } from "./gpus.js";
import { withProgress } from "./progress.js";
import { printResult, type RunResult, toJsonResult } from "./run-report.js";
import { failAsRank, isSpawnedRank, runAsRanks, sendProgress, sendResult } from "./spawn-ranks.js";
import { bandwidths, trafficOf } from "./traffic.js";

interface RunOptions {
  readonly ranks?: number;
  readonly backend?: BackendName | "auto";
  readonly dtype?: DTypeChoice;
  readonly dim?: DimValues;
  readonly iters?: number;
  readonly seed: number;
  readonly timeout?: number;
  readonly json?: boolean;
}

/** Ranks where nobody says: a small world in which every collective is interesting. */
const defaultRanks = 4;
/** Timed samples. On GPUs each is a graph of 10 launches, as in the baselines. */
const defaultSamples = { cpu: 5, cuda: 15 } as const;

/** The command, printing to `io`. */
export function runCommand(io: Io): Command {
  return new Command("run")
    .description("Compile a collective, run it on random data, check it against its signature and time it.")
    .argument("<file>", "program, or - for standard input")
    .argument("[name]", "collective, where the file has several")
    .addOption(shared.ranks())
    .addOption(
      new Option("-b, --backend <name>", "where to run; auto takes GPUs when there are enough").choices([
        "cpu",
        "cuda",
        "auto",
      ]),
    )
    .addOption(shared.dtype())
    .addOption(
      new Option("-d, --dim <name=n...>", "elements of dimensions, such as n=1048576 or m=1Ki").argParser(collectDims),
    )
    .addOption(
      new Option(
        "-i, --iters <k>",
        "timed samples (default: 5 on cpu; 15 on cuda, each a graph of 10 launches)",
      ).argParser(wholeNumber(1, 100_000)),
    )
    .addOption(new Option("--seed <s>", "seed of the random inputs").argParser(wholeNumber(0, 2 ** 31 - 1)).default(1))
    .addOption(
      new Option(
        "--timeout <seconds>",
        "how long a rank may wait for another (default: COLLC_TIMEOUT_MS or 60)",
      ).argParser(seconds),
    )
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      examples(
        ["collc run kernels/all_reduce/one_shot.coll", "4 emulated ranks, or all GPUs"],
        ["collc run kernels/matmul/reduce_scatter.coll --dim m=64 k=96 n=32", "sizes by name"],
        ["collc run my.coll ring --ranks 4 --backend cuda --json", "one of several collectives, on GPUs"],
        ["torchrun --nproc-per-node 4 --no-python collc run my.coll", "under another launcher"],
      ),
    )
    .action((file: string, name: string | undefined, options: RunOptions) => run(io, file, name, options));
}

async function run(io: Io, file: string, name: string | undefined, options: RunOptions): Promise<void> {
  if (isSpawnedRank(io)) throw new Exit(await runSpawned(io, file, name, options));
  const launcher = detectLauncher(io.env);
  const backend = chooseBackend(io, options, launcher);
  const ranks = chooseRanks(backend, options, launcher);
  const isFirst = launcher === null || launcher.rank === 0;
  const job = prepare(isFirst ? io : quiet(io), file, name, ranks, backend, options);
  if (launcher === null && backend === "cuda") {
    requireGpus(ranks);
    if (file === "-")
      throw new UsageError(
        "every rank is a process and reads the program, so it cannot come from standard input",
        "save it to a file",
      );
    return finish(io, await runAsRanks<RunResult>(io, ranks, rankArguments(job, options)), options);
  }
  const result = await withProgress(io, (progress) =>
    runHere(job, ranks, backend, options, (what, blocking) => {
      if (!isFirst) return;
      if (blocking) progress.now(what);
      else progress.set(what);
    }),
  );
  if (isFirst) finish(io, result, options);
  else if (!result.correct) throw new Exit(exitCodes.program);
}

/** A rank that {@link runAsRanks} started: the launcher has checked the command line and printed the warnings. */
async function runSpawned(io: Io, file: string, name: string | undefined, options: RunOptions): Promise<number> {
  try {
    const { rank, world } = detectLauncher(io.env)!;
    const job = prepare(quiet(io), file, name, world, "cuda", options);
    const result = await runHere(job, world, "cuda", options, sendProgress);
    if (rank === 0) await sendResult(result);
    return exitCodes.fine; // the launcher prints a wrong result and exits with 1
  } catch (error) {
    return failAsRank(error);
  }
}

interface Job {
  readonly file: string;
  readonly compiled: Compiled;
  readonly dims: Record<string, number>;
  readonly dtypes: ReturnType<typeof dtypesFor>;
}

function prepare(
  io: Io,
  file: string,
  name: string | undefined,
  ranks: number,
  backend: BackendName,
  options: RunOptions,
): Job {
  const selected = selectCollective(io, file, name);
  const dtypes = dtypesFor(selected.collective, options.dtype);
  const compiled = compileWhole(io, selected, selected.collective, { ranks, dtype: dtypes });
  return {
    file: selected.file,
    compiled,
    dtypes,
    dims: chooseDims(compiled.manifest, options.dim ?? {}, backend === "cpu"),
  };
}

/** Runs in this process, as all ranks or as one of them. */
async function runHere(
  job: Job,
  ranks: number,
  backend: BackendName,
  options: RunOptions,
  onProgress: (what: string, blocking: boolean) => void,
): Promise<RunResult> {
  const group = await connect({ backend, ranks, timeoutMs: options.timeout });
  try {
    const timing = { outer: options.iters ?? defaultSamples[backend] };
    const done = await execute(group, job.compiled, job.dims, { seed: options.seed, timing, onProgress });
    return resultOf(job, ranks, backend, done);
  } finally {
    await group.close();
  }
}

function resultOf({ file, compiled, dims }: Job, ranks: number, backend: BackendName, done: Execution): RunResult {
  const { manifest } = compiled;
  const { check, timing } = done;
  const traffic = trafficOf(manifest, dims);
  const speed = traffic === null || timing === null ? null : bandwidths(traffic, timing.median);
  const declare = (t: (typeof manifest.inputs)[number]): RunResult["inputs"][number] => ({
    name: t.name,
    dtype: t.dtype,
    layout: printLayout(t.layout),
  });
  return {
    collective: manifest.collective,
    ranks,
    backend,
    dtype: dtypeOf(manifest),
    dims,
    correct: check.correct,
    maxError: check.maxError,
    bitwiseEqualAcrossRanks: done.bitwiseEqualAcrossRanks,
    timeUs: timing && { median: timing.median, min: timing.min, max: timing.max },
    algorithmBandwidthGBs: speed?.algorithm ?? null,
    busBandwidthGBs: speed?.bus ?? null,
    file,
    inputs: manifest.inputs.map(declare),
    outputs: manifest.outputs.map(declare),
    algorithmBytes: traffic?.algorithmBytes ?? null,
    tolerance: check.tolerance,
    firstMismatch: check.firstMismatch,
    unspecified: check.unspecified,
    checked: check.checked,
    total: check.total,
    samples: timing?.samples ?? 0,
  };
}

function finish(io: Io, result: RunResult, options: RunOptions): void {
  if (options.json === true) io.out.write(JSON.stringify(toJsonResult(result)) + "\n");
  printResult(io, result, options.json === true);
  if (!result.correct || result.bitwiseEqualAcrossRanks === false) throw new Exit(exitCodes.program);
}

/** What a rank process is started with: everything decided, so that all ranks do the same. */
function rankArguments({ file, compiled, dims, dtypes }: Job, options: RunOptions): string[] {
  const { manifest } = compiled;
  const dtype =
    typeof dtypes === "string"
      ? dtypes
      : Object.entries(dtypes)
          .map((entry) => entry.join("="))
          .join(",");
  const sizes = Object.entries(dims)
    .map(([name, n]) => `${name}=${n}`)
    .join(",");
  return [
    "run",
    ...["--backend", "cuda", "--ranks", String(manifest.ranks), "--seed", String(options.seed)],
    ...(dtype === "" ? [] : ["--dtype", dtype]),
    ...(sizes === "" ? [] : [`--dim=${sizes}`]),
    ...(options.iters === undefined ? [] : ["--iters", String(options.iters)]),
    ...(options.timeout === undefined ? [] : ["--timeout", String(options.timeout / 1000)]),
    ...["--", file, manifest.collective],
  ];
}

function chooseBackend(io: Io, options: RunOptions, launcher: LauncherInfo | null): BackendName {
  const asked = options.backend ?? readEnv("COLLC_BACKEND", io.env) ?? "auto";
  if (asked !== "cpu" && asked !== "cuda" && asked !== "auto")
    throw new UsageError(`COLLC_BACKEND=${asked} is no backend`, "choose cpu, cuda or auto");
  const gpus = asked === "auto" ? gpuCount() : 0;
  const enough = gpus > 0 && (launcher !== null || gpus >= (options.ranks ?? 1));
  const backend = asked === "auto" ? (enough ? "cuda" : "cpu") : asked;
  if (backend === "cpu" && launcher !== null && launcher.world > 1) {
    throw new UsageError(
      "the cpu backend emulates all ranks in one process, but a launcher started several",
      "start collc alone, with --ranks, or use --backend cuda",
    );
  }
  return backend;
}

function chooseRanks(backend: BackendName, options: RunOptions, launcher: LauncherInfo | null): number {
  if (launcher === null || backend === "cpu")
    return options.ranks ?? (backend === "cuda" ? gpuCount() || defaultRanks : defaultRanks);
  if (options.ranks !== undefined && options.ranks !== launcher.world) {
    throw new UsageError(
      `--ranks ${options.ranks}, but ${launcher.launcher} started ${launcher.world}`,
      "leave --ranks out under a launcher",
    );
  }
  return launcher.world;
}

/** Without diagnostics: another process prints them. */
function quiet(io: Io): Io {
  return { ...io, err: { write: () => {}, isTTY: false, columns: 80 } };
}
