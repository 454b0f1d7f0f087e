/** One kernel through the pipeline: from a checked collective, or from another mapping of it, to what is printed and launched. */
import type { CheckedCollective } from "./check/checked.js";
import { showExtent } from "./check/extents.js";
import { type Diagnostic, diagnostic } from "./diagnostics/create.js";
import { InternalCompilerError } from "./diagnostics/ice.js";
import { emitCuda } from "./emit/cuda.js";
import { manifestOf, programOf, signatureOf } from "./emit/manifest.js";
import type { Kernel, Op } from "./ir/module.js";
import { walk } from "./ir/visit.js";
import type { Machine } from "./machine/machines.js";
import type { Manifest } from "./manifest.js";
import { checkMapping, type CompileOptions, DEFAULT_ARCH, machineOf, passOptions } from "./options.js";
import type { PassOptions } from "./passes/options.js";
import { PIPELINE } from "./passes/pipeline.js";
import { continuePasses, isReached, runPasses } from "./passes/runner.js";
import { OutOfReach, type Refusal } from "./passes/support/message-plans.js";
import { productWarnings } from "./passes/support/product-warnings.js";
import { fedSteps } from "./program/fed-products.js";
import { messageFloor } from "./program/message-floor.js";
import { messageProblems } from "./program/message-order.js";
import { type Candidate, choiceWith, type Outline, type Sketch } from "./program/plan.js";
import { besideProblems } from "./program/step-schedule.js";
import { beyondReach, type KernelStep, stepsOf, type Uncut } from "./program/steps.js";
import { SourceFile, type Span } from "./source.js";

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
  /** What is printed of it: its own text, or, where copy engines or messages have their part in it, those of the kernels between them. */
  readonly cuda: string | null;
  /** The program: kernels, and which of them a size takes. */
  readonly manifest: Manifest | null;
  /** The manifest's kernels, in its order. */
  readonly kernels: readonly PrintedKernel[];
  /** Names of the ways of doing it that the compiler chooses from; empty where the program says how it is done. */
  readonly ways: readonly string[];
  /** Each way that some size takes, as a program of its own. */
  readonly variants: readonly Variant[];
  /** Ways of doing it that were compared; those that no size takes are not among the variants. */
  readonly considered: readonly Variant[];
  /** The plan is the option `tuned`'s, and not the model's. */
  readonly isMeasured: boolean;
  readonly machine: Machine;
  readonly options: CompileOptions;
}

/** A kernel that is launched. */
export interface PrintedKernel {
  readonly kernel: Kernel;
  readonly cuda: string;
  /** Number of the variant that it belongs to. */
  readonly variant: number;
}

/** One way of doing it: as `compile` gives it with the option `variant`. */
export interface Variant {
  readonly name: string;
  readonly compiled: CompileResult;
}

/** What is known of a program before its kernels are made. */
export type Front = Pick<CompileResult, "diagnostics" | "source" | "checked" | "options">;

/** Bytes of the largest tensor that packets are tried for: their memory is that of all ranks' tensors, and more. */
const MOST_PACKET_BYTES = 2 ** 24;

/** A way as plans compare it, at device level: packets are for tensors whose memory they do not make too much of. */
export function candidateOf({ name, compiled }: Variant): Candidate {
  const candidate = { name, kernel: compiled.kernel!, steps: stepsOfResult(compiled) };
  return hasPackets(compiled.kernel!) ? { ...candidate, mostBytes: MOST_PACKET_BYTES } : candidate;
}

export function hasCopies(compiled: CompileResult): boolean {
  return stepsOfResult(compiled).some(({ kind }) => kind === "copy");
}

/** Sets of roles one after the other, beside packets: with a third one registers spill (76 bytes on sm_90a, 2026-11). */
const MOST_PRODUCTS = 2;

/** Ops of a kernel's own list that are, or hold, one of these. */
function countOf({ body }: Kernel, is: (op: Op) => boolean): number {
  return body.ops.filter((top) => {
    let found = false;
    walk({ arguments: [], ops: [top] }, (op) => void (found ||= is(op)));
    return found;
  }).length;
}

/**
 * Whether a way may have packets, as far as the first passes tell: there are some, and no row that threads share, beside which the registers do not hold them.
 * @param kernel as `fuse-rows` gives it
 */
export function mayHavePackets(kernel: Kernel): boolean {
  return hasPackets(kernel) && countOf(kernel, ({ attributes }) => attributes["map"] === "rows") === 0;
}

/** Whether packets are more than the registers hold beside what several products keep. */
export function fillsRegisters({ snapshots }: CompileResult): boolean {
  const tiled = snapshots.find(({ pass }) => pass === "tile-contractions");
  return tiled !== undefined && countOf(tiled.kernel, ({ name }) => name === "roles") > MOST_PRODUCTS;
}

function hasPackets(kernel: Kernel): boolean {
  return kernel.buffers.some(({ role }) => role === "packet");
}

/**
 * One kernel, through the pipeline.
 * @param name what it is called; the passes see the lowered kernel as it is, which several ways may share
 */
export function compiledOf(front: Front, lowered: Kernel, name = lowered.name): CompileResult {
  const { options, diagnostics } = front;
  const made: Snapshot[] = [];
  const { stopAfter, passLimit } = options;
  const unnamed = runUnlessRefused(made, (observe) =>
    runPasses(lowered, PIPELINE, passOptions(options), { stopAfter, passLimit, observe }),
  );
  if ("refusals" in unnamed) return refused(front, unnamed.refusals);
  const isNamed = name === lowered.name;
  const snapshots = isNamed ? made : made.map(({ pass, kernel: k }) => ({ pass, kernel: { ...k, name } }));
  const kernel = isNamed ? unnamed : { ...unnamed, name };
  return resultOf({ ...front, diagnostics: [...diagnostics, ...productWarnings(kernel)] }, snapshots, kernel);
}

/** A kernel as a pass gives it; what comes behind that pass is not run. */
export function kernelAfter(pass: string, { options }: Front, lowered: Kernel): Kernel {
  return runPasses(lowered, PIPELINE, passOptions(options), { stopAfter: pass });
}

/** A program of one way begun. */
export interface BegunWay extends Sketch {
  /** All of the way; see `compiledOf`. */
  readonly finished: () => CompileResult;
}

/** A way up to its messages, or the result that says why there is no program for ranks so far apart. */
export function begunWay(front: Front, lowered: Kernel): BegunWay | CompileResult {
  const { options } = front;
  const snapshots: Snapshot[] = [];
  const before = (pass: string): number => PIPELINE.findIndex(({ name }) => name === pass);
  const [first, next] = [before("overlap-messages"), before("derive-sync")];
  const kernel = runUnlessRefused(snapshots, (observe) =>
    runPasses(lowered, PIPELINE.slice(0, first), passOptions(options), { observe }),
  );
  if ("refusals" in kernel) return refused(front, kernel.refusals);
  let made: Outline | CompileResult | null = null;
  const outline = (): Outline | CompileResult => (made ??= outlineFrom(kernel));
  const outlineFrom = (begun: Kernel): Outline | CompileResult => {
    const observe = (pass: string, k: Kernel): void => void snapshots.push({ pass, kernel: k });
    const whole = continuePasses(begun, PIPELINE.slice(first, next), passOptions(options), { observe });
    const steps = stepsOf(whole, options) ?? [{ kind: "launch" as const, kernel: whole }];
    return "reason" in steps ? refused(front, [refusalOf(steps)]) : { kernel: whole, steps };
  };
  return {
    kernel,
    leastSeconds: messageFloor(kernel) ?? (() => 0),
    outline: () => {
      const known = outline();
      return "steps" in known ? known : null;
    },
    finished: () => {
      const known = outline();
      return "steps" in known ? finished({ front, snapshots, next }, productWarnings) : known;
    },
  };
}

/** The last kernel that passes give, or why there is no program for ranks so far apart. @param snapshots those of `run` are added */
function runUnlessRefused(
  snapshots: Snapshot[],
  run: (observe: (pass: string, kernel: Kernel) => void) => Kernel,
): Kernel | { readonly refusals: readonly Refusal[] } {
  try {
    const kernel = run((pass, k) => snapshots.push({ pass, kernel: k }));
    const uncut = uncutIn(snapshots);
    return uncut === null ? kernel : { refusals: [uncut] };
  } catch (error) {
    if (!(error instanceof OutOfReach)) throw error;
    return error;
  }
}

/** Messages that steps cannot be made of; null where there are none of them. */
function uncutIn(snapshots: readonly Snapshot[]): Refusal | null {
  const ordered = snapshots.find(({ pass }) => pass === "derive-sync")?.kernel;
  const isApart = ordered?.body.ops.some(({ name }) => name === "message") ?? false;
  const steps = isApart ? stepsOf(ordered!) : null;
  return steps === null || !("reason" in steps) ? null : refusalOf(steps);
}

function refusalOf({ reason, help, at }: Uncut): Refusal {
  const found = { span: at.span, kind: "store" as const, buffer: "", reason, messages: null, bytes: 0 };
  return help === undefined ? found : { ...found, help };
}

/** What to do where no loop was written: what was exchanged then lies as its layout says, and only what follows goes through it in another way. */
const KEPT_HELP =
  "keep what comes from other ranks in a scratch array with a layout, as in 'scratch t: T[…] sharded(0)' and 't = all_to_all(…)', and go on from 't'; or run it on ranks that share addresses";

/** Whether a place is in a statement on whole tensors, whose loops the compiler has made. */
function isInTensorStatement(span: Span, { checked }: Front): boolean {
  const found = checked!.syntax.body.find((s) => s.span.start <= span.start && span.end <= s.span.end);
  return found?.kind === "let" || (found?.kind === "assign" && found.indices === null && found.peer === null);
}

/** What a program is that ranks of several domains cannot run. */
function refused(front: Front, refusals: readonly Refusal[]): CompileResult {
  const found = refusals.map(({ span, kind, buffer, reason, messages, bytes, help, isOfRanks }) => {
    const isOfTensors = isInTensorStatement(span, front);
    const access = isOfTensors ? "what ranks exchange here" : `this ${kind} of '${buffer}'`;
    const what = buffer === "" ? "this program" : access;
    const cost = messages === null ? "an unknown number of messages" : `up to ${showExtent(messages)} messages`;
    const each = bytes === 0 ? "" : `; as it is written each rank would send ${cost} of ${bytes} bytes`;
    // Where the ranks are to change, the line is none to look at.
    const place = isOfRanks === true ? front.checked!.syntax.name.span : span;
    const instead = help ?? (isOfTensors ? KEPT_HELP : undefined);
    return diagnostic("out-of-reach", place, { what, reason: `${reason}${each}` }, instead === undefined ? {} : { help: instead }); // prettier-ignore
  });
  return {
    ...front,
    diagnostics: [...front.diagnostics, ...found],
    machine: machineOf(front.options),
    ...NOTHING_COMPILED,
  };
}

/** What there is of a program with errors. */
export const NOTHING_COMPILED = {
  snapshots: [],
  kernel: null,
  cuda: null,
  manifest: null,
  kernels: [],
  variants: [],
  considered: [],
  ways: [],
  isMeasured: false,
};

/** A kernel half-way through the pipeline, with what compiled it. */
interface HalfWay {
  readonly front: Front;
  readonly snapshots: readonly Snapshot[];
  /** Number of the pass to go on with. */
  readonly next: number;
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
  return compiled.checked === null
    ? { ...compiled, options: remapped(compiled, mapping) }
    : finished(halfWay(compiled, mapping));
}

/** Options with another mapping. Which way it is stays as it was. */
function remapped({ options }: CompileResult, mapping: Partial<PassOptions>): CompileOptions {
  const { algorithm, transfers, protocol, copies, ranksPerDomain } = passOptions(options);
  const kept = { algorithm, transfers, protocol, copies, ranksPerDomain };
  return { ...options, mapping: { ...kept, ...mapping } };
}

function halfWay(compiled: CompileResult, mapping: Partial<PassOptions>): HalfWay {
  const options = remapped(compiled, mapping);
  const { checked, source, diagnostics } = compiled;
  const [old, now] = [passOptions(compiled.options), passOptions(options)];
  const first = PIPELINE.findIndex((pass) => isReached(pass, old, now));
  const next = first < 0 ? PIPELINE.length : first;
  const kept = new Set(["lower", ...PIPELINE.slice(0, next).map((pass) => pass.name)]);
  const snapshots = compiled.snapshots.filter(({ pass }) => kept.has(pass));
  return { front: { diagnostics, source, checked, options }, snapshots, next };
}

/** @param warningsOf what is said of the kernel beside what `front` says already */
function finished(
  { front, snapshots: before, next }: HalfWay,
  warningsOf: (kernel: Kernel) => readonly Diagnostic[] = () => [],
): CompileResult {
  const snapshots = [...before];
  const kernel = runUnlessRefused(snapshots, (observe) =>
    continuePasses(before.at(-1)!.kernel, PIPELINE.slice(next), passOptions(front.options), { observe }),
  );
  if ("refusals" in kernel) return refused(front, kernel.refusals);
  return resultOf({ ...front, diagnostics: [...front.diagnostics, ...warningsOf(kernel)] }, snapshots, kernel);
}

/** A kernel up to where a mapping comes in, as plain data for another thread. See `packed`. */
export interface Packed extends Omit<HalfWay, "front"> {
  readonly front: Omit<Front, "source">;
  readonly files: SourceFile["files"];
  readonly nodes: SourceFile["nodes"];
}

/** What `unpacked` makes `withMapping(compiled, mapping)` of: in another thread, without parsing or checking anything again. */
export function packed(compiled: CompileResult, mapping: Partial<PassOptions>): Packed {
  const { front, ...rest } = halfWay(compiled, mapping);
  const { source, options, ...plain } = front;
  // Nothing is looked up any more.
  const { resolve: _, library: __, tuned: ___, ...chosen } = options;
  return { ...rest, front: { ...plain, options: chosen }, files: source.files, nodes: source.nodes };
}

export function unpacked({ front, files, nodes, ...rest }: Packed): CompileResult {
  return finished({ ...rest, front: { ...front, source: SourceFile.of(files, nodes) } });
}

/**
 * A program without errors, of one kernel. Its CUDA text and its manifest are made when somebody asks for them; properties of its
 * own all the same, so that a copy has them.
 * @param last what the last pass gave that ran
 */
function resultOf(front: Front, snapshots: readonly Snapshot[], last: Kernel): CompileResult {
  const kernel = last.level === "device" && snapshots.at(-1)!.pass === PIPELINE.at(-1)!.name ? last : null;
  const { options, source, checked } = front;
  let manifest: Manifest | null = null;
  let kernels: readonly PrintedKernel[] | null = null;
  const result: CompileResult = {
    ...front,
    snapshots,
    kernel,
    machine: machineOf(options),
    ways: [],
    isMeasured: false,
    get cuda() {
      return kernel === null ? null : result.kernels.map((k) => k.cuda).join("\n");
    },
    get manifest() {
      if (kernel === null) return null;
      const collective = checked!.syntax.name.text;
      return (manifest ??= { ...manifestWith(result), collective });
    },
    get kernels() {
      return (kernels ??= kernel === null ? [] : launchesIn(result).map((k) => printed(k, source)));
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

/** The kernel's text is printed when somebody asks. */
function printed(kernel: Kernel, source: SourceFile): PrintedKernel {
  let cuda: string | null = null;
  return {
    kernel,
    variant: 0,
    get cuda() {
      return (cuda ??= emitCuda(kernel, source));
    },
  };
}

const dividedResults = new WeakMap<Kernel, readonly KernelStep[]>();

/** What a program of one way does, step by step. */
export function stepsOfResult({ kernel, snapshots, options }: CompileResult): readonly KernelStep[] {
  let steps = dividedResults.get(kernel!);
  if (steps === undefined) {
    steps = dividedSteps(snapshots, options) ?? [{ kind: "launch", kernel: kernel! }];
    dividedResults.set(kernel!, steps);
  }
  return steps;
}

/** Steps with copy engines or messages, their kernels through the rest of the pipeline; null where one launch does it all. */
function dividedSteps(snapshots: readonly Snapshot[], options: CompileOptions): readonly KernelStep[] | null {
  const mapping = passOptions(options);
  const ordered = snapshots.find(({ pass }) => pass === "derive-sync");
  const steps = ordered === undefined ? null : (fedSteps(ordered.kernel, mapping) ?? stepsOf(ordered.kernel, options));
  if (steps === null || "reason" in steps) return null;
  const rest = PIPELINE.slice(PIPELINE.findIndex(({ name }) => name === "derive-sync") + 1);
  const [wrong] = [...messageProblems(Array.from({ length: options.ranks }, () => steps)), ...besideProblems(steps)];
  if (wrong !== undefined) throw new InternalCompilerError(`the messages of ${ordered!.kernel.name}: ${wrong}`);
  return steps.map((step) => {
    if (step.kind !== "launch") return step;
    const beyond = beyondReach(step.kernel);
    if (beyond !== null)
      throw new InternalCompilerError(`a ${beyond.name} of ${step.kernel.name} goes to a rank beyond its domain`);
    return { ...step, kernel: continuePasses(step.kernel, rest, mapping) };
  });
}

function launchesIn(compiled: CompileResult): readonly Kernel[] {
  return stepsOfResult(compiled).flatMap((step) => (step.kind === "launch" ? [step.kernel] : []));
}

/** The manifest of a program of one way. */
function manifestWith(compiled: CompileResult): Manifest {
  const arch = compiled.options.arch ?? DEFAULT_ARCH;
  const { kernel } = compiled;
  if (!stepsOfResult(compiled).some(({ kind }) => kind !== "launch")) return manifestOf(kernel!, arch);
  const { name } = kernel!;
  const choices = [choiceWith(null, 0, stepsOfResult(compiled))];
  return programOf(
    signatureOf(kernel!),
    launchesIn(compiled).map((k) => ({ kernel: k, name })),
    { by: 1, choices },
    arch,
  );
}
