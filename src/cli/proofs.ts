/** The three questions of `collc check`: is the answer right, is it ordered, does it survive hostile schedules. */
import {
  type Answer,
  type Claims,
  claimsOf,
  claimsToJson,
  type CompileResult,
  type DimValues,
  type DType,
  everyLine,
  type Everywhere,
  findings,
  fitDims,
  idleLine,
  InternalCompilerError,
  type Kernel,
  openLine,
  type Printable,
  plainShapes,
  programOf,
  type Proof,
  proveAnswers,
  proveEverywhere,
  proveFurtherAnswers,
  type ProveOptions,
  proveOrderings,
  type Reach,
  requireOrderBetweenMessages,
  isLightExecution,
  needsOtherLengths,
  proofShapes,
  relaxedOf,
  rowDimension,
  sharedLayout,
  PROOF_MAPPING,
  summaryLine,
  withElements,
  withMapping,
  withNamedLengths,
} from "../compiler/index.js";
import { type HostileReport, runHostile } from "../runtime/cpu/index.js";
import { type Io, paletteOf } from "./io.js";

export interface ProofRequest {
  readonly collective: string;
  readonly ranks: number;
  readonly dtype?: DType | Readonly<Record<string, DType>>;
  /** The kernel of a program with several; see `CompileOptions.variant`. */
  readonly variant?: string;
  /** Ranks along the axes of its mesh; see `CompileOptions.mesh`. */
  readonly mesh?: Readonly<Record<string, number>>;
  /** Lengths that were asked for; the other dimensions take some that lead through the paths of the kernel. */
  readonly dims?: DimValues;
  /** Which ranks share addresses; see `CompileOptions.reach`. */
  readonly reach?: Reach | undefined;
  /** See `CompileOptions.roundPartialSums`. */
  readonly roundPartialSums?: boolean | undefined;
}

export interface ScheduleRequest {
  readonly schedules: number;
  readonly seed: number;
}

/** What is asked of one collective on one number of ranks. Plain data, for other threads. */
export interface Job {
  readonly request: ProofRequest;
  /** What `proveResidency` says of the kernel that ships. */
  readonly residency: Answer;
  /** That more than one kernel is launched, in a line; null where that is not so. See `stepsLine`. */
  readonly steps: string | null;
  /** Whether what is proved has names for lengths that are numbers in the program; see {@link namedFor}. */
  readonly isNamed: boolean;
  readonly proves: boolean;
  /** Of the data of proofs, and of the first schedule. */
  readonly seed: number;
  /** Null: as many as usual, unless a proof has found it wrong already. */
  readonly schedule: ScheduleRequest | null;
}

/** What was found out about it. Plain data, too. */
export interface Inquiry {
  readonly request: ProofRequest;
  /** Null where proofs were not asked for. */
  readonly proof: {
    readonly answer: Answer["status"];
    readonly ordering: Answer["status"];
    /** What is claimed, in one line. */
    readonly summary: string;
    /** Where the answer is claimed up to more than nothing, in another; null where nowhere. */
    readonly open: string | null;
    /** Why it is not proved for every length, in another; null where it is. */
    readonly every: string | null;
    /** What took no part, in another; null where all did. */
    readonly idle: string | null;
    /** That more than one kernel is launched, in another; null where that is not so. */
    readonly steps: string | null;
    /** The claims as tools read them. */
    readonly json: object;
  } | null;
  /** Null where no schedules were asked for. */
  readonly hostile: HostileReport | null;
  readonly findings: readonly Printable[];
}

/** What runs under hostile schedules come to. */
export interface Schedules {
  readonly strict: HostileReport;
  /** The same where a load of memory that nobody has written is no fault. */
  readonly lenient: HostileReport;
}

/** Enough that each strategy has its turn. */
export const DEFAULT_SCHEDULES = 4;

/** A compiled collective, about which questions are answered. */
export class Subject {
  private readonly kernel: Kernel;
  private readonly options: ProveOptions;

  /**
   * @param compiled the job's collective, with the mapping that proofs have
   * @param printed see {@link printedOf}
   */
  constructor(
    private readonly job: Job,
    private readonly compiled: CompileResult,
    private readonly printed: Kernel | null,
  ) {
    const { request, seed } = job;
    const { dims } = request;
    const { kernel } = compiled;
    if (kernel === null) throw new InternalCompilerError(`${request.collective} does not compile a second time`);
    this.kernel = kernel;
    this.options = {
      program: programOf(this.compiled.snapshots),
      shapes: dims === undefined ? undefined : shapesWith(kernel, dims),
      shared: sharedLayout(kernel),
      seed,
    };
  }

  /** What is shown of every length; the proofs at some need not look at all that they would look at without. */
  everywhere(): Everywhere {
    return proveEverywhere(this.kernel, { ...this.options, printed: this.printed });
  }

  orderings(everywhere: Everywhere): Proof {
    requireOrderBetweenMessages(this.compiled.snapshots);
    return proveOrderings(this.kernel, this.options, everywhere);
  }

  answers(everywhere: Everywhere): Proof {
    return proveAnswers(this.kernel, this.options, everywhere);
  }

  schedules({ schedules, seed }: ScheduleRequest): Schedules | null {
    if (schedules === 0) return null;
    const { source, manifest } = this.compiled;
    // What conditions keep from short lengths is tried there all the same: order is what schedules are about.
    const relaxed = this.job.request.dims === undefined ? relaxedOf(this.kernel) : null;
    const kernel = relaxed?.kernel ?? this.kernel;
    const dims = attackedAt(kernel, programOf(this.compiled.snapshots), this.job.request);
    if (dims === null) return null;
    const attack = { dims, schedules, seed, source };
    const run = (allowsUnwritten: boolean): HostileReport =>
      runHostile(kernel, { ...manifest!, requirements: kernel.requirements }, { ...attack, allowsUnwritten });
    const strict = run(false);
    const lenient = strict.failure?.kind === "unwritten" ? run(true) : strict;
    // What fails at a length that the conditions exclude says nothing.
    return relaxed !== null && strict.failure !== null ? null : { strict, lenient };
  }

  /** What both proofs come to, with what is left to prove. */
  claims(everywhere: Everywhere, answers: Proof, orderings: Proof): Claims {
    const { kernel, options } = this;
    const further = proveFurtherAnswers(kernel, options, everywhere, answers, orderings);
    const claims = claimsOf(kernel, options, everywhere, further, orderings);
    const { residency } = this.job;
    return residency.status === "proved" ? claims : { ...claims, ordering: residency };
  }

  /** @param claims null where no proofs were asked for */
  inquiry(claims: Claims | null, schedules: Schedules | null): Inquiry {
    const { request } = this.job;
    // Outputs that are proved are what they should be whatever lies where nobody has written, as both sides of a choice are loaded.
    const isProved = claims?.answer.status === "proved" && claims.answer.unspecified.length === 0;
    const hostile = schedules && (isProved ? schedules.lenient : schedules.strict);
    const lineOf = (at: number): number => this.compiled.source.position(at).line;
    return {
      request,
      proof:
        claims === null
          ? null
          : {
              answer: claims.answer.status,
              ordering: claims.ordering.status,
              summary: summaryLine(claims),
              open: openLine(claims, lineOf),
              every: everyLine(claims, lineOf),
              idle: idleLine(claims, lineOf),
              steps: this.job.steps,
              json: claimsToJson(claims),
            },
      hostile,
      findings: [...(claims === null ? [] : findings(claims)), ...hostileFindings(this.compiled, request, hostile)],
    };
  }
}

/**
 * The program to prove in place of one whose lengths are numbers, and too long for a proof to go through: that with names for them. Null
 * where there is no need.
 */
export function namedFor(compiled: CompileResult): CompileResult | null {
  const named = withNamedLengths(compiled);
  // Most programs have no such lengths; what the others are with the mapping of proofs takes longer to find out.
  const isNeeded = named !== null && needsOtherLengths(withMapping(compiled, PROOF_MAPPING).kernel!);
  return isNeeded ? named : null;
}

/**
 * The kernel that is printed for a job; null where none is that does all of it: of a program in steps, those that are printed are parts of
 * the one that is proved, and with names for lengths, none is printed.
 * @param compiled with no mapping of its own
 */
export function printedOf({ steps, isNamed }: Job, { kernel }: CompileResult): Kernel | null {
  return steps === null && !isNamed ? kernel : null;
}

/** Says of a program that ships in how many steps it is launched; null where one kernel is all. */
export function stepsLine({ manifest }: CompileResult): string | null {
  const all = manifest!.plan.choices.map(({ steps }) => steps);
  const most = Math.max(...all.map((steps) => steps.length));
  if (most === 1) return null;
  const between = all.flat().some(({ kind }) => kind === "message") ? "messages" : "copy engines";
  return `launched in ${most} steps, ${between} between kernels; proved is the one kernel that they are cut from`;
}

/** Schedules to run, once it is known what proofs say. */
export function schedulesOf({ schedule, seed }: Job, claims: Claims | null): ScheduleRequest {
  const isWrong = claims !== null && [claims.answer.status, claims.ordering.status].includes("wrong");
  return schedule ?? { schedules: isWrong ? 0 : DEFAULT_SCHEDULES, seed };
}

/** Answers the questions of a job, one after the other; see `Subject`. */
export function inquire(job: Job, compiled: CompileResult, printed: Kernel | null): Inquiry {
  const subject = new Subject(job, compiled, printed);
  const everywhere = job.proves ? subject.everywhere() : null;
  const claims =
    everywhere === null ? null : subject.claims(everywhere, subject.answers(everywhere), subject.orderings(everywhere));
  return subject.inquiry(claims, subject.schedules(schedulesOf(job, claims)));
}

/**
 * Where hostile schedules run: at the shape asked for, or at a quarter of the ragged one that proofs use, where every block
 * still has something to do. What they try is order, not length. Null where proofs have no shape.
 */
function attackedAt(kernel: Kernel, program: Kernel | null, { dims }: ProofRequest): DimValues | null {
  const { requirements } = kernel;
  const shapes = dims === undefined ? plainShapes(kernel, program) : withElements(shapesWith(kernel, dims));
  const ragged = shapes[Math.min(1, shapes.length - 1)];
  if (ragged === undefined) return null;
  const row = rowDimension(kernel);
  if (dims?.[row ?? ""] !== undefined) return ragged;
  // Where rows have a length of their own, fewer of them will do.
  if (row === undefined) return dims !== undefined || isLightExecution(kernel, ragged) ? ragged : shapes[0]!;
  return fitDims(requirements, { ...ragged, [row]: Math.ceil(ragged[row]! / 4) }, new Set([row]));
}

/** The shapes of a proof with some lengths as asked; each once. */
function shapesWith(kernel: Kernel, asked: DimValues): DimValues[] {
  const free = new Set(kernel.dims.filter((name) => asked[name] === undefined));
  if (free.size === 0) return [asked];
  const usual = proofShapes(kernel);
  const wanted = usual.length > 0 ? usual : [Object.fromEntries(kernel.dims.map((name) => [name, 1]))];
  const shapes = wanted.map((shape) => fitDims(kernel.requirements, { ...shape, ...asked }, free));
  return [...new Map(shapes.map((shape) => [JSON.stringify(shape), shape])).values()];
}

/** Options of `collc check` that run a schedule again, whatever was asked for the first time. */
function replay({ ranks, dtype, mesh }: ProofRequest, dims: DimValues, seed: number): string {
  const list = (values: Readonly<Record<string, string | number>>): string =>
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}`)
      .join(",");
  const optional = (option: string, values: string): string => (values === "" ? "" : ` ${option} ${values}`);
  const types = typeof dtype === "string" ? dtype : list(dtype ?? {});
  return (
    `--ranks ${ranks}${optional("--dim", list(dims))}${optional("--dtype", types)}${optional("--mesh", list(mesh ?? {}))}` +
    ` --no-prove --schedules 1 --seed ${seed}`
  );
}

const UNWRITTEN_NOTE = "both sides of a 'where' are loaded; 'if' loads only what it takes";

function hostileFindings(compiled: CompileResult, request: ProofRequest, report: HostileReport | null): Printable[] {
  const failure = report?.failure ?? null;
  const unfinished = report?.unfinished ?? null;
  if (failure === null && unfinished !== null)
    return [
      {
        code: "proof-unknown",
        severity: "warning",
        message: `not tried under all hostile schedules: ${unfinished}`,
        span: compiled.checked!.syntax.name.span,
        labels: [],
        notes: [`found on ${request.ranks} ranks`],
        help: "try fewer iterations of loops that synchronise, or fewer ranks",
      },
    ];
  if (failure === null) return [];
  const places = failure.places.filter((p) => p.span.end > 0);
  const again = replay(
    request,
    attackedAt(compiled.kernel!, programOf(compiled.snapshots), request) ?? {},
    failure.seed,
  );
  const labels = new Map(
    places.map((p) => {
      const what = failure.kind === "claim" ? "claimed" : "stored";
      const text = p.block < 0 ? `'${p.buffer}' is ${what} here` : `rank ${p.rank}, block ${p.block}`;
      return [`${p.span.start}-${p.span.end}`, { span: p.span, text }];
    }),
  );
  return [
    {
      code: `schedule-${failure.kind}`,
      severity: "error",
      message: failure.message.split("\n")[0]!,
      span: places[0]?.span ?? { start: 0, end: 0 },
      labels: [...labels.values()].slice(0, 4),
      notes: [
        ...failure.message.split("\n").slice(1),
        ...(failure.kind === "unwritten" ? [UNWRITTEN_NOTE] : []),
        `under a hostile schedule (${failure.strategy}), on ${request.ranks} ranks; the last steps:`,
        ...failure.timeline,
      ],
      help: `the same happens again with ${again}`,
    },
  ];
}

/** What holds, a line each. */
export function printInquiry(io: Io, { proof, hostile, request }: Inquiry): void {
  const c = paletteOf(io.out, io.env);
  if (proof !== null) {
    const statuses = [proof.answer, proof.ordering];
    const colour = statuses.includes("wrong") ? c.red : statuses.includes("unknown") ? c.yellow : c.green;
    io.out.write(colour(`  ${proof.summary}`) + "\n");
    if (proof.open !== null) io.out.write(c.dim(`    ${proof.open}`) + "\n");
    if (proof.every !== null) io.out.write(c.dim(`    ${proof.every}`) + "\n");
    if (proof.steps !== null) io.out.write(c.dim(`    ${proof.steps}`) + "\n");
    if (proof.idle !== null) io.out.write(c.yellow(`    ${proof.idle}`) + "\n");
  }
  if (hostile === null) return;
  const { schedules, steps, failure } = hostile;
  const what = `${schedules} hostile schedule${schedules === 1 ? "" : "s"}`;
  const who = `${request.collective}, ${request.ranks} rank${request.ranks === 1 ? "" : "s"}`;
  const line =
    failure === null && hostile.unfinished !== null
      ? c.yellow(`  ${who}: ran to the end of ${what}`)
      : failure === null
        ? c.green(`  ${who}: survives ${what} of ${steps} steps together`)
        : c.red(`  ${who}: FAILS under hostile schedule ${failure.seed}`);
  io.out.write(line + "\n");
}
