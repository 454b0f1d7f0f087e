/** `collc simulate`: how long programs take on machines of many hosts, by simulation. */
import { existsSync, readFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import {
  type Cluster,
  CLUSTER_NAMES,
  clusterFromJson,
  clusterNamed,
  compile,
  type CompileResult,
  leastTime,
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
import { refuseTarget, writeOutput } from "../runtime/output-file.js";
import { dtypesFor, isExcluded, selectCollective, type Selected } from "./collectives.js";
import { hasErrors, printDiagnostics, wrongProgram } from "./diagnostics.js";
import { examples } from "./examples.js";
import { Exit } from "./failure.js";
import type { Io } from "./io.js";
import { type DTypeChoice, listOf, parseCount, shared, wholeNumber } from "./options.js";
import { type Progress, withProgress } from "./progress.js";
import { SimulateReport } from "./simulate-report.js";
import { filesOf } from "./source-file.js";
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
  /** Simulates also what cannot be the fastest. */
  readonly all?: boolean;
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
    .argument(
      "<files...>",
      "programs that do the same in different ways, folders of them, or one of a single conversion",
    )
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
    .option("--all", "simulate also where a program cannot be the fastest: links and latencies alone take longer")
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
        ["collc simulate kernels/all_reduce/rails.coll kernels/all_reduce/ring.coll --links", "two programs, and the bytes on links"], // prettier-ignore
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
  /** Sizes at which it cannot be the fastest: links and latencies alone take longer than another program does, so many seconds. */
  readonly leftOut: readonly { readonly bytes: number; readonly atLeast: number }[];
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
  if (options.svg !== undefined) refuseTarget(options.svg, "times.svg");
  const ways = filesOf(files, io).flatMap((file) => waysOf(io, file, options));
  const report = options.json === true ? null : new SimulateReport(io, machine, sizes, options);
  const programs = await withProgress(io, async (progress) => {
    report?.begin(ways.map((way) => way.name));
    const found: Simulated[] = [];
    for (const n of ranks) found.push(...(await simulatedAt(io, ways, { n, sizes, machine, options, progress, report }))); // prettier-ignore
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
    await writeOutput(options.svg, await scalePlot(plotted(result), `${machine.name}, simulated`));
  }
  if (report === null) io.out.write(JSON.stringify(result, null, 2) + "\n");
  else report.end(result);
}

/** What a plot needs of it. */
function plotted({ programs }: SimulateResult): { name: string; ranks: number; bytes: number; seconds: number }[] {
  return programs.flatMap(({ name, ranks, sizes }) =>
    sizes.map(({ bytes, seconds }) => ({ name, ranks, bytes, seconds })),
  );
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
  /** Smaller worlds of it that were compiled. */
  readonly known: Map<number, CompileResult>;
  readonly selected: Selected & { readonly collective: Selected["collectives"][number] };
}

/** A file's collective, or, of a program of one conversion, the library's files for it. */
function waysOf(io: Io, path: string, { collective, naming = "--collective" }: SimulateOptions): readonly Way[] {
  const selected = selectCollective(io, path, collective, naming);
  const { text, file } = selected;
  const named = [{ name: nameOf(file), known: new Map<number, CompileResult>(), selected }];
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
  return ways.map((way) => ({ name: nameOf(way.file), known: new Map(), selected: selectCollective(io, way, undefined) })); // prettier-ignore
}

/** `kernels/all_reduce/ring.coll` → `all_reduce/ring` */
function nameOf(file: string): string {
  return file
    .replace(/\.coll$/, "")
    .split("/")
    .slice(-2)
    .join("/");
}

interface Asked {
  readonly n: number;
  readonly sizes: readonly number[];
  readonly machine: Cluster;
  readonly options: SimulateOptions;
  readonly progress: Progress;
  readonly report: SimulateReport | null;
}

/** More chunks that cannot save this part of the time are not tried: they would take as long to simulate, to tell nothing more. */
const WORTH = 0.01;

/** Milliseconds between two words of progress of one step. */
const PROGRESS_MS = 200;

/**
 * All ways at one number of ranks, each said as it is done: those first that take least if nothing is in their way. A size at which
 * even that is more than another way takes is left out.
 */
async function simulatedAt(io: Io, ways: readonly Way[], asked: Asked): Promise<readonly Simulated[]> {
  const { n, sizes, options, progress, report } = asked;
  const say = async (name: string, what: string): Promise<void> => {
    progress.now(`${name}, ${n} ranks: ${what}`);
    // Nothing else gets a turn otherwise.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const done = new Map<Way, Simulated>();
  const ready: { way: Way; schedule: Simulated["schedule"]; player: Player; least: readonly number[]; sum: number }[] = []; // prettier-ignore
  for (const way of ways) {
    await say(way.name, "compiling");
    const found = playerOf(io, way, asked);
    if ("why" in found) {
      done.set(way, found);
      continue;
    }
    const { player, schedule } = found;
    const least = sizes.map((bytes) => leastTime(player, bytes, n, options.chunks));
    const { period, derivedAt, counted } = schedule;
    const sum = least.reduce((a, seconds) => a + Math.log(seconds), 0);
    ready.push({ way, schedule: { period, derivedAt, counted }, player, least, sum });
  }
  ready.sort((a, b) => a.sum - b.sum);
  progress.end();
  report?.table(n);
  const best = sizes.map(() => Infinity);
  const known = new Map<Player, Map<number, Simulation>>(ready.map(({ player }) => [player, new Map()]));
  const played = async (name: string, player: Player, i: number): Promise<Simulation> => {
    const before = known.get(player)!.get(i);
    if (before !== undefined) return before;
    await say(name, `size ${i + 1} of ${sizes.length}`);
    const now = playFastest(player, sizes[i]!, n, options.chunks, options.all === true ? 0 : WORTH);
    known.get(player)!.set(i, now);
    best[i] = Math.min(best[i]!, now.seconds);
    return now;
  };
  // The most promising at each size first: what it takes leaves out most of the others.
  if (options.all !== true)
    for (const i of ready.length === 0 ? [] : sizes.keys()) {
      const first = ready.reduce((a, b) => (b.least[i]! < a.least[i]! ? b : a), ready[0]!);
      await played(first.way.name, first.player, i);
    }
  for (const { way, schedule, player, least } of ready) {
    const [results, leftOut]: [Simulation[], Simulated["leftOut"][number][]] = [[], []];
    for (const [i, bytes] of sizes.entries()) {
      const isKnown = known.get(player)!.has(i);
      if (isKnown || options.all === true || least[i]! <= best[i]!) results.push(await played(way.name, player, i));
      else leftOut.push({ bytes, atLeast: least[i]! });
    }
    const { name, selected } = way;
    const row: Simulated = { name, file: selected.file, ranks: n, schedule, why: null, help: null, phases: player.count, sizes: results, leftOut }; // prettier-ignore
    done.set(way, row);
    progress.end();
    report?.row(row);
  }
  for (const row of done.values()) if (row.why !== null) report?.row(row);
  return ways.map((way) => done.get(way)!);
}

/** A way ready to be played, or why it cannot be. @throws Exit, with its diagnostics printed, for a wrong program */
function playerOf(
  io: Io,
  { name, known, selected }: Way,
  { n, machine, options, progress }: Asked,
): { player: Player; schedule: Schedule } | (Simulated & { why: string }) {
  const { file, text } = selected;
  const failed = (why: string, help: string | null = null): Simulated & { why: string } =>
    ({ name, file, ranks: n, schedule: null, why, help, phases: 0, sizes: [], leftOut: [] }); // prettier-ignore
  let said = Date.now();
  try {
    const { schedule, compiled } = scheduleProgram(text, {
      file,
      collective: selected.collective.name.text,
      ranks: n,
      dtype: dtypesFor(selected.collective, options.dtype),
      resolve: importsFromDisk,
      cluster: machine,
      known,
      progress: (ranks, all) => {
        if (Date.now() < said + PROGRESS_MS) return;
        said = Date.now();
        progress.now(`${name}, ${n} ranks: counted ${ranks} of ${all}`);
      },
    });
    if (hasErrors(compiled.diagnostics) && isExcluded(compiled.diagnostics))
      return failed(compiled.diagnostics.find((d) => d.severity === "error")!.message);
    if (schedule === null) {
      printDiagnostics(io, compiled.diagnostics, compiled.source);
      throw new Exit(exitCodes.program, wrongProgram(compiled.diagnostics, compiled.source));
    }
    return { player: new Player(schedule, machine), schedule };
  } catch (error) {
    if (error instanceof UsageError) return failed(error.message, error.help ?? null);
    throw error;
  }
}
