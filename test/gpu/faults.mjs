// Faults on real GPUs, one process a rank: each must end in time, longer on a busy machine, with one clear message in every rank that survives, and
// leave nothing behind.
//
//   node test/gpu/faults.mjs [--ranks 2] [--backend cuda] [--only killed] [--out results.jsonl]
//
// Prints a line a case with what the ranks said, and `N passed, N failed`.
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openCuda } from "../../dist/src/runtime/cuda/index.js";
import { launchRanks } from "../../dist/src/runtime/launcher.js";
import { faults } from "./fault-cases.mjs";
import { quietEnvironment } from "./harness.mjs";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "2" },
    backend: { type: "string", default: "cuda" },
    only: { type: "string", default: "" },
    out: { type: "string", default: "" },
    rank: { type: "string" },
  },
});
const self = fileURLToPath(import.meta.url);
const ranks = Number(options.ranks);
const overlap = openCuda().deviceCount < ranks;

if (options.rank !== undefined) {
  try {
    await faults[options.rank].rank(Number(process.env.RANK), ranks);
    process.exit(0);
  } catch (error) {
    writeSync(2, `${error.message}\n`); // a pipe would lose it at exit
    process.exit(error.exitCode ?? 1);
  }
}

/** How much longer everything takes than on a machine of one's own: processes that want a processor, for each that there is. */
const slowness = () => Math.max(1, loadavg()[0] / availableParallelism());

const base = mkdtempSync(path.join(tmpdir(), "faults-"));
let nextPort = 23000 + (process.pid % 4000);

/** Whoever stops this suite stops its ranks. */
const alive = new Set();
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(143));
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
  rmSync(base, { recursive: true, force: true });
});

/** A run of one fault: how each rank ended and what it printed. */
async function start(name, { launcher = "torchrun", world = ranks, env = () => ({}), absent = [], within }, folder) {
  const limitMs = (2 * within * slowness() + 5) * 1000;
  const args = [self, "--rank", name, "--ranks", String(world)];
  const shared = {
    ...quietEnvironment,
    COLLC_BACKEND: options.backend,
    TMPDIR: folder,
    COLLC_ALLOW_OVERLAPPING_DEVICES: overlap && !faults[name].refusesOverlap ? "1" : "0",
  };
  const said = Array.from({ length: world }, () => "");
  if (launcher === "collc") {
    process.env.TMPDIR = folder; // where the run's folder goes
    const result = await launchRanks({
      ranks: world,
      args,
      env: shared,
      timeoutMs: limitMs,
      onMessage: (rank, line) => (said[rank] += `${line}\n`),
      onOutput: (rank, _stream, line) => (said[rank] += `${line}\n`),
    });
    return { code: result.exitCode, message: result.failure?.message ?? "", said, codes: [] };
  }
  const port = nextPort++;
  const ends = Array.from({ length: world }, (_, rank) => {
    if (absent.includes(rank)) return { code: null, signal: "absent" };
    const child = spawn(process.execPath, args, {
      env: {
        ...process.env,
        ...shared,
        RANK: String(rank),
        WORLD_SIZE: String(world),
        LOCAL_RANK: String(rank),
        LOCAL_WORLD_SIZE: String(world),
        MASTER_ADDR: "127.0.0.1",
        MASTER_PORT: String(port),
        // As a launcher would give it: without one, each rank warns.
        COLLC_STORE_SECRET: "of this run",
        ...env(rank),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    alive.add(child);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (said[rank] += text));
    return new Promise((done) => {
      const kill = setTimeout(() => child.kill("SIGKILL"), limitMs);
      // A process that sits in a driver outlives even that; the other cases do not wait for it.
      const leave = setTimeout(() => {
        child.unref();
        for (const stream of [child.stdout, child.stderr]) stream.destroy();
        done({ code: null, signal: "no end" });
      }, limitMs + 5000);
      child.once("close", (code, signal) => {
        alive.delete(child);
        clearTimeout(kill);
        clearTimeout(leave);
        done({ code, signal });
      });
    });
  });
  return { code: null, message: "", said, codes: await Promise.all(ends) };
}

/** What is wrong with how a run of a fault ended. */
function judge(fault, { code, message, said, codes }, seconds, folder) {
  const problems = [];
  const { exitCode, expect, ends } = fault;
  const within = fault.within * fault.slowness;
  if (seconds > within) problems.push(`took ${seconds.toFixed(1)} s, not ${within.toFixed(1)}`);
  if (fault.launcher === "collc") {
    if (code !== exitCode) problems.push(`exit code ${code}, not ${exitCode}`);
    if (expect && !expect.test(message)) problems.push(`the launcher said: ${message}`);
  }
  const world = fault.world ?? ranks;
  for (let rank = 0; rank < world; rank++) {
    const { end, says } = ends?.(rank, world) ?? {};
    if (end !== undefined) {
      const { code: own, signal } = codes[rank];
      if (![end].flat().includes(signal ?? own)) problems.push(`rank ${rank} ended with ${signal ?? own}, not ${end}`);
    }
    const lines = said[rank].split("\n").filter(Boolean);
    if (says === null && lines.length > 0) problems.push(`rank ${rank} said: ${lines.join(" / ")}`);
    if (says && (lines.length !== 1 || !says.test(lines[0])))
      problems.push(`rank ${rank} said ${lines.length === 0 ? "nothing" : lines.join(" / ")}, not one line ${says}`);
  }
  const left = readdirSync(folder).filter((name) => name.startsWith("collc-"));
  if (!fault.leaves && left.length > 0) problems.push(`left ${left.join(" ")}`);
  return problems;
}

let passed = 0;
let failed = 0;
for (const [name, fault] of Object.entries(faults)) {
  if (!(fault.backends ?? [options.backend]).includes(options.backend)) continue;
  if (!name.includes(options.only) || ranks < (fault.least ?? 2)) continue;
  const folder = mkdtempSync(path.join(base, "run-"));
  const began = performance.now();
  const before = slowness();
  const runs = await Promise.all(Array.from({ length: fault.times ?? 1 }, () => start(name, fault, folder)));
  const seconds = (performance.now() - began) / 1000;
  const timed = { ...fault, slowness: Math.max(before, slowness()) };
  const problems = runs.flatMap((run) => judge(timed, run, seconds, folder));
  if (fault.then !== undefined) {
    // What the run left behind is in the next one's way; after an hour it is swept.
    const hourAgo = new Date(Date.now() - 2 * 3600_000);
    for (const left of readdirSync(folder)) utimesSync(path.join(folder, left), hourAgo, hourAgo);
    const next = { ...faults[fault.then], launcher: "collc", within: 30, slowness: 1 };
    problems.push(...judge(next, await start(fault.then, next, folder), 0, folder));
  }
  if (problems.length === 0) passed++;
  else failed++;
  const said = runs.flatMap((run) => [run.message, ...run.said.map((text, r) => text && `rank ${r}: ${text.trim()}`)]);
  const line = {
    suite: "faults",
    backend: options.backend,
    ranks,
    overlap,
    name,
    ok: problems.length === 0,
    ms: Math.round(seconds * 1000),
  };
  if (options.out)
    appendFileSync(options.out, JSON.stringify({ ...line, problems, said: said.filter(Boolean) }) + "\n");
  console.log(`${line.ok ? "ok  " : "FAIL"} ${name} (${seconds.toFixed(1)} s)`);
  for (const problem of problems) console.log(`       ${problem}`);
  for (const text of said.filter(Boolean)) console.log(`       ${text.slice(0, 300).replaceAll("\n", " / ")}`);
}
rmSync(base, { recursive: true, force: true });
console.log(
  `faults, ${options.backend}, ${ranks} ranks${overlap ? " sharing GPUs" : ""}: ${passed} passed, ${failed} failed`,
);
process.exitCode = failed > 0 ? 1 : 0;
