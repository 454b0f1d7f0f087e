/**
 * Ends the process when one input keeps it busy for too long. A loop without end cannot be interrupted from inside, so
 * a thread watches; before it ends the process, it prints the input.
 */
import { Worker } from "node:worker_threads";

const LIMIT_MS = 60_000;
const CAPACITY = 1 << 20;

/** [0]: number of the input, 0 for none; [1]: length of its text in bytes. */
const state = new Int32Array(new SharedArrayBuffer(8));
const text = new Uint8Array(new SharedArrayBuffer(CAPACITY));

const WATCH = `
  const { workerData: { state, text, limit } } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  for (;;) {
    const before = Atomics.load(state, 0);
    if (Atomics.wait(state, 0, before, limit) === "timed-out" && before !== 0) {
      const input = Buffer.from(text.slice(0, Atomics.load(state, 1))).toString();
      writeSync(2, "\\nno answer within " + limit / 1000 + " s for this input:\\n" + input + "\\n");
      process.kill(process.pid, "SIGKILL");
    }
  }`;

let count = 0;
let watcher: Worker | undefined;

/** Runs the check of an input under the watch. */
export async function guard(input: string, check: () => void | Promise<void>): Promise<void> {
  if (watcher === undefined) {
    watcher = new Worker(WATCH, { eval: true, workerData: { state, text, limit: LIMIT_MS } });
    watcher.unref();
  }
  const { written } = new TextEncoder().encodeInto(input, text);
  Atomics.store(state, 1, written);
  count = (count % 1_000_000_000) + 1;
  Atomics.store(state, 0, count);
  Atomics.notify(state, 0);
  try {
    await check();
  } finally {
    Atomics.store(state, 0, 0);
    Atomics.notify(state, 0);
  }
}
