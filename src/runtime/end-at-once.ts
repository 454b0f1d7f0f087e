/**
 * How a process ends while a GPU works for it. At exit() the CUDA runtime inside NCCL and NVSHMEM waits for every kernel,
 * also for one that spins until its own timeout because its peer is gone; and libraries are taken down under threads that
 * are still inside, which crashes. So whoever uses them asks here for an end without destructors, until all is given back.
 */
import { isMainThread } from "node:worker_threads";
import { atExit } from "./at-exit.js";
import { native } from "./native.js";

/**
 * From now on an end of this process, however it comes about, runs all of JavaScript's "exit" listeners and then no
 * destructor of any library. @returns what takes it back.
 */
export function skipDestructors(): () => void {
  // The end of a worker thread is not that of the process.
  return isMainThread ? atExit(() => native().skipDestructors()) : () => {};
}
