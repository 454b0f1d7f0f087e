/** From a program's text to its time on a cluster: compiled, counted, played. Pure, like the compiler. */
import { UsageError } from "../../errors.js";
import type { CompileResult } from "../compiled.js";
import { compile } from "../driver.js";
import { parseProgram } from "../front-end.js";
import type { Kernel } from "../ir/module.js";
import type { Cluster } from "../machine/cluster.js";
import type { CompileOptions } from "../options.js";
import { SourceFile } from "../source.js";
import { type Player, type Simulation } from "./play.js";
import { type Schedule, scheduleOf } from "./schedule.js";

export type { LinkUse } from "./fabric.js";
export { Player, type Simulation } from "./play.js";
export { placesOf } from "./places.js";
export { type Schedule, scheduleOf } from "./schedule.js";

export interface ScheduleRequest extends Pick<CompileOptions, "file" | "collective" | "ranks" | "dtype" | "resolve"> {
  readonly cluster: Cluster;
  readonly progress?: (done: number, all: number) => void;
  /** Smaller worlds of the same program that were compiled already, by their ranks; what is compiled now is added. */
  readonly known?: Map<number, CompileResult>;
}

/** Worlds of up to so many ranks are compiled themselves; of larger ones these are, and what they wait for holds for all. */
const SMALL_WORLD = 16;
const SAMPLED: readonly { readonly ranks: number; readonly domains: number }[] = [
  { ranks: 8, domains: 2 },
  { ranks: 16, domains: 4 },
];

/** A schedule, or the diagnostics of a program that has none. */
export interface Scheduled {
  readonly schedule: Schedule | null;
  readonly compiled: CompileResult;
}

/**
 * Compiles a program for as many ranks as a cluster has to give, and says what they do.
 * @throws UsageError for a program that the simulator cannot follow; faults of the program are diagnostics of `compiled`.
 */
export function scheduleProgram(text: string, { cluster, progress, known, ...options }: ScheduleRequest): Scheduled {
  const { ranks } = options;
  const axes = axesOf(text, options);
  const at = (world: number, domains: number, stopAfter: string): CompileResult =>
    compile(text, {
      ...options,
      ranks: world,
      // The machine makes no difference before blocks and threads.
      machine: cluster.machine,
      stopAfter,
      ...(axes.length === 2 ? { mesh: { [axes[0]!]: domains, [axes[1]!]: world / domains } } : {}),
    });
  const domains = Math.max(1, ranks / cluster.ranksPerDomain);
  if (axes.length === 2 && !Number.isInteger(domains))
    throw new UsageError(
      `${ranks} ranks are no whole number of domains of ${cluster.ranksPerDomain}`,
      `choose a multiple of ${cluster.ranksPerDomain}: the program's mesh goes by domains`,
    );
  const compiled = at(ranks, domains, "engine-copies");
  const unordered = kernelOf(compiled);
  if (unordered === null) return { schedule: null, compiled };
  const samples = ranks <= SMALL_WORLD ? [{ ranks, domains }] : SAMPLED;
  const results = samples.map((s) => {
    const isSample = ranks > SMALL_WORLD;
    const result = (isSample ? known?.get(s.ranks) : undefined) ?? at(s.ranks, s.domains, "derive-sync");
    if (isSample) known?.set(s.ranks, result);
    return result;
  });
  const ordered = results.map(kernelOf).filter((k) => k !== null);
  if (ordered.length === 0) return { schedule: null, compiled: results[0]! };
  const { ranksPerDomain } = cluster;
  return { schedule: scheduleOf(unordered, ordered, { ranksPerDomain, ...(progress && { progress }) }), compiled };
}

function axesOf(text: string, { file, collective }: Pick<CompileOptions, "file" | "collective">): readonly string[] {
  const { collectives } = parseProgram(new SourceFile(file ?? "<input>", text)).program;
  const found = collectives.find((c) => collective === undefined || c.name.text === collective);
  return found?.mesh.map((axis) => axis.text) ?? [];
}

function kernelOf({ diagnostics, snapshots }: CompileResult): Kernel | null {
  return diagnostics.some((d) => d.severity === "error") ? null : (snapshots.at(-1)?.kernel ?? null);
}

/** Passes that a tensor is divided into at most, and the smallest that is worth one, in bytes of one rank's part. */
const CHUNKS: readonly number[] = [1, 2, 4, 8, 16];
const SMALLEST_CHUNK = 2 ** 16;

/** Events that are worth looking for a better number of chunks. */
const MOST_EVENTS = 2 ** 22;

/** Numbers of chunks that a size may be played in: those given, or one, and twice as many each time. */
function chunkings(player: Player, bytes: number, world: number, chunks: number | undefined): readonly number[] {
  if (chunks !== undefined) return [chunks];
  const smallest = Math.max(SMALLEST_CHUNK, world * 16);
  return CHUNKS.filter((count) => count === 1 || (bytes / count >= smallest && player.events * count <= MOST_EVENTS));
}

/** Seconds below which {@link playFastest} does not come. */
export function leastTime(player: Player, bytes: number, world: number, chunks?: number): number {
  return Math.min(...chunkings(player, bytes, world, chunks).map((count) => player.atLeast(bytes, count)));
}

/**
 * Plays a size in one chunk, then in twice as many as before for as long as that is faster, or in as many as are given.
 * @param worth the part of the time that more chunks must be able to save, or they are not tried
 */
export function playFastest(player: Player, bytes: number, world: number, chunks?: number, worth = 0): Simulation {
  const [first, ...more] = chunkings(player, bytes, world, chunks);
  let best = player.play(bytes, first);
  for (const count of more) {
    // Messages take their least time each: what cannot be faster is not played.
    if (player.atLeast(bytes, count) >= best.seconds * (1 - worth)) break;
    const next = player.play(bytes, count);
    if (next.seconds >= best.seconds) break;
    best = next;
  }
  return best;
}
