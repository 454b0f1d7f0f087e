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
  if (ranks < FEW_RANKS || cores < 2 || !path.endsWith(".js")) return inTurn(jobs, onStart);
  if (jobs.length < 2 * cores) return schedulesAside(new Worker(path), jobs, onStart);
  const workers = Array.from({ length: Math.min(cores, jobs.length) }, () => new Worker(path));
  const inquiries = new Array<Inquiry>(jobs.length);
  // The largest first, so that none is left alone at the end.
  const order = jobs.map((_, i) => i).sort((a, b) => jobs[b]!.request.ranks - jobs[a]!.request.ranks);
  const serve = async (worker: Worker): Promise<void> => {
    for (let i = order.shift(); i !== undefined; i = order.shift()) {
      onStart(jobs[i]!);
      inquiries[i] = await ask(worker, jobs[i]!);
    }
  };
  try {
    await Promise.all(workers.map(serve));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return inquiries;
}

/** One after the other, here. */
async function inTurn(jobs: readonly Job[], onStart: (job: Job) => void): Promise<Inquiry[]> {
  const inquiries: Inquiry[] = [];
  for (const job of jobs) {
    onStart(job);
    inquiries.push(inquire(job));
    // So that a key or a signal is noticed.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return inquiries;
}

/** A few jobs, whose hostile schedules are run by another thread while this one proves. */
async function schedulesAside(worker: Worker, jobs: readonly Job[], onStart: (job: Job) => void): Promise<Inquiry[]> {
  const scheduleOf = ({ schedule }: Job) => schedule ?? { schedules: DEFAULT_SCHEDULES, seed: 0 };
  const aside = jobs.filter((job) => job.proves && scheduleOf(job).schedules > 0);
  const tried = (async () => {
    const found = new Map<Job, Inquiry>();
    for (const job of aside) found.set(job, await ask(worker, { ...job, proves: false, schedule: scheduleOf(job) }));
    return found;
  })();
  tried.catch(() => {}); // told below, where it is waited for
  try {
    // The first question is on its way before this thread is busy.
    await new Promise((resolve) => setImmediate(resolve));
    const own = jobs.map((job) => (aside.includes(job) ? { ...job, schedule: { schedules: 0, seed: 0 } } : job));
    const proved = await inTurn(own, onStart);
    const found = await tried;
    return jobs.map((job, i) => {
      const [mine, other] = [proved[i]!, found.get(job)];
      // Nobody asked for schedules of what is wrong already; see `Job.schedule`.
      if (other === undefined || (job.schedule === null && isWrong(mine))) return mine;
      return { ...mine, hostile: other.hostile, findings: [...mine.findings, ...other.findings] };
    });
  } finally {
    await worker.terminate();
  }
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
