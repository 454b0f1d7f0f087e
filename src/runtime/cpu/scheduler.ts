/**
 * Runs the coroutines of all blocks of all ranks in one thread, deterministically. A coroutine runs until it
 * waits for a flag that is not there yet; it is resumed when the flag is. Nothing else suspends it, unless a
 * seed asks for a random order, which also switches between blocks at steps in between.
 */
import { blockedIn, type Execution, resumeAll } from "../../compiler/index.js";
import { CpuFault, type FaultReporter } from "./faults.js";

export interface ScheduleReport {
  /** How often a coroutine was started or resumed. */
  readonly resumptions: number;
}

/**
 * Runs all coroutines to their end. Throws CpuFault("deadlock") when all that are left wait for flags that
 * nobody can raise. `random` gives 32-bit numbers; with it, each pass takes the blocks in a random order.
 * @param whenStuck does a part of what goes on beside the kernel; false where there is nothing left
 */
export function schedule(
  tasks: Execution.Task[],
  machine: Execution.Machine,
  faults: FaultReporter,
  random: (() => number) | null,
  whenStuck: () => boolean = () => false,
): ScheduleReport {
  const blocks = tasks.length;
  let resumptions = 0;
  while (tasks.length > 0) {
    if (random !== null) shuffle(tasks, random);
    const resumed = resumeAll(tasks);
    if (resumed === 0 && !whenStuck()) throw deadlock(tasks, blocks, machine, faults);
    resumptions += resumed;
  }
  return { resumptions };
}

function shuffle(tasks: Execution.Task[], random: () => number): void {
  for (let i = tasks.length - 1; i > 0; i--) {
    const j = random() % (i + 1);
    [tasks[i], tasks[j]] = [tasks[j]!, tasks[i]!];
  }
}

/** Lines of a deadlock's message behind its first: it is read by people. */
const LISTED = 6;

/** The fault of tasks that wait for what nobody will raise: a line for each place, with one that waits there. */
export function deadlock(
  tasks: readonly { readonly suspension: Execution.Suspension }[],
  blocks: number,
  machine: Execution.Machine,
  faults: FaultReporter,
): CpuFault {
  const { kernel } = machine;
  const waits = tasks.flatMap((t) => blockedIn(t.suspension));
  waits.sort((a, b) => a.f.rank - b.f.rank || a.f.block - b.f.block);
  const flagsOf = (w: Execution.Blocked): string => kernel.buffers[w.buffer]!.name;
  const groups = new Map<string, Execution.Blocked[]>();
  for (const w of waits) {
    const key = `${faults.where(w.op)} ${flagsOf(w)}`;
    groups.set(key, [...(groups.get(key) ?? []), w]);
  }
  const alike = [...groups.values()];
  // One that has more places than lines says in the last line how many waits stand in the others.
  const shown = alike.length > LISTED ? alike.slice(0, LISTED - 1) : alike;
  const lines = shown.map((group) => {
    const w = group[0]!;
    const from = w.peer < 0 ? "" : ` from rank ${w.peer}`;
    const seen = String(w.flags[w.slot]);
    const one = `rank ${w.f.rank}, block ${w.f.block} waits${from} for ${flagsOf(w)}[${w.slot}] to reach ${w.wanted >>> 0}, sees ${seen}`;
    return `  ${group.length === 1 ? one : `${crowd(group)}: for one, ${one}`} (${faults.where(w.op)})`;
  });
  const others = waits.length - shown.reduce((n, group) => n + group.length, 0);
  if (others > 0) lines.push(`  … and ${others} more at ${alike.length - shown.length} other places`);
  return new CpuFault(
    "deadlock",
    `deadlock in kernel '${kernel.name}': ${tasks.length} of ${blocks} blocks wait for flags that nobody will raise\n${lines.join("\n")}`,
    waits.map((w) => faults.place(w.op, w.buffer, w.f.rank, w.f.block, w.slot)),
    "every wait needs a signal that is sent before its sender itself waits for what comes later",
  );
}

/** "24 waits of 8 blocks on 4 ranks". */
function crowd(waits: readonly Execution.Blocked[]): string {
  const ranks = new Set(waits.map(({ f }) => f.rank)).size;
  const blocks = new Set(waits.map(({ f }) => `${f.rank} ${f.block}`)).size;
  const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
  return `${count(waits.length, "wait")} of ${count(blocks, "block")} on ${count(ranks, "rank")}`;
}
