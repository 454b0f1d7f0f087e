// The nvshmem and nccl backends on real GPUs (or on the fakes of test/native), one process a rank, each wait bounded.
// Needs node, dist/, build/Release/collc.node and production node_modules; no test runner.
//
//   node test/gpu/backends.mjs --ranks 4 [--only nvshmem] [--out results.jsonl]
//
// Prints one JSON line a case, {name, ranks, ok, ms, detail}, then `N passed, N failed`. Multicast stays off:
// COLLC_DISABLE_MULTICAST is set for everything started here.
import { appendFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { capabilities } from "../../dist/src/runtime/capabilities/index.js";
import { joinGroup } from "../../dist/src/runtime/bootstrap.js";
import { openCuda } from "../../dist/src/runtime/cuda/device.js";
import { Exchange } from "../../dist/src/runtime/exchange.js";
import { launchRanks } from "../../dist/src/runtime/launcher.js";
import { cliqueCases } from "./backends/clique.mjs";
import { ncclCases } from "./backends/nccl.mjs";
import { nvshmemCases } from "./backends/nvshmem.mjs";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "2" },
    only: { type: "string", default: "" },
    out: { type: "string", default: "" },
    rank: { type: "boolean", default: false },
    clique: { type: "string", default: "" },
  },
});
const ranks = Number(options.ranks);
const waitMs = 60_000;
/** Bound of one case; a stuck collective must not hold the machine. */
const caseMs = 90_000;

async function bounded(work, name) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} did not end within ${caseMs} ms`)), caseMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function runRank() {
  const { deviceCount } = openCuda();
  const boot = await joinGroup({ timeoutMs: waitMs });
  const { rank, world, store } = boot;
  if (boot.localRanks.length > deviceCount)
    throw new Error(`${world} ranks need as many GPUs; here are ${deviceCount}`);
  const subgroups = new Map();
  const placeOf = (members, exchange) => ({
    device: boot.localRank,
    rank: members.indexOf(rank),
    world: members.length,
    ranks: members,
    exchange,
    subgroup: (some) => {
      // The same on all members, whatever other groups they are in.
      const name = `sub ${some.join("+")}`;
      const count = subgroups.get(name) ?? 0;
      subgroups.set(name, count + 1);
      return placeOf(some, new Exchange(store, `${name} #${count}`, { ranks: some, timeoutMs: waitMs }));
    },
  });
  const place = placeOf(
    Array.from({ length: world }, (_, r) => r),
    boot.exchange,
  );
  let failed = 0;
  for (const [name, body] of Object.entries({ ...nvshmemCases, ...ncclCases })) {
    if (!name.includes(options.only)) continue;
    const began = performance.now();
    let outcome;
    try {
      outcome = { ok: true, detail: (await bounded(body(place), name)) ?? "" };
    } catch (error) {
      outcome = { ok: false, detail: `${error.message}${error.stack?.match(/\n.*backends\/.*/)?.[0] ?? ""}` };
    }
    const all = await boot.exchange.allGather(`outcome of ${name}`, outcome);
    const bad = all.flatMap((o, r) => (o.ok ? [] : [`rank ${r}: ${o.detail}`]));
    const ms = Math.round(performance.now() - began);
    if (rank === 0)
      process.send({ name, ranks: world, ok: bad.length === 0, ms, detail: bad.join("\n") || all[0].detail });
    if (bad.length > 0) failed++;
  }
  await boot.close();
  // A thread may still be in a library's call that never ends.
  process.exit(failed > 0 ? 1 : 0);
}

async function runClique() {
  const devices = Array.from({ length: Number(options.clique) }, (_, device) => device);
  openCuda();
  let failed = 0;
  for (const [name, body] of Object.entries(cliqueCases)) {
    const began = performance.now();
    let line;
    try {
      line = { ok: true, detail: (await bounded(body({ devices }), name)) ?? "" };
    } catch (error) {
      line = { ok: false, detail: error.message };
      failed++;
    }
    process.send({ name, ranks: devices.length, ...line, ms: Math.round(performance.now() - began) });
  }
  process.exit(failed > 0 ? 1 : 0);
}

if (options.rank || options.clique !== "") {
  try {
    await (options.rank ? runRank() : runClique());
  } catch (error) {
    console.error(error.stack.slice(0, 2000));
    process.exit(1);
  }
} else {
  if (options.out) writeFileSync(options.out, "");
  const counts = { passed: 0, failed: 0 };
  const say = (line) => {
    if (options.out) appendFileSync(options.out, JSON.stringify(line) + "\n");
    console.log(JSON.stringify(line));
    if (line.ok !== undefined) counts[line.ok ? "passed" : "failed"]++;
  };
  say({ machine: await capabilities() });
  const self = fileURLToPath(import.meta.url);
  const env = { NCCL_NVLS_ENABLE: "0", NVSHMEM_DISABLE_NVLS: "1", COLLC_DISABLE_MULTICAST: "1" };
  const launch = async (count, args) => {
    const result = await launchRanks({
      ranks: count,
      args: [self, ...process.argv.slice(2), ...args],
      env,
      timeoutMs: 8 * 60_000,
      onMessage: (_rank, line) => say(line),
    });
    if (result.failure && !/exit code 1/.test(result.failure.message)) {
      say({ name: "the run itself", ranks: count, ok: false, ms: 0, detail: result.failure.message });
    }
    return result.exitCode;
  };
  const codes = [await launch(ranks, ["--rank"])];
  if ("nccl lists".includes(options.only)) codes.push(await launch(1, ["--clique", String(ranks)]));
  const summary = { summary: true, ranks, ...counts };
  if (options.out) appendFileSync(options.out, JSON.stringify(summary) + "\n");
  console.log(`${ranks} ranks: ${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed > 0 || codes.some((code) => code !== 0) ? 1 : 0;
}
