// What the suites of cases share: ranks that run one case after the other, and a parent that starts fresh ranks after a
// case that failed, hung or killed one of them. So every case is judged, and none by what another left behind.
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../dist/src/runtime/connect.js";
import { openCuda } from "../../dist/src/runtime/cuda/index.js";
import { Exchange } from "../../dist/src/runtime/exchange.js";
import { launchRanks } from "../../dist/src/runtime/launcher.js";

/** NVLink multicast stays off in everything that is started: a shared host may not survive it. */
export const quietEnvironment = { COLLC_DISABLE_MULTICAST: "1", NCCL_NVLS_ENABLE: "0", NVSHMEM_DISABLE_NVLS: "1" };

const WAIT_MS = 10_000;

/** Names of the cases that apply, in order. `skip` lists parts of names, with commas between. */
export function select(cases, { only = "", skip = "", ranks, backend }) {
  const skipped = skip.split(",").filter(Boolean);
  return Object.entries(cases)
    .filter(([name]) => name.includes(only) && !skipped.some((part) => name.includes(part)))
    .filter(([, { least = 1, backends = [backend] }]) => ranks >= least && backends.includes(backend))
    .map(([name]) => name);
}

/** A rank: runs cases from `from` on until one fails on any rank. */
export async function runRank({ cases, names, from, backend, ranks, seconds }) {
  const group = await connect({ backend, ranks, timeoutMs: WAIT_MS });
  const rank = group.localRanks[0];
  // Meets under names of its own, so that outcomes are heard whatever step a failed case left the group at.
  const control = new Exchange(group.boot.store, `outcomes/${from}`, { timeoutMs: (seconds + 10) * 1000 });
  for (let i = from; i < names.length; i++) {
    process.send({ begin: i });
    const began = performance.now();
    const late = sleep(seconds * 1000, undefined, { ref: false }).then(() => {
      throw new Error(`not done within ${seconds} s`);
    });
    const problem = await Promise.race([cases[names[i]].run(group, rank), late]).then(
      () => null,
      (error) => String(error.stack ?? error).slice(0, 800),
    );
    const all = await control.allGather(names[i], problem);
    const problems = all.map((p, r) => p && `rank ${r}: ${p}`).filter(Boolean);
    const ms = Math.round(performance.now() - began);
    if (rank === 0) process.send({ end: i, ms, problems });
    if (problems.length === 0) continue;
    await control.allGather("told", null); // rank 0 hosts nothing, but its message must be out
    await sleep(50);
    process.exit(0);
  }
  await group.close();
  if (rank === 0) process.send({ closed: true });
}

/**
 * The parent: every case gets an outcome, and a line of JSON in `out`.
 * @returns numbers of cases that passed and failed.
 */
export async function runCases({ suite, self, names, ranks, backend, seconds, out, args = [], env = {} }) {
  const overlap = openCuda().deviceCount < ranks;
  const tally = { passed: 0, failed: 0 };
  const report = (name, problems, ms) => {
    const ok = problems.length === 0;
    tally[ok ? "passed" : "failed"]++;
    const line = { suite, backend, ranks, overlap, name, ok, ms, problems };
    if (out) appendFileSync(out, JSON.stringify(line) + "\n");
    console.log(`${ok ? "ok  " : "FAIL"} ${name} (${(ms / 1000).toFixed(2)} s)`);
    for (const problem of problems) console.log("       " + problem.split("\n").slice(0, 6).join("\n       "));
  };
  for (let from = 0; from < names.length;) {
    let [at, judged, began, pids] = [from, from, performance.now(), []];
    let [hasBegun, isClosed] = [false, false];
    // A rank that blocks its thread hears no timeout of its own.
    const watchdog = setInterval(() => {
      if (performance.now() - began < (seconds + 20) * 1000) return;
      for (const pid of pids) if (alive(pid)) process.kill(pid, "SIGKILL");
    }, 500);
    const result = await launchRanks({
      ranks,
      args: [self, "--rank", "--from", String(from), ...args],
      env: { ...quietEnvironment, ...(overlap && { COLLC_ALLOW_OVERLAPPING_DEVICES: "1" }), ...env },
      timeoutMs: (seconds + 30) * 1000 * (names.length - from),
      onOutput: (rank, _stream, line) => console.log(`       [rank ${rank}] ${line.slice(0, 500)}`),
      onStart: (started) => (pids = started),
      onMessage: (_rank, message) => {
        began = performance.now();
        hasBegun = true;
        if ("begin" in message) at = Math.max(at, message.begin);
        if ("end" in message) {
          report(names[message.end], message.problems, message.ms);
          judged = message.end + 1;
        }
        if (message.closed) isClosed = true;
      },
    });
    clearInterval(watchdog);
    if (!hasBegun) {
      // No group came about, and none will for the cases after it.
      for (const name of names.slice(from)) report(name, [result.failure?.message ?? "the ranks did nothing"], 0);
      break;
    }
    if (judged === from || (judged < names.length && at >= judged && result.failure)) {
      // Nobody judged the case that was under way: a rank was lost in it, or none came that far.
      const what = result.failure?.message ?? "the ranks ended without an outcome";
      report(names[judged], [what], Math.round(performance.now() - began));
      judged++;
    } else if (judged === names.length && !isClosed && result.failure)
      report("close after the last case", [result.failure.message], Math.round(performance.now() - began));
    from = judged;
  }
  console.log(
    `${suite}, ${backend}, ${ranks} ranks${overlap ? " sharing GPUs" : ""}: ${tally.passed} passed, ${tally.failed} failed`,
  );
  return tally;
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
