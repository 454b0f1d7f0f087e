// NCCL through collc's wrapper on a machine with GPUs, all ranks in this process:
//
//   node test/cuda/nccl.mjs [--gpus N]        (COLLC_NCCL=FILE names the library)
//
// All-reduce in float32: checked, then timed in tens, without a graph: the times include
// launching from one thread and are no benchmark. Prints one JSON object and PASS or FAIL.
import { parseArgs } from "node:util";

import { describeDevices, openCuda } from "../../dist/src/runtime/cuda/device.js";
import { DeviceMemory } from "../../dist/src/runtime/cuda/memory.js";
import { EventTimer, waitForStream } from "../../dist/src/runtime/cuda/timer.js";
import { summarize } from "../../dist/src/runtime/summary.js";
import { native } from "../../dist/src/runtime/native.js";
import { NcclCommunicator, ncclGroup, ncclUniqueId, openNccl } from "../../dist/src/runtime/nccl/index.js";

const { values: options } = parseArgs({ options: { gpus: { type: "string" } } });
const timeoutMs = 30_000;
const sizes = [8192, 1 << 20, 1 << 24];

async function allReduce(ranks, n) {
  for (const rank of ranks) {
    rank.x.write(Float32Array.from({ length: n }, (_, i) => ((i * 7 + rank.rank * 13) % 4096) - 2048));
    rank.y.fill(0xff);
  }
  const enqueue = () =>
    ncclGroup(() => {
      for (const { comm, stream, x, y } of ranks) comm.allReduce(stream, x.pointer, y.pointer, n, "f32", "sum");
    });
  enqueue();
  for (const rank of ranks) await waitForStream(rank.stream, timeoutMs, "NCCL");
  for (const rank of ranks) {
    const y = rank.y.read(new Float32Array(n));
    for (let i = 0; i < n; i++) {
      let want = 0;
      for (let r = 0; r < ranks.length; r++) want += ((i * 7 + r * 13) % 4096) - 2048;
      if (y[i] !== want) throw new Error(`n=${n}, rank ${rank.rank}: y[${i}] is ${y[i]}, not ${want}`);
    }
  }
  const samples = [];
  for (let round = 0; round < 15; round++) {
    const timers = ranks.map((rank) => new EventTimer(rank.device));
    ranks.forEach((rank, r) => timers[r].start(rank.stream));
    for (let i = 0; i < 10; i++) enqueue();
    ranks.forEach((rank, r) => timers[r].stop(rank.stream));
    for (const rank of ranks) await waitForStream(rank.stream, timeoutMs, "NCCL");
    if (round > 2) samples.push(Math.max(...timers.map((timer) => timer.elapsedUs())) / 10);
    for (const timer of timers) timer.destroy();
  }
  return summarize(samples);
}

async function main() {
  const driver = openCuda();
  const report = { driver, nccl: await openNccl(), devices: describeDevices().map((d) => d.name), us: {} };
  const world = Math.min(Number(options.gpus ?? driver.deviceCount), driver.deviceCount);
  const uniqueId = await ncclUniqueId();
  const ranks = await Promise.all(
    Array.from({ length: world }, async (_, rank) => ({
      rank,
      device: rank,
      comm: await NcclCommunicator.create({ device: rank, rank, world, uniqueId }),
      stream: native().streamCreate(rank),
      x: DeviceMemory.allocate(rank, sizes.at(-1) * 4),
      y: DeviceMemory.allocate(rank, sizes.at(-1) * 4),
    })),
  );
  for (const n of sizes) report.us[n] = await allReduce(ranks, n);
  await Promise.all(ranks.map((rank) => rank.comm.destroy()));
  console.log(JSON.stringify(report, null, 1));
  console.log("PASS");
  process.exit(0);
}

main().catch((error) => {
  console.error(error.stack, error.help ?? "");
  console.log("FAIL");
  process.exit(1);
});
