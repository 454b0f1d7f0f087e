// What a lost or late rank does to the libraries' backends: every case must end in time, tell who it was, and leave no
// process behind. As a program it is one rank of a case.
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect } from "../../../dist/src/runtime/connect.js";
import { joinGroup } from "../../../dist/src/runtime/bootstrap.js";
import { launchRanks } from "../../../dist/src/runtime/launcher.js";

const timeoutMs = 4000;
/** From the fault to the end of all processes. Starting NVSHMEM or NCCL comes on top. */
const boundMs = 20_000;
const startMs = 20_000;

const die = () => process.kill(process.pid, "SIGKILL");
const open = (backend) => connect({ backend, timeoutMs });
const lost = /rank 1 failed: it was killed by SIGKILL/;

/** What each rank does, and what the launcher must say. Rank 1 is the guilty one. */
export const faults = {
  "killed before the library is set up": {
    says: lost,
    async act(backend, rank) {
      if (rank !== 1) return open(backend);
      await joinGroup({ timeoutMs });
      die();
    },
  },
  "killed while the others allocate": {
    says: lost,
    async act(backend, rank) {
      const group = await open(backend);
      await group.symmetric("u32", [64]);
      if (rank === 1) die();
      await group.symmetric("u32", [1 << 20]);
    },
  },
  "killed while the others are at a barrier on the device": {
    says: lost,
    async act(backend, rank) {
      const group = await open(backend);
      await group.symmetric("u32", [64]);
      await group.signalBarrier();
      if (rank === 1) die();
      await group.signalBarrier();
    },
  },
  "killed while the others close": {
    says: lost,
    async act(backend, rank) {
      const group = await open(backend);
      await group.symmetric("u32", [64]);
      if (rank === 1) die();
      await group.close();
      // Whoever closed in time waits for the launcher's verdict.
      await sleep(boundMs);
    },
  },
  "never comes to an allocation": {
    says: /was not complete within 4000 ms: missing rank 1/,
    async act(backend, rank) {
      const group = await open(backend);
      await group.symmetric("u32", [64]);
      if (rank === 1) await sleep(boundMs + startMs);
      await group.symmetric("u32", [64]);
    },
  },
};

/** Runs the cases for a backend. @returns rows as run-suite.mjs gives them. */
export async function runFaults(suite, backend, { world, env, deadline, only = "", log, say }) {
  const rows = [];
  for (const [name, { says }] of Object.entries(faults)) {
    if (!`${suite}: ${name}`.includes(only)) continue;
    const row = { suite, world, name, ok: null, ms: 0, detail: "left out: the time was over" };
    if (world < 2) row.detail = "skipped: one rank";
    else if (performance.now() < deadline) Object.assign(row, await runFault(backend, name, says, { world, env, log }));
    rows.push(row);
    say(row);
  }
  return rows;
}

async function runFault(backend, name, says, { world, env, log }) {
  const began = performance.now();
  let pids = [];
  const result = await launchRanks({
    ranks: world,
    args: [fileURLToPath(import.meta.url), "--rank", backend, name],
    env,
    timeoutMs: boundMs + startMs,
    onStart: (started) => {
      pids = started;
    },
    onOutput: (rank, _stream, line) => log(`[${name} on ${backend}, rank ${rank} of ${world}] ${line}`),
  });
  const ms = Math.round(performance.now() - began);
  const message = result.failure?.message ?? "nothing failed";
  const alive = pids.filter((pid) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  });
  const problems = [];
  if (!says.test(message)) problems.push(`the launcher says: ${message}`);
  if (alive.length > 0) problems.push(`${alive.length} processes live on`);
  if (ms > boundMs + startMs / 2) problems.push(`it took ${ms} ms`);
  return { ok: problems.length === 0, ms, detail: problems.join("; ") || message.split("\n")[0] };
}

if (process.argv[2] === "--rank") {
  const [, , , backend, name] = process.argv;
  await faults[name].act(backend, Number(process.env.RANK));
}
