/** Timing on a GPU, as the baselines do it. */
import { CudaGraph, EventTimer } from "./cuda/index.js";
import type { ProcessGroup } from "./group-cuda.js";
import type { Timing, TimingOptions } from "./group.js";
import type { StreamHandle } from "./native.js";
import { summarize } from "./summary.js";

/**
 * Times what `enqueue` puts on the stream as the baselines do: `inner` of it in one graph, warmed up, replayed `outer`
 * times after a barrier of the ranks; of each rank the median, of the ranks the slowest.
 */
export async function timeGraph(
  group: ProcessGroup,
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
