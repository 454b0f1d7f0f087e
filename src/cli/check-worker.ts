/** A thread of `collc check`: answers one question after the other. */
import { parentPort } from "node:worker_threads";
import type { CompileResult } from "../compiler/index.js";
import type { Reply } from "./check-thread.js";
import type { Query } from "./check-workers.js";
import { compileForProofs, inquire, type ProofRequest, Subject } from "./proofs.js";

const port = parentPort!;

/** What was compiled before there was a question about it. */
const expected = new Map<string, CompileResult>();
/** The last subject: several questions about one collective come in a row. */
let known: { readonly number: number; readonly subject: Subject } | null = null;

/** The same for what is compiled alike. */
function keyOf({ collective, ranks, dtype, mesh }: ProofRequest): string {
  return JSON.stringify([collective, ranks, dtype ?? null, mesh ?? null]);
}

function answer(query: Query): unknown {
  if (query.question === "compile") {
    const compiled = compileForProofs(query.program, query.request);
    if (compiled.kernel !== null) expected.set(keyOf(query.request), compiled);
    return null;
  }
  const { job, question, schedule } = query;
  const compiled = (): CompileResult | null => expected.get(keyOf(job.request)) ?? null;
  if (question === "all") return inquire(job, compiled());
  if (known?.number !== query.number) known = { number: query.number, subject: new Subject(job, compiled()) };
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
