/** The steps of a program that has several: what messages carry, and when each step begins. */
import { type CompileResult, stepsOfResult } from "../compiled.js";
import type { Machine } from "../machine/machines.js";
import { fasterBroadcasts } from "../machine/messages.js";
import { runsOf } from "../manifest-steps.js";
import { memoryBytes, predictEach } from "../program/plan.js";
import { scheduleSteps } from "../program/step-schedule.js";
import type { DimValues } from "../types/extent.js";

/** Messages that go together, between kernels. */
export interface MessagesStep {
  /** Boxes of the program's memory that they leave from. */
  readonly from: readonly string[];
  /** Of all ranks. */
  readonly messages: number;
  readonly bytes: number;
  /** Of the rank that sends the most. */
  readonly most: { readonly rank: number; readonly messages: number; readonly bytes: number };
  /** Sets of ranks that NCCL broadcasts to at these dimensions, the root first: each of the others passes on what it gets. */
  readonly broadcasts: readonly (readonly number[])[];
}

/** When a step begins and how long it takes, in seconds, as predicted. */
export interface TimedStep {
  readonly kind: "launch" | "copy" | "message";
  /** Its number among the steps of its kind, from 1 on. */
  readonly number: number;
  readonly start: number;
  readonly seconds: number;
  /** Messages or copies that go on beside the launches behind them. */
  readonly isBeside: boolean;
  /** Number of the messages that a launch waits for. */
  readonly awaits: number | null;
}

/** What crosses between domains, step by step. */
export function messagesOf(compiled: CompileResult, dims: DimValues): MessagesStep[] {
  const steps = stepsOfResult(compiled);
  const bytesOf = memoryBytes(steps);
  return steps.flatMap((step): MessagesStep[] => {
    if (step.kind !== "message") return [];
    const each = step.ranks.map(({ sends }, rank) => {
      const runs = runsOf(sends, dims);
      return { rank, messages: runs.length, bytes: runs.reduce((n, run) => n + run.length * bytesOf(run.memory), 0) };
    });
    const sum = (key: "messages" | "bytes"): number => each.reduce((n, own) => n + own[key], 0);
    const from = [...new Set(step.ranks.flatMap(({ sends }) => sends.map(({ memory }) => memory)))];
    const most = each.reduce((a, b) => (b.bytes > a.bytes ? b : a));
    return [{ from, messages: sum("messages"), bytes: sum("bytes"), most, broadcasts: fasterBroadcasts(step, bytesOf, dims) }]; // prettier-ignore
  });
}

/** When each step begins; empty where there is one alone. */
export function timedSteps(compiled: CompileResult, dims: DimValues, machine: Machine): TimedStep[] {
  const steps = stepsOfResult(compiled);
  if (steps.length < 2) return [];
  const each = predictEach({ kernel: compiled.kernel!, steps }, dims, machine).map(({ total }) => total);
  const numberOf = (at: number): number => steps.slice(0, at + 1).filter(({ kind }) => kind === steps[at]!.kind).length;
  return scheduleSteps(steps, each).map(({ start }, i) => {
    const step = steps[i]!;
    const awaits = step.kind === "launch" && step.awaits !== undefined ? numberOf(step.awaits) : null;
    const isBeside = step.kind !== "launch" && step.beside === true;
    return { kind: step.kind, number: numberOf(i), start, seconds: each[i]!, isBeside, awaits };
  });
}
