/**
 * Limits on processor time that mean the same on every machine. Time of the processor leaves out what other processes do, and yet a
 * machine whose host is overcommitted takes ten times as long for the same instructions (seen 2026-11). So a reference is run beside
 * what is measured, and where it takes longer than it usually does, as much is taken off.
 */

/** Processor time of this process, in seconds. */
export function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function secondsOf(run: () => void): number {
  const before = processorSeconds();
  run();
  return processorSeconds() - before;
}

/**
 * Seconds that the reference takes on the machine that limits are written for: Node 20, two cores that nobody shares. It was not timed
 * there. On a slow host it took as long as says 0.12 to 0.3 by what a file of `prove/speed.txt` took beside it, and 0.07 to 0.4, most often 0.13, by what
 * all_reduce/two_shot takes to compile and to prove, 0.09 s on that machine (2026-11-25). What is too large here makes limits stricter.
 */
const USUAL = 0.2;

/** Allocates, hashes, sorts and walks as a compiler does, and is no part of ours: what slows ours down shows beside it. */
function reference(): void {
  const words = new Map<string, { readonly count: number; readonly at: number }>();
  let h = 1;
  for (let i = 0; i < 200_000; i++) {
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d) ^ i;
    const key = `w${h & 0xffff}`;
    words.set(key, { count: (words.get(key)?.count ?? 0) + 1, at: i });
  }
  JSON.parse(JSON.stringify([...words].sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** How many times as long as the usual machine this one takes just now; at least 1. */
export function slowness(): number {
  return Math.max(1, Math.min(secondsOf(reference), secondsOf(reference)) / USUAL);
}

/** Seconds of processor of a run, as the usual machine would take them: no more than were measured. */
export function usualSeconds(run: () => void): number {
  return secondsOf(run) / slowness();
}
