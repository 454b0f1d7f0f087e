/** A rank does not outlive its launcher. A file of its own, so that it is on guard before anything else is loaded. */
import { rmSync, writeSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { isProcessAlive } from "./atomic-file.js";
import { type Environment, processEnvironment, readEnv, readEnvInteger } from "./env.js";
import { exitCodes, systemCode } from "./errors.js";

/** Set while a launcher is watched: what to do when it is gone. */
let end: (() => void) | null = null;

/** In a rank whose launcher is watched: ends as if it were gone. Elsewhere nothing. */
export function endWithLauncher(): void {
  end?.();
}

/**
 * In a rank of `collc run`: ends this process, its group and the run's folder when the launcher is gone, however
 * it died. Call it first thing in a rank; `joinGroup` calls it too. Elsewhere it does nothing.
 *
 * The main thread notices by the store; a watchdog thread compares the parent's id twice a second, for a rank that
 * has not joined yet or sits in a native call. The IPC channel's "disconnect" is not used, because a listener
 * would keep a rank alive that is done.
 */
export function watchLauncher(env: Environment = processEnvironment()): void {
  if (readEnv("COLLC_ENDS_WITH_INPUT", env) === "1") watchInput();
  const runDirectory = readEnv("COLLC_RUN_DIR", env);
  if (end !== null || runDirectory === undefined || process.send === undefined) return;
  const launcher = process.ppid;
  const named = readEnvInteger("COLLC_LAUNCHER", env);
  const text = `collc: rank ${readEnv("RANK", env) ?? "?"} stops: its launcher is gone`;
  end = (): void => {
    printLine(text);
    rmSync(runDirectory, { recursive: true, force: true });
    // The launcher made this process the leader of its group; -pid fails where it did not.
    for (const target of [-process.pid, process.pid]) {
      try {
        process.kill(target, "SIGKILL");
      } catch {
        // the next one
      }
    }
  };
  // It died before this process could look: then the parent is somebody else already, for ever.
  if (named !== undefined && !isProcessAlive(named)) return endWithLauncher();
  // A broken pipe to the launcher may end this process before the store tells.
  let isPipeBroken = false;
  process.on("uncaughtExceptionMonitor", (error) => {
    isPipeBroken ||= systemCode(error) === "EPIPE";
  });
  process.on("exit", () => {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (let i = 0; isPipeBroken && i < 10 && process.ppid === launcher; i++) Atomics.wait(pause, 0, 0, 20);
    if (process.ppid !== launcher) endWithLauncher();
  });
  const watchdog = new Worker(watchdogSource, {
    eval: true,
    workerData: { launcher, runDirectory, text },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 },
  });
  watchdog.on("error", () => {}); // the store is still there
  watchdog.unref();
}

const watchdogSource = `
const { workerData } = require("node:worker_threads");
const { rmSync, writeSync } = require("node:fs");
setInterval(() => {
  if (process.ppid === workerData.launcher) return;
  try { writeSync(2, workerData.text + "\\n"); } catch {}
  rmSync(workerData.runDirectory, { recursive: true, force: true });
  for (const target of [-process.pid, process.pid]) try { process.kill(target, "SIGKILL"); } catch {}
}, 500);
`;

/** So long a rank may take to end of itself, once its launcher is gone, in milliseconds. */
const graceMs = 2000;
let isInputWatched = false;

/**
 * Ends this process, in order if it can, when its standard input ends: its launcher is on another host, and what connected them is gone.
 */
function watchInput(): void {
  if (isInputWatched) return;
  isInputWatched = true;
  const watchdog = new Worker(inputSource, {
    eval: true,
    workerData: { graceMs },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 },
  });
  watchdog.on("message", () => process.exit(exitCodes.rankLost));
  watchdog.on("error", () => {}); // the store is still there
  watchdog.unref();
}

const inputSource = `
const { parentPort, workerData } = require("node:worker_threads");
const { Socket } = require("node:net");
const input = new Socket({ fd: 0, readable: true, writable: false });
const end = () => {
  parentPort.postMessage("end");
  setTimeout(() => {
    for (const target of [-process.pid, process.pid]) try { process.kill(target, "SIGKILL"); } catch {}
  }, workerData.graceMs);
};
input.once("close", end).on("error", () => {}).resume();
`;

/** Written at once and never an error: the reader may be gone, or this process about to be. */
export function printLine(text: string): void {
  try {
    writeSync(2, `${text}\n`);
  } catch {
    // nobody reads
  }
}
