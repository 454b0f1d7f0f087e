// The nvshmem and nccl backends on real GPUs (or on the fakes of test/native), and groups on every backend: one process a
// rank, each wait bounded. Needs node, dist/, build/Release/collc.node, kernels/ and production packages; no test runner.
//
//   node test/gpu/backends.mjs [--worlds 1,2,4] [--only nvshmem] [--minutes 9] [--out FOLDER]
//
// Without --worlds it takes those of 1, 2 and 4 that the machine has GPUs for. Prints a line a case and `N passed, N
// failed`; into FOLDER go backends.json, backends.md and backends.log. A case that takes more than a minute is killed and
// failed, and after --minutes nothing new begins. NVLink multicast stays off in everything started here.
import { execFile } from "node:child_process";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { summaryOf } from "./backends/report.mjs";
import { runSuite } from "./backends/run-suite.mjs";
import { suites } from "./backends/suites.mjs";

const { values: options } = parseArgs({
  options: {
    worlds: { type: "string", default: "" },
    only: { type: "string", default: "" },
    minutes: { type: "string", default: "9" },
    out: { type: "string", default: "" },
  },
});
const began = performance.now();
const deadline = began + Number(options.minutes) * 60_000;
const logLimit = 8 << 20;
const env = {
  NCCL_NVLS_ENABLE: "0",
  NVSHMEM_DISABLE_NVLS: "1",
  COLLC_DISABLE_MULTICAST: "1",
  NCCL_DEBUG: process.env.NCCL_DEBUG ?? "WARN",
  NVSHMEM_DEBUG: process.env.NVSHMEM_DEBUG ?? "WARN",
};
Object.assign(process.env, env);
/** What is tried, in order, where NVSHMEM does not come up as it is. */
const nvshmemFallbacks = [{}, { NVSHMEM_REMOTE_TRANSPORT: "none" }, { NVSHMEM_DISABLE_CUDA_VMM: "1" }];

if (options.out) mkdirSync(options.out, { recursive: true });
const file = (name) => path.join(options.out, name);
let logged = 0;
const log = (line) => {
  logged += line.length + 1;
  if (options.out && logged < logLimit) appendFileSync(file("backends.log"), `${line}\n`);
};
const say = (row) => {
  const mark = row.ok === null ? "–" : row.ok ? "✓" : "✗";
  console.log(
    `${mark} ${row.suite}, ${row.world} ranks: ${row.name} (${row.ms} ms) ${String(row.detail).slice(0, 1000)}`,
  );
};
if (options.out) writeFileSync(file("backends.log"), "");

const machine = await promisify(execFile)(
  process.execPath,
  [fileURLToPath(new URL("backends/machine.mjs", import.meta.url))],
  { timeout: 120_000 },
).then(
  ({ stdout }) => JSON.parse(stdout.trim().split("\n").at(-1)),
  (error) => ({ node: process.version, capabilities: { error: error.message } }),
);
console.log(JSON.stringify(machine));
const gpus = machine.capabilities.devices?.length ?? 0;
const worlds = options.worlds ? options.worlds.split(",").map(Number) : [1, 2, 4].filter((world) => world <= gpus);
const rows = [];
const write = () => {
  if (!options.out) return;
  const seconds = (performance.now() - began) / 1000;
  writeFileSync(file("backends.json"), JSON.stringify({ machine, env, seconds, rows }, null, 1));
  writeFileSync(file("backends.md"), summaryOf({ machine, rows, seconds, env }));
};
write();
if (worlds.length === 0) {
  console.log(`no GPU: ${machine.capabilities.error ?? "none was found"}`);
  process.exit(1);
}

/** Settings under which NVSHMEM comes up; the failures on the way are rows too. */
async function nvshmemSettings(world) {
  for (const [attempt, extra] of nvshmemFallbacks.entries()) {
    const debug = attempt > 0 ? { NVSHMEM_DEBUG: "INFO" } : {};
    const only = Object.keys(suites.nvshmem.cases)[0];
    const tried = await runSuite("nvshmem", { world, env: { ...env, ...extra, ...debug }, deadline, only, log, say });
    const ok = tried.every((row) => row.ok);
    const detail = `with ${JSON.stringify(extra)}: ${tried.map((row) => row.detail).join("; ")}`;
    rows.push({ suite: "nvshmem comes up", world, name: `attempt ${attempt + 1}`, ok, ms: tried[0]?.ms ?? 0, detail });
    if (ok) return extra;
  }
  return null;
}

// The largest world first: it says the most if the time runs out.
for (const world of [...worlds].sort((a, b) => b - a)) {
  let nvshmem;
  for (const name of Object.keys(suites)) {
    const usesNvshmem = name.includes("nvshmem");
    const wanted = Object.keys(suites[name].cases).some((each) => `${name}: ${each}`.includes(options.only));
    if (!wanted) continue;
    if (usesNvshmem && nvshmem === undefined) nvshmem = await nvshmemSettings(world);
    if (usesNvshmem && nvshmem === null) continue;
    const settings = { ...env, ...(usesNvshmem ? nvshmem : {}) };
    rows.push(...(await runSuite(name, { world, env: settings, deadline, only: options.only, log, say })));
    write();
  }
}
write();
const count = (ok) => rows.filter((row) => row.ok === ok).length;
console.log(`${count(true)} passed, ${count(false)} failed, ${count(null)} not run`);
process.exitCode = count(false) > 0 ? 1 : 0;
