/** `collc bench`: times kernels the way the baselines were timed, next to NCCL in the same run. */
import { Command, InvalidArgumentError, Option } from "commander";
import { DTYPE_NAMES, type DType, type Reach } from "../compiler/index.js";
import { floorOf, machineFacts } from "../bench/machine.js";
import { casesOf, measure, type Measured } from "../bench/measure.js";
import { type NcclPeer, ncclPeer } from "../bench/peers.js";
import { type BenchResult, ResultFiles } from "../bench/results.js";
import { groups, type SuiteName, suites } from "../bench/suites.js";
import { benchTable } from "../bench/table.js";
import { layerCases, layerRows, type ModelName, modelNames } from "../bench/layers.js";
import { timeTorch, torchPeers, torchVersion, withTorch } from "../bench/torch-peer.js";
import { backendNames } from "../runtime/backends.js";
import { exitCodes, UsageError } from "../runtime/errors.js";
import type { BackendName, Group } from "../runtime/group.js";
import { refuseFolder } from "../runtime/output-file.js";
import { chosenReach, pretendHostToNccl, reachText } from "../runtime/reach.js";
import { examples } from "./examples.js";
import { Exit } from "./failure.js";
import { type Io, paletteOf } from "./io.js";
import { parseSingleDType, seconds, shared, wholeNumber } from "./options.js";
import { choosePlace, distribute, type OnPart, type OnProgress, type Place } from "./place.js";
import { withProgress } from "./progress.js";
import { suggestion } from "./suggest.js";

const peerChoices = ["nccl", "torch"] as const;
type PeerChoice = (typeof peerChoices)[number];

interface BenchOptions {
  readonly ranks?: number;
  readonly backend?: BackendName | "auto";
  readonly peers?: readonly PeerChoice[];
  readonly sizes?: string;
  readonly layers?: readonly ModelName[];
  readonly rows?: readonly number[];
  readonly dtype: DType;
  readonly sms?: number;
  readonly roundPartialSums?: boolean;
  readonly reach?: string;
  readonly ways?: boolean;
  readonly inner: number;
  readonly outer: number;
  readonly timeout?: number;
  readonly out: string;
  readonly save: boolean;
  readonly json?: boolean;
  readonly svg?: boolean;
}

/** The command, printing to `io`. */
export function benchCommand(io: Io): Command {
  const names = [...Object.keys(groups), ...Object.keys(suites)].join(", ");
  return new Command("bench")
    .description(
      "Time kernels the way the baselines were timed: graphs of launches, random data, checked first, the slowest rank's median.",
    )
    .argument("<suite>", names)
    .addOption(
      new Option("-p, --peers <names>", "what to measure beside them: nccl, torch, or both with a comma").argParser(
        parsePeers,
      ),
    )
    .addOption(shared.ranks("(default: those of --reach, else all GPUs, or 4)"))
    .addOption(
      new Option("-b, --backend <name>", "where to run; auto takes GPUs when there are enough").choices([
        ...backendNames,
        "auto",
      ]),
    )
    .option("--sizes <list>", "bytes of the full tensor, such as 32Ki,1Mi,64Mi; for matmul MxNxK,…")
    .addOption(
      new Option(
        "--layers <models>",
        `for matmul, the products of models' layers in place of sizes: ${modelNames.join(", ")}, or all`,
      ).argParser(parseModels),
    )
    .addOption(
      new Option("--rows <list>", `their rows M (default: ${layerRows.join(",")})`).argParser((text) =>
        text.split(",").map((one) => wholeNumber(1, 2 ** 20)(one)),
      ),
    )
    .addOption(
      new Option("-t, --dtype <dtype>", `dtype: ${DTYPE_NAMES.join(", ")}`).argParser(parseSingleDType).default("bf16"),
    )
    .addOption(shared.sms())
    .addOption(shared.roundPartialSums())
    .addOption(shared.reach())
    .option("--ways", "time each way that the programs choose from, too")
    .addOption(new Option("--inner <n>", "launches in a graph").argParser(wholeNumber(1, 1000)).default(10))
    .addOption(new Option("--outer <n>", "replays that are timed").argParser(wholeNumber(1, 10_000)).default(15))
    .addOption(
      new Option(
        "--timeout <seconds>",
        "how long a rank may wait for another (default: COLLC_TIMEOUT_MS or 60)",
      ).argParser(seconds),
    )
    .option("-o, --out <dir>", "folder of the results", "bench/results")
    .option("--no-save", "leave no result behind")
    .option("--json", "print the result as JSON instead of a table")
    .option("--svg", "save a plot beside the result")
    .addHelpText(
      "after",
      examples(
        ["collc bench collectives --peers nccl,torch --svg", "every collective beside NCCL and PyTorch, on all GPUs"],
        ["collc bench all_reduce --peers nccl", "all kernels and NCCL"],
        ["collc bench all_gather --sizes 32Ki,64Mi --ranks 2", "two sizes on two GPUs"],
        ["collc bench collectives --reach 2x2 --peers nccl", "four GPUs of one host as two hosts of two"],
        [
          "collc bench matmul --peers torch --sizes 512x8192x8192",
          "products fused with a collective, beside cuBLAS and NCCL",
        ],
        ["collc bench matmul --peers torch --layers llama3-70b --rows 1,64,4096", "the products of a model's layers"],
      ),
    )
    .action((suite: string, options: BenchOptions) => bench(io, suite, options));
}

function parsePeers(text: string): PeerChoice[] {
  return text.split(",").map((name) => {
    const known = peerChoices.find((peer) => peer === name.trim());
    if (known === undefined) throw new InvalidArgumentError(`Peers are ${peerChoices.join(", ")}.`);
    return known;
  });
}

function parseModels(text: string): readonly ModelName[] {
  if (text === "all") return modelNames;
  return text.split(",").map((name) => {
    const known = modelNames.find((model) => model === name.trim());
    if (known === undefined) throw new InvalidArgumentError(`Models are ${modelNames.join(", ")}, and all.`);
    return known;
  });
}

async function bench(io: Io, name: string, options: BenchOptions): Promise<void> {
  const chosen = suitesNamed(name);
  const place = choosePlace(io, options);
  const product = chosen.find((suite) => suites[suite].nccl === null);
  const reach = chosenReach(options.reach, place.ranks);
  if (reach !== undefined && product !== undefined)
    throw new UsageError(
      `${product} is measured among ranks that share addresses`,
      "leave --reach out, and unset COLLC_PRETEND_UNREACHABLE",
    );
  if (reach !== undefined && place.isSpawned) pretendHostToNccl(place.launcher!.rank, reach);
  const plan = chosen.map((suite) => ({ suite, cases: parseCases(suite, options, place) }));
  const peers = options.peers ?? [];
  if (peers.includes("nccl") && product !== undefined)
    throw new UsageError(
      `NCCL alone has no counterpart of ${product}`,
      "ask for --peers torch: cuBLAS and then NCCL, and PyTorch's fused ops",
    );
  if (peers.length > 0 && place.backend === "cpu")
    throw new UsageError("peers run on GPUs", "add --backend cuda, or leave --peers out");
  const withPyTorch = peers.includes("torch");
  if (withPyTorch && reach !== undefined)
    throw new UsageError(
      "PyTorch's peers share addresses, and with --reach the ranks do not",
      "leave 'torch' out of --peers",
    );
  if (withPyTorch && place.launcher !== null && !place.isSpawned)
    throw new UsageError(
      "PyTorch's peers bring processes of their own, and a launcher has started these",
      "start collc alone, with --ranks, or leave 'torch' out of --peers",
    );
  // Asked for before anything is timed: whoever waits for minutes should not learn at the end that it is missing.
  const torch = withPyTorch && place.speaks ? await torchVersion() : null;
  if (options.save) refuseFolder(options.out);
  const files = options.save ? new ResultFiles(options.out) : null;
  const kept = new Set<string>();
  /** Each case is saved when it is measured, whatever becomes of the others. */
  const keep = async (result: BenchResult): Promise<void> => {
    const path = await files?.save(result);
    if (path === undefined || kept.has(path)) return;
    kept.add(path);
    io.err.write(`saving each case in ${path}\n`);
  };
  let results = await distribute(
    io,
    place,
    () => rankArguments(name, options, place),
    (group, onProgress, onPart: OnPart<BenchResult>) => run(group, plan, reach, options, onProgress, onPart),
    keep,
  );
  if (results === null || !place.speaks) return;
  let failure: Error | null = null;
  if (torch !== null) ({ results, failure } = await besideTorch(io, results, plan, torch));
  if (options.json === true) {
    const saved = files === null ? [] : await saveAll(files, options, results);
    io.out.write(JSON.stringify(results.length === 1 ? results[0] : results, null, 1) + "\n");
    for (const path of saved) io.err.write(`saved ${path}\n`);
  } else {
    const c = paletteOf(io.out, io.env);
    for (const result of results) {
      const { machine, rows, dtype, ranks } = result;
      const suite = suites[result.suite];
      // Nobody has described what carries messages between these hosts.
      const floorAt = (size: number): number | null =>
        result.reach === undefined ? floorOf(machine, suite, size, ranks) : null;
      const floors = rows.map((row) => row.alone?.median ?? floorAt(row.size));
      const hosts = result.reach === undefined ? "" : `, pretended to be hosts: ${result.reach}`;
      const where = (machine.gpus[0] ?? `emulated on ${machine.cpu}`) + hosts;
      io.out.write(`\n${c.bold(suite.title)}  ${dtype}, ${ranks} ranks, ${where}\n`);
      io.out.write(benchTable({ ...result, unit: suite.unit, floors }, c));
    }
    for (const path of files === null ? [] : await saveAll(files, options, results))
      io.out.write(c.dim(`saved ${path}\n`));
  }
  const problems = results.some(({ rows }) =>
    rows.some((row) =>
      Object.values(row.kernels).some((cell) => "problem" in cell && /wrong|differ/.test(cell.problem)),
    ),
  );
  // What was measured is saved by now.
  if (failure !== null) throw failure;
  if (problems) throw new Exit(exitCodes.program);
}

/** The suites that a name stands for: itself, or a group's. */
function suitesNamed(name: string): readonly SuiteName[] {
  const group = Object.hasOwn(groups, name) ? groups[name] : undefined;
  if (group !== undefined) return group;
  if (Object.hasOwn(suites, name)) return [name as SuiteName];
  const known = [...Object.keys(groups), ...Object.keys(suites)];
  throw new UsageError(`there is no suite '${name}'`, suggestion(name, known, "suites"));
}

async function saveAll(files: ResultFiles, { svg }: BenchOptions, results: readonly BenchResult[]): Promise<string[]> {
  const saved: string[] = [];
  for (const result of results) {
    saved.push(await files.save(result));
    if (svg === true) saved.push(await files.plot(result));
  }
  return saved;
}

/** PyTorch's processes, once ours have left the GPUs. */
async function besideTorch(
  io: Io,
  results: readonly BenchResult[],
  plan: Plan,
  version: string,
): Promise<{ results: BenchResult[]; failure: Error | null }> {
  const { ranks, dtype, timing } = results[0]!;
  const { rows: cells, failure } = await withProgress(io, (progress) =>
    timeTorch({
      ...{ ranks, dtype, timing, plan },
      timeoutMs: torchTimeoutMs,
      onProgress: (what) => progress.set(`PyTorch: ${what}`),
    }),
  );
  const withPeers = results.map((result) => ({
    ...result,
    peers: [...result.peers, ...torchPeers(result.suite, cells, version)],
    rows: withTorch(result.suite, result.rows, cells),
  }));
  return { results: withPeers, failure };
}

/** A hung peer must not hold the machine. */
const torchTimeoutMs = 120_000;

type Plan = readonly { readonly suite: SuiteName; readonly cases: ReturnType<typeof casesOf> }[];

function parseCases(suite: SuiteName, options: BenchOptions, { backend, ranks }: Place): ReturnType<typeof casesOf> {
  const { layers } = options;
  if (layers !== undefined) {
    if (options.sizes !== undefined)
      throw new UsageError("--layers stands in place of --sizes", "leave one of them out");
    const kind = suites[suite].layers;
    if (kind === null)
      throw new UsageError(
        `${suite} has no products of layers`,
        "give --sizes, or ask for matmul or one of its suites",
      );
    const cases = layerCases(layers, kind, options.rows ?? layerRows, ranks);
    if (cases.length === 0)
      throw new UsageError(`${suite} takes rows that ${ranks} ranks share`, `give --rows that ${ranks} divides`);
    return cases;
  }
  if (options.rows !== undefined)
    throw new UsageError("--rows goes with --layers", "add --layers, or give --sizes MxNxK");
  const sizes = options.sizes?.split(",") ?? suites[suite].defaults[backend === "cpu" ? "cpu" : "cuda"];
  try {
    return casesOf(suite, sizes, options.dtype, ranks);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const shape = suites[suite].unit === "bytes" ? "bytes, such as 1024, 64Ki or 1Mi" : "M×N×K, such as 512x8192x8192";
    throw new UsageError(`'${error.message}' is no size of ${suite}`, `sizes are ${shape}`);
  }
}

async function run(
  group: Group,
  plan: Plan,
  reach: Reach | undefined,
  options: BenchOptions,
  onProgress: OnProgress,
  onPart: OnPart<BenchResult>,
): Promise<BenchResult[]> {
  onProgress("looking at the machine", false);
  const machine = await machineFacts(group.backend);
  const nccl: NcclPeer | null = options.peers?.includes("nccl") === true ? await ncclPeer(group) : null;
  const timing = { inner: options.inner, outer: options.outer };
  const { backend, world } = group;
  try {
    const results: BenchResult[] = [];
    for (const { suite, cases } of plan) {
      const date = new Date().toISOString();
      const resultOf = (measured: Measured): BenchResult => ({
        ...{ formatVersion: 1, suite, date, backend, ranks: world },
        ...{ dtype: options.dtype, timing, machine },
        ...(options.sms === undefined ? {} : { sms: options.sms }),
        ...(options.roundPartialSums === true ? { roundPartialSums: true } : {}),
        ...(reach === undefined ? {} : { reach: reachText(reach, world) }),
        ...measured,
      });
      const measured = await measure(group, nccl, {
        ...{ suite, cases, timing, onProgress, withWays: options.ways === true },
        ...{ dtype: options.dtype, sms: options.sms, reach, roundPartialSums: options.roundPartialSums },
        onCase: (some) => onPart(resultOf(some)),
      });
      results.push(resultOf(measured));
    }
    await nccl?.close();
    return results;
  } catch (error) {
    // The others may have failed too, or not: leaving together is over.
    await nccl?.abort().catch(() => {});
    throw error;
  }
}

/** What a rank process is started with. */
function rankArguments(suite: string, options: BenchOptions, place: Place): string[] {
  return [
    ...["bench", suite, "--backend", place.backend, "--ranks", String(place.ranks), "--dtype", options.dtype],
    ...(options.sms === undefined ? [] : ["--sms", String(options.sms)]),
    ...(options.roundPartialSums === true ? ["--round-partial-sums"] : []),
    ...(options.reach === undefined ? [] : ["--reach", options.reach]),
    ...["--inner", String(options.inner), "--outer", String(options.outer), "--no-save"],
    ...(options.sizes === undefined ? [] : ["--sizes", options.sizes]),
    ...(options.layers === undefined ? [] : ["--layers", options.layers.join(",")]),
    ...(options.rows === undefined ? [] : ["--rows", options.rows.join(",")]),
    ...(options.ways === true ? ["--ways"] : []),
    ...(options.timeout === undefined ? [] : ["--timeout", String(options.timeout / 1000)]),
    ...(options.peers?.includes("nccl") === true ? ["--peers", "nccl"] : []),
  ];
}
