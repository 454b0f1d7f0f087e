/** Options of a compilation, with their defaults. */
import { UsageError } from "../errors.js";
import type { Collective } from "./ast/nodes.js";
import { suggestion } from "./diagnostics/suggest.js";
import type { ResolveImport } from "./link/link.js";
import { architectureOf, ARCHITECTURES, isKnownArchitecture } from "./machine/architectures.js";
import type { Library } from "./program/library.js";
import type { Tuned } from "./program/plan.js";
import { type Machine, machineFor } from "./machine/machines.js";
import { EVERYBODY, isWhole, type Reach } from "./machine/reach.js";
import { PASS_OPTION_RULES, type PassOptions, passOptionsFor } from "./passes/options.js";
import { PIPELINE } from "./passes/pipeline.js";
import { callable, either, isRecord, oneOf, record, recordOf, type Rule, shown, text, wholeNumber } from "./rules.js";
import { DTYPE_NAMES, type DType, isDType } from "./types/dtype.js";

export interface CompileOptions {
  /** Name shown in diagnostics and comments; the file is not read. */
  readonly file?: string;
  /** Which collective of the file; may be left out when there is one. */
  readonly collective?: string;
  /** World size the kernel is compiled for, 1 or more. */
  readonly ranks: number;
  /** What dtype variables stand for, `{ T: "bf16" }`; a single dtype means every variable. */
  readonly dtype?: DType | Readonly<Record<string, DType>>;
  /** Finds imported files; see {@link ResolveImport}. Without it, imports are errors. */
  readonly resolve?: ResolveImport;
  /**
   * The library's files for a conversion such as `all_reduce`. With it, a body that is one conversion, `y = all_reduce(x)`, is
   * done by those of them that are the fastest; without it, by the compiler's own code for the conversion.
   */
  readonly library?: Library;
  /**
   * Plans as measured on the machine, in place of the model's; see {@link Tuned}. All ranks must be given the same: programs
   * that differ are refused when they are loaded.
   */
  readonly tuned?: Tuned;
  /** Takes one way of doing it at every size, of a program that has several: `all_reduce/two_shot`. */
  readonly variant?: string;
  /** Ranks along the axes of a mesh, `{ node: 2, gpu: 4 }`; those left out are as equal as can be. */
  readonly mesh?: Readonly<Record<string, number>>;
  /** Architecture of the cubin, such as `sm_90a`. Changes no semantics. */
  readonly arch?: string;
  /** What it is to run on; by default the machine of `MACHINES` that has the architecture and so many ranks. */
  readonly machine?: Machine;
  /** Which ranks share addresses; by default those that the machine's description says, or all. */
  readonly reach?: Reach;
  /** Whether messages may be broadcasts of the library that carries them, where the model says that these are faster; by default they may. */
  readonly broadcasts?: boolean;
  /**
   * Whether memory of `accumulator(T)`, which partial sums are kept in, is of T itself where that is a float: what ranks hand on is rounded
   * then, as NCCL's sums are, half as long for 16 bits, and its error larger. Sums themselves are computed as before. By default it is not.
   */
  readonly roundPartialSums?: boolean;
  /** Multiprocessors that a kernel may take at most, one a block: for work that shares the GPU with others. */
  readonly sms?: number;
  /** Knobs of the mapping to the machine. */
  readonly mapping?: Partial<PassOptions>;
  /** Stop after this pass; for looking into the compiler. */
  readonly stopAfter?: string;
  /** Run only the first N passes; for finding the one at fault. */
  readonly passLimit?: number;
}

export const DEFAULT_ARCH = "sm_90a";

/** Most ranks of a world that a kernel can be compiled for: each block of a kernel knows all of them. */
export const MAX_WORLD = 4096;

/** The architecture's name itself; whether the compiler of CUDA text knows it is NVRTC's to say. */
const architecture: Rule = (value) =>
  typeof value === "string" && /^(sm|compute)_\d{2,3}[af]?$/.test(value) && isKnownArchitecture(value)
    ? null
    : `an architecture such as ${ARCHITECTURES.map((a) => a.name).join(", ")}`;

const dtype = oneOf(DTYPE_NAMES);

const yesOrNo: Rule = (value) => (typeof value === "boolean" ? null : "true or false");

/** What each option may be: a row for each. */
const RULES: Readonly<Record<keyof CompileOptions, Rule>> = {
  file: text,
  collective: text,
  ranks: wholeNumber(1, MAX_WORLD),
  dtype: either(dtype, recordOf(dtype)),
  resolve: callable,
  library: callable,
  tuned: callable,
  variant: text,
  mesh: recordOf(wholeNumber(1, MAX_WORLD)),
  arch: architecture,
  machine: (value) =>
    isRecord(value) && architecture(value["arch"]) === null ? null : "one of MACHINES, or like them",
  reach: record({ ranksPerDomain: wholeNumber(1, EVERYBODY) }),
  broadcasts: yesOrNo,
  roundPartialSums: yesOrNo,
  sms: wholeNumber(1, 2 ** 16),
  mapping: (value) => (isRecord(value) ? null : "an object"),
  stopAfter: oneOf(["lower", ...PIPELINE.map((pass) => pass.name)]),
  passLimit: wholeNumber(0, PIPELINE.length),
};

/** @throws UsageError naming the first option that is unknown, missing, or not what it may be. */
export function checkOptions(options: CompileOptions): void {
  if (!isRecord(options))
    throw new UsageError(`options must be an object, not ${shown(options)}`, "give at least { ranks }");
  checkKeys(options, RULES, "option", ["ranks"]);
  if (options.mapping !== undefined) checkMapping(options.mapping);
}

/** The same for the mapping alone. @throws UsageError */
export function checkMapping(mapping: Partial<PassOptions>): void {
  checkKeys(mapping, PASS_OPTION_RULES, "mapping option", []);
}

function checkKeys(
  given: object,
  rules: Readonly<Record<string, Rule>>,
  kind: string,
  needed: readonly string[],
): void {
  for (const name of needed) {
    if (!Object.hasOwn(given, name))
      throw new UsageError(`the ${kind} '${name}' is missing`, `give it: { ${name}: … }`);
  }
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(rules, name)) {
      const known = Object.keys(rules);
      throw new UsageError(`there is no ${kind} '${name}'`, suggestion(name, known) ?? `${kind}s: ${known.join(", ")}`);
    }
    if (value === undefined && kind === "option" && !needed.includes(name)) continue; // as if it were not there
    const wrong = rules[name]!(value);
    if (wrong !== null) throw new UsageError(`the ${kind} '${name}' is ${shown(value)}; it must be ${wrong}`);
  }
}

/**
 * Dtypes for variables that the collective does not have would be left out in silence.
 * @throws UsageError
 */
export function checkDTypeVariables(collective: Collective, { dtype: given }: CompileOptions): void {
  if (typeof given !== "object") return;
  const variables = new Set(
    [...collective.inputs, ...collective.outputs].map((t) => t.dtype.name).filter((name) => !isDType(name)),
  );
  const unknown = Object.keys(given).find((name) => !variables.has(name));
  if (unknown === undefined) return;
  throw new UsageError(
    `${collective.name.text} has no dtype variable '${unknown}'`,
    suggestion(unknown, [...variables]) ??
      (variables.size === 0 ? "it has none: leave dtype out" : `it has ${[...variables].join(", ")}`),
  );
}

export function machineOf({ machine, arch, ranks }: CompileOptions): Machine {
  return machine ?? machineFor(arch ?? DEFAULT_ARCH, ranks);
}

/** Shared memory that a block of the tile of {@link passOptionsFor} takes, and a tile for architectures that have less. */
const LARGE_TILE_BYTES = 153 * 1024;
const SMALL_TILE: NonNullable<PassOptions["tile"]> = { m: 128, n: 128, k: 64, stages: 2 };

export function passOptions(options: CompileOptions): PassOptions {
  // Code for all devices of a generation has none of its own instructions, which roles are made of.
  const arch = options.arch ?? DEFAULT_ARCH;
  const hasRoles = arch.endsWith("a") && architectureOf(arch).hasWgmma;
  const tile = architectureOf(arch).blockSharedBytes < LARGE_TILE_BYTES ? { tile: SMALL_TILE } : {};
  const chosen = {
    ...passOptionsFor(machineOf(options)),
    ...tile,
    ...options.reach,
    ...options.mapping,
    ...(hasRoles ? {} : { roles: null }),
    ...(architectureOf(arch).hasAsyncCopies ? {} : { tile: null }),
    ...(architectureOf(arch).hasEarlyLaunch ? {} : { earlyLaunch: false }),
  };
  const { sms = Infinity } = options;
  const { elementBlocks, busyBlocks, tileBlocks } = chosen;
  // Between domains there are neither packets nor copy engines, and inside them transfers are as the messages leave them.
  const isApart = !isWhole(options.ranks, chosen);
  return {
    ...chosen,
    ...(isApart ? { transfers: "written" as const, protocol: "barrier" as const, copies: "blocks" as const } : {}),
    elementBlocks: Math.min(elementBlocks, sms),
    busyBlocks: Math.min(busyBlocks, sms),
    tileBlocks: Math.min(tileBlocks, sms),
    // Who leaves multiprocessors to others does not want blocks there that wait for their launch to begin.
    ...(sms === Infinity ? {} : { earlyLaunch: false }),
  };
}
