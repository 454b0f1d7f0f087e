/** `collc run`: compile, fill inputs with random data, launch, check against the signature, time. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import { type DimValues, MAX_WORLD, type PassOptions, printLayout } from "../compiler/index.js";
import { backendNames } from "../runtime/backends.js";
import { detectLauncher } from "../runtime/env.js";
import { exitCodes, messageOf, systemCode, UsageError } from "../runtime/errors.js";
import type { BackendName, Group } from "../runtime/group.js";
import { parseHosts, reachOfHosts, type RemoteHost } from "../runtime/remote-hosts.js";
import { chosenReach, reachText } from "../runtime/reach.js";
import { backendOptions } from "../runtime/machine-at-hand.js";
import { tunedFromDisk } from "../runtime/tuned.js";
import { type Compiled, compileWhole, dtypesFor, selectCollective } from "./collectives.js";
import { checkMemory, chooseDims, chooseScalars, operationsOf } from "./dims.js";
import { dtypeOf, execute, type Execution } from "../bench/execute.js";
import { examples } from "./examples.js";
import { Exit } from "./failure.js";
import type { Io } from "./io.js";
import { collectDims, collectNumbers, type DTypeChoice, seconds, shared, wholeNumber } from "./options.js";
import { askedBackend, choosePlace, distribute, type OnProgress, type Place, voiceOf } from "./place.js";
import { printResult, type RunResult, toJsonResult } from "./run-report.js";
import { type MeshChoice, meshFor, ranksOfMesh } from "./mesh.js";
import { bandwidths, trafficOf } from "../bench/traffic.js";

interface RunOptions {
  readonly ranks?: number;
  readonly backend?: BackendName | "auto";
  readonly mesh?: MeshChoice;
  readonly dtype?: DTypeChoice;
  readonly reach?: string;
  readonly sms?: number;
  readonly roundPartialSums?: boolean;
  readonly mapping?: Partial<PassOptions>;
  readonly dim?: DimValues;
  readonly set?: DimValues;
  readonly iters?: number;
  readonly seed: number;
  readonly timeout?: number;
  readonly hosts?: string;
  readonly json?: boolean;
}

/** Timed samples. On GPUs each is a graph of 10 launches, as in the baselines. */
const defaultSamples = { cpu: 5, gpu: 15 } as const;

/** The command, printing to `io`. */
export function runCommand(io: Io): Command {
  return new Command("run")
    .description("Compile a collective, run it on random data, check it against its signature and time it.")
    .argument("<file>", "program, or - for standard input")
    .argument("[name]", "collective, where the file has several")
    .addOption(shared.ranks("(default: those of --mesh or --reach, else all GPUs, or 4)"))
    .addOption(shared.mesh())
    .addOption(
      new Option("-b, --backend <name>", "where to run; auto takes GPUs when there are enough").choices([
        ...backendNames,
        "auto",
      ]),
    )
    .addOption(shared.dtype())
    .addOption(shared.reach())
    .addOption(shared.sms())
    .addOption(shared.roundPartialSums())
    .addOption(shared.mapping())
    .addOption(
      new Option("-d, --dim <name=n...>", "elements of dimensions, such as n=1048576 or m=1Ki").argParser(collectDims),
    )
    .addOption(
      new Option(
        "--set <name=x...>",
        "numbers that the launch is given, such as eps=1e-5 (default: 0.5, and 3 of whole ones)",
      ).argParser(collectNumbers),
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
    .addOption(
      new Option(
        "--hosts <file>",
        "start the ranks over ssh: a host a line and its ranks behind it, such as 'node1 8'; collc and the program lie at the same paths there",
      ).conflicts("ranks"),
    )
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      examples(
        ["collc run kernels/all_reduce/one_shot.coll", "4 emulated ranks, or all GPUs"],
        ["collc run kernels/matmul/reduce_scatter.coll --dim m=64 k=96 n=32", "sizes by name"],
        ["collc run my.coll ring --ranks 4 --backend cuda --json", "one of several collectives, on GPUs"],
        ["collc run kernels/all_reduce/hierarchical.coll --mesh 2x4", "2 nodes of 4 GPUs, emulated"],
        ["collc run kernels/all_reduce.coll --hosts hosts.txt", "GPUs of several hosts, over ssh"],
        ["torchrun --nproc-per-node 4 --no-python collc run my.coll", "under another launcher"],
      ),
    )
    .action((file: string, name: string | undefined, options: RunOptions) => run(io, file, name, options));
}

async function run(io: Io, file: string, name: string | undefined, options: RunOptions): Promise<void> {
  if (options.hosts !== undefined) return runOnHosts(io, file, name, options, options.hosts);
  const place = choosePlace(io, { ...options, ranks: options.ranks ?? ranksOfMesh(options.mesh) ?? undefined });
  if (file === "-" && place.backend !== "cpu" && place.ranks > 1) {
    throw new UsageError(
      "every rank is a process and reads the program, so it cannot come from standard input",
      "save it to a file",
    );
  }
  // Where ranks may be on several hosts, the program waits for what these are.
  const { launcher } = place;
  const isLate = options.reach === undefined && launcher !== null && launcher.localWorld !== launcher.world;
  const jobFor = (reach?: string): Job => prepare(voiceOf(io, place), file, name, place, reach === undefined ? options : { ...options, reach }); // prettier-ignore
  const early = isLate ? null : jobFor();
  const result = await distribute(
    io,
    place,
    () => rankArguments(early!, options, place.backend),
    (group, onProgress) =>
      runOn(group, early ?? jobFor(group.reach && reachText(group.reach, group.world)), options, onProgress),
  );
  if (result === null) return;
  if (place.speaks) finish(io, result, options);
  else if (isWrong(result)) throw new Exit(exitCodes.program);
}

/** The ranks speak for themselves there: the first prints what one process would. */
async function runOnHosts(
  io: Io,
  file: string,
  name: string | undefined,
  options: RunOptions,
  hostsFile: string,
): Promise<void> {
  const hosts = readHosts(hostsFile);
  if (detectLauncher(io.env) !== null)
    throw new UsageError("--hosts starts ranks, and a launcher has started this one", "leave one of them out");
  const backend = askedBackend(io, options);
  if (backend === "cpu")
    throw new UsageError(
      "the cpu backend emulates all ranks in one process",
      "leave --hosts out, with --reach 2x4 for hosts that are pretended; or choose a backend of GPUs",
    );
  if (file === "-") throw new UsageError("every host reads the program, so it cannot come from standard input", "save it to a file"); // prettier-ignore
  const ranks = hosts.reduce((sum, host) => sum + host.ranks, 0);
  if (ranks > MAX_WORLD) throw new UsageError(`${hostsFile} has ${ranks} ranks, and a program has at most ${MAX_WORLD}`, "leave hosts out of it, or give them fewer ranks"); // prettier-ignore
  const reach = options.reach ?? reachOfHosts(hosts);
  // Ranks that share no addresses need a library to find each other's memory, too.
  const isApart = chosenReach(reach, ranks) !== undefined;
  const place: Place = {
    ...{ backend: backend !== "auto" ? backend : isApart ? "nccl" : "cuda", ranks, launcher: null },
    ...{ isSpawned: false, speaks: true, timeoutMs: options.timeout },
  };
  const apart = { ...options, reach };
  const job = prepare(io, file, name, place, apart);
  const args = rankArguments({ ...job, file: resolve(job.file) }, apart, place.backend);
  const { runOverSsh } = await import("./spawn-ranks.js");
  await runOverSsh(io, hosts, args, { files: [resolve(job.file)], asJson: options.json === true });
}

/** @throws UsageError for a file that cannot be read */
function readHosts(file: string): RemoteHost[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`the hosts in ${file} cannot be read: ${systemCode(error) ?? messageOf(error)}`, "write a host a line, such as: node1 8"); // prettier-ignore
  }
  return parseHosts(text, file);
}

interface Job {
  readonly file: string;
  readonly compiled: Compiled;
  readonly dims: Record<string, number>;
  readonly dtypes: ReturnType<typeof dtypesFor>;
}

function prepare(io: Io, file: string, name: string | undefined, { ranks, backend }: Place, options: RunOptions): Job {
  const selected = selectCollective(io, file, name);
  const dtypes = dtypesFor(selected.collective, options.dtype);
  const mesh = meshFor(selected.collective, options.mesh);
  const compiled = compileWhole(io, selected, selected.collective, {
    ranks,
    dtype: dtypes,
    mesh,
    reach: options.reach,
    sms: options.sms,
    roundPartialSums: options.roundPartialSums,
    mapping: options.mapping,
    ...backendOptions(backend, ranks),
    tuned: tunedFromDisk(undefined, { withLibraries: backend !== "cpu" }),
  });
  const dims = {
    ...chooseDims(compiled.manifest, options.dim ?? {}, backend === "cpu", operationsOf(compiled)),
    ...chooseScalars(compiled.manifest, options.set),
  };
  checkMemory(compiled.manifest, dims, backend === "cpu" ? ranks : 1);
  return { file: selected.file, compiled, dtypes, dims };
}

async function runOn(group: Group, job: Job, options: RunOptions, onProgress: OnProgress): Promise<RunResult> {
  const timing = { outer: options.iters ?? defaultSamples[group.backend === "cpu" ? "cpu" : "gpu"] };
  const done = await execute(group, job.compiled, job.dims, { seed: options.seed, timing, onProgress });
  return resultOf(job, group, done);
}

function resultOf({ file, compiled, dims }: Job, { world, backend }: Group, done: Execution): RunResult {
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
    ranks: world,
    backend,
    dtype: dtypeOf(manifest),
    dims,
    ranksPerDomain: compiled.options.reach?.ranksPerDomain ?? null,
    correct: check.correct,
    maxError: check.maxError,
    unbounded: check.unbounded,
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
    knowsRoundings: done.knowsRoundings,
    unspecified: check.unspecified,
    checked: check.checked,
    total: check.total,
    samples: timing?.samples ?? 0,
  };
}

function finish(io: Io, result: RunResult, options: RunOptions): void {
  if (options.json === true) io.out.write(JSON.stringify(toJsonResult(result)) + "\n");
  printResult(io, result, options.json === true);
  if (isWrong(result)) throw new Exit(exitCodes.program);
}

const isWrong = (result: RunResult): boolean => !result.correct || result.bitwiseEqualAcrossRanks === false;

/** What a rank process is started with: everything decided, so that all ranks do the same. */
function rankArguments({ file, compiled, dims, dtypes }: Job, options: RunOptions, backend: BackendName): string[] {
  const { manifest } = compiled;
  const dtype =
    typeof dtypes === "string"
      ? dtypes
      : Object.entries(dtypes)
          .map((entry) => entry.join("="))
          .join(",");
  const values = (names: readonly string[]): string => names.map((name) => `${name}=${dims[name]!}`).join(",");
  const sizes = values(manifest.dims);
  const numbers = values(manifest.scalars.map(({ name }) => name));
  return [
    "run",
    ...["--backend", backend, "--ranks", String(manifest.ranks), "--seed", String(options.seed)],
    ...(dtype === "" ? [] : ["--dtype", dtype]),
    ...(options.reach === undefined ? [] : ["--reach", options.reach]),
    ...(options.sms === undefined ? [] : ["--sms", String(options.sms)]),
    ...(options.roundPartialSums === true ? ["--round-partial-sums"] : []),
    ...(options.mapping === undefined ? [] : ["--mapping", JSON.stringify(options.mapping)]),
    ...(manifest.mesh.length === 0
      ? []
      : ["--mesh", manifest.mesh.map((axis) => `${axis.name}=${axis.size}`).join(",")]),
    ...(sizes === "" ? [] : [`--dim=${sizes}`]),
    ...(numbers === "" ? [] : [`--set=${numbers}`]),
    ...(options.iters === undefined ? [] : ["--iters", String(options.iters)]),
    ...(options.timeout === undefined ? [] : ["--timeout", String(options.timeout / 1000)]),
    ...["--", file, manifest.collective],
  ];
}
