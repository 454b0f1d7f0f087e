/** Answers many questions at once, a thread for each core. */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { DEFAULT_SCHEDULES, inquire, type Inquiry, isWrong, type Job } from "./proofs.js";

/** Ranks of all jobs together, below which they are done before a thread has started. */
const FEW_RANKS = 8;

/** What a worker answers. */
export type Reply = { readonly inquiry: Inquiry } | { readonly error: unknown };

/**
 * @param onStart called before a job is begun
 * @returns one inquiry a job, in the order of the jobs
 */
export async function inquireAll(jobs: readonly Job[], onStart: (job: Job) => void): Promise<Inquiry[]> {
  const path = fileURLToPath(new URL(`./check-worker${extname(import.meta.url)}`, import.meta.url));
  const cores = availableParallelism();
  const ranks = jobs.reduce((sum, job) => sum + job.request.ranks, 0);
  // Threads run what is built; from TypeScript sources, as in tests, there are none.
  if (ranks < FEW_RANKS || cores < 2 || !path.endsWith(".js")) {
    const inquiries: Inquiry[] = [];
    for (const job of jobs) {
      onStart(job);
      inquiries.push(inquire(job));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return inquiries;
  }
  const parts = jobs.length < 2 * cores ? jobs.map(partsOf) : jobs.map((job) => [job]);
  const inquiries = await inThreads(path, parts.flat(), cores, onStart);
  return parts.map((own, j) => {
    const [proved, tried] = own.map(() => inquiries.shift()!) as [Inquiry, Inquiry?];
    return tried === undefined ? proved : joined(jobs[j]!, proved, tried);
  });
}

/** Proof and schedules of a job, for a thread each. */
function partsOf(job: Job): readonly Job[] {
  const schedule = job.schedule ?? { schedules: DEFAULT_SCHEDULES, seed: 0 };
  if (!job.proves || schedule.schedules === 0) return [job];
  return [
    { ...job, schedule: { ...schedule, schedules: 0 } },
    { ...job, proves: false, schedule },
  ];
}

/** What a proof found and what schedules found; see `Job.schedule`. */
function joined({ schedule }: Job, proved: Inquiry, tried: Inquiry): Inquiry {
  if (schedule === null && isWrong(proved)) return proved;
  return { ...proved, hostile: tried.hostile, findings: [...proved.findings, ...tried.findings] };
}

async function inThreads(
  path: string,
  jobs: readonly Job[],
  cores: number,
  onStart: (job: Job) => void,
): Promise<Inquiry[]> {
  const inquiries = new Array<Inquiry>(jobs.length);
  const workers: Worker[] = [];
  // The largest first, so that none is left alone at the end.
  const order = jobs.map((_, i) => i).sort((a, b) => jobs[b]!.request.ranks - jobs[a]!.request.ranks);
  const serve = async (): Promise<void> => {
    const worker = new Worker(path);
    workers.push(worker);
    for (let i = order.shift(); i !== undefined; i = order.shift()) {
      onStart(jobs[i]!);
      inquiries[i] = await ask(worker, jobs[i]!);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(cores, jobs.length) }, serve));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return inquiries;
}

function ask(worker: Worker, job: Job): Promise<Inquiry> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number): void => reject(new Error(`a thread of collc check ended with ${code}`));
    worker.once("error", reject);
    worker.once("exit", onExit);
    worker.once("message", (reply: Reply) => {
      worker.off("error", reject);
      worker.off("exit", onExit);
      if ("inquiry" in reply) resolve(reply.inquiry);
      else reject(reply.error as Error);
    });
    worker.postMessage(job);
  });
}
