/** Everything that `collc explain` says of a compiled collective, as data. Pure, like the compiler. */
import { showExtent } from "../check/extents.js";
import { candidateOf, type CompileResult, stepsOfResult } from "../compiled.js";
import { messagesOf, type MessagesStep, type TimedStep, timedSteps } from "./steps.js";
import { InternalCompilerError } from "../diagnostics/ice.js";
import { bufferOf, isParameter, type Kernel, type Op, text } from "../ir/module.js";
import { productShape } from "../ir/tile-window.js";
import { DTYPES } from "../types/dtype.js";
import { walk, walkKernel } from "../ir/visit.js";
import { passOptions } from "../options.js";
import { transfersOf } from "../passes/stage-transfers.js";
import type { Position, SourceFile, Span } from "../source.js";
import type { DimValues } from "../types/extent.js";
import { type Layout, printLayout } from "../types/layout.js";
import type { Prediction } from "../machine/cost.js";
import type { Machine } from "../machine/machines.js";
import { type Choice, choiceName, choiceOf, launchesOf } from "../manifest.js";
import { compared, predictSteps } from "../program/plan.js";
import { type Party, syncReasons, syncsOf } from "./sync-reasons.js";
import { type RankTraffic, trafficOfRank } from "./traffic.js";

/** Bytes that go from rank to rank: `[from][to]`, zero from a rank to itself. */
export type Wire = readonly (readonly number[])[];

/** A place in the program, or in a file that it imports. */
export interface Place extends Position {
  readonly file: string;
}

/** A value of the program with its layout over the ranks. */
export interface LayoutStep {
  /** Name of a parameter, or what the step does, such as `matmul` or `convert`. */
  readonly what: string;
  readonly dtype: string;
  /** Of the whole, logical tensor. */
  readonly shape: readonly string[];
  readonly layout: string;
  /** For a change of layout: what it was, and how it is carried out. */
  readonly from?: string;
  readonly algorithm?: string;
  readonly why?: string;
  readonly at: Place | null;
}

/** What a line of the program moves, on rank 0. */
export interface MoveStep {
  readonly kind: "load" | "store";
  readonly buffer: string;
  readonly at: Place;
  /** Bytes of rank 0's own memory, and of its peers'. */
  readonly own: number;
  readonly peers: number;
}

export interface SyncStep {
  readonly kind: "barrier" | "signal" | "wait";
  /** `all`, `+1`, …: who tells whom, as the IR writes it; empty for signals and waits. */
  readonly ranks: string;
  /** `launch`: told as a launch begins, waited for as it ends. */
  readonly scope: "block" | "grid" | "launch";
  /** It stands in the program, and was not derived. */
  readonly isWritten: boolean;
  /** What it stands before; or the last thing before the end, where it stands last. */
  readonly at: Place;
  readonly isAtEnd: boolean;
  /** Times that rank 0 comes to it in one launch. */
  readonly times: number;
  readonly why: { readonly earlier: PartyStep; readonly later: PartyStep } | null;
}

/** How a product is multiplied. */
export interface ProductStep {
  readonly at: Place;
  /** The instruction, or the units that multiply element by element. */
  readonly unit: string;
  /** Rows, columns and depth of a tile; null for a product that goes by elements. */
  readonly tile: readonly [m: number, n: number, k: number] | null;
  /** Products of the same rows that a tile is of each. */
  readonly products: number;
  /** Stages of tiles in shared memory. */
  readonly stages: number;
  /** Columns that tiles may have in place of the second size: a launch has those with which its blocks are through the soonest. */
  readonly narrower: readonly number[];
  /** Buffers whose rows are sent to the other ranks while it goes on. */
  readonly gathers: readonly string[];
  /** Why no unit for matrices takes it; null for one that is taken. */
  readonly why: string | null;
}

export interface PartyStep extends Omit<Party, "span"> {
  readonly at: Place | null;
}

/** Which kernel a size takes, and what else there was; null where the program has one way alone. */
export interface PlanStep {
  /** What counts as the size: a number of elements, as an expression over the dimensions. */
  readonly by: string;
  /** In order: the kernel of sizes below a number, of the last for all others; several may have one kernel, and the explained sizes are one's. */
  readonly choices: readonly { readonly below: number | null; readonly kernel: string; readonly isTaken: boolean }[];
  /** The kernel that the explained sizes take; `nccl` for its own collective, beside which a kernel is explained. */
  readonly chosen: string;
  /** `collc tune` measured it; else the model made it. */
  readonly isMeasured: boolean;
  /** Seconds that the ways of doing it are predicted to take at these sizes, the fastest first. */
  readonly times: readonly { readonly name: string; readonly seconds: number }[];
}

export interface Explanation {
  readonly collective: string;
  readonly plan: PlanStep | null;
  readonly ranks: number;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly dims: DimValues;
  /** The author says how data moves (`explicit`), or what is computed (`tensor`). */
  readonly form: "explicit" | "tensor";
  readonly layouts: readonly LayoutStep[];
  readonly products: readonly ProductStep[];
  readonly moves: readonly MoveStep[];
  readonly syncs: readonly SyncStep[];
  /** Steps that send messages between ranks that share no addresses, in order. */
  readonly messages: readonly MessagesStep[];
  /** All steps, where there are several. */
  readonly steps: readonly TimedStep[];
  /** Accesses to peers that staging was asked for and left as they are, with the reasons. */
  readonly unstaged: readonly { readonly kind: "load" | "store"; readonly buffer: string; readonly at: Place; readonly why: string }[]; // prettier-ignore
  /** Bytes from rank to rank in one launch. */
  readonly wire: Wire;
  /** Long loops were sampled, so the bytes are close, not exact. */
  readonly isSampled: boolean;
  /** Lines whose traffic depends on data: it is in none of the numbers. */
  readonly unknown: readonly Place[];
  readonly machine: string;
  readonly prediction: Prediction;
}

/** The last kernel after which ranks still are ranks, and not blocks and threads. */
const COUNTED_AFTER = "tile-contractions";
const ORDERED_AFTER = "derive-sync";
/** The last kernel with all transfers as they were written. */
const STAGED_AFTER = "raise-products";

/**
 * Explains a collective that was compiled to the end.
 * @param dims sizes to count for: of a program with several kernels, the one that they take is explained.
 */
export function explain(program: CompileResult, dims: DimValues, machine: Machine): Explanation {
  const compiled = wayAt(program, dims);
  const { snapshots, source } = compiled;
  const after = (pass: string): Kernel => {
    const found = snapshots.find((s) => s.pass === pass);
    if (found === undefined) throw new InternalCompilerError(`no kernel after '${pass}' to explain`);
    return found.kernel;
  };
  const [counted, ordered] = [after(COUNTED_AFTER), after(ORDERED_AFTER)];
  const ranks = Array.from({ length: counted.world }, (_, r) => trafficOfRank(counted, r, dims));
  const tensors = snapshots.findLast((s) => s.kernel.level === "tensor");
  const first = ranks[0]!;
  return {
    collective: program.checked!.syntax.name.text,
    plan: planStep(program, dims, machine),
    ranks: counted.world,
    dtypes: counted.dtypes,
    dims,
    form: tensors === undefined ? "explicit" : "tensor",
    layouts: [...parameters(counted), ...(tensors === undefined ? [] : tensorSteps(tensors.kernel, source))],
    products: productsOf(counted, source),
    moves: movesOf(first, source),
    unstaged: passOptions(compiled.options).transfers === "written" ? [] : unstaged(after(STAGED_AFTER), source),
    messages: messagesOf(compiled, dims),
    steps: timedSteps(compiled, dims, machine),
    syncs: syncSteps(ordered, counted, first, source),
    wire: wireOf(ranks),
    isSampled: ranks.some((r) => r.isSampled),
    unknown: eachPlace(ranks.flatMap((r) => r.unknown)).map((s) => placeOf(s, source)),
    machine: machine.name,
    prediction: predictTime(compiled, dims, machine),
  };
}

/** The time alone, for comparing many sizes. */
export function predictTime(compiled: CompileResult, dims: DimValues, machine: Machine): Prediction {
  if (compiled.kernel === null) throw new InternalCompilerError("only what was compiled to the end has a time");
  const way = wayAt(compiled, dims);
  return predictSteps({ kernel: way.kernel!, steps: stepsOfResult(way) }, dims, machine);
}

/** The program of the one way that these sizes take; where a library does it, of another, for there is no kernel. */
export function wayAt(program: CompileResult, dims: DimValues): CompileResult {
  if (program.variants.length < 2) return program;
  const [launched] = launchesOf(choiceOf(program.manifest!, dims));
  return program.variants[launched === undefined ? 0 : program.kernels[launched.kernel]!.variant]!.compiled;
}

function planStep(program: CompileResult, dims: DimValues, machine: Machine): PlanStep | null {
  const { manifest, considered } = program;
  if (manifest === null || (considered.length < 2 && manifest.plan.choices.length < 2)) return null;
  const { plan } = manifest;
  const nameOf = (choice: Choice): string => choiceName(choice, manifest);
  const taken = choiceOf(manifest, dims);
  return {
    by: showExtent(plan.by),
    choices: plan.choices.map((choice) => ({ below: choice.below, kernel: nameOf(choice), isTaken: choice === taken })),
    chosen: nameOf(taken),
    isMeasured: program.isMeasured,
    times: compared(considered.map(candidateOf), dims, machine),
  };
}

function unstaged(kernel: Kernel, source: SourceFile): Explanation["unstaged"] {
  return transfersOf(kernel).flatMap(({ op, refusal }) => {
    if (refusal === null || (op.name !== "load" && op.name !== "store")) return [];
    return [{ kind: op.name, buffer: text(op, "buffer"), at: placeOf(op.span, source), why: refusal }];
  });
}

/** Who sends whom how much, whether it is stored there or loaded from here. */
function wireOf(ranks: readonly RankTraffic[]): Wire {
  const wire = ranks.map(() => new Array<number>(ranks.length).fill(0));
  ranks.forEach(({ stretches }, rank) => {
    for (const { moves } of stretches)
      for (const { kind, bytesAt } of moves)
        bytesAt.forEach((bytes, owner) => {
          if (owner !== rank) wire[kind === "store" ? rank : owner]![kind === "store" ? owner : rank]! += bytes;
        });
  });
  return wire;
}

function parameters(kernel: Kernel): LayoutStep[] {
  return [...kernel.inputs, ...kernel.outputs].map((t) => ({
    what: t.name,
    dtype: t.dtype,
    shape: t.shape.map(showExtent),
    layout: printLayout(t.layout),
    at: null,
  }));
}

function tensorSteps(kernel: Kernel, source: SourceFile): LayoutStep[] {
  return kernel.body.ops.flatMap((op): LayoutStep[] => {
    const type = op.results[0]?.type;
    if (type?.kind !== "tensor" || op.name === "input") return [];
    const { dtype, shape, layout } = type;
    const fn = op.attributes["fn"];
    const step = {
      what: typeof fn === "string" ? fn : op.name,
      dtype,
      shape: shape.map(showExtent),
      layout: printLayout(layout),
      at: placeOf(op.span, source),
    };
    return [op.name === "convert" ? { ...step, ...conversion(op, layout) } : step];
  });
}

function productsOf(kernel: Kernel, source: SourceFile): ProductStep[] {
  const found: ProductStep[] = [];
  /** Of roles, the widths that their tiles may have. */
  const widths = new Map<Op, number[]>();
  walkKernel(kernel, (op, parents) => {
    const why = op.attributes["product"];
    const at = placeOf(op.span, source);
    if (typeof why === "string")
      found.push({ at, unit: "scalar units", tile: null, products: 1, stages: 0, narrower: [], gathers: [], why });
    if (op.name !== "mma") return;
    const { m, k, columns, products, unit } = productShape(op, kernel);
    const roles = parents.findLast((p) => p.name === "roles");
    // A launch has one of several widths, the widest of which comes first.
    const others = roles === undefined ? undefined : widths.get(roles);
    if (others !== undefined) return void others.push(columns);
    const narrower: number[] = [];
    if (roles !== undefined) widths.set(roles, narrower);
    const { dtype, shape } = bufferOf(kernel, text(op, "a"));
    const [stages] = shape as readonly number[];
    const instruction =
      op.attributes["async"] === true
        ? `wgmma m64n${columns * products}k${32 / DTYPES[dtype].bytes}`
        : "mma.sync m16n8k16";
    found.push({
      at,
      unit: unit === "scalar" ? "scalar units" : instruction,
      tile: [m, columns, k],
      products,
      stages: stages!,
      narrower,
      gathers: gatheredBy(roles, kernel),
      why: null,
    });
  });
  return found;
}

/** What the movers beside a product send. */
function gatheredBy(roles: Op | undefined, kernel: Kernel): string[] {
  const sent = new Set<string>();
  const [, , movers] = roles?.regions ?? [];
  if (movers !== undefined) walk(movers, (op) => void (op.name === "load" && sent.add(text(op, "buffer"))));
  return [...sent].filter((name) => isParameter(bufferOf(kernel, name)));
}

/** What the passes have noted about how a layout is changed. */
function conversion(op: Op, to: Layout): Pick<LayoutStep, "from" | "algorithm" | "why"> {
  const type = op.operands[0]!.type;
  const from = type.kind === "tensor" ? printLayout(type.layout) : printLayout(to);
  const noted = (key: string): object => (typeof op.attributes[key] === "string" ? { [key]: op.attributes[key] } : {});
  return { from, ...noted("algorithm"), ...noted("why") };
}

/** Each line once, in the order in which the rank first comes to it. */
function movesOf({ stretches }: RankTraffic, source: SourceFile): MoveStep[] {
  const found = new Map<string, { kind: "load" | "store"; buffer: string; at: Place; own: number; peers: number }>();
  for (const { moves } of stretches)
    for (const { kind, buffer, span, bytesAt } of moves) {
      const key = `${kind} ${buffer} ${span.start}`;
      const step = found.get(key) ?? { kind, buffer, at: placeOf(span, source), own: 0, peers: 0 };
      found.set(key, step);
      bytesAt.forEach((bytes, owner) => (step[owner === 0 ? "own" : "peers"] += bytes));
    }
  return [...found.values()];
}

const KINDS = { barrier: "barrier", notify: "signal", await: "wait" } as const;

function syncSteps(ordered: Kernel, counted: Kernel, rank: RankTraffic, source: SourceFile): SyncStep[] {
  // Later passes copy these ops, but keep their order; those that they add are no matter of ranks.
  const isAdded = (op: Op): boolean => op.attributes["message"] === true;
  const places = syncsOf(counted.body).filter((op) => !isAdded(op));
  return syncReasons(ordered).map(({ op, parties }, i) => {
    const text = source.text.slice(op.span.start, op.span.end);
    return {
      kind: KINDS[op.name as keyof typeof KINDS],
      ranks: typeof op.attributes["ranks"] === "string" ? op.attributes["ranks"] : "",
      scope: (op.attributes["scope"] ?? "block") as SyncStep["scope"],
      isWritten: /^(barrier|signal|wait)\b/.test(text),
      at: placeOf(op.span, source),
      isAtEnd: op === ordered.body.ops.at(-1),
      times: rank.syncs.filter((o) => o === places[i]).length,
      why: parties === null ? null : { earlier: partyStep(parties[0], source), later: partyStep(parties[1], source) },
    };
  });
}

function partyStep({ span, ...party }: Party, source: SourceFile): PartyStep {
  return { ...party, at: span === null ? null : placeOf(span, source) };
}

const placeOf = ({ start }: Span, source: SourceFile): Place => ({
  file: source.fileOf(start),
  ...source.position(start),
});

const eachPlace = (spans: readonly Span[]): Span[] => [...new Map(spans.map((s) => [s.start, s])).values()];
