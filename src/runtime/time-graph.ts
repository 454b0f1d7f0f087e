/** Timing on a GPU, as the baselines do it. */
import { CudaGraph, EventTimer } from "./cuda/index.js";
import type { Group, Timing, TimingOptions } from "./group.js";
import type { StreamHandle } from "./native.js";
import { summarize } from "./summary.js";

/**
 * GPUs that stood idle run at a fraction of their clock, and their links sleep: replays that are not timed go before those
 * that are, for so many microseconds. Without them a call that took 2.8 µs was timed at 3.4 to 3.6 (2×H200, 2026-11).
 */
const WARM_UP_US = 50_000;

/**
 * A barrier of the host leaves the ranks tens of microseconds apart, which a graph of ten short collectives would
 * count as their time. So each sample is led in by work that is not timed, of so many microseconds: it brings the GPUs
 * together, and lasts long enough for every host to have queued what is timed.
 */
const LEAD_IN_US = 100;

/**
 * Times what `enqueue` puts on the stream as the baselines do: `inner` of it in one graph, warmed up, replayed `outer`
 * times, the ranks together at the start; of each rank the median, of the ranks the slowest.
 */
export async function timeGraph(
  group: Group,
  device: number,
  stream: StreamHandle,
  enqueue: () => void,
  { inner, outer }: Required<TimingOptions>,
  finish: () => Promise<void>,
): Promise<Timing> {
  for (let i = 0; i < 3; i++) enqueue();
  await finish();
  const graph = CudaGraph.capture(stream, () => {
    for (let i = 0; i < inner; i++) enqueue();
  });
  const timer = new EventTimer(device);
  const samples: number[] = [];
  try {
    const replay = (): void => graph.replay(stream);
    const repeat = (times: number, work: () => void): void => {
      for (let i = 0; i < times; i++) work();
    };
    replay();
    await finish();
    timer.start(stream);
    replay();
    timer.stop(stream);
    await finish();
    // All ranks count alike, or they would wait for each other.
    const us = Math.max(1, ...(await group.exchange("time of a replay", timer.elapsedUs())));
    repeat(Math.ceil(WARM_UP_US / us), replay);
    await finish();
    for (let i = 0; i < outer; i++) {
      await group.barrier();
      if (us < LEAD_IN_US) repeat(Math.ceil(LEAD_IN_US / us), replay);
      else repeat(Math.ceil((LEAD_IN_US * inner) / us), enqueue);
      timer.start(stream);
      graph.replay(stream);
      timer.stop(stream);
      await finish();
      samples.push(timer.elapsedUs() / inner);
    }
  } finally {
    graph.destroy();
    timer.destroy();
  }
  const own = summarize(samples);
  const all = await group.exchange("times", own);
  return all.reduce((slowest, t) => (t.median > slowest.median ? t : slowest));
}
