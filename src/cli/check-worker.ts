/** A thread of `collc check`: answers one question after the other. */
import { parentPort } from "node:worker_threads";
import type { Reply } from "./check-thread.js";
import type { Query } from "./check-workers.js";
import { inquire, Subject } from "./proofs.js";

const port = parentPort!;

/** The last subject: several questions about one collective come in a row. */
let known: { readonly number: number; readonly subject: Subject } | null = null;

function answer({ number, job, question, schedule }: Query): unknown {
  if (question === "all") return inquire(job);
  if (known?.number !== number) known = { number, subject: new Subject(job) };
  const { subject } = known;
  return question === "schedules" ? subject.schedules(schedule) : subject[question]();
}

port.on("message", (query: Query) => {
  let reply: Reply;
  try {
    reply = { value: answer(query) };
  } catch (error) {
    reply = { error };
  }
  port.postMessage(reply);
});
