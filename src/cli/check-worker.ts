/** A thread of `collc check`: answers one question after the other. */
import { parentPort } from "node:worker_threads";
import { unpacked } from "../compiler/index.js";
import { conclude } from "./check-parts.js";
import { type Introduction, type Question, type Reply, TAKEN, takes, thrown } from "./check-protocol.js";
import { inquire, Subject } from "./proofs.js";

const port = parentPort!;

/** What there may be questions about, by number. */
const introduced = new Map<number, Introduction>();
/** What there was a question about. */
const subjects = new Map<number, Subject>();

function subjectOf(number: number): Subject {
  let subject = subjects.get(number);
  if (subject === undefined) {
    const { job, compiled } = introduced.get(number)!;
    subjects.set(number, (subject = new Subject(job, unpacked(compiled))));
  }
  return subject;
}

function answer({ about, number, schedule, found, claim }: Question): unknown {
  if (claim !== null && !takes(claim)) return TAKEN;
  const { job, compiled } = introduced.get(number)!;
  if (about === "all") {
    // The only question about it, of many.
    introduced.delete(number);
    return inquire(job, unpacked(compiled));
  }
  const subject = subjectOf(number);
  if (about === "conclusion") return conclude(subject, job, found);
  if (about === "schedules") return subject.schedules(schedule);
  return about === "everywhere" ? subject.everywhere() : subject[about](found.everywhere!);
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
