/** `collc check`: what is wrong with a program, for every number of ranks that was asked for. */
import { Command, Option } from "commander";
import type { DimValues, Printable } from "../compiler/index.js";
import { exitCodes } from "../runtime/errors.js";
import { type Case, type CaseOptions, type Diagnosis, diagnose } from "./check-cases.js";
import { type FileReport, printReport, reportOf, reportToJson } from "./check-report.js";
import { type Asked, Inquirers } from "./check-workers.js";
import { hasErrors } from "./diagnostics.js";
import { examples } from "./examples.js";
import { Exit } from "./failure.js";
import type { Io } from "./io.js";
import { askedRanks, type MeshChoice } from "./mesh.js";
import { collectDims, type DTypeChoice, shared, wholeNumber } from "./options.js";
import { type Progress, withProgress } from "./progress.js";
import { DEFAULT_SCHEDULES, type Inquiry, type Job, namedFor, stepsLine } from "./proofs.js";
import { namedPrograms, type ProgramText, readProgram } from "./source-file.js";

const DEFAULT_RANKS: readonly number[] = [2, 4];

interface CheckOptions {
  readonly ranks?: readonly number[];
  readonly mesh?: MeshChoice;
  readonly reach?: string;
  readonly dtype?: DTypeChoice;
  readonly json?: boolean;
  readonly prove?: boolean;
  readonly schedules?: number;
  readonly seed?: number;
  readonly strict?: boolean;
  readonly dim?: DimValues;
  readonly roundPartialSums?: boolean;
}

/** The command, printing to `io`. */
export function checkCommand(io: Io): Command {
  return new Command("check")
    .description(
      "Report what is wrong with a program: compile it, prove its answer and its ordering, run it under hostile schedules. All of it is about the dtypes of --dtype (bf16 where it says none), as the lines on proofs say, and about no others.",
    )
    .usage("[options] <files...> [name]")
    .argument(
      "<files...>",
      "programs, folders of them, or - for standard input; behind one file, the name of a collective in it (default: all)",
    )
    .addOption(
      shared.rankList(`(default: ${DEFAULT_RANKS.join(",")}, with a mesh 6 as well; or those of --mesh or --reach)`),
    )
    .addOption(shared.dtype())
    .addOption(shared.mesh())
    .addOption(shared.reach())
    .addOption(shared.roundPartialSums())
    .addOption(
      new Option(
        "-d, --dim <name=n...>",
        "at these lengths only (default: some that take the kernel through its paths)",
      ).argParser(collectDims),
    )
    .addOption(
      new Option(
        "--schedules <k>",
        `hostile schedules to run on emulated ranks (default: ${DEFAULT_SCHEDULES})`,
      ).argParser(wholeNumber(0, 1_000_000)),
    )
    .addOption(
      new Option(
        "--seed <s>",
        "of the data of proofs and of the first schedule; other schedules count up from it (default: 0)",
      ).argParser(wholeNumber(0, 2 ** 31 - 1)),
    )
    .addOption(new Option("--prove", "prove, which is the default").hideHelp())
    .option("--no-prove", "compile only, without proofs and schedules")
    .option("--strict", "what cannot be proved counts as wrong")
    .option("--json", "print an array of diagnostics")
    .addHelpText(
      "after",
      examples(
        ["collc check my.coll", "all collectives of a file"],
        ["collc check my.coll ring --ranks 1,3,8", "one of them, for worlds of 1, 3 and 8"],
        ["collc check my.coll --ranks 2 --dim n=100", "proofs at one shape"],
        ["collc check my.coll --schedules 1000 --seed 7", "many hostile schedules"],
        ["collc check my.coll --mesh 2x4", "a collective with a mesh, on 8 ranks"],
        ["collc check my.coll --ranks 4 --reach 2x2", "as two hosts of two GPUs run it"],
        ["collc check kernels --ranks 2,4,8", "all programs of a folder"],
        ["collc check *.coll kernels/*/ring.coll", "several files"],
        ["collc check my.coll --json", "for editors and build systems"],
      ),
    )
    .action((given: string[], options: CheckOptions) =>
      withProgress(io, (progress) => check(io, progress, given, options)),
    );
}

async function check(io: Io, progress: Progress, given: readonly string[], options: CheckOptions): Promise<void> {
  const { files, name } = namedPrograms(given, io);
  const programs = files.map((file) => readProgram(file, io));
  const start = performance.now();
  const onStart = ({ request }: Job): void => {
    const text = `checking ${request.collective} on ${request.ranks} rank${request.ranks === 1 ? "" : "s"}`;
    // The proof keeps the event loop, so no timer can show the line later.
    if (performance.now() - start > 500) progress.now(text);
  };
  const onReport = (report: FileReport): void => {
    if (options.json === true) return;
    progress.end();
    printReport(io, report, options.seed ?? 0);
  };
  const reports = await withInquirers(options, onStart, async (inquirers) => {
    if (programs.length > 1) return reportsOfMany(programs, options, inquirers, onReport);
    const report = await reportOfOne(programs[0]!, name, options, inquirers);
    onReport(report);
    return [report];
  });
  progress.end();
  if (options.json === true) io.out.write(JSON.stringify(reports.flatMap(reportToJson), null, 2) + "\n");
  const isBad = (f: Printable): boolean => f.severity === "error" || options.strict === true;
  const hasBad = ({ diagnosis, findings }: FileReport): boolean =>
    hasErrors(diagnosis.diagnostics) || findings.slice(diagnosis.diagnostics.length).some(isBad);
  if (reports.some(hasBad)) throw new Exit(exitCodes.program);
}

/** @param action is given null where nothing is asked beyond compiling */
async function withInquirers<T>(
  options: CheckOptions,
  onStart: (job: Job) => void,
  action: (inquirers: Inquirers | null) => Promise<T>,
): Promise<T> {
  const inquirers = options.prove === false && options.schedules === undefined ? null : new Inquirers(onStart);
  try {
    return await action(inquirers);
  } finally {
    await inquirers?.close();
  }
}

async function reportOfOne(
  program: ProgramText,
  name: string | undefined,
  options: CheckOptions,
  inquirers: Inquirers | null,
): Promise<FileReport> {
  const begun = new Map<Case, Promise<Inquiry>>();
  const onWorld = (cases: readonly Case[], about: number): void => {
    if (inquirers === null || about <= inquirers.few) return;
    for (const one of cases) {
      const inquiry = inquirers.ahead(askedOf(one, options));
      inquiry?.catch(() => {}); // told below, if anybody asks
      if (inquiry !== null) begun.set(one, inquiry);
    }
  };
  const diagnosis = diagnose(program, name, { ...caseOptions(options), onWorld });
  if (inquirers === null || !isAsked(diagnosis, options)) return reportOf(diagnosis, []);
  const later = diagnosis.cases.filter((one) => !begun.has(one));
  const inquiries = await inquirers.answer(later.map((one) => askedOf(one, options)));
  const found = diagnosis.cases.map((one) => begun.get(one) ?? inquiries[later.indexOf(one)]!);
  return reportOf(diagnosis, await Promise.all(found));
}

/**
 * While one program is compiled, threads prove those before it.
 * @param onReport told of each as soon as it and all before it are done
 */
async function reportsOfMany(
  programs: readonly ProgramText[],
  options: CheckOptions,
  inquirers: Inquirers | null,
  onReport: (report: FileReport) => void,
): Promise<FileReport[]> {
  const reports: Promise<FileReport>[] = [];
  let told = Promise.resolve();
  for (const program of programs) {
    const { cases, ...rest } = diagnose(program, undefined, { ...caseOptions(options), isOneOfMany: true });
    const asked = isAsked({ ...rest, cases }, options) ? cases : [];
    const inquiries = inquirers === null ? [] : asked.map((one) => inquirers.inquire(askedOf(one, options)));
    // Without the cases: what is compiled of all programs would fill the memory.
    const report = Promise.all(inquiries).then((found) => reportOf({ ...rest, cases: [] }, found));
    report.catch(() => {}); // told below, where it is waited for
    reports.push(report);
    told = told.then(async () => onReport(await report));
    told.catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
  }
  await told;
  return Promise.all(reports);
}

function caseOptions({ ranks, dtype, mesh, reach, dim, roundPartialSums }: CheckOptions): CaseOptions {
  const total = askedRanks({ mesh, reach });
  // Hosts have so many GPUs: there is no other mesh of them to add.
  const mayAddMesh = ranks === undefined && total === undefined;
  return {
    ranks: ranks ?? (total === undefined ? DEFAULT_RANKS : [total]),
    mayAddMesh,
    dtype,
    mesh,
    reach,
    roundPartialSums,
    dims: dim,
  };
}

/** Whether there is anything to prove and run: nothing where the file is wrong already. */
function isAsked({ diagnostics }: Diagnosis, { prove, schedules }: CheckOptions): boolean {
  return !hasErrors(diagnostics) && (prove !== false || schedules !== undefined);
}

/** What to prove and run of a case. */
function askedOf({ residency, compiled, ...request }: Case, options: CheckOptions): Asked {
  const { seed = 0 } = options;
  const asked = options.schedules ?? (options.seed === undefined ? null : DEFAULT_SCHEDULES);
  const schedule = asked === null ? null : { schedules: asked, seed };
  const named = request.dims === undefined ? namedFor(compiled) : null;
  const steps = stepsLine(compiled);
  return {
    compiled: named ?? compiled,
    job: { residency, steps, isNamed: named !== null, request, proves: options.prove !== false, seed, schedule },
  };
}
