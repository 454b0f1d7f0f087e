/** Plans that `collc tune` has measured on this machine: a readable file in collc's cache folder. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MeasuredConversions } from "../compiler/graph/index.js";
import { type DType, type Machine, machinesOf, NCCL_WAY, type Tuned, type TunedChoice } from "../compiler/index.js";
import { libraryFromDisk } from "./imports.js";
import { cacheDirectory } from "./jit-cache.js";
import { writeOutput } from "./output-file.js";

/** The plan of one conversion, dtype and number of ranks. */
export interface TunedPlan {
  readonly conversion: string;
  readonly dtype: DType;
  readonly ranks: number;
  /** Digest of the library's files that were measured: of others, the plan says nothing. */
  readonly library: string;
  readonly choices: readonly TunedChoice[];
  /** Microseconds by size in elements, and way. */
  readonly measured: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** What the file holds. */
export interface TuneFile {
  readonly formatVersion: 1;
  readonly collcVersion: string;
  /** Name of the GPUs. */
  readonly machine: string;
  readonly date: string;
  readonly plans: readonly TunedPlan[];
}

export function tuneFilePath(): string {
  return join(cacheDirectory(), "tune.json");
}

/** Digest of the library's files for a conversion. */
export function libraryDigest(conversion: string): string {
  const files = libraryFromDisk(conversion);
  return createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 16);
}

/** The file, or null where there is none, or one that is no tune file of this format. */
export function readTuneFile(path = tuneFilePath()): TuneFile | null {
  if (!existsSync(path)) return null;
  try {
    const found = JSON.parse(readFileSync(path, "utf8")) as Partial<TuneFile>;
    return found.formatVersion === 1 && Array.isArray(found.plans) && found.plans.every(isPlan)
      ? (found as TuneFile)
      : null;
  } catch {
    return null;
  }
}

function isPlan(value: unknown): boolean {
  const plan = value as Partial<TunedPlan> | null;
  const choices = plan?.choices;
  if (!Array.isArray(choices) || choices.length === 0 || typeof plan?.conversion !== "string") return false;
  let last = 0;
  return (choices as Partial<TunedChoice>[]).every(({ below, way }, i) => {
    if (typeof way !== "string") return false;
    if (i === choices.length - 1) return below === null;
    const grows = Number.isSafeInteger(below) && below! > last;
    last = below ?? last;
    return grows;
  });
}

/** A way that is ahead by less than this part is not worth a kernel more. */
const WORTHWHILE = 0.02;

/** The fastest way by size; one stays until another is ahead of it by enough. Bounds lie between the sizes. */
export function choicesOf(measured: TunedPlan["measured"]): TunedChoice[] {
  const sizes = Object.keys(measured)
    .map(Number)
    .sort((a, b) => a - b);
  const choices: { below: number | null; way: string }[] = [];
  for (const [i, size] of sizes.entries()) {
    const times = measured[size]!;
    const [fastest] = Object.keys(times).sort((a, b) => times[a]! - times[b]!);
    const last = choices.at(-1);
    if (last !== undefined && times[last.way]! <= times[fastest!]! * (1 + WORTHWHILE)) continue;
    if (last !== undefined) last.below = Math.round(Math.sqrt(sizes[i - 1]! * size));
    choices.push({ below: null, way: fastest! });
  }
  return choices;
}

/** What was the fastest of some ways. */
function choicesAmong({ choices, measured }: TunedPlan, isTaken: (way: string) => boolean): readonly TunedChoice[] {
  if (choices.every(({ way }) => isTaken(way))) return choices;
  const own = (times: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(times).filter(([way]) => isTaken(way)));
  return choicesOf(Object.fromEntries(Object.entries(measured).map(([size, times]) => [size, own(times)])));
}

/** What plans may have besides kernels. */
interface TunedOptions {
  /** NCCL's own collectives, for groups on GPUs. Default: no. */
  readonly withLibraries?: boolean;
}

/** Measured plans, for the option `tuned` of a compilation; none for files of the library that have changed since. */
export function tunedFromDisk(path = tuneFilePath(), { withLibraries = false }: TunedOptions = {}): Tuned {
  let file: TuneFile | null | undefined;
  return (conversion, dtype, ranks) => {
    if (file === undefined) file = readTuneFile(path);
    return file === null ? null : choicesIn(file, takenBy({ withLibraries }), conversion, dtype, ranks);
  };
}

const takenBy =
  ({ withLibraries = false }: TunedOptions) =>
  (way: string): boolean =>
    withLibraries || way !== NCCL_WAY;

/** What was measured of a conversion, if its files of the library are still the same. */
function planIn({ plans }: TuneFile, conversion: string, dtype: DType, ranks: number): TunedPlan | null {
  const found = plans.find((p) => p.conversion === conversion && p.dtype === dtype && p.ranks === ranks);
  return found === undefined || found.library !== libraryDigest(conversion) ? null : found;
}

function choicesIn(
  file: TuneFile,
  isTaken: (way: string) => boolean,
  ...of: [conversion: string, dtype: DType, ranks: number]
): readonly TunedChoice[] | null {
  const found = planIn(file, ...of);
  return found === null ? null : choicesAmong(found, isTaken);
}

/**
 * What conversions by themselves took when they were measured, of collc's own ways; null where nobody has measured them on a machine's GPUs.
 */
export function conversionsFromDisk(
  { gpu }: Machine,
  { path = tuneFilePath(), ...options }: TunedOptions & { readonly path?: string } = {},
): MeasuredConversions | null {
  const file = readTuneFile(path);
  if (file === null || !machinesOf(file.machine).some((machine) => machine.gpu === gpu)) return null;
  const isTaken = takenBy(options);
  return {
    source: `${file.machine}, ${file.date.slice(0, 10)}, by collc tune`,
    tuned: (...of) => choicesIn(file, isTaken, ...of),
    seconds: (conversion, dtype, ranks, elements) => {
      const plan = planIn(file, conversion, dtype, ranks);
      if (plan === null) return null;
      const { way } = choicesAmong(plan, isTaken).find(({ below }) => below === null || elements < below)!;
      const [own, nccl] = [way, NCCL_WAY].map((name) => secondsAt(plan, name, elements));
      return own == null ? null : { own, nccl: nccl ?? null };
    },
  };
}

/**
 * Seconds of a way at a size: between two that were measured on a straight line of the logarithms, below the least what that takes, above
 * the greatest as much longer as the size is larger. Null where it was not measured.
 */
function secondsAt({ measured }: TunedPlan, way: string, elements: number): number | null {
  const points = Object.entries(measured)
    .flatMap(([size, times]) => (times[way] === undefined ? [] : [{ size: Number(size), us: times[way] }]))
    .sort((a, b) => a.size - b.size);
  const last = points.at(-1);
  if (last === undefined) return null;
  const next = points.findIndex(({ size }) => size >= elements);
  if (next === 0) return points[0]!.us * 1e-6;
  if (next < 0) return (last.us * 1e-6 * elements) / last.size;
  const [a, b] = [points[next - 1]!, points[next]!];
  const part = Math.log(elements / a.size) / Math.log(b.size / a.size);
  return a.us * (b.us / a.us) ** part * 1e-6;
}

/** Writes plans, and keeps those of other conversions, dtypes and numbers of ranks that were measured on the same machine. */
export async function saveTuned(path: string, file: TuneFile): Promise<void> {
  const before = readTuneFile(path);
  const isNew = (p: TunedPlan): boolean =>
    !file.plans.some((q) => q.conversion === p.conversion && q.dtype === p.dtype && q.ranks === p.ranks);
  const kept = before?.machine === file.machine ? before.plans.filter(isNew) : [];
  await writeOutput(path, JSON.stringify({ ...file, plans: [...kept, ...file.plans] }, null, 1) + "\n");
}
