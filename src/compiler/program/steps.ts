/**
 * A kernel in steps: what the pass engine-copies has marked becomes copies, what send-messages has put between domains becomes messages,
 * what lies between becomes kernels of its own.
 *
 * On each rank the steps run one after the other on one stream, so all blocks of a kernel come before whatever the next step
 * does, as a barrier of the rank with itself across the grid says in the whole kernel. All other barriers stay, in the kernel before the step or
 * behind it: a kernel of one barrier and nothing else is what tells peers that this rank's copies have arrived. A message orders what it
 * carries, and nothing else is asked of it (`support/sync-walk.ts`). Messages `beside` are on a lane of their own; a kernel is cut where one of them is
 * waited for, too.
 */
import { isParameter, type Kernel, type Op, text } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { buffersNamed, walk } from "../ir/visit.js";
import type { CopyStep, MessageEnd, MessageStep } from "../manifest-steps.js";
import { inferSymmetric } from "../passes/infer-symmetric.js";
import { Definitions } from "../passes/support/analysis.js";
import { copiesOfRanks, copyLists, MOST_RANKS } from "../passes/support/copies.js";
import { repeatableOps, usesOther } from "../passes/support/repeatable.js";
import { farOps } from "../passes/support/far.js";
import { broadcastsIn } from "./broadcasts.js";

/** A step with the kernel itself instead of its number; `awaits` as in `LaunchStep`. */
export type KernelStep =
  { readonly kind: "launch"; readonly kernel: Kernel; readonly awaits?: number } | CopyStep | MessageStep;

/** Why a kernel cannot be taken apart, and where. */
export interface Uncut {
  readonly reason: string;
  readonly at: Op;
  /** What to do, where there is something better than what is said of all. */
  readonly help?: string;
}

const WORDS_AROUND_MESSAGES = {
  reason: "signals and waits stand on both sides of its messages",
  help: "leave out signals and waits that are written: whom ranks wait for is derived, or run it on ranks that share addresses",
};

const VALUE_AROUND_MESSAGES = {
  reason: "a value that is read from memory before its messages is used behind them",
  help: "read it again where it is used",
};

/**
 * The steps of a kernel as derive-sync left it.
 * @param options.broadcasts whether messages may be a library's broadcasts
 * @returns null where nothing can be copied by engines and there are no messages, or where kernels beside copies would share memory of
 *   their own; an {@link Uncut} where there are messages, and no steps that would do what the kernel does
 */
export function stepsOf(
  kernel: Kernel,
  { broadcasts = true }: { readonly broadcasts?: boolean | undefined } = {},
): readonly KernelStep[] | Uncut | null {
  const definitions = new Definitions(kernel);
  const repeatable = repeatableOps(kernel);
  const groups = groupsOf(kernel, repeatable);
  const isApart = groups.some(({ kind }) => kind === "message");
  const steps: KernelStep[] = [];
  const users = new Map<string, Set<number>>();
  let hasWordsBefore = false;
  /** Of each message so far, the last step that it or one before it has become; and that which the next launch awaits. */
  const sent: (number | undefined)[] = [];
  let awaits: number | undefined;
  for (const { kind, ops } of groups) {
    if (kind === "wait") {
      awaits = sent.at(-1 - (ops.at(-1)!.attributes["pending"] as number)) ?? awaits;
      continue;
    }
    if (kind === "copy") {
      const copies = copiesOfRanks(ops, kernel, definitions);
      if (copies === null) return null;
      steps.push({ kind: "copy", copies });
      continue;
    }
    if (kind === "message") {
      const step = messagesOf(ops, kernel, definitions, broadcasts);
      if (step === null) return { reason: whyUnsent(kernel), at: ops[0]! };
      const isSent = step.ranks.some(({ sends }) => sends.length > 0);
      sent.push(isSent ? steps.length : sent.at(-1));
      if (isSent) steps.push(step);
      continue;
    }
    const own = withoutEnds(ops);
    if (own.length === 0) continue;
    // Words between two ranks count on from one op to the next, on flags of one kernel.
    if (own.some(hasWords)) {
      if (hasWordsBefore) return isApart ? { ...WORDS_AROUND_MESSAGES, at: own.find(hasWords)! } : null;
      hasWordsBefore = true;
    }
    const used = new Set(own.flatMap(buffersNamed));
    for (const { name } of kernel.buffers.filter((b) => used.has(b.name) && !isParameter(b)))
      users.set(name, (users.get(name) ?? new Set()).add(steps.length));
    // Only what this kernel accesses on peers itself is symmetric.
    const kept = kernel.buffers.filter((b) => isParameter(b) || used.has(b.name));
    const buffers = kept.map((b) => ({ ...b, symmetric: false }));
    const name = `${kernel.name}_${steps.filter((s) => s.kind === "launch").length}`;
    const all = [...repeatable, ...own];
    const crossing = usesOther(all);
    if (crossing !== null) return isApart ? { ...VALUE_AROUND_MESSAGES, at: crossing } : null;
    steps.push({
      kind: "launch",
      kernel: inferSymmetric({ ...kernel, name, buffers, body: { arguments: [], ops: all } }),
      ...(awaits !== undefined && { awaits }),
    });
    awaits = undefined;
  }
  if (isApart) return withMemory(steps, kernel);
  // Memory of a kernel is that kernel's alone.
  if ([...users.values()].some((kernels) => kernels.size > 1)) return null;
  return steps.some(({ kind }) => kind === "copy") ? steps : null;
}

/** What a buffer of a kernel is called as memory of the program. */
export function memoryName(kernel: Kernel, buffer: string): string {
  return `${kernel.name}/${buffer}`;
}

/** Kernels whose scratch is the program's, where several of them use it, or messages between them. */
function withMemory(steps: readonly KernelStep[], whole: Kernel): readonly KernelStep[] {
  const users = new Map<string, number>();
  const use = (name: string, by: number): unknown => users.set(name, (users.get(name) ?? 0) + by);
  for (const step of steps) {
    if (step.kind === "message")
      for (const { sends, receives } of step.ranks) for (const end of [...sends, ...receives]) use(end.memory, 2);
    if (step.kind === "launch") for (const { name } of step.kernel.buffers) use(memoryName(whole, name), 1);
  }
  return steps.map((step) => {
    if (step.kind !== "launch") return step;
    const buffers = step.kernel.buffers.map((b) => {
      const memory = memoryName(whole, b.name);
      return b.role === "scratch" && users.get(memory)! > 1 ? { ...b, memory } : b;
    });
    return { ...step, kernel: { ...step.kernel, buffers } };
  });
}

interface Group {
  readonly kind: "launch" | "copy" | "message" | "wait";
  readonly ops: Op[];
}

/** @param repeatable ops that each step has for itself */
function groupsOf(kernel: Kernel, repeatable: ReadonlySet<Op>): readonly Group[] {
  const groups: Group[] = [];
  for (const op of kernel.body.ops) {
    if (repeatable.has(op)) continue;
    // Made of what was read before it.
    if (definitionOf(op.name).effect === "pure") {
      groups.findLast(({ kind }) => kind === "launch")?.ops.push(op);
      continue;
    }
    const kind = op.name === "message" ? "message" : op.name === "message_wait" ? "wait" : isMarked(op) ? "copy" : "launch"; // prettier-ignore
    const last = groups.at(-1);
    // Each message that goes on beside others is waited for on its own.
    if (last?.kind === kind && op.attributes["beside"] !== true) last.ops.push(op);
    else groups.push({ kind, ops: [op] });
  }
  return groups;
}

function whyUnsent({ world }: Kernel): string {
  return world > MOST_RANKS
    ? `there are ${world} ranks, and messages are listed rank by rank for ${MOST_RANKS} at most`
    : "ranks alone do not decide who sends a run of neighbouring elements to whom";
}

/** Messages of one group: those that follow each other with nothing between them go together. */
function messagesOf(
  ops: readonly Op[],
  kernel: Kernel,
  definitions: Definitions,
  mayBroadcast: boolean,
): MessageStep | null {
  const sent = (op: Op): Op[] => [...op.regions[0]!.ops];
  const lists = copyLists(ops.flatMap(sent), kernel, definitions, ({ role }) => role === "scratch");
  if (lists === null) return null;
  const ranks = Array.from({ length: kernel.world }, () => ({
    sends: [] as MessageEnd[],
    receives: [] as MessageEnd[],
  }));
  for (const [rank, list] of lists.entries())
    for (const { rows, length, from, to } of list) {
      if (rows !== 1 || from.rank !== rank || to.rank === rank) return null;
      ranks[rank]!.sends.push({ peer: to.rank, memory: memoryName(kernel, from.tensor), offset: from.offset, length });
      ranks[to.rank]!.receives.push({ peer: rank, memory: memoryName(kernel, to.tensor), offset: to.offset, length });
    }
  const broadcasts = mayBroadcast ? broadcastsIn(ranks) : [];
  return {
    kind: "message",
    ...(ops[0]!.attributes["beside"] === true && { beside: true as const }),
    ...(broadcasts.length > 0 && { broadcasts }),
    ranks,
  };
}

/** An op of a kernel that would touch memory of a rank beyond, if there is one. */
export function beyondReach(kernel: Kernel): Op | null {
  if (kernel.ranksPerDomain === undefined) return null;
  return [...farOps(kernel, { ranksPerDomain: kernel.ranksPerDomain }).far][0] ?? null;
}

/** Whether all that an op does is for the copy engines. */
function isMarked(op: Op): boolean {
  let isAll = definitionOf(op.name).effect === "control";
  let isAny = false;
  walk({ arguments: [], ops: [op] }, (inner, parents) => {
    const { effect } = definitionOf(inner.name);
    const isInside = [inner, ...parents].some((o) => o.attributes["engine"] === true);
    isAny ||= isInside;
    if (effect === "sync" || ((effect === "read" || effect === "write") && !isInside)) isAll = false;
  });
  return isAll && isAny;
}

/** Whether an op tells one rank something, or waits for that. */
function hasWords(op: Op): boolean {
  return op.name === "notify" || op.name === "await" || op.regions.some((r) => r.ops.some(hasWords));
}

/** Without barriers of the rank with itself at either end: the stream is one. */
function withoutEnds(ops: readonly Op[]): readonly Op[] {
  const isOwnBarrier = (op: Op | undefined): boolean => op?.name === "barrier" && text(op, "ranks") === "self";
  let [from, to] = [0, ops.length];
  while (from < to && isOwnBarrier(ops[from])) from++;
  while (to > from && isOwnBarrier(ops[to - 1])) to--;
  return ops.slice(from, to);
}
