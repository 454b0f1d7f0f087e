/**
 * Runs a property over generated programs within a budget of processor time, and says how to see a failure again.
 *
 * Each run draws a seed, and prints it; `FUZZ_SEED` sets it, to see the same programs again. `FUZZ_SECONDS` sets the
 * processor time of all properties together (40 s by default, 12 s in `npm test`); with a longer one, as many programs are tried as fit.
 */
import { randomInt } from "node:crypto";
import fc from "fast-check";
import { expect } from "vitest";
import { processorSeconds, slowness } from "../processor.js";
import { isAll } from "../scope.js";
import { guard } from "./watchdog.js";

export const SEED = Number(process.env["FUZZ_SEED"] ?? randomInt(2 ** 31));
const DEFAULT_SECONDS = isAll ? 40 : 12;
const SECONDS = Number(process.env["FUZZ_SECONDS"] ?? DEFAULT_SECONDS);
/** An input that takes longer than this, in seconds of processor time, is looked at again. Nearly all take a hundredth of it. */
const SECONDS_PER_INPUT = 5;

/** Throws if an input takes long, and again long by the measure of the usual machine: others on this one are no reason. */
async function expectQuick(took: number, most: number, again: () => void | Promise<void>): Promise<void> {
  if (took <= most) return;
  const before = processorSeconds();
  await again();
  const took2 = processorSeconds() - before;
  const times = slowness();
  if (took2 > most * times)
    throw new Error(
      `took ${took.toFixed(1)} s, then ${took2.toFixed(1)} s on a machine that takes ${times.toFixed(1)} times as long as usual`,
    );
}

export interface Exploration<T> {
  /** Part of the whole budget, 0 to 1. */
  readonly share: number;
  /** So many inputs are looked at without FUZZ_SECONDS, if the time allows; with it, ten times its seconds at least. */
  readonly runs: number;
  /** At least so many are looked at, however long it takes. */
  readonly least: number;
  readonly inputs: fc.Arbitrary<T>;
  /** The input as a person can read and repeat it. */
  readonly show: (input: T) => string;
  /** Seconds of processor time that an input may take; 5 by default, which is much where collc alone is at work. */
  readonly most?: number;
  /** Throws if the input breaks the property. */
  readonly check: (input: T) => void | Promise<void>;
}

/** Looks at inputs until the budget is spent; fails with the smallest input that was found to break the property. */
export async function explore<T>(exploration: Exploration<T>): Promise<void> {
  const { share, runs, least, inputs, show, most = SECONDS_PER_INPUT, check } = exploration;
  const start = processorSeconds();
  const isSpent = (factor: number): boolean => processorSeconds() - start > SECONDS * share * factor;
  let looked = 0;
  let hasFailed = false;
  const property = fc.asyncProperty(inputs, async (input) => {
    // Once a failure is found, as much time again goes into making it smaller. A busy machine takes longer for each.
    if (hasFailed ? isSpent(2) : looked >= least && isSpent(1)) return;
    looked++;
    const before = processorSeconds();
    try {
      await guard(show(input), () => check(input));
      await expectQuick(processorSeconds() - before, most, () => guard(show(input), () => check(input)));
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  });
  const numRuns = SECONDS === DEFAULT_SECONDS ? runs : Math.ceil(runs * (SECONDS / DEFAULT_SECONDS));
  const result = await fc.check(property, { seed: SEED, numRuns, verbose: 0 });
  console.log(`seed ${SEED}: ${looked} of ${numRuns} inputs in ${(processorSeconds() - start).toFixed(1)} s`);
  if (result.failed && result.counterexample !== null) {
    const [input] = result.counterexample;
    const error = result.errorInstance;
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
    expect.fail(
      `${said}\n\nFUZZ_SEED=${result.seed} finds it again, here after ${result.numShrinks} simplifications:\n${show(input)}`,
    );
  }
  expect(looked).toBeGreaterThanOrEqual(least);
}
