/** Parsers of option values. What they throw, commander prints with the option's name, and exits with 2. */
import { InvalidArgumentError, Option } from "commander";
import { DEFAULT_ARCH, DTYPE_NAMES, type DType, isDType, parseReach, type PassOptions } from "../compiler/index.js";
import { parseMesh } from "./mesh.js";
import { suggestion } from "./suggest.js";

/** Most ranks of one run on one machine. */
export const maxRanks = 1024;

/** What dtype variables stand for: one dtype for all, or one each. */
export type DTypeChoice = DType | Readonly<Record<string, DType>>;

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = parseCount(text);
    if (value === null) throw new InvalidArgumentError(`'${text}' is not a whole number.`);
    if (value < min || value > max) throw new InvalidArgumentError(`It must be from ${min} to ${max}.`);
    return value;
  };
}

/** "1048576", "1_048_576", "64Ki", "1M" (2^20 each): whole numbers as people write sizes. Null when it is none. */
export function parseCount(text: string): number | null {
  const match = /^(\d[\d_]*)(?:([kKmMgG])(?:i?[bB]?|i))?$/.exec(text.trim());
  if (match === null) return null;
  const scale = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }[match[2]?.toLowerCase() ?? ""] ?? 1;
  const value = Number(match[1]!.replaceAll("_", "")) * scale;
  return Number.isSafeInteger(value) ? value : null;
}

/** "2,4,8"; what stands there twice is there once. */
export function listOf<T>(parse: (text: string) => T): (text: string) => T[] {
  return (text) => [...new Set(text.split(",").map((part) => parse(part.trim())))];
}

/** Seconds, fractions allowed, as milliseconds. */
export function seconds(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (!(value > 0 && value <= 86_400)) throw new InvalidArgumentError("It must be a number of seconds above 0.");
  return Math.max(1, Math.round(value * 1000));
}

/** "bf16", or "T=bf16,U=f32". */
export function parseDType(text: string): DTypeChoice {
  const single = (name: string): DType => {
    if (isDType(name)) return name;
    throw new InvalidArgumentError(`There is no dtype '${name}'; ${suggestion(name, DTYPE_NAMES, "dtypes")}`);
  };
  if (!text.includes("=")) return single(text);
  const entries = new Map<string, DType>();
  for (const part of text.split(",")) {
    const [variable, name] = part.split("=").map((s) => s.trim());
    if (!variable || name === undefined) throw new InvalidArgumentError("Write one dtype, or T=bf16,U=f32.");
    if (entries.has(variable)) throw new InvalidArgumentError(`'${variable}' stands there twice; give it one dtype.`);
    entries.set(variable, single(name));
  }
  return Object.fromEntries(entries);
}

/** "bf16,f32": the one and the other; "T=bf16,U=f32": one choice. Given several times, all of them. */
export function parseDTypes(text: string, previous: readonly DTypeChoice[] = []): DTypeChoice[] {
  const choices = text.includes("=") ? [parseDType(text)] : text.split(",").map((part) => parseDType(part.trim()));
  return [...previous, ...choices];
}

/** One dtype. */
export function parseSingleDType(text: string): DType {
  const choice = parseDType(text);
  if (typeof choice === "string") return choice;
  throw new InvalidArgumentError("Write one dtype.");
}

/** "sm_90a" */
export function parseArch(text: string): string {
  if (/^sm_\d{2,3}[af]?$/.test(text)) return text;
  throw new InvalidArgumentError("An architecture is written like sm_80, sm_90a or sm_100a.");
}

/** Collects `--dim n=4096 m=8`, `--dim n=4096 --dim m=8` and `--dim n=4096,m=8`. */
export function collectDims(text: string, previous: Readonly<Record<string, number>> = {}): Record<string, number> {
  const dims = { ...previous };
  for (const part of text.split(",")) {
    const [name, value] = part.split("=").map((s) => s.trim());
    const count = value === undefined ? null : parseCount(value);
    if (!name || count === null)
      throw new InvalidArgumentError(`'${part}' is not NAME=COUNT, as in n=1048576 or n=1M.`);
    dims[name] = count;
  }
  return dims;
}

/** Collects `--set eps=1e-5 step=3`, as `collectDims` does. */
export function collectNumbers(text: string, previous: Readonly<Record<string, number>> = {}): Record<string, number> {
  const numbers = { ...previous };
  for (const part of text.split(",")) {
    const [name, written] = part.split("=").map((s) => s.trim());
    const value = written === undefined || written === "" ? NaN : Number(written);
    if (!name || Number.isNaN(value)) throw new InvalidArgumentError(`'${part}' is not NAME=NUMBER, as in eps=1e-5.`);
    numbers[name] = value;
  }
  return numbers;
}

/** "2x4", which has to go with the ranks: see `reachOf`. */
function parseReachOption(text: string): string {
  if (parseReach(text) === null) throw new InvalidArgumentError("Write hosts x GPUs of each, as in 2x4.");
  return text;
}

/** Knobs of the mapping as JSON; what they may be is the compiler's to say. */
export function parseMapping(text: string): Partial<PassOptions> {
  const example = '{"transfers":"staged","protocol":"packet"}';
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Told below.
  }
  throw new InvalidArgumentError(`It must be a JSON object, such as ${example}.`);
}

/** Options that several commands share, so that they read the same everywhere. */
export const shared = {
  ranks: (about = "") =>
    new Option("-n, --ranks <n>", `number of ranks ${about}`.trimEnd()).argParser(wholeNumber(1, maxRanks)),
  rankList: (about = "") =>
    new Option("-n, --ranks <list>", `numbers of ranks, such as 2,4 ${about}`.trimEnd()).argParser(
      listOf(wholeNumber(1, maxRanks)),
    ),
  dtype: () =>
    new Option(
      "-t, --dtype <dtype>",
      `what dtype variables stand for: ${DTYPE_NAMES.join(", ")}, or T=f16,U=f32`,
    ).argParser(parseDType),
  mesh: () => new Option("--mesh <sizes>", "ranks along the axes of a mesh: 2x4, or node=2,gpu=4").argParser(parseMesh),
  reach: () =>
    new Option(
      "--reach <hosts x gpus>",
      "which ranks share addresses: 2x4 for 2 hosts of 4 GPUs (default: all, or COLLC_PRETEND_UNREACHABLE)",
    ).argParser(parseReachOption),
  sms: () =>
    new Option("--sms <n>", "multiprocessors that a kernel may take at most, for work beside it").argParser(
      wholeNumber(1, 2 ** 16),
    ),
  roundPartialSums: () =>
    new Option(
      "--round-partial-sums",
      "keep what accumulator(T) holds in T where that is a float, as NCCL does: less to send between hosts, larger errors",
    ),
  mapping: () =>
    new Option("--mapping <json>", "knobs of the mapping to the machine, as CompileOptions.mapping has them").argParser(
      parseMapping,
    ),
  arch: () => new Option("-a, --arch <arch>", "GPU architecture").argParser(parseArch).default(DEFAULT_ARCH),
};
