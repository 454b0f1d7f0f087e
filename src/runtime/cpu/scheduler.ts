/**
 * Runs the coroutines of all blocks of all ranks in one thread, deterministically. A coroutine runs until it
 * waits for a flag that is not there yet; it is resumed when the flag is. Nothing else suspends it, unless a
 * seed asks for a random order, which also switches between blocks at steps in between.
 */
import { CpuFault, type FaultReporter } from "./faults.js";

/** Why a coroutine is suspended: a flag it waits for, several of them (any will do), or nothing (null). */
export type Suspension = Wait | readonly Wait[] | null;

/** A wait that has not been satisfied: `(flags[slot] - wanted) | 0` is negative. */
export interface Wait {
  readonly site: number;
  readonly rank: number;
  readonly block: number;
  readonly flags: Uint32Array;
  readonly slot: number;
  readonly wanted: number;
  /** Rank that is expected to signal, or -1 if unknown. */
  readonly peer: number;
}

/** Whether what suspends a coroutine is over. */
export function isReady(s: Suspension): boolean {
  if (s === null) return true;
  if (!Array.isArray(s)) return isOver(s as Wait);
  for (const w of s as readonly Wait[]) if (isOver(w)) return true;
  return false;
}

function isOver({ flags, slot, wanted }: Wait): boolean {
  return ((flags[slot]! - wanted) | 0) >= 0;
}

interface Task {
  readonly coroutine: Generator<Suspension, void>;
  suspension: Suspension;
}

/** Resumes every task that can go on, once; leaves those that are not finished and says how many ran. */
function pass(tasks: Task[]): number {
  let left = 0;
  let resumed = 0;
  for (const task of tasks) {
    if (isReady(task.suspension)) {
      resumed++;
      const step = task.coroutine.next();
      if (step.done === true) continue;
      task.suspension = step.value;
    }
    tasks[left++] = task;
  }
  tasks.length = left;
  return resumed;
}

export interface ScheduleReport {
  /** How often a coroutine was started or resumed. */
  readonly resumptions: number;
}

/**
 * Runs all coroutines to their end. Throws CpuFault("deadlock") when all that are left wait for flags that
 * nobody can raise. `random` gives 32-bit numbers; with it, each pass takes the blocks in a random order.
 */
export function schedule(
  coroutines: readonly Generator<Suspension, void>[],
  faults: FaultReporter,
  kernel: string,
  random: (() => number) | null,
): ScheduleReport {
  const tasks: Task[] = coroutines.map((coroutine) => ({ coroutine, suspension: null }));
  let resumptions = 0;
  while (tasks.length > 0) {
    if (random !== null) shuffle(tasks, random);
    const resumed = pass(tasks);
    if (resumed === 0) throw deadlock(tasks, coroutines.length, faults, kernel);
    resumptions += resumed;
  }
  return { resumptions };
}

function shuffle(tasks: Task[], random: () => number): void {
  for (let i = tasks.length - 1; i > 0; i--) {
    const j = random() % (i + 1);
    [tasks[i], tasks[j]] = [tasks[j]!, tasks[i]!];
  }
}

/**
 * Threads of one block whose loop body waits: thread t runs iterations t, t + threads, … in order, and the
 * threads take turns. Suspends the block when all of its threads wait.
 */
export function* join(
  iterations: number,
  blockThreads: number,
  thread: (first: number, step: number) => Generator<Suspension, void>,
): Generator<Suspension, void> {
  const count = Math.min(iterations, blockThreads);
  const tasks: Task[] = Array.from({ length: count }, (_, t) => ({ coroutine: thread(t, count), suspension: null }));
  while (tasks.length > 0) {
    const resumed = pass(tasks);
    if (resumed === 0) yield tasks.flatMap((t) => (t.suspension ?? []) as Wait[]);
  }
}

/** Lines of a deadlock's message behind its first: it is read by people. */
const LISTED = 6;

/** The fault of tasks that wait for what nobody will raise: a line for each place, with one that waits there. */
export function deadlock(
  tasks: readonly { readonly suspension: Suspension }[],
  blocks: number,
  faults: FaultReporter,
  kernel: string,
): CpuFault {
  const waits = tasks.flatMap((t) => (t.suspension ?? []) as Wait | Wait[]);
  waits.sort((a, b) => a.rank - b.rank || a.block - b.block);
  const flagsOf = (w: Wait): string => faults.place(w.site, w.rank, w.block, w.slot).buffer ?? "?";
  const groups = new Map<string, Wait[]>();
  for (const w of waits) {
    const key = `${faults.where(w.site)} ${flagsOf(w)}`;
    groups.set(key, [...(groups.get(key) ?? []), w]);
  }
  const alike = [...groups.values()];
  // One that has more places than lines says in the last line how many waits stand in the others.
  const shown = alike.length > LISTED ? alike.slice(0, LISTED - 1) : alike;
  const lines = shown.map((group) => {
    const w = group[0]!;
    const from = w.peer < 0 ? "" : ` from rank ${w.peer}`;
    const seen = w.flags[w.slot]!;
    const one = `rank ${w.rank}, block ${w.block} waits${from} for ${flagsOf(w)}[${w.slot}] to reach ${w.wanted >>> 0}, sees ${seen}`;
    return `  ${group.length === 1 ? one : `${crowd(group)}: for one, ${one}`} (${faults.where(w.site)})`;
  });
  const others = waits.length - shown.reduce((n, group) => n + group.length, 0);
  if (others > 0) lines.push(`  … and ${others} more at ${alike.length - shown.length} other places`);
  return new CpuFault(
    "deadlock",
    `deadlock in kernel '${kernel}': ${tasks.length} of ${blocks} blocks wait for flags that nobody will raise\n${lines.join("\n")}`,
    waits.map((w) => faults.place(w.site, w.rank, w.block, w.slot)),
    "every wait needs a signal that is sent before its sender itself waits for what comes later",
  );
}

/** "24 waits of 8 blocks on 4 ranks". */
function crowd(waits: readonly Wait[]): string {
  const ranks = new Set(waits.map((w) => w.rank)).size;
  const blocks = new Set(waits.map((w) => `${w.rank} ${w.block}`)).size;
  const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
  return `${count(waits.length, "wait")} of ${count(blocks, "block")} on ${count(ranks, "rank")}`;
}
