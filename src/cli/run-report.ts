/** The result of `collc run`, for people and for machines. */
import { DTYPES, isDType } from "../compiler/index.js";
import type { BackendName } from "../runtime/group.js";
import { bytes, duration, rangeBar, significant } from "../bench/format.js";
import { type Io, paletteOf } from "./io.js";

/** What `--json` prints; the order of the keys is part of it. */
export interface JsonResult {
  readonly collective: string;
  readonly ranks: number;
  readonly backend: BackendName;
  readonly dtype: string;
  readonly dims: Readonly<Record<string, number>>;
  /** Ranks of a host, where the program is for several; null where all ranks share addresses. */
  readonly ranksPerDomain: number | null;
  readonly correct: boolean;
  readonly maxError: number;
  /** The error that was allowed where the largest was seen. */
  readonly tolerance: number;
  /** The part of what was compared, from 0 to 1, of which nothing bounds the error at this data, so that nothing is said of it. */
  readonly unbounded: number;
  /** Outputs of which nothing is specified. */
  readonly unspecified: readonly string[];
  /** Elements that were compared, and how many there are. */
  readonly checked: number;
  readonly total: number;
  readonly firstMismatch: {
    readonly output: string;
    readonly rank: number;
    readonly index: number;
    readonly expected: number;
    readonly actual: number;
    readonly tolerance: number;
  } | null;
  readonly bitwiseEqualAcrossRanks: boolean | null;
  readonly timeUs: { readonly median: number; readonly min: number; readonly max: number } | null;
  readonly algorithmBandwidthGBs: number | null;
  readonly busBandwidthGBs: number | null;
}

interface Declared {
  readonly name: string;
  readonly dtype: string;
  readonly layout: string;
}

/** All that is known about a run; plain data, because ranks send it to their launcher. */
export interface RunResult extends JsonResult {
  readonly file: string;
  readonly inputs: readonly Declared[];
  readonly outputs: readonly Declared[];
  readonly algorithmBytes: number | null;
  /** Whether roundings of the program that the signature does not speak of were known of all elements. */
  readonly knowsRoundings: boolean;
  readonly samples: number;
}

const JSON_KEYS = [
  "collective",
  "ranks",
  "backend",
  "dtype",
  "dims",
  "ranksPerDomain",
  "correct",
  "maxError",
  "tolerance",
  "unbounded",
  "unspecified",
  "checked",
  "total",
  "firstMismatch",
  "bitwiseEqualAcrossRanks",
  "timeUs",
  "algorithmBandwidthGBs",
  "busBandwidthGBs",
] as const satisfies readonly (keyof JsonResult)[];

/** The object of `--json`. An infinite error is null, as JSON has it. */
export function toJsonResult(result: RunResult): JsonResult {
  return Object.fromEntries(JSON_KEYS.map((key) => [key, result[key]])) as unknown as JsonResult;
}

/** Prints the result; with `problemsOnly`, just what is wrong, on stderr. */
export function printResult(io: Io, result: RunResult, problemsOnly: boolean): void {
  const c = paletteOf(io.out, io.env);
  if (!problemsOnly) {
    const side = (tensors: readonly Declared[]): string =>
      tensors.map((t) => `${t.name}: ${c.cyan(t.layout)}`).join(", ");
    const row = (label: string, text: string): string => `  ${c.dim(label.padEnd(10))}${text}\n`;
    const gap = c.dim(" · ");
    io.out.write(`\n${c.bold(result.collective)}  ${side(result.inputs)} → ${side(result.outputs)}\n\n`);
    io.out.write(
      row(
        "ranks",
        [
          `${result.ranks}`,
          ...(result.ranksPerDomain === null ? [] : [`${result.ranksPerDomain} to a host, messages between hosts`]),
          result.backend === "cpu" ? "cpu, emulated in one process" : `${result.backend}, one process a rank`,
        ].join(gap),
      ),
    );
    const sizes = Object.entries(result.dims).map(([name, n]) => `${name}=${n}`);
    io.out.write(
      row(
        "sizes",
        [...sizes, result.dtype, ...(result.algorithmBytes === null ? [] : [bytes(result.algorithmBytes)])].join(gap),
      ),
    );
    io.out.write(row("result", verdict(result, c)));
    for (const line of notes(result)) io.out.write(row("", c.yellow(line)));
    if (result.timeUs !== null) {
      const { median, min, max } = result.timeUs;
      const samples = `${result.samples} sample${result.samples === 1 ? "" : "s"}`;
      const spread =
        result.samples > 1 ? `   ${duration(min)} ${c.dim(rangeBar(min, median, max))} ${duration(max)}` : "";
      io.out.write(row("time", `${c.bold(duration(median))}${spread}   ${c.dim(samples)}`));
    }
    if (result.algorithmBandwidthGBs !== null && result.busBandwidthGBs !== null) {
      const speed = (value: number): string => c.bold(`${significant(value, 3)} GB/s`);
      const caution = result.backend === "cpu" ? c.dim("   of the emulation: a GPU is another matter") : "";
      io.out.write(
        row(
          "bandwidth",
          `algorithm ${speed(result.algorithmBandwidthGBs)}${gap}bus ${speed(result.busBandwidthGBs)}${caution}`,
        ),
      );
    }
    io.out.write("\n");
  }
  printProblems(io, result);
}

function verdict(result: RunResult, c: ReturnType<typeof paletteOf>): string {
  const { total, checked, unspecified, outputs } = result;
  if (unspecified.length === outputs.length)
    return c.yellow("? ran to its end; nothing is specified to check it against");
  if (result.correct && result.unbounded === 1)
    return c.yellow("? ran to its end; nothing bounds the error of any element at this data");
  const mark = result.correct ? c.green(c.bold("✓ correct")) : c.red(c.bold("✗ wrong"));
  const error =
    result.maxError === 0
      ? "no error"
      : `largest error ${significant(result.maxError, 3)} (allowed there ${significant(result.tolerance, 3)})`;
  const equal =
    result.bitwiseEqualAcrossRanks === null
      ? ""
      : result.bitwiseEqualAcrossRanks
        ? ", bitwise equal on all ranks"
        : c.red(", ranks differ");
  const part = checked < total ? `, a sample of ${checked} of ${total} elements` : "";
  return `${mark}   ${error}${equal}${part}`;
}

function notes(result: RunResult): string[] {
  const { unspecified, outputs, unbounded } = result;
  const some = unspecified.length > 0 && unspecified.length < outputs.length;
  const part =
    unbounded > 0.9995 ? "nearly all" : unbounded < 0.0005 ? "a few" : `${significant(100 * unbounded, 2)} %`;
  return [
    ...(some ? [`nothing is specified of ${unspecified.join(", ")}`] : []),
    ...(unbounded > 0
      ? [`${part} of the elements may be anything at this data: a root or a power of what may be negative, or a divisor that may be 0`, "a condition keeps the data from it, such as `where v in 0..100`"] // prettier-ignore
      : []),
  ];
}

function printProblems(io: Io, result: RunResult): void {
  const c = paletteOf(io.err, io.env);
  const { firstMismatch: m } = result;
  if (m !== null) {
    io.err.write(
      `${c.red(c.bold("error:"))} wrong result, first on rank ${m.rank} at ${m.output}[${m.index}]: expected ${m.expected}, got ${m.actual} (allowed error ${significant(m.tolerance, 3)})\n`,
    );
    io.err.write(
      `${c.cyan(c.bold("help:"))} the index counts elements of the rank's own tensor; the same --seed and sizes give the same data again\n`,
    );
    const { dtype } = result.outputs.find(({ name }) => name === m.output)!;
    if (!result.knowsRoundings && isDType(dtype) && DTYPES[dtype].kind === "float")
      io.err.write(
        `${c.cyan(c.bold("help:"))} of tensors this long, roundings that the signature does not speak of, as through a narrower dtype, are known only where elements keep their places: give shorter ones with --dim to see whether they are all that is wrong\n`,
      );
  } else if (result.bitwiseEqualAcrossRanks === false) {
    io.err.write(`${c.red(c.bold("error:"))} the output is replicated, but ranks hold different bytes\n`);
  }
}
