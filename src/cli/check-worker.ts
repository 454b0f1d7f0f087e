/** A thread of `collc check`: answers one question after the other. */
import { parentPort } from "node:worker_threads";
import type { CompileResult } from "../compiler/index.js";
import { type Preparation, type Question, type Reply, TAKEN, takes, thrown } from "./check-protocol.js";
import { compileForProofs, inquire, type ProofRequest, Subject } from "./proofs.js";

const port = parentPort!;

/** What was compiled before there was a question about it. */
const expected = new Map<string, CompileResult>();
/** The last subject: several questions about one collective come in a row. */
let known: { readonly number: number; readonly subject: Subject } | null = null;

/** The same for what is compiled alike. */
function keyOf({ collective, ranks, dtype, mesh, variant }: ProofRequest): string {
  return JSON.stringify([collective, ranks, dtype ?? null, mesh ?? null, variant ?? null]);
}

function prepare({ program, request }: Preparation): void {
  const compiled = compileForProofs(program, request);
  // Of a program that can be done in several ways, those that its plan has are named with the question.
  if (compiled.ways.length < 2 && compiled.kernel !== null) expected.set(keyOf(request), compiled);
}

function answer({ about, job, number, schedule, claim }: Question): unknown {
  if (claim !== null && !takes(claim)) return TAKEN;
  const compiled = (): CompileResult | null => expected.get(keyOf(job.request)) ?? null;
  if (about === "all") return inquire(job, compiled());
  if (known?.number !== number) known = { number, subject: new Subject(job, compiled()) };
  const { subject } = known;
  return about === "schedules" ? subject.schedules(schedule) : subject[about]();
}

port.on("message", (message: Preparation | Question) => {
  let reply: Reply;
  try {
    reply = { value: message.about === "compile" ? prepare(message) : answer(message) };
  } catch (error) {
    reply = { error: thrown(error) };
  }
  port.postMessage(reply);
});
