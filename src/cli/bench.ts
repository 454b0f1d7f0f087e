/** `collc bench`: times kernels the way the baselines were timed, next to NCCL in the same run. */
import { Command, Option } from "commander";
import { DTYPE_NAMES, type DType } from "../compiler/index.js";
import { machineFacts } from "../bench/machine.js";
import { casesOf, measure } from "../bench/measure.js";
import { ncclPeer } from "../bench/peers.js";
import { type BenchResult, saveResult } from "../bench/results.js";
import { type SuiteName, suites } from "../bench/suites.js";
import { benchTable } from "../bench/table.js";
import { backendNames } from "../runtime/backends.js";
import { exitCodes, UsageError } from "../runtime/errors.js";
import type { BackendName, Group } from "../runtime/group.js";
import { examples } from "./examples.js";
import { Exit } from "./failure.js";
import { type Io, paletteOf } from "./io.js";
import { parseSingleDType, seconds, shared, wholeNumber } from "./options.js";
import { choosePlace, distribute, type OnProgress, type Place } from "./place.js";
import { suggestion } from "./suggest.js";

interface BenchOptions {
  readonly ranks?: number;
  readonly backend?: BackendName | "auto";
  readonly peers?: readonly "nccl"[];
  readonly sizes?: string;
  readonly dtype: DType;
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
  const names = Object.keys(suites).join(", ");
  return new Command("bench")
    .description(
      "Time kernels the way the baselines were timed: graphs of launches, random data, checked first, the slowest rank's median.",
    )
    .argument("<suite>", names)
    .addOption(new Option("-p, --peers <names...>", "what to measure beside them").choices(["nccl"]))
    .addOption(shared.ranks())
    .addOption(
      new Option("-b, --backend <name>", "where to run; auto takes GPUs when there are enough").choices([
        ...backendNames,
        "auto",
      ]),
    )
    .option("--sizes <list>", "bytes of the full tensor, such as 32Ki,1Mi,64Mi; for matmul MxNxK,…")
    .addOption(
      new Option("-t, --dtype <dtype>", `dtype: ${DTYPE_NAMES.join(", ")}`).argParser(parseSingleDType).default("bf16"),
    )
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
        ["collc bench all_reduce --peers nccl --svg", "all kernels and NCCL on all GPUs"],
        ["collc bench all_gather --sizes 32Ki,64Mi --ranks 2", "two sizes on two GPUs"],
        ["collc bench matmul --sizes 512x8192x8192", "a fused matmul"],
      ),
    )
    .action((suite: string, options: BenchOptions) => bench(io, suite, options));
}

async function bench(io: Io, name: string, options: BenchOptions): Promise<void> {
  if (!Object.hasOwn(suites, name))
    throw new UsageError(`there is no suite '${name}'`, suggestion(name, Object.keys(suites), "suites"));
  const suite = name as SuiteName;
  const place = choosePlace(io, options);
  const cases = parseCases(suite, options, place);
  const peers = options.peers ?? [];
  if (peers.length > 0 && suites[suite].nccl === null) {
    throw new UsageError(
      `the peer of ${suite} is cuBLAS with NCCL, which collc does not open yet`,
      "leave --peers out; shared/baselines/fused_matmul.py measures it",
    );
  }
  if (peers.length > 0 && place.backend === "cpu")
    throw new UsageError("NCCL runs on GPUs", "add --backend cuda, or leave --peers out");
  const result = await distribute(
    io,
    place,
    () => rankArguments(suite, options, place),
    (group, onProgress) => run(group, suite, cases, options, onProgress),
  );
  if (result === null || !place.speaks) return;
  const saved = options.save ? await saveResult(options.out, result, options.svg === true) : [];
  if (options.json === true) io.out.write(JSON.stringify(result, null, 1) + "\n");
  else {
    const c = paletteOf(io.out, io.env);
    const { machine } = result;
    io.out.write(
      `\n${c.bold(suites[suite].title)}  ${result.dtype}, ${result.ranks} ranks, ${machine.gpus[0] ?? `emulated on ${machine.cpu}`}\n`,
    );
    io.out.write(benchTable(result, suites[suite].unit, c));
    for (const path of saved) io.out.write(c.dim(`saved ${path}\n`));
  }
  const problems = result.rows.some((row) =>
    Object.values(row.kernels).some((cell) => "problem" in cell && /wrong|differ/.test(cell.problem)),
  );
  if (problems) throw new Exit(exitCodes.program);
}

function parseCases(suite: SuiteName, options: BenchOptions, { backend, ranks }: Place): ReturnType<typeof casesOf> {
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
  suite: SuiteName,
  cases: ReturnType<typeof casesOf>,
  options: BenchOptions,
  onProgress: OnProgress,
): Promise<BenchResult> {
  onProgress("looking at the machine", false);
  const machine = await machineFacts(group.backend);
  const peers = (options.peers ?? []).length > 0 ? [await ncclPeer(group)] : [];
  const timing = { inner: options.inner, outer: options.outer };
  try {
    const measured = await measure(group, peers, { suite, cases, dtype: options.dtype, timing, onProgress });
    for (const peer of peers) await peer.close();
    const { backend, world } = group;
    return {
      formatVersion: 1,
      suite,
      date: new Date().toISOString(),
      backend,
      ranks: world,
      dtype: options.dtype,
      timing,
      machine,
      ...measured,
    };
  } catch (error) {
    // The others may have failed too, or not: leaving together is over.
    for (const peer of peers) await peer.abort().catch(() => {});
    throw error;
  }
}

/** What a rank process is started with. */
function rankArguments(suite: SuiteName, options: BenchOptions, place: Place): string[] {
  return [
    ...["bench", suite, "--backend", place.backend, "--ranks", String(place.ranks), "--dtype", options.dtype],
    ...["--inner", String(options.inner), "--outer", String(options.outer), "--no-save"],
    ...(options.sizes === undefined ? [] : ["--sizes", options.sizes]),
    ...(options.timeout === undefined ? [] : ["--timeout", String(options.timeout / 1000)]),
    ...(options.peers === undefined ? [] : ["--peers", ...options.peers]),
  ];
}
