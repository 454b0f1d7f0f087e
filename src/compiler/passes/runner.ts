/** Runs the pass array over a kernel: verify, dump, stop and bisect live here, in no pass. */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Level, LEVELS } from "../ir/ops.js";
import type { Kernel } from "../ir/module.js";
import { printKernel } from "../ir/print.js";
import { expectNone, verify } from "../ir/verify.js";
import type { Problem } from "../ir/verify-structure.js";
import type { PassOptions } from "./options.js";

export interface Pass {
  readonly name: string;
  /** Level of the kernel it takes, and of the one it gives. A kernel already beyond `from` skips the pass. */
  readonly from: Level;
  readonly to: Level;
  /** Options that it depends on: none, if left out. */
  readonly reads?: readonly (keyof PassOptions)[];
  /** Options of which it depends on nothing but whether they are there, and not null. */
  readonly asks?: readonly (keyof PassOptions)[];
  readonly run: (kernel: Kernel, options: PassOptions) => Kernel;
  /** What, beyond being well formed, the kernel that it gives must be. */
  readonly ensures?: (after: Kernel, before: Kernel) => Problem[];
}

/** A pass that depends on options. It can take no others than those it names here. */
export function reading<K extends keyof PassOptions>(
  reads: readonly K[],
  run: (kernel: Kernel, options: Pick<PassOptions, K>) => Kernel,
): Pick<Pass, "reads" | "run"> {
  return { reads, run };
}

/** A pass that depends on whether options are there. It can take nothing else of them. */
export function asking<K extends keyof PassOptions>(
  asks: readonly K[],
  run: (kernel: Kernel, has: Readonly<Record<K, boolean>>) => Kernel,
): Pick<Pass, "asks" | "run"> {
  const isThere = (options: PassOptions): Record<K, boolean> =>
    Object.fromEntries(asks.map((name) => [name, options[name] !== null])) as Record<K, boolean>;
  return { asks, run: (kernel, options) => run(kernel, isThere(options)) };
}

/** Whether a pass gives something else, perhaps, where options change. */
export function isReached({ reads = [], asks = [] }: Pass, old: PassOptions, now: PassOptions): boolean {
  return (
    reads.some((name) => old[name] !== now[name]) || asks.some((name) => (old[name] === null) !== (now[name] === null))
  );
}

/**
 * What passes gave, by the kernel that they took. A pass is a function of the kernel and of the options that it reads: ways of one
 * program that differ in other options, or in what finds nothing to do, share what is the same of both.
 */
const given = new WeakMap<Kernel, Map<Pass, Map<string, Kernel>>>();

/** What a pass gave of a kernel, by the options that it depends on. */
function givenBy(pass: Pass, kernel: Kernel): Map<string, Kernel> {
  const ofKernel = given.get(kernel) ?? new Map<Pass, Map<string, Kernel>>();
  const ofPass = ofKernel.get(pass) ?? new Map<string, Kernel>();
  given.set(kernel, ofKernel.set(pass, ofPass));
  return ofPass;
}

/** The options that a pass depends on, as text. */
function dependence({ reads = [], asks = [] }: Pass, options: PassOptions): string {
  return JSON.stringify([reads.map((name) => options[name]), asks.map((name) => options[name] !== null)]);
}

export interface RunOptions {
  /** Stop after the pass of this name. */
  readonly stopAfter?: string;
  /** Run at most this many passes, to find by bisection the one that breaks a kernel. */
  readonly passLimit?: number;
  /** Called with the kernel as lowered (`name` "lower") and after each pass. */
  readonly observe?: (name: string, kernel: Kernel) => void;
}

export function runPasses(input: Kernel, passes: readonly Pass[], options: PassOptions, run: RunOptions = {}): Kernel {
  verify(input, "as lowered");
  run.observe?.("lower", input);
  return continuePasses(input, passes, options, run);
}

/** Runs the passes over a kernel that some pass before them gave. */
export function continuePasses(
  input: Kernel,
  passes: readonly Pass[],
  options: PassOptions,
  run: RunOptions = {},
): Kernel {
  let kernel = input;
  let count = 0;
  for (const pass of passes) {
    if (LEVELS.indexOf(kernel.level) > LEVELS.indexOf(pass.from)) continue;
    if (kernel.level !== pass.from)
      throw new InternalCompilerError(
        `pass '${pass.name}' takes the ${pass.from} level, not ${kernel.level}`,
        printKernel(kernel),
      );
    if (run.passLimit !== undefined && count++ >= run.passLimit) break;
    kernel = runPass(pass, kernel, options);
    run.observe?.(pass.name, kernel);
    if (pass.name === run.stopAfter) break;
  }
  return kernel;
}

function runPass(pass: Pass, before: Kernel, options: PassOptions): Kernel {
  const known = givenBy(pass, before);
  const key = dependence(pass, options);
  const same = known.get(key);
  if (same !== undefined) return same;
  const kernel = pass.run(before, options);
  if (kernel.level !== pass.to)
    throw new InternalCompilerError(
      `pass '${pass.name}' should give the ${pass.to} level, gave ${kernel.level}`,
      printKernel(kernel),
    );
  // The same object is as sound as it was.
  if (kernel !== before) {
    verify(kernel, `after '${pass.name}'`);
    expectNone(pass.ensures?.(kernel, before) ?? [], kernel, `after '${pass.name}'`);
  }
  known.set(key, kernel);
  return kernel;
}
