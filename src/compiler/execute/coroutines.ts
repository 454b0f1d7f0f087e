/** Blocks, threads that wait and roles of a block as coroutines: what suspends them, and how those of one block take turns. */
import type { Blocked } from "./machine.js";

/** What a coroutine waits for: one thing, or any of several; none if it only lets others go first. */
export type Suspension = Blocked | readonly Blocked[];

export type Running = Generator<Suspension, void>;

/** For a coroutine that is not blocked. */
export const READY: Suspension = [];

export function isReady(suspension: Suspension): boolean {
  if (!Array.isArray(suspension)) return (suspension as Blocked).ready(suspension as Blocked);
  if (suspension.length === 0) return true;
  for (const b of suspension as readonly Blocked[]) if (b.ready(b)) return true;
  return false;
}

/** The waits of a suspension. */
export function blockedIn(suspension: Suspension): readonly Blocked[] {
  return Array.isArray(suspension) ? (suspension as readonly Blocked[]) : [suspension as Blocked];
}

export interface Task {
  readonly running: Running;
  suspension: Suspension;
}

/** Resumes every task that can go on, once; leaves those that are not over and says how many ran. */
export function resumeAll(tasks: Task[]): number {
  let left = 0;
  let resumed = 0;
  for (const task of tasks) {
    if (isReady(task.suspension)) {
      resumed++;
      const step = task.running.next();
      if (step.done === true) continue;
      task.suspension = step.value;
    }
    tasks[left++] = task;
  }
  tasks.length = left;
  return resumed;
}

/** Runs the coroutines of one block to their ends, in turns. Suspends the block when all of them wait. */
export function* together(coroutines: readonly Running[]): Running {
  yield* inTurns(coroutines.map((running) => ({ running, suspension: READY })));
}

function* inTurns(tasks: Task[]): Running {
  while (tasks.length > 0) if (resumeAll(tasks) === 0) yield tasks.flatMap((t) => blockedIn(t.suspension));
}

/**
 * Threads of one block whose loop body waits: thread t runs iterations t, t + threads, … in order.
 * @param thread gives thread `first` of so many
 */
export function* threads(
  iterations: number,
  blockThreads: number,
  thread: (first: number, step: number) => Running,
): Running {
  const count = Math.min(iterations, blockThreads);
  const tasks: Task[] = [];
  // Most threads find what they wait for when they look first.
  for (let first = 0; first < count; first++) {
    const running = thread(first, count);
    const step = running.next();
    if (step.done !== true) tasks.push({ running, suspension: step.value });
  }
  yield* inTurns(tasks);
}
