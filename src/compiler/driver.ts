/** The compiler from end to end: text in; diagnostics, IR, CUDA text and manifest out. Pure. */
import { UsageError } from "../errors.js";
import type { Program } from "./ast/nodes.js";
import {
  type BegunWay,
  begunWay,
  candidateOf,
  compiledOf,
  type CompileResult,
  type Front,
  fillsRegisters,
  hasCopies,
  kernelAfter,
  mayHavePackets,
  NOTHING_COMPILED,
  type PrintedKernel,
  type Variant,
} from "./compiled.js";
import type { Diagnostic } from "./diagnostics/create.js";
import { programOf, roundingsOf, signatureOf } from "./emit/manifest.js";
import { checkOne } from "./check/check-collective.js";
import type { CheckedCollective } from "./check/checked.js";
import { checkCollective, parseProgram } from "./front-end.js";
import type { Kernel } from "./ir/module.js";
import { walk } from "./ir/visit.js";
import { lowerCollective } from "./lower/lower-collective.js";
import type { Machine } from "./machine/machines.js";
import { isWhole } from "./machine/reach.js";
import { launchesOf } from "./manifest.js";
import type { LibraryStep } from "./manifest-steps.js";
import { nameLengths } from "./link/named-lengths.js";
import {
  checkDTypeVariables,
  checkOptions,
  type CompileOptions,
  DEFAULT_ARCH,
  machineOf,
  passOptions,
} from "./options.js";
import { canBeHierarchical, openConversions } from "./passes/choose-algorithms.js";
import type { PassOptions } from "./passes/options.js";
import {
  everyVariable,
  libraryStepOf,
  NCCL_WAY,
  isConversionInPlace,
  soleConversion,
  waysOf,
} from "./program/library.js";
import { type Candidate, dimsOf, planFrom, planOf, secondsOf, sizeOf, type TunedChoice } from "./program/plan.js";
import { shown } from "./rules.js";
import { SourceFile } from "./source.js";
import { type Extent, productOf } from "./types/extent.js";

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
  const failed = { options, source, machine, checked: null, ...NOTHING_COMPILED };
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
    roundPartialSums: options.roundPartialSums,
  });
  const all = [...parsed.diagnostics, ...diagnostics];
  if (checked === null || all.some((d) => d.severity === "error")) return { ...failed, diagnostics: all };
  return compileChecked({ diagnostics: all, source, checked, options }, checked);
}

/**
 * The same program with a dimension for each long length that is a number, which a condition holds to that number; see
 * {@link nameLengths}. Null where there is none, and where the program is not one of any other length.
 * @param compiled one kernel, with no mapping of its own, and the lookups of imports and of the library that it was compiled with
 */
export function withNamedLengths(compiled: CompileResult): CompileResult | null {
  const { checked, options } = compiled;
  const syntax = checked === null ? null : nameLengths(checked.syntax);
  if (checked === null || syntax === null) return null;
  const { world, dtypes, mesh } = checked;
  const named = checkOne(syntax, world, dtypes, mesh, options.roundPartialSums).checked;
  if (named === null) return null;
  const { source, diagnostics } = compiled;
  // What a way adds to the mapping, it adds again.
  const { transfers: _, protocol: __, copies: ___, algorithm: ____, ...mapping } = options.mapping ?? {};
  const made = compileChecked({ source, diagnostics, options: { ...options, mapping }, checked: named }, named);
  return made.kernel === null ? null : made;
}

function compileChecked(front: Front, checked: CheckedCollective): CompileResult {
  const { options } = front;
  const lowered = lowerCollective(checked);
  // What stops on the way is looked at, not run: nothing is chosen for it, but it may be one of the ways.
  const isToTheEnd = options.stopAfter === undefined && options.passLimit === undefined;
  const ways = isToTheEnd || options.variant !== undefined ? possible(waysToDo(lowered, front), lowered, options) : [];
  if (options.variant !== undefined) return only(options.variant, ways, front, lowered).compiled();
  return ways.length < 2
    ? (ways[0]?.compiled() ?? compiledOf(front, lowered))
    : programFrom(ways, front, lowered, isApart(options) ? null : measuredPlan(lowered, ways, options));
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
  // What is measured has an output of its own, and ways that do nothing in place.
  if (conversion === null || isConversionInPlace(lowered)) return null;
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

/** Whether some ranks share no addresses: what was measured where all do says nothing of messages. */
function isApart(options: CompileOptions): boolean {
  return !isWhole(options.ranks, passOptions(options));
}

/** Sizes of a mesh whose rows are domains; null where all ranks share addresses, or some have fewer than others. */
function domainsOf(options: CompileOptions): readonly number[] | null {
  const { ranksPerDomain } = passOptions(options);
  return isApart(options) && options.ranks % ranksPerDomain === 0
    ? [options.ranks / ranksPerDomain, ranksPerDomain]
    : null;
}

/** Ways that ranks of several domains can do it in, or the first, which then says why it cannot. */
function possible(ways: readonly WayToDo[], lowered: Kernel, options: CompileOptions): readonly WayToDo[] {
  // What loops that somebody wrote keep across messages is seen when a way is finished.
  const hasLoops = lowered.body.ops.some(({ regions }) => regions.length > 0);
  const isPossible = ({ begun, compiled }: WayToDo): boolean =>
    begun() !== null && (!hasLoops || compiled().kernel !== null);
  const left = isApart(options) ? ways.filter(isPossible) : ways;
  return left.length > 0 ? left : ways.slice(0, 1);
}

interface WayToDo {
  readonly name: string;
  /** Compiles it, once. */
  readonly compiled: () => CompileResult;
  /** The kernel as a pass gives it, where ranks share addresses. */
  readonly after: (pass: string) => Kernel;
  /** The same as far as its messages, where ranks are apart; null where they are not, and where it cannot be done. */
  readonly begun: () => BegunWay | null;
  /** The way that this one is with another protocol; null for one of its own. */
  readonly base: string | null;
}

/** What a kernel is called whose transfers are packets, and one whose copies are the engines', after the way that it does it in. */
const PACKETS = "packets";
const COPIES = "copies";
/** Whether a way of this name has steps that copy engines carry out. */
function usesCopyEngines(way: string): boolean {
  return way.endsWith(`+${COPIES}`);
}

/** A way, the same with packets, and with copy engines; each is compiled once, when it is asked for. */
function variations(name: string, kernel: Kernel, options: CompileOptions, front: Front): WayToDo[] {
  const one = (own: string, suffix: string, mapping: Partial<PassOptions>, base: string | null): WayToDo => {
    let made: CompileResult | null = null;
    let first: BegunWay | CompileResult | null = null;
    const chosen = { ...front, options: { ...options, variant: own, mapping: { ...options.mapping, ...mapping } } };
    const begun = (): BegunWay | CompileResult => (first ??= begunWay(chosen, kernel));
    const compiled = (): CompileResult => {
      if (!isApart(options)) return compiledOf(chosen, kernel, `${kernel.name}${suffix}`);
      const known = begun();
      return "finished" in known ? known.finished() : known;
    };
    return {
      ...{ name: own, base, compiled: () => (made ??= compiled()) },
      after: (pass) => kernelAfter(pass, chosen, kernel),
      begun: () => {
        const known = isApart(options) ? begun() : null;
        return known !== null && "finished" in known ? known : null;
      },
    };
  };
  const plain = one(name, "", {}, null);
  const { transfers, protocol, copies } = options.mapping ?? {};
  if (
    kernel.world === 1 ||
    isApart(options) ||
    transfers !== undefined ||
    protocol !== undefined ||
    copies !== undefined
  )
    return [plain];
  const packets = one(`${name}+${PACKETS}`, `_${PACKETS}`, { transfers: "staged", protocol: "packet" }, name);
  return [plain, packets, one(`${name}+${COPIES}`, `_${COPIES}`, { copies: "engine" }, name)];
}

/** The ways that the compiler has to choose from; none where the program says how it is done. */
function waysToDo(lowered: Kernel, front: Front): WayToDo[] {
  const { options } = front;
  const conversion = options.library === undefined ? null : soleConversion(lowered);
  const library =
    conversion === null
      ? []
      : waysOf(lowered, conversion, options.library!, front.source, {
          domains: domainsOf(options),
          ...options,
        }).flatMap(({ name, kernel }) => variations(name, kernel, options, front));
  const isInPlace = isConversionInPlace(lowered);
  if (lowered.level !== "tensor" || (library.length > 0 && !isInPlace)) return library;
  // In place, the compiler's own ways keep what is still read, which most of the library's would have changed.
  const isOpen = openConversions(lowered).length > 0;
  const { ranksPerDomain } = passOptions(options);
  const inParts = canBeHierarchical(lowered, ranksPerDomain) ? (["hierarchical"] as const) : [];
  const whole = isOpen ? (["one_shot", "two_shot"] as const) : isInPlace ? (["one_shot"] as const) : inParts.length > 0 ? (["two_shot"] as const) : []; // prettier-ignore
  const own = [...whole, ...inParts];
  // Where there is one order of steps, what moves may still go as packets. Engines would cut a kernel in which it moves beside other work.
  if (own.length === 0 && lowered.body.ops.some(({ name }) => name === "convert"))
    return variations(lowered.name, lowered, options, front).filter(({ name }) => !usesCopyEngines(name));
  return [
    ...library,
    ...own.flatMap((algorithm) => {
      // The one for large sizes keeps the collective's name.
      const isNamed = algorithm === "hierarchical" || (isOpen && algorithm === "one_shot");
      const kernel = isNamed ? { ...lowered, name: `${lowered.name}_${algorithm}` } : lowered;
      return variations(algorithm, kernel, { ...options, mapping: { ...options.mapping, algorithm } }, front);
    }),
  ];
}

function only(name: string, ways: readonly WayToDo[], front: Front, lowered: Kernel): Pick<WayToDo, "compiled"> {
  const found = ways.find((way) => way.name === name);
  if (found !== undefined) return found;
  if (name === lowered.name && ways.length === 0) return { compiled: () => compiledOf(front, lowered) };
  const known = ways.length === 0 ? lowered.name : ways.map((way) => way.name).join(", ");
  throw new UsageError(`${lowered.name} has no variant '${name}'`, `it has ${known}`);
}

/**
 * Elements that move, where a program multiplies: its result says nothing of how many are gathered, and the ways differ in those.
 * Null for other programs, and for those that convert what has no extent.
 */
function movedElements({ body: { ops } }: Kernel): Extent | null {
  const type = ops.find(({ name }) => name === "convert")?.results[0]?.type;
  const isProduct = ops.some(({ name }) => name === "matmul");
  return isProduct && type?.kind === "tensor" ? productOf(type.shape) : null;
}

/** A way as plans compare it. Where ranks are apart it is compiled when its time or its kernels are asked for. */
function lazyCandidate({ name, compiled, begun }: WayToDo, made: (variant: Variant) => void): Candidate {
  let known: Candidate | null = null;
  const candidate = (): Candidate => {
    if (known !== null) return known;
    const variant = { name, compiled: compiled() };
    made(variant);
    return (known = candidateOf(variant));
  };
  const sketch = begun();
  if (sketch === null) return candidate();
  return {
    ...{ name, sketch },
    get kernel() {
      return candidate().kernel;
    },
    get steps() {
      return candidate().steps;
    },
  };
}

/** Plans a program; the kernels are made when somebody asks. */
function programFrom(all: readonly WayToDo[], front: Front, lowered: Kernel, tuned: Measured | null): CompileResult {
  // What was measured to be slower everywhere need not be compiled.
  const measured = tuned === null ? all : all.filter(({ name }) => tuned.choices.some(({ way }) => way === name));
  const ways = measured.length > 0 ? measured : all.slice(0, 1);
  const { options } = front;
  const machine = machineOf(options);
  let made: Omit<CompileResult, keyof Front | "machine" | "ways" | "isMeasured"> | null = null;
  const program = (): NonNullable<typeof made> => {
    if (made !== null) return made;
    const by = movedElements(lowered) ?? sizeOf(ways[0]!.begun()?.kernel ?? ways[0]!.compiled().kernel!);
    const taken = tuned === null ? promising(ways, by, machine) : ways;
    // What rounds on the way is for those who ask for it by name.
    const isExact = ({ begun, compiled }: WayToDo): boolean =>
      roundingsOf(begun()?.kernel ?? compiled().kernel!).length === 0;
    const exact = taken.filter(isExact);
    const offered = exact.length > 0 ? exact : taken;
    const variantOf = new Map<WayToDo, Variant>();
    const candidates = offered.map((way) => lazyCandidate(way, (variant) => void variantOf.set(way, variant)));
    const { plan, used } =
      tuned === null ? planOf(candidates, by, machine) : planFrom(tuned.choices, candidates, by, tuned.library);
    const considered = offered.flatMap((way) => variantOf.get(way) ?? []);
    const variants = used.map((u) => variantOf.get(offered[candidates.indexOf(u)]!)!);
    const kernels = variants.flatMap(({ compiled }, variant) => compiled.kernels.map((k) => numbered(k, variant)));
    const last = plan.choices.flatMap(launchesOf).at(-1);
    const largest = variants[last === undefined ? 0 : kernels[last.kernel]!.variant]!.compiled;
    const signature = { ...signatureOf(largest.kernel!), collective: front.checked!.syntax.name.text };
    const named = variants.flatMap(({ name, compiled }) =>
      compiled.kernels.map(({ kernel: k }) => ({ kernel: k, name })),
    );
    const manifest = programOf(signature, named, plan, options.arch ?? DEFAULT_ARCH);
    const { kernel, snapshots } = largest;
    return (made = {
      kernel,
      snapshots,
      // Printed when somebody asks: tiles as small as those of proofs have no instructions.
      get cuda() {
        return largest.cuda;
      },
      manifest,
      kernels,
      variants,
      considered,
    });
  };
  return {
    ...front,
    // The ways differ in what moves, not in what is multiplied.
    diagnostics: diagnosticsOf(ways.findLast(({ base }) => base === null) ?? ways[0]!, front),
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
    get kernels() {
      return program().kernels;
    },
    get variants() {
      return program().variants;
    },
    get considered() {
      return program().considered;
    },
  };
}

/** What is said of a way. It is finished for that only where it multiplies: then it is seen there what multiplies. */
function diagnosticsOf({ begun, compiled }: WayToDo, front: Front): readonly Diagnostic[] {
  const body = begun()?.kernel.body ?? null;
  let isProduct = false;
  if (body !== null) walk(body, ({ name }) => void (isProduct ||= name === "contract"));
  return body !== null && !isProduct ? front.diagnostics : compiled().diagnostics;
}

/** Elements of tensors at which the ways that are worth packets are looked for, and those that are worth copy engines. */
const SHORT = 512;
const LONG = 2 ** 26;
const MOST_PACKED = 2;
/** As fast as the last of them: one of both may be faster of longer tensors. */
const AS_FAST = 1.02;
/** In place there are the compiler's own ways, too, whose packets keep what others still read. */
const MOST_PACKED_IN_PLACE = 4;
const MOST_COPIED = 3;

/**
 * All ways; with packets those that are the fastest without them where tensors are short, and with copy engines those that are
 * where they are long: to compile all takes too long.
 */
function promising(ways: readonly WayToDo[], by: Extent, machine: Machine): readonly WayToDo[] {
  const plain = ways.filter(({ base }) => base === null);
  if (plain.length === ways.length) return plain;
  const bySpeed = (size: number, on: Machine): readonly { readonly name: string; readonly seconds: number }[] => {
    const times = plain.map(({ name, compiled }) => {
      const candidate = candidateOf({ name, compiled: compiled() });
      return { name, seconds: secondsOf(candidate, dimsOf(candidate.kernel, by, size), on) };
    });
    return times.sort((a, b) => a.seconds - b.seconds);
  };
  // The first so many that have some; ways behind those are not compiled with them.
  const packed: WayToDo[] = [];
  const isPacked = ({ name, after, compiled }: WayToDo): boolean =>
    !usesCopyEngines(name) && mayHavePackets(after("fuse-rows")) && !fillsRegisters(compiled());
  // With packets nobody asks a peer for anything: what a load takes there says nothing about them.
  const nothing = { ...machine.peerLoad, value: 0 };
  const asked = { ...machine, peerLoad: nothing, peerNext: nothing };
  const isInPlace = plain[0]!.compiled().kernel!.buffers.some(({ role }) => role === "inout");
  const most = isInPlace ? MOST_PACKED_IN_PLACE : MOST_PACKED;
  let last = 0;
  for (const { name, seconds } of bySpeed(SHORT, asked)) {
    if (packed.length >= most && seconds > AS_FAST * last) break;
    const found = ways.filter((way) => way.base === name && isPacked(way));
    if (found.length > 0 && packed.length < most) last = seconds;
    packed.push(...found);
  }
  const long = bySpeed(LONG, machine)
    .slice(0, MOST_COPIED)
    .map(({ name }) => name);
  const copied = ways.filter(
    ({ name, base, compiled }) => usesCopyEngines(name) && long.includes(base!) && hasCopies(compiled()),
  );
  return [...plain, ...packed, ...copied];
}

function numbered(own: PrintedKernel, variant: number): PrintedKernel {
  return {
    kernel: own.kernel,
    variant,
    get cuda() {
      return own.cuda;
    },
  };
}
