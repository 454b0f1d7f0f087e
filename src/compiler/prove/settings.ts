/** What a claim is proved at: shapes, alignments, values that steer, and grids. */
import type { Kernel } from "../ir/module.js";
import type { DimValues } from "../types/extent.js";
import type { Everywhere, ProveOptions } from "./claims.js";
import { SAMPLE_NAMES, steeringInputs } from "./inputs.js";
import { canBeLaunched, oddShape, rowDimension } from "./lengths.js";
import { gridOf } from "./machine.js";
import { isLight, type ProofShape, shapesToProve, withElements } from "./shapes.js";

/** How many sets of values stand for data that decides what is accessed; 0 where none does. */
export function sampleCount(kernel: Kernel): number {
  return steeringInputs(kernel).size > 0 ? SAMPLE_NAMES.length : 0;
}

/** Whether something outlives a launch that each block keeps for itself. */
export function keepsState({ buffers }: Kernel): boolean {
  return buffers.some((b) => b.role === "state");
}

/** Elements, where only the rows matter. */
const SHORT_ROW = 19;

/** What one proof is carried out with. */
export interface Setting {
  readonly dims: DimValues;
  readonly aligned: boolean;
  readonly sample: number;
  readonly seed: number;
  /** Whether every other launch has one block. */
  readonly unevenGrids: boolean;
  /** Only for paths that nothing before has taken. */
  readonly isFurther: boolean;
  /** Only for a constant of the program. */
  readonly isForConstant: boolean;
  /** Only where it leads to an op that has not run: what is claimed does not need it. */
  readonly isSpare: boolean;
}

/**
 * What is proved of the shapes: all aligned, and one otherwise, too; each set of values that steer at the
 * ragged one, with shorter rows where it has rows.
 */
export function settingsOf(
  kernel: Kernel,
  claim: "answer" | "ordering",
  { shapes: asked, misaligned, program, seed = 0 }: ProveOptions,
  { every }: Everywhere,
): Setting[] {
  const isEverywhere = every?.ordering.holds === true && (claim === "ordering" || every.answer.holds);
  const all: readonly ProofShape[] =
    asked?.map((dims) => ({ dims, isFurther: false, isForConstant: false })) ??
    shapesToProve(kernel, claim, program ?? null);
  // Constants of the program matter at no length where all lengths are shown together, but as examples for that.
  const examples = (isEverywhere ? every.examples : []).map((dims) => JSON.stringify(dims));
  // Neither do long shapes, as those with rows of a literal length may be, besides the shortest.
  const isNeeded = ({ dims, isForConstant, isFurther }: ProofShape, i: number): boolean =>
    (claim === "answer" && examples.includes(JSON.stringify(dims))) ||
    (!isForConstant && (isFurther || asked !== undefined || i === 0 || isLight(kernel, dims)));
  const shapes = isEverywhere ? all.filter(isNeeded) : all;
  const main = shapes.filter((s) => !s.isFurther);
  const plain = withElements(main.map(({ dims }) => dims));
  const ragged = plain[Math.min(1, plain.length - 1)];
  if (ragged === undefined) return [];
  const names = Object.keys(ragged);
  const row = rowDimension(kernel) ?? "";
  const short = { ...ragged, [row]: Math.min(ragged[row] ?? 0, SHORT_ROW) };
  const sampled = names.length > 1 && canBeLaunched(kernel, short) ? short : ragged;
  const last = Math.max(0, sampleCount(kernel) - 1);
  const basic = {
    aligned: true,
    sample: last,
    seed,
    unevenGrids: false,
    isFurther: false,
    isForConstant: false,
    isSpare: false,
  };
  // The shortest shape is where an index that nothing limits leaves it soonest.
  const extremes = Array.from({ length: last }, (_, sample): Setting => ({ ...basic, dims: plain[0]!, sample }));
  // What holds for all lengths is not trusted to the theorem alone; which paths loops over elements take has no part in their order.
  const isSpare = ({ dims }: ProofShape): boolean =>
    isEverywhere && dims !== ragged && !examples.includes(JSON.stringify(dims));
  const executed = isEverywhere && claim === "ordering" ? main.filter(({ dims }) => dims === ragged) : main;
  const basics = executed.map((s): Setting => ({
    ...basic,
    dims: s.dims,
    isForConstant: s.isForConstant,
    isSpare: isSpare(s),
  }));
  const settings = [...extremes, ...basics.filter((s) => !s.isSpare)];
  // Starting at odd addresses leaves only the scalar paths.
  if (misaligned !== false)
    settings.push({
      ...basic,
      dims: asked === undefined ? oddShape(kernel, ragged, plain[0]) : ragged,
      aligned: false,
    });
  // What blocks keep from launch to launch does not depend on tails, which the ragged shape is for.
  const uneven = plain[2] ?? ragged;
  const shorter = isEverywhere ? oddShape(kernel, uneven, plain[0]) : uneven;
  const isOfAllBlocks = gridOf(kernel, shorter) === gridOf(kernel, uneven);
  settings.push({ ...basic, dims: isOfAllBlocks ? shorter : uneven, unevenGrids: true });
  for (let sample = 0; sample < last; sample++) settings.push({ ...basic, dims: sampled, sample });
  settings.push(...basics.filter((s) => s.isSpare));
  for (const { dims, isFurther } of shapes) if (isFurther) settings.push({ ...basic, dims, isFurther });
  return settings;
}
