/**
 * Host time of launches from TypeScript, and what they allocate, against the fake driver: what collc adds to the driver's own call.
 *
 *   npm run build && node --expose-gc bench/launch.mjs
 */
import { join } from "node:path";
import { DeviceKernel } from "../dist/src/runtime/device-kernel.js";
import { DeviceGroup } from "../dist/src/runtime/group-device.js";
import { joinGroup } from "../dist/src/runtime/bootstrap.js";
import { memoryStores } from "../dist/src/runtime/store.js";
import { openCuda } from "../dist/src/runtime/cuda/index.js";

openCuda([join(import.meta.dirname, "../build/Release/fake-cuda/libcuda.so.1")]);
const [store] = memoryStores(1);
const boot = await joinGroup({ store, timeoutMs: 5000 });
const group = await DeviceGroup.connect(boot, { backend: "cuda", timeoutMs: 5000 });

const header = Buffer.alloc(64);
header.writeUInt32BE(0x7f454c46, 0);
const cubin = new Uint8Array(Buffer.concat([header, Buffer.from("FAKE\nfake_add params=8,8 registers=32\n\0")]));
const kernel = {
  name: "fake_add",
  symbol: "fake_add",
  buffers: [{ name: "y", role: "output", dtype: "u32", shape: ["n"], symmetric: false }],
  parameters: [
    { kind: "pointer", buffer: "y" },
    { kind: "dim", name: "n" },
  ],
  blockThreads: 32,
  grid: { work: [], maxBlocks: 4 },
  sharedBytes: 0,
  cooperative: false,
};
const step = { kind: "launch", kernel: 0, maxBlocks: 4 };
const manifest = {
  formatVersion: 3,
  ...{
    collective: "add",
    ranks: 1,
    dtypes: {},
    arch: "sm_90a",
    dims: ["n"],
    mesh: [],
    requirements: [],
    roundings: [],
  },
  inputs: [],
  outputs: [{ name: "y", dtype: "u32", layout: { kind: "local" }, shape: ["n"], localShape: ["n"] }],
  specification: { nodes: [], outputs: [null] },
  symmetric: [],
  kernels: [kernel],
  plan: {
    by: "n",
    choices: [
      { below: 10, steps: [step] },
      { below: null, steps: [step] },
    ],
  },
};
const program = await DeviceKernel.load(group, manifest, [cubin]);
const y = group.local("u32", [64]);
const stream = group.stream();
const prepared = await program.prepare({ y }, { n: 64 });
const graph = await group.capture((recording) => prepared.launch(recording));

const COUNT = 20_000;
async function measure(what, launch) {
  for (let i = 0; i < COUNT; i++) launch(); // warmed up
  await stream.synchronize();
  const best = { us: Infinity, bytes: Infinity };
  for (let round = 0; round < 5; round++) {
    globalThis.gc?.();
    const heap = process.memoryUsage().heapUsed;
    const start = process.hrtime.bigint();
    for (let i = 0; i < COUNT; i++) launch();
    best.us = Math.min(best.us, Number(process.hrtime.bigint() - start) / 1e3 / COUNT);
    best.bytes = Math.min(best.bytes, (process.memoryUsage().heapUsed - heap) / COUNT);
    await stream.synchronize();
  }
  console.log(
    `${what.padEnd(24)} ${best.us.toFixed(2)} µs, ${Math.max(0, best.bytes).toFixed(1)} bytes of heap a call`,
  );
}
await measure("a prepared launch", () => prepared.launch(stream));
await measure("a replay of a graph", () => graph.launch(stream));
const start = process.hrtime.bigint();
for (let i = 0; i < 2000; i++) await program.launch({ y }, { n: 64 }, stream);
console.log(`a launch with checks      ${(Number(process.hrtime.bigint() - start) / 1e3 / 2000).toFixed(2)} µs`);
prepared.release();
graph.destroy();
await stream.destroy();
await program.unload();
await y.free();
await group.close();
