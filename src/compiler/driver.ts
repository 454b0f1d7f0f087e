/** The compiler from end to end: text in; diagnostics, IR, CUDA text and manifest out. Pure. */
import { walkKernel } from "./ir/visit.js";
import { UsageError } from "../errors.js";
import type { Program } from "./ast/nodes.js";
import type { CheckedCollective } from "./check/checked.js";
import type { Diagnostic } from "./diagnostics/create.js";
import { emitCuda } from "./emit/cuda.js";
import { manifestOf, programOf, roundingsOf, signatureOf } from "./emit/manifest.js";
import { checkCollective, parseProgram } from "./front-end.js";
import type { Kernel } from "./ir/module.js";
import { lowerCollective } from "./lower/lower-collective.js";
import { predict } from "./machine/cost.js";
import type { Machine } from "./machine/machines.js";
import { launchesOf, type LibraryStep, type Manifest } from "./manifest.js";
import {
  checkDTypeVariables,
  checkMapping,
  checkOptions,
  type CompileOptions,
  DEFAULT_ARCH,
  machineOf,
  passOptions,
} from "./options.js";
import { openConversions } from "./passes/choose-algorithms.js";
import type { PassOptions } from "./passes/options.js";
import { PIPELINE } from "./passes/pipeline.js";
import { productWarnings } from "./passes/support/product-warnings.js";
import { continuePasses, type Pass, runPasses } from "./passes/runner.js";
import { everyVariable, libraryStepOf, NCCL_WAY, soleConversion, waysOf } from "./program/library.js";
import { type Candidate, dimsOf, planFrom, planOf, sizeOf, type TunedChoice } from "./program/plan.js";
import { shown } from "./rules.js";
import { SourceFile } from "./source.js";
import type { Extent } from "./types/extent.js";

/** The kernel after one pass, for looking into the compiler. */
export interface Snapshot {
  /** Pass that made it; `lower` for the kernel as it comes from the source. */
  readonly pass: string;
  readonly kernel: Kernel;
}

export interface CompileResult {
  /** Errors and warnings, in the order of their places. With an error, everything below is null or empty. */
  readonly diagnostics: readonly Diagnostic[];
  readonly source: SourceFile;
  readonly checked: CheckedCollective | null;
  readonly snapshots: readonly Snapshot[];
  /**
   * The kernel as it is printed; what the cpu backend executes. Of a program with several, that of the largest sizes, and
   * `variants` has all. Null when stopped before the device level.
   */
  readonly kernel: Kernel | null;
  readonly cuda: string | null;
  /** The program: kernels, and which of them a size takes. */
  readonly manifest: Manifest | null;
  /** Names of the ways of doing it that the compiler chooses from; empty where the program says how it is done. */
  readonly ways: readonly string[];
  /** Each of the manifest's kernels as a program of its own, in the manifest's order. */
  readonly variants: readonly Variant[];
  /** Ways of doing it that were compared; those that no size takes are not among the variants. */
  readonly considered: readonly Variant[];
  /** The plan is the option `tuned`'s, and not the model's. */
  readonly isMeasured: boolean;
  readonly machine: Machine;
  readonly options: CompileOptions;
}

/** One kernel of a program: as `compile` gives it with the option `variant`. */
export interface Variant {
  readonly name: string;
  readonly compiled: CompileResult;
}

/** What is known of a program before its kernels are made. */
type Front = Pick<CompileResult, "diagnostics" | "source" | "checked" | "options">;

/**
 * Compiles one collective of a Coll source text. A program that can do what it says in several ways has a kernel for each that is
 * the fastest at some size, by the model of the machine.
 *
 * @throws UsageError for options that are unknown or cannot be, such as a `variant` that the program does not have;
 *   InternalCompilerError for a bug in the compiler; faults of the program are diagnostics.
 */
export function compile(text: string, options: CompileOptions): CompileResult {
  if (typeof text !== "string") throw new UsageError(`a program is a text, not ${shown(text)}`);
  checkOptions(options);
  const source = new SourceFile(options.file ?? "<input>", text);
  return compileParsed(source, parseProgram(source), options);
}

/**
 * Compiles one collective of a syntax tree, wherever that comes from: a text's from the parser, a graph's from the graph.
 * @param source what the tree's spans point into
 */
export function compileParsed(
  source: SourceFile,
  parsed: { readonly program: Program; readonly diagnostics: readonly Diagnostic[] },
  options: CompileOptions,
): CompileResult {
  const machine = machineOf(options);
  const nothing = {
    snapshots: [],
    kernel: null,
    cuda: null,
    manifest: null,
    variants: [],
    considered: [],
    ways: [],
    isMeasured: false,
  };
  const failed = { options, source, machine, checked: null, ...nothing };
  if (parsed.diagnostics.some((d) => d.severity === "error")) return { ...failed, diagnostics: parsed.diagnostics };
  const named = parsed.program.collectives.filter((c) => [c.name.text, undefined].includes(options.collective));
  if (named.length === 1) checkDTypeVariables(named[0]!, options);
  const dtypes = typeof options.dtype === "string" ? everyVariable(options.dtype) : (options.dtype ?? {});
  const { checked, diagnostics } = checkCollective(parsed.program, options.collective, {
    world: options.ranks,
    dtypes,
    file: source,
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
    ...(options.mesh === undefined ? {} : { mesh: options.mesh }),
  });
  const all = [...parsed.diagnostics, ...diagnostics];
  if (checked === null || all.some((d) => d.severity === "error")) return { ...failed, diagnostics: all };
  const front = { diagnostics: all, source, checked, options };
  const lowered = lowerCollective(checked);
  // What stops on the way is looked at, not run.
  const isWhole = options.stopAfter === undefined && options.passLimit === undefined;
  const ways = isWhole ? waysToDo(lowered, front) : [];
  if (options.variant !== undefined) return only(options.variant, ways, front, lowered).compiled();
  return ways.length < 2
    ? (ways[0]?.compiled() ?? compiledOf(front, lowered))
    : programFrom(ways, front, measuredPlan(lowered, ways, options));
}

/** What was measured for what a kernel does. */
interface Measured {
  readonly choices: readonly TunedChoice[];
  /** What a choice of NCCL's own collective is; null where none does it. */
  readonly library: LibraryStep | null;
}

/** The plan that was measured for what the kernel does, or null. @throws UsageError for one of ways that are no more */
function measuredPlan(lowered: Kernel, ways: readonly WayToDo[], options: CompileOptions): Measured | null {
  const conversion = options.tuned === undefined || options.library === undefined ? null : soleConversion(lowered);
  if (conversion === null) return null;
  const choices = options.tuned!(conversion, lowered.inputs[0]!.dtype, lowered.world);
  if (choices === null) return null;
  const library = libraryStepOf(conversion, lowered);
  const isKnown = (way: string): boolean =>
    (way === NCCL_WAY && library !== null) || ways.some(({ name }) => name === way);
  const unknown = choices.find(({ way }) => !isKnown(way));
  if (unknown !== undefined)
    throw new UsageError(
      `the measured plan of ${conversion} takes ${unknown.way}, which there is not`,
      "run `collc tune` again",
    );
  return { choices, library };
}

interface WayToDo {
  readonly name: string;
  /** Compiles it, once. */
  readonly compiled: () => CompileResult;
  /** The way that this one is with another protocol; null for one of its own. */
  readonly base: string | null;
}

/** What a kernel is called whose transfers are packets, after the way that it does it in. */
const PACKETS = "packets";
/** Bytes of the largest tensor that packets are tried for: their memory is that of all ranks' tensors, and more. */
const MOST_PACKET_BYTES = 2 ** 22;

/** A way, and the same with packets; each is compiled once, when it is asked for. */
function both(name: string, kernel: Kernel, options: CompileOptions, front: Front): WayToDo[] {
  const one = (own: string, lowered: Kernel, mapping: Partial<PassOptions>, base: string | null): WayToDo => {
    let made: CompileResult | null = null;
    const chosen = { ...options, variant: own, mapping: { ...options.mapping, ...mapping } };
    return { name: own, base, compiled: () => (made ??= compiledOf({ ...front, options: chosen }, lowered)) };
  };
  const plain = one(name, kernel, {}, null);
  const { transfers, protocol } = options.mapping ?? {};
  if (kernel.world === 1 || transfers !== undefined || protocol !== undefined) return [plain];
  const packed = { ...kernel, name: `${kernel.name}_${PACKETS}` };
  return [plain, one(`${name}+${PACKETS}`, packed, { transfers: "staged", protocol: "packet" }, name)];
}

/** The ways that the compiler has to choose from; none where the program says how it is done. */
function waysToDo(lowered: Kernel, front: Front): WayToDo[] {
  const { options } = front;
  const conversion = options.library === undefined ? null : soleConversion(lowered);
  if (conversion !== null) {
    const ways = waysOf(lowered, conversion, options.library!, front.source, options.resolve).flatMap(
      ({ name, kernel }) => both(name, kernel, options, front),
    );
    if (ways.length > 0) return ways;
  }
  if (lowered.level !== "tensor" || openConversions(lowered).length === 0) return [];
  return (["one_shot", "two_shot"] as const).flatMap((algorithm) => {
    // The one for large sizes keeps the collective's name.
    const kernel = algorithm === "two_shot" ? lowered : { ...lowered, name: `${lowered.name}_${algorithm}` };
    return both(algorithm, kernel, { ...options, mapping: { ...options.mapping, algorithm } }, front);
  });
}

function only(name: string, ways: readonly WayToDo[], front: Front, lowered: Kernel): WayToDo {
  const found = ways.find((way) => way.name === name);
  if (found !== undefined) return found;
  if (name === lowered.name && ways.length === 0)
    return { name, base: null, compiled: () => compiledOf(front, lowered) };
  const known = ways.length === 0 ? lowered.name : ways.map((way) => way.name).join(", ");
  throw new UsageError(`${lowered.name} has no variant '${name}'`, `it has ${known}`);
}

/** Plans a program; the kernels are made when somebody asks. */
function programFrom(all: readonly WayToDo[], front: Front, tuned: Measured | null): CompileResult {
  // What was measured to be slower everywhere need not be compiled.
  const measured = tuned === null ? all : all.filter(({ name }) => tuned.choices.some(({ way }) => way === name));
  const ways = measured.length > 0 ? measured : all.slice(0, 1);
  const { options } = front;
  const machine = machineOf(options);
  let made: Omit<CompileResult, keyof Front | "machine" | "ways" | "isMeasured"> | null = null;
  const program = (): NonNullable<typeof made> => {
    if (made !== null) return made;
    const by = sizeOf(ways[0]!.compiled().kernel!);
    const compiledWays = (tuned === null ? promising(ways, by, machine) : ways).map(({ name, compiled }): Variant => {
      return { name, compiled: compiled() };
    });
    // What rounds on the way is for those who ask for it by name.
    const exact = compiledWays.filter(({ compiled }) => roundingsOf(compiled.kernel!).length === 0);
    const considered = exact.length > 0 ? exact : compiledWays;
    const candidates = considered.map(({ name, compiled }): Candidate => {
      const kernel = compiled.kernel!;
      return hasPackets(kernel) ? { name, kernel, mostBytes: MOST_PACKET_BYTES } : { name, kernel };
    });
    const { plan, used } =
      tuned === null ? planOf(candidates, by, machine) : planFrom(tuned.choices, candidates, by, tuned.library);
    const variants = used.map((u) => considered[candidates.indexOf(u)]!);
    const largest = variants[plan.choices.flatMap(launchesOf).at(-1)?.kernel ?? 0]!.compiled;
    const signature = { ...signatureOf(largest.kernel!), collective: front.checked!.syntax.name.text };
    const manifest = programOf(signature, used, plan, options.arch ?? DEFAULT_ARCH);
    const { kernel, snapshots } = largest;
    return (made = {
      kernel,
      snapshots,
      // Printed when somebody asks: tiles as small as those of proofs have no instructions.
      get cuda() {
        return largest.cuda;
      },
      manifest,
      variants,
      considered,
    });
  };
  return {
    ...front,
    // The ways differ in what moves, not in what is multiplied.
    diagnostics: (ways.findLast(({ base }) => base === null) ?? ways[0]!).compiled().diagnostics,
    machine,
    isMeasured: tuned !== null,
    ways: all.map(({ name }) => name),
    get kernel() {
      return program().kernel;
    },
    get snapshots() {
      return program().snapshots;
    },
    get cuda() {
      return program().cuda;
    },
    get manifest() {
      return program().manifest;
    },
    get variants() {
      return program().variants;
    },
    get considered() {
      return program().considered;
    },
  };
}

/** Short tensors, at which the ways that are worth packets are looked for. */
const SHORT = 512;
const MOST_PACKED = 2;

/** All ways, and with packets those that are the fastest without them where tensors are short: to compile all takes too long. */
function promising(ways: readonly WayToDo[], by: Extent, machine: Machine): readonly WayToDo[] {
  const plain = ways.filter(({ base }) => base === null);
  const times = plain.map(({ name, compiled }) => {
    const kernel = compiled().kernel!;
    return { name, seconds: predict(kernel, dimsOf(kernel, by, SHORT), machine).total };
  });
  const short = times.sort((a, b) => a.seconds - b.seconds).slice(0, MOST_PACKED);
  const packed = ways.filter(
    ({ base, compiled }) =>
      short.some(({ name }) => name === base) && hasPackets(compiled().kernel!) && !goesByRows(compiled()),
  );
  return [...plain, ...packed];
}

/** Whether threads share rows: what they hold of a row and of packets together is more than their registers. */
function goesByRows({ snapshots }: CompileResult): boolean {
  let found = false;
  for (const { pass, kernel } of snapshots)
    if (pass === "fuse-rows")
      walkKernel(kernel, (op) => (found ||= op.name === "for" && op.attributes["map"] === "rows"));
  return found;
}

function hasPackets(kernel: Kernel): boolean {
  return kernel.buffers.some(({ role }) => role === "packet");
}

/** One kernel, through the pipeline. */
function compiledOf(front: Front, lowered: Kernel): CompileResult {
  const { options } = front;
  const snapshots: Snapshot[] = [];
  const kernel = runPasses(lowered, PIPELINE, passOptions(options), {
    stopAfter: options.stopAfter,
    passLimit: options.passLimit,
    observe: (pass, k) => snapshots.push({ pass, kernel: k }),
  });
  return resultOf({ ...front, diagnostics: [...front.diagnostics, ...productWarnings(kernel)] }, snapshots, kernel);
}

/**
 * What `compile` gives for the same program and options with another mapping. The passes before the first that the
 * difference can reach are not run again.
 *
 * @param compiled of one kernel
 * @throws UsageError for a mapping that cannot be; RangeError for a compilation that was stopped on the way, and for a program of several kernels
 */
export function withMapping(compiled: CompileResult, mapping: Partial<PassOptions>): CompileResult {
  checkMapping(mapping);
  if (compiled.checked !== null && compiled.kernel === null)
    throw new RangeError("only what was compiled to the end can be mapped anew");
  if (compiled.variants.length > 1) throw new RangeError("a program of several kernels is mapped anew one by one");
  // Which way it is stays as it was.
  const { algorithm, transfers, protocol } = passOptions(compiled.options);
  const options: CompileOptions = { ...compiled.options, mapping: { algorithm, transfers, protocol, ...mapping } };
  const { checked, source, diagnostics } = compiled;
  if (checked === null) return { ...compiled, options };
  const [old, now] = [passOptions(compiled.options), passOptions(options)];
  const isReached = (pass: Pass): boolean => (pass.reads ?? []).some((name) => old[name] !== now[name]);
  const first = PIPELINE.findIndex(isReached);
  const [same, rest] = first < 0 ? [PIPELINE, []] : [PIPELINE.slice(0, first), PIPELINE.slice(first)];
  const kept = new Set(["lower", ...same.map((pass) => pass.name)]);
  const snapshots = compiled.snapshots.filter(({ pass }) => kept.has(pass));
  const kernel = continuePasses(snapshots.at(-1)!.kernel, rest, now, {
    observe: (pass, k) => snapshots.push({ pass, kernel: k }),
  });
  return resultOf({ diagnostics, source, checked, options }, snapshots, kernel);
}

/**
 * A program without errors, of one kernel. Its CUDA text and its manifest are made when somebody asks for them; properties of its
 * own all the same, so that a copy has them.
 * @param last what the last pass gave that ran
 */
function resultOf(front: Front, snapshots: readonly Snapshot[], last: Kernel): CompileResult {
  const kernel = last.level === "device" && snapshots.at(-1)!.pass === PIPELINE.at(-1)!.name ? last : null;
  const { options, source, checked } = front;
  let cuda: string | null = null;
  let manifest: Manifest | null = null;
  const result: CompileResult = {
    ...front,
    snapshots,
    kernel,
    machine: machineOf(options),
    ways: [],
    isMeasured: false,
    get cuda() {
      return kernel === null ? null : (cuda ??= emitCuda(kernel, source));
    },
    get manifest() {
      if (kernel === null) return null;
      const collective = checked!.syntax.name.text;
      return (manifest ??= { ...manifestOf(kernel, options.arch ?? DEFAULT_ARCH), collective });
    },
    get variants() {
      return kernel === null ? [] : [{ name: options.variant ?? kernel.name, compiled: result }];
    },
    get considered() {
      return result.variants;
    },
  };
  return result;
}
