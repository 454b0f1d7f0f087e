/** `collc simulate`: how long programs take on machines of many hosts, by simulation. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import {
  type Cluster,
  CLUSTER_NAMES,
  clusterFromJson,
  clusterNamed,
  compile,
  MAX_WORLD,
  playFastest,
  Player,
  type Schedule,
  scheduleProgram,
  type Simulation,
  soleConversion,
} from "../compiler/index.js";
import { exitCodes, messageOf, UsageError } from "../runtime/errors.js";
import { importsFromDisk, libraryFromDisk } from "../runtime/imports.js";
import { dtypesFor, isExcluded, selectCollective, type Selected } from "./collectives.js";
import { hasErrors, printDiagnostics, wrongProgram } from "./diagnostics.js";
import { examples } from "./examples.js";
import { Exit } from "./failure.js";
import type { Io } from "./io.js";
import { type DTypeChoice, listOf, parseCount, shared, wholeNumber } from "./options.js";
import { type Progress, withProgress } from "./progress.js";
import { simulateReport } from "./simulate-report.js";
import { suggestion } from "./suggest.js";

export interface SimulateOptions {
  readonly machine?: string;
  readonly ranks?: readonly number[];
  readonly size?: readonly number[];
  readonly dtype?: DTypeChoice;
  readonly chunks?: number;
  /** Which collective of the files, and what stands before its name on the command line. */
  readonly collective?: string;
  readonly naming?: string;
  readonly links?: boolean;
  readonly svg?: string;
  readonly json?: boolean;
}

const DEFAULT_MACHINE = "dgx-h100";
const DEFAULT_SIZES = [2 ** 10, 2 ** 16, 2 ** 20, 2 ** 24, 2 ** 28, 2 ** 30];
const LARGEST = 2 ** 40;

/** "8..4096": 8, twice as many each time, and 4096; "8,64": these. */
export function rankRange(text: string): number[] {
  const one = wholeNumber(1, MAX_WORLD);
  const [, from, to] = /^(\d+)\.\.(\d+)$/.exec(text.trim()) ?? [];
  if (from === undefined) return [...new Set(listOf(one)(text))];
  const [low, high] = [one(from), one(to!)];
  if (low > high) throw new InvalidArgumentError(`'${text}' has no number in it: write 8..4096.`);
  return doubled(low, high);
}

/** "1Ki..1Gi": 1 KiB, four times as much each time, and 1 GiB; "64Ki,1Mi": these; in bytes. */
function sizeRange(text: string): number[] {
  const one = (part: string): number => {
    const n = parseCount(part.replace(/B$/, ""));
    if (n === null || n < 1 || n > LARGEST)
      throw new InvalidArgumentError(`'${part}' is no size, such as 64Ki or 1Gi.`);
    return n;
  };
  const ends = text.split("..");
  if (ends.length === 1) return [...new Set(listOf(one)(text))];
  const [low, high] = [one(ends[0]!.trim()), one(ends[1]!.trim())];
  if (ends.length !== 2 || low > high) throw new InvalidArgumentError(`'${text}' is no range, such as 1Ki..1Gi.`);
  return doubled(low, high, 4);
}

function doubled(low: number, high: number, times = 2): number[] {
  const found: number[] = [];
  for (let n = low; n < high; n *= times) found.push(n);
  return [...found, high];
}

/** The command, printing to `io`. */
export function simulateCommand(io: Io): Command {
  return new Command("simulate")
    .description(
      "Say how long programs take on many hosts, by events on NVLink, NICs and switches, and who is ahead where.",
    )
    .argument("<files...>", "programs that do the same in different ways, or one of a single conversion")
    .option("-m, --machine <name|file>", `${CLUSTER_NAMES.join(", ")}, or a JSON file`, DEFAULT_MACHINE)
    .addOption(
      new Option("-n, --ranks <list>", "numbers of ranks: 8..4096 doubles, 8,64 are two (default: 8,64,512)").argParser(
        rankRange,
      ),
    )
    .addOption(
      new Option(
        "-s, --size <list>",
        "bytes of a rank's largest tensor: 1Ki..1Gi quadruples, 64Ki,16Mi are two (default: 1Ki,64Ki,1Mi,16Mi,256Mi,1Gi)",
      ).argParser(sizeRange),
    )
    .addOption(shared.dtype())
    .addOption(
      new Option(
        "--chunks <n>",
        "passes that a tensor is divided into, so that phases overlap (default: 1, 2, 4, 8 or 16, more while that is faster)",
      ).argParser(wholeNumber(1, 1024)),
    )
    .option("--collective <name>", "collective, where a file has several")
    .option("--links", "say what each kind of link carries")
    .option("--svg <file>", "draw the times over the sizes, a panel for each number of ranks")
    .option("--json", "print all of it as JSON; times in seconds, sizes in bytes")
    .addHelpText(
      "after",
      examples(
        ["collc simulate kernels/all_reduce/ring.coll", "on 1, 8 and 64 hosts of 8 GPUs"],
        [
          "collc simulate kernels/all_reduce.coll --ranks 8..512",
          "each of the library's ways, and where which is ahead",
        ],
        ["collc simulate examples/scale/all_reduce.coll kernels/all_reduce/ring.coll --links", "two programs, and the bytes on links"], // prettier-ignore
        ["collc simulate my.coll --machine my-cluster.json", "schemas/cluster.schema.json says what is in it"],
      ) +
        "\nThe largest tensor of a rank is what nccl-tests call the size. docs/SCALE.md says what is modelled, and how well.\n",
    )
    .action((files: string[], options: SimulateOptions) => simulate(io, files, options));
}

/** A program as it was simulated. */
export interface Simulated {
  readonly name: string;
  readonly file: string;
  readonly ranks: number;
  /** Null where the program cannot be had for so many ranks; `why` says so. */
  readonly schedule: Pick<Schedule, "period" | "derivedAt" | "counted"> | null;
  readonly why: string | null;
  /** What to do about it, if anything is known. */
  readonly help: string | null;
  readonly phases: number;
  readonly sizes: readonly Simulation[];
}

export interface SimulateResult {
  readonly machine: Cluster;
  readonly sizes: readonly number[];
  readonly programs: readonly Simulated[];
}

/** @throws UsageError for what is no machine, no program, no place for a picture, or too many ranks for the machine */
export async function simulate(io: Io, files: readonly string[], options: SimulateOptions): Promise<void> {
  const machine = machineFrom(options.machine ?? DEFAULT_MACHINE);
  const most = Math.min(MAX_WORLD, machine.ranksPerDomain * machine.domains);
  const usual = [8, 64, 512].filter((n) => n <= most);
  const ranks = options.ranks ?? (usual.length > 0 ? usual : [most]);
  const tooMany = ranks.find((n) => n > most);
  if (tooMany !== undefined)
    throw new UsageError(`${machine.name} has ${most} ranks at most, not ${tooMany}`, "choose fewer ranks, or another machine"); // prettier-ignore
  const sizes = options.size ?? DEFAULT_SIZES;
  if (options.svg !== undefined) refuseTarget(options.svg);
  const ways = files.flatMap((file) => waysOf(io, file, options));
  const programs = await withProgress(io, async (progress) => {
    const found: Simulated[] = [];
    for (const n of ranks)
      for (const way of ways) found.push(await simulated(io, way, { n, sizes, machine, options, progress }));
    return found;
  });
  const all = programs.filter((p) => p.schedule !== null);
  if (all.length === 0) {
    const { why, help } = programs[0]!;
    throw new UsageError(`nothing could be simulated: ${why}`, help ?? undefined);
  }
  const result: SimulateResult = { machine, sizes, programs };
  if (options.svg !== undefined) {
    const { scalePlot } = await import("../bench/scale-plot.js");
    writeFileSync(options.svg, await scalePlot(plotted(result), `${machine.name}, simulated`));
  }
  io.out.write(options.json === true ? JSON.stringify(result, null, 2) + "\n" : simulateReport(io, result, options));
}

/** What a plot needs of it. */
function plotted({ programs }: SimulateResult): { name: string; ranks: number; bytes: number; seconds: number }[] {
  return programs.flatMap(({ name, ranks, sizes }) =>
    sizes.map(({ bytes, seconds }) => ({ name, ranks, bytes, seconds })),
  );
}

/** Simulations take long: what cannot be written afterwards is refused before. @throws UsageError */
function refuseTarget(file: string): void {
  const folder = dirname(file);
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new UsageError(`there is no folder ${folder} for ${file}`, "make it first, or name another file");
  if (existsSync(file) && statSync(file).isDirectory())
    throw new UsageError(`${file} is a folder, not a file`, "name a file in it, such as times.svg");
}

/** The machine of a name, or of a file. @throws UsageError */
function machineFrom(given: string): Cluster {
  const named = clusterNamed(given);
  if (named !== null) return named;
  if (existsSync(given)) {
    let text: string;
    try {
      text = readFileSync(given, "utf8");
    } catch (error) {
      throw new UsageError(`${given} cannot be read: ${messageOf(error)}`, "name a JSON file that describes a machine");
    }
    return clusterFromJson(text, given);
  }
  throw new UsageError(
    `there is no machine and no file '${given}'`,
    `${suggestion(given, CLUSTER_NAMES, "machines")}; a JSON file as schemas/cluster.schema.json has it does, too`,
  );
}

interface Way {
  readonly name: string;
  readonly selected: Selected & { readonly collective: Selected["collectives"][number] };
}

/** A file's collective, or, of a program of one conversion, the library's files for it. */
function waysOf(io: Io, path: string, { collective, naming = "--collective" }: SimulateOptions): readonly Way[] {
  const selected = selectCollective(io, path, collective, naming);
  const { text, file } = selected;
  const named = [{ name: nameOf(file), selected }];
  const lowered = compile(text, {
    file,
    collective: selected.collective.name.text,
    ranks: 4,
    dtype: "bf16",
    resolve: importsFromDisk,
    passLimit: 0,
  });
  const kernel = lowered.snapshots.at(-1)?.kernel;
  if (kernel === undefined || hasErrors(lowered.diagnostics)) return named;
  const conversion = kernel.level === "tensor" ? soleConversion(kernel) : null;
  const ways = conversion === null ? [] : libraryFromDisk(conversion);
  if (ways.length === 0) return named;
  return ways.map((way) => ({ name: nameOf(way.file), selected: selectCollective(io, way, undefined) }));
}

/** `kernels/all_reduce/ring.coll` → `all_reduce/ring` */
function nameOf(file: string): string {
  return file
    .replace(/\.coll$/, "")
    .split("/")
    .slice(-2)
    .join("/");
}

async function simulated(
  io: Io,
  { name, selected }: Way,
  { n, sizes, machine, options, progress }: { n: number; sizes: readonly number[]; machine: Cluster; options: SimulateOptions; progress: Progress }, // prettier-ignore
): Promise<Simulated> {
  const say = async (what: string): Promise<void> => {
    progress.now(`${name}, ${n} ranks: ${what}`);
    // Nothing else gets a turn otherwise.
    await new Promise((resolve) => setImmediate(resolve));
  };
  await say("compiling");
  const { file, text } = selected;
  const dtype = dtypesFor(selected.collective, options.dtype);
  const failed = (why: string, help: string | null = null): Simulated =>
    ({ name, file, ranks: n, schedule: null, why, help, phases: 0, sizes: [] }); // prettier-ignore
  try {
    const { schedule, compiled } = scheduleProgram(text, {
      file,
      collective: selected.collective.name.text,
      ranks: n,
      dtype,
      resolve: importsFromDisk,
      cluster: machine,
    });
    if (hasErrors(compiled.diagnostics) && isExcluded(compiled.diagnostics))
      return failed(compiled.diagnostics.find((d) => d.severity === "error")!.message);
    if (schedule === null) {
      printDiagnostics(io, compiled.diagnostics, compiled.source);
      throw new Exit(exitCodes.program, wrongProgram(compiled.diagnostics, compiled.source));
    }
    const player = new Player(schedule, machine);
    const results: Simulation[] = [];
    for (const [i, bytes] of sizes.entries()) {
      await say(`size ${i + 1} of ${sizes.length}`);
      results.push(playFastest(player, bytes, n, options.chunks));
    }
    const { period, derivedAt, counted } = schedule;
    return {
      name,
      file,
      ranks: n,
      schedule: { period, derivedAt, counted },
      why: null,
      help: null,
      phases: player.count,
      sizes: results,
    };
  } catch (error) {
    if (error instanceof UsageError) return failed(error.message, error.help ?? null);
    throw error;
  }
}
