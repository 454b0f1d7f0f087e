// Smoke test of the CUDA path on a machine with GPUs. Needs node, dist/ and build/Release/collc.node, nothing else:
//
//   node test/cuda/smoke.mjs [--gpus N] [--nvrtc FILE] [--driver FILE] [--skip-processes]
//
// Runs a one-shot all-reduce with flag barriers on 1..N GPUs, first with all ranks in this process, then with one
// process a rank (descriptors over UNIX sockets). Prints one JSON object and PASS or FAIL; exit code 0 or 1.
// `--driver build/Release/fake-cuda/libcuda.so.1 --fake` runs the same against the fake driver of the tests.
import { execFileSync, fork } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

import * as device from "../../dist/src/runtime/cuda/device.js";
import * as descriptors from "../../dist/src/runtime/cuda/fd-exchange.js";
import * as graph from "../../dist/src/runtime/cuda/graph.js";
import * as launching from "../../dist/src/runtime/cuda/launch.js";
import * as memory from "../../dist/src/runtime/cuda/memory.js";
import * as symmetric from "../../dist/src/runtime/cuda/symmetric.js";
import * as timing from "../../dist/src/runtime/cuda/timer.js";
import { native } from "../../dist/src/runtime/native.js";
import { summarize } from "../../dist/src/runtime/summary.js";
import {
  allReduceManifest,
  emptyManifest,
  epochBytes,
  fakeCubin,
  maxBlocks,
  flagBytes,
  smokeSource,
} from "./smoke-kernels.mjs";

// Not cuda/index.js: that brings the compiler, whose packages are not carried here.
const cuda = { ...device, ...descriptors, ...graph, ...launching, ...memory, ...symmetric, ...timing };

const { values: options } = parseArgs({
  options: {
    gpus: { type: "string" },
    nvrtc: { type: "string" },
    driver: { type: "string" },
    fake: { type: "boolean", default: false },
    "skip-processes": { type: "boolean", default: false },
    rank: { type: "string" }, // set in the children
  },
});
const timeoutMs = 20_000;
const sizes = [2, 8191, 1 << 20];

function findNvrtc() {
  if (options.nvrtc) return options.nvrtc;
  const folders = [process.env.CUDA_HOME, "/usr/local/cuda"].filter(Boolean).map((home) => path.join(home, "lib64"));
  try {
    const list =
      "import sys,os;print('\\n'.join(os.path.join(p,'nvidia',d,'lib') for p in sys.path for d in ('cu13','cuda_nvrtc')))";
    folders.push(...execFileSync("python3", ["-c", list], { encoding: "utf8" }).trim().split("\n"));
  } catch {
    // no Python, no wheels
  }
  for (const folder of folders) {
    if (!existsSync(folder)) continue;
    const file = readdirSync(folder).find((name) => /^libnvrtc\.so\.\d+$/.test(name));
    if (file) return path.join(folder, file);
  }
  throw new Error(`no libnvrtc in ${folders.join(", ")}: pass --nvrtc FILE`);
}

async function compile(ranks, arch) {
  if (options.fake) return fakeCubin(ranks);
  const library = findNvrtc();
  const folder = path.dirname(library);
  const builtins = readdirSync(folder).find((name) => /^libnvrtc-builtins\.so\.\d+\.\d+$/.test(name));
  native().openNvrtc(library, builtins && path.join(folder, builtins));
  const result = await native().nvrtcCompile(smokeSource(ranks), "smoke.cu", [`-arch=${arch}`]);
  if (!result.ok) throw new Error(`NVRTC: ${result.codeName}\n${result.log}`);
  return result.cubin;
}

/** Values whose sums over a few ranks are exact in float32, so that the result must match bit by bit. */
const valueAt = (rank, i) => ((i * 7 + rank * 13) % 4096) - 2048;

function check(y, n, ranks) {
  for (let i = 0; i < n; i++) {
    let want = 0;
    for (let r = 0; r < ranks; r++) want += valueAt(r, i);
    if (y[i] !== want) throw new Error(`n=${n}: y[${i}] is ${y[i]}, not ${want}`);
  }
}

/** One rank's buffers, kernel and stream. */
class Rank {
  constructor({ rank, ranks, device, cubin, arch, x, flags, capacity }) {
    Object.assign(this, { rank, ranks, device, x, flags });
    this.y = cuda.DeviceMemory.allocate(device, capacity * 4);
    this.epochs = cuda.DeviceMemory.allocate(device, epochBytes);
    this.epochs.fill(0);
    this.status = new cuda.StatusRecord(device);
    this.stream = native().streamCreate(device);
    this.kernel = new cuda.KernelFunction(device, allReduceManifest(ranks, arch), cubin);
  }
  prepare(n, timeoutNs = 5_000_000_000n) {
    return this.kernel.prepareBlocks(Math.min(Math.ceil(n / 1024), maxBlocks), {
      rank: this.rank,
      dims: { n },
      pointers: { epochs: this.epochs.pointer, y: this.y.pointer },
      peers: { x: this.x.peerPointers, flags: this.flags.peerPointers },
      timeoutNs,
      status: this.status.pointer,
    });
  }
  fillInput(n) {
    const values = Float32Array.from({ length: n }, (_, i) => valueAt(this.rank, i));
    cuda.DeviceMemory.view(this.device, this.x.localPointer, this.x.bytes).write(values);
    this.y.fill(0xff);
  }
  async finish(n) {
    await cuda.waitForStream(this.stream, timeoutMs, `rank ${this.rank}`);
    const failure = this.status.read();
    if (failure) throw new Error(`rank ${this.rank}: a wait ran out: ${JSON.stringify(failure)}`);
    check(this.y.read(new Float32Array(n)), n, this.ranks);
  }
  /** Median microseconds per launch over graphs of 10. */
  async time(n, enqueueAll, replays = 20) {
    const launch = this.prepare(n);
    const graph = cuda.CudaGraph.capture(this.stream, () => {
      for (let i = 0; i < 10; i++) launch.enqueue(this.stream);
    });
    const timers = Array.from({ length: replays }, () => new cuda.EventTimer(this.device));
    const run = () => {
      for (const timer of timers) {
        timer.start(this.stream);
        graph.replay(this.stream);
        timer.stop(this.stream);
      }
    };
    await enqueueAll(run);
    await cuda.waitForStream(this.stream, timeoutMs, `rank ${this.rank}'s graphs`);
    const times = timers.slice(2).map((timer) => timer.elapsedUs() / 10);
    for (const timer of timers) timer.destroy();
    graph.destroy();
    launch.release();
    return { nodes: graph.nodes, ...summarize(times) };
  }
  destroy() {
    this.kernel.unload();
    native().streamDestroy(this.stream);
    this.status.free();
    this.epochs.free();
    this.y.free();
  }
}

async function inOneProcess(ranks) {
  const devices = Array.from({ length: ranks }, (_, r) => r);
  const arch = cuda.archOf(cuda.describeDevice(0));
  const cubin = await compile(ranks, arch);
  const capacity = sizes.at(-1);
  const xs = cuda.allocateInProcess(devices, capacity * 4);
  const flags = cuda.allocateInProcess(devices, flagBytes(ranks));
  const group = devices.map(
    (device, rank) => new Rank({ rank, ranks, device, cubin, arch, x: xs[rank], flags: flags[rank], capacity }),
  );
  for (const n of sizes) {
    for (const rank of group) rank.fillInput(n);
    for (let repeat = 0; repeat < 3; repeat++) {
      const launches = group.map((rank) => rank.prepare(n));
      group.forEach((rank, i) => launches[i].enqueue(rank.stream));
      for (const rank of group) await rank.finish(n);
      for (const launch of launches) launch.release();
    }
  }
  // Every rank must enqueue before any is waited for.
  const runs = [];
  const times = await Promise.all(
    group.map((rank) =>
      rank.time(8192, async (run) => {
        runs.push(run);
        while (runs.length < ranks) await new Promise((resolve) => setImmediate(resolve));
        run();
      }),
    ),
  );
  for (const rank of group) await rank.finish(8192);

  // Rank 0 alone: its wait must end, say for whom it waited, and leave the context alive.
  let timeout = null;
  if (ranks > 1 && !options.fake) {
    const lonely = group[0].prepare(2, 2_000_000n);
    lonely.enqueue(group[0].stream);
    await cuda.waitForStream(group[0].stream, timeoutMs, "the lonely launch");
    timeout = group[0].status.read();
    if (timeout === null || timeout.line !== 42) throw new Error("a wait that cannot be met did not report");
    lonely.release();
    group[0].y.fill(1);
  }
  for (const rank of group) rank.destroy();
  for (const allocation of [...xs, ...flags]) await allocation.free();
  return { us: times.map((t) => Number(t.median.toFixed(2))), nodes: times[0].nodes, timeout };
}

/** The exchange of a child process: messages to the parent, which answers when it has all. */
function parentExchange() {
  const waiting = new Map();
  process.on("message", ({ name, values }) => waiting.get(name)(values));
  let step = 0;
  const allGather = (name, value) =>
    new Promise((resolve) => {
      const key = `${step++}: ${name}`;
      waiting.set(key, resolve);
      process.send({ name: key, value });
    });
  return { allGather, barrier: async (name) => void (await allGather(name, null)) };
}

async function oneRank(rank, ranks) {
  const exchange = parentExchange();
  const arch = cuda.archOf(cuda.describeDevice(rank));
  const cubin = await compile(ranks, arch);
  const fds = await cuda.FdExchange.connect({ exchange, rank, world: ranks, timeoutMs });
  const heap = new cuda.SymmetricHeap({ device: rank, rank, world: ranks, exchange, fds });
  const capacity = sizes.at(-1);
  const x = await heap.allocate(capacity * 4, "x");
  const flags = await heap.allocate(flagBytes(ranks), "flags");
  const me = new Rank({ rank, ranks, device: rank, cubin, arch, x, flags, capacity });
  for (const n of sizes) {
    me.fillInput(n);
    await exchange.barrier("filled");
    const launch = me.prepare(n);
    for (let repeat = 0; repeat < 3; repeat++) {
      launch.enqueue(me.stream);
      await me.finish(n);
    }
    launch.release();
    await exchange.barrier("checked");
  }
  const time = await me.time(8192, async (run) => {
    await exchange.barrier("time");
    run();
  });
  me.destroy();
  await flags.free();
  await x.free();
  fds.close();
  process.send({ done: Number(time.median.toFixed(2)) }, () => process.exit(0));
}

/** Starts a process a rank and serves their exchange. */
function inProcesses(ranks) {
  return new Promise((resolve, reject) => {
    const children = [];
    const gathered = new Map();
    const us = Array(ranks).fill(null);
    const fail = (error) => {
      for (const child of children) child.kill("SIGKILL");
      reject(error);
    };
    for (let rank = 0; rank < ranks; rank++) {
      const args = [...process.argv.slice(2), "--rank", `${rank}/${ranks}`];
      const child = fork(new URL(import.meta.url), args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
      children.push(child);
      child.on("exit", (code, signal) => {
        if (us[rank] === null) fail(new Error(`rank ${rank} ended early: ${signal ?? code}`));
      });
      child.on("message", (message) => {
        if ("done" in message) {
          us[rank] = message.done;
          if (us.every((t) => t !== null)) resolve({ us });
          return;
        }
        const values = gathered.get(message.name) ?? gathered.set(message.name, []).get(message.name);
        values[rank] = message.value;
        if (Object.keys(values).length < ranks) return;
        gathered.delete(message.name);
        for (const other of children) other.send({ name: message.name, values });
      });
    }
    setTimeout(() => fail(new Error("the ranks did not finish in time")), 120_000).unref();
  });
}

/** Microseconds JavaScript spends on one enqueue, and on a synchronised launch. */
async function launchCost() {
  const arch = cuda.archOf(cuda.describeDevice(0));
  const kernel = new cuda.KernelFunction(0, emptyManifest(arch), await compile(1, arch));
  const launch = kernel.prepareBlocks(1, { rank: 0, dims: {}, pointers: {}, peers: {}, timeoutNs: 0n, status: 0n });
  const stream = native().streamCreate(0);
  const measure = async (count, action) => {
    const start = performance.now();
    for (let i = 0; i < count; i++) await action();
    return Number((((performance.now() - start) * 1000) / count).toFixed(2));
  };
  for (let i = 0; i < 100; i++) launch.enqueue(stream);
  await cuda.waitForStream(stream, timeoutMs, "warm-up");
  const enqueueStart = performance.now();
  for (let i = 0; i < 500; i++) launch.enqueue(stream);
  const enqueueUs = Number((((performance.now() - enqueueStart) * 1000) / 500).toFixed(2));
  await cuda.waitForStream(stream, timeoutMs, "launches");
  const blockingUs = await measure(200, () => {
    launch.enqueue(stream);
    native().streamSynchronizeBlocking(stream, timeoutMs);
  });
  const promiseUs = await measure(200, async () => {
    launch.enqueue(stream);
    await native().streamSynchronize(stream, timeoutMs);
  });
  // Asynchronous copies, both ways.
  const memory = cuda.DeviceMemory.allocate(0, 1 << 20);
  const out = Float32Array.from({ length: 1 << 18 }, (_, i) => i);
  const back = new Float32Array(1 << 18);
  await memory.writeAsync(stream, out);
  await memory.readAsync(stream, back);
  if (!Buffer.from(back.buffer).equals(Buffer.from(out.buffer))) throw new Error("asynchronous copies differ");
  memory.free();
  native().streamDestroy(stream);
  launch.release();
  kernel.unload();
  return { enqueueUs, blockingUs, promiseUs };
}

async function main() {
  const driver = cuda.openCuda(options.driver ? [options.driver] : undefined);
  if (options.rank) return oneRank(...options.rank.split("/").map(Number));
  const report = {
    driver,
    devices: cuda.describeDevices(),
    memory: native().memoryInfo(0),
    oneProcess: {},
    processes: {},
  };
  const gpus = Math.min(Number(options.gpus ?? driver.deviceCount), driver.deviceCount);
  let failure = null;
  try {
    if (gpus < 1) throw new Error("no GPU");
    report.launch = await launchCost();
    for (let ranks = 1; ranks <= gpus; ranks++) {
      report.oneProcess[ranks] = await inOneProcess(ranks);
      if (!options["skip-processes"]) report.processes[ranks] = await inProcesses(ranks);
    }
  } catch (error) {
    failure = error;
  }
  const text = (_, value) => (typeof value === "bigint" ? `0x${value.toString(16)}` : value);
  console.log(JSON.stringify({ ...report, error: failure && String(failure.stack) }, text, 1));
  console.log(failure ? "FAIL" : "PASS");
  process.exit(failure ? 1 : 0);
}

main().catch((error) => {
  console.error(error.stack, error.help ?? "");
  console.log("FAIL");
  process.exit(1);
});
