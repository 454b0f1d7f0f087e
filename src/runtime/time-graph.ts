/** Timing on a GPU, as the baselines do it. */
import { CudaGraph, EventTimer } from "./cuda/index.js";
import type { Group, Timing, TimingOptions } from "./group.js";
import type { StreamHandle } from "./native.js";
import { summarize } from "./summary.js";

/**
 * A barrier of the host leaves the ranks tens of microseconds apart, which a graph of ten short collectives would
 * count as their time. So each sample is led in by collectives that are not timed: they bring the GPUs together,
 * and last long enough for every host to have queued what is timed.
 */
const LEAD_IN = 3;

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
    graph.replay(stream);
    await finish();
    for (let i = 0; i < outer; i++) {
      await group.barrier();
      for (let k = 0; k < LEAD_IN; k++) enqueue();
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
