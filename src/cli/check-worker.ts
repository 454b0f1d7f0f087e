/** A thread of `collc check`: answers one job after the other. */
import { parentPort } from "node:worker_threads";
import type { Reply } from "./check-workers.js";
import { inquire, type Job } from "./proofs.js";

const port = parentPort!;

port.on("message", (job: Job) => {
  let reply: Reply;
  try {
    reply = { inquiry: inquire(job) };
  } catch (error) {
    reply = { error };
  }
  port.postMessage(reply);
});
