/**
 * When the steps of a choice begin and end: a rank has two lanes, its stream, on which everything runs one after the other but for messages
 * and copies `beside`, and one for those. What a step comes after is said by the steps themselves (`manifest-steps.ts`).
 */
import type { CopyStep, MessageStep, Step } from "../manifest-steps.js";
import type { KernelStep } from "./steps.js";

/** What a schedule asks of a step. */
type Placed = Pick<KernelStep, "kind"> & {
  readonly awaits?: number;
  readonly beside?: true;
  readonly copies?: CopyStep["copies"];
};

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** @param seconds of each step, where nothing else goes on */
export function scheduleSteps(steps: readonly (KernelStep | Step)[], seconds: readonly number[]): readonly Span[] {
  const spans: Span[] = [];
  let [stream, lane] = [0, 0];
  /** Words of the copies beside, each of which lets as large a part of a launch go on. */
  let words = 0;
  for (const [i, step] of (steps as readonly Placed[]).entries()) {
    const took = seconds[i]!;
    if (step.beside === true) {
      const start = Math.max(stream, lane);
      lane = start + took;
      words = (step.copies?.[0]?.length ?? 0) / 2;
      spans.push({ start, end: lane });
      continue;
    }
    const start = Math.max(stream, step.awaits === undefined ? 0 : spans[step.awaits]!.end);
    // What comes last is multiplied when it has come.
    const isFed = step.kind === "launch" && words > 0;
    stream = Math.max(start + took, isFed ? lane + took / words : 0);
    if (isFed) words = 0;
    spans.push({ start, end: stream });
  }
  return spans;
}

/** Numbers of the steps of messages that may be under way while a step runs. */
export function besideOf(steps: readonly (KernelStep | Step)[], at: number): readonly number[] {
  let awaited = -1;
  const before: number[] = [];
  for (const [i, step] of (steps as readonly Placed[]).slice(0, at + 1).entries()) {
    if (step.kind === "message" && step.beside === true && i < at) before.push(i);
    awaited = Math.max(awaited, step.awaits ?? -1);
  }
  return before.filter((i) => i > awaited);
}

/**
 * What goes on beside messages and touches memory of theirs, in words; empty if nothing does. A check of the steps that are launched, whoever cut
 * them, by whole buffers: each step of messages has boxes of its own.
 */
export function besideProblems(steps: readonly KernelStep[]): readonly string[] {
  return steps.flatMap((step, at) => {
    if (step.kind !== "launch") return [];
    const touched = new Set(step.kernel.buffers.flatMap(({ memory }) => memory ?? []));
    return besideOf(steps, at).flatMap((number) => {
      const messages = steps[number] as MessageStep;
      const ends = messages.ranks.flatMap(({ sends, receives }) => [...sends, ...receives]);
      const shared = ends.find(({ memory }) => touched.has(memory));
      return shared === undefined
        ? []
        : [`step ${at} touches '${shared.memory}' while step ${number} sends or receives it`];
    });
  });
}
