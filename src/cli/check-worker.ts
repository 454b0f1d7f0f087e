/** A thread of `collc check`: answers one question after the other. */
import { parentPort } from "node:worker_threads";
import { type Everywhere, unpacked } from "../compiler/index.js";
import { conclude } from "./check-parts.js";
import { type Introduction, LATER, type Question, type Reply, TAKEN, takes, thrown } from "./check-protocol.js";
import { inquire, Subject } from "./proofs.js";

const port = parentPort!;

/** What there may be questions about, by number. */
const introduced = new Map<number, Introduction>();
/** What there was a question about. */
const subjects = new Map<number, Subject>();

function subjectOf(number: number): Subject {
  let subject = subjects.get(number);
  if (subject === undefined) {
    const { job, compiled, printed } = introduced.get(number)!;
    subjects.set(number, (subject = new Subject(job, unpacked(compiled), printed)));
  }
  return subject;
}

/** What this thread has shown of every length, by number. */
const shown = new Map<number, Everywhere>();

function answer({ about, number, schedule, found, claim }: Question): unknown {
  const everywhere = found.everywhere ?? shown.get(number);
  if ((about === "orderings" || about === "answers") && everywhere === undefined) return LATER;
  if (claim !== null && !takes(claim)) return TAKEN;
  const { job, compiled, printed } = introduced.get(number)!;
  if (about === "all") {
    // The only question about it, of many.
    introduced.delete(number);
    return inquire(job, unpacked(compiled), printed);
  }
  const subject = subjectOf(number);
  if (about === "conclusion") return conclude(subject, job, found);
  if (about === "schedules") return subject.schedules(schedule);
  if (about !== "everywhere") return subject[about](everywhere!);
  const all = subject.everywhere();
  shown.set(number, all);
  return all;
}

port.on("message", (message: Introduction | Question) => {
  if (message.about === "job") return void introduced.set(message.number, message);
  let reply: Reply;
  try {
    reply = { value: answer(message) };
  } catch (error) {
    reply = { error: thrown(error) };
  }
  port.postMessage(reply);
});
