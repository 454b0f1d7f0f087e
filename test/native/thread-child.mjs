// Worker threads that use the addon, for threads.test.ts: `node thread-child.mjs ADDON JOB TIMES`; prints "held" if all went well.
import { createRequire } from "node:module";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const [addonPath, job, times] = isMainThread ? process.argv.slice(2) : workerData;
const load = () => createRequire(import.meta.url)(addonPath);
const library = (name) => `${addonPath.slice(0, addonPath.lastIndexOf("/"))}/${name}`;

async function inMain() {
  const start = () => new Worker(new URL(import.meta.url), { workerData: [addonPath, job], stderr: true });
  if (job === "error-under-compile") {
    // The thread is the only one that has the addon, and ends of an error that has nothing to do with it.
    const worker = start();
    await once(worker, "error");
    await once(worker, "exit");
    await sleep(2500); // its compilation goes on
  } else if (job === "exit-under-compile") {
    start();
    await sleep(700);
  } else if (job === "free-elsewhere") {
    const addon = load();
    addon.openCuda([library("fake-cuda/libcuda.so.1")]);
    const { handle } = addon.hostAlloc(0, 4096);
    const worker = new Worker(new URL(import.meta.url), { workerData: [addonPath, job], stderr: true });
    worker.postMessage(handle);
    const [said] = await once(worker, "message");
    addon.hostFree(handle);
    if (!/frees|freed by the thread/.test(said)) throw new Error(said);
    await worker.terminate();
  } else {
    for (let i = 0; i < Number(times); i++) {
      const workers = [start(), start()];
      await Promise.all(workers.map((worker) => once(worker, "message")));
      await sleep((i * 7) % 23);
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
  }
  writeSync(1, "held\n");
  process.exit(0);
}

async function inThread() {
  const addon = load();
  if (job.endsWith("under-compile")) {
    addon.openNvrtc(library("fake-nvrtc/libnvrtc.so.99"), library("fake-nvrtc/libnvrtc-builtins.so.99.0"));
    void addon.nvrtcCompile("// slow", "k.cu", []);
    await sleep(200);
    if (job === "error-under-compile") throw new Error("nothing to do with it");
    return;
  }
  addon.openCuda([library("fake-cuda/libcuda.so.1")]);
  if (job === "free-elsewhere") {
    const [handle] = await once(parentPort, "message");
    try {
      addon.hostFree(handle);
      parentPort.postMessage("it was freed");
    } catch (error) {
      parentPort.postMessage(error.message);
    }
    return;
  }
  parentPort.postMessage("ready");
  const stream = addon.streamCreate(0);
  for (;;) {
    if (job === "terminate-while-throwing") {
      for (let i = 0; i < 1000; i++) {
        try {
          addon.streamQuery(123456789 + i);
        } catch {
          // as expected
        }
      }
    } else {
      const calls = Array.from({ length: 20 }, (_, i) =>
        i % 2 ? addon.streamSynchronize(stream, 10) : addon.fdChannelReceive(1e9, 1),
      );
      await Promise.allSettled(calls);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

await (isMainThread ? inMain() : inThread());
