// The runtime on real GPUs, one process a rank: memory, subgroups, signals, copies, words, streams, graphs, recovery.
// Needs node, dist/, build/Release/collc.node, kernels/ and production node_modules; no test runner.
//
//   node test/gpu/runtime.mjs --ranks 4 [--backend cuda] [--only signals] [--out results.jsonl]
//
// With more ranks than GPUs the ranks share them. Prints a JSON line a case and `N passed, N failed`.
import { appendFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openCuda } from "../../dist/src/runtime/cuda/index.js";
import { launchRanks } from "../../dist/src/runtime/launcher.js";
import { connect } from "../../dist/src/runtime/connect.js";
import { cases } from "./runtime-cases.mjs";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "2" },
    backend: { type: "string", default: "cuda" },
    only: { type: "string", default: "" },
    out: { type: "string", default: "" },
    rank: { type: "boolean", default: false },
  },
});
const ranks = Number(options.ranks);
const self = fileURLToPath(import.meta.url);
const SUITE_SECONDS = 240;
const CASE_SECONDS = 60;

async function runRank() {
  const group = await connect({ backend: options.backend, ranks, timeoutMs: 20_000 });
  const rank = group.localRanks[0];
  const say = (line) => rank === 0 && process.send(line);
  let passed = 0;
  let failed = 0;
  for (const [name, { run, least = 1 }] of Object.entries(cases)) {
    if (!name.includes(options.only) || ranks < least) continue;
    const began = performance.now();
    const late = sleep(CASE_SECONDS * 1000, undefined, { ref: false }).then(() => {
      throw new Error(`not done within ${CASE_SECONDS} s`);
    });
    const problem = await Promise.race([run(group, rank), late]).then(
      () => null,
      (error) => String(error.stack ?? error).slice(0, 600),
    );
    const problems = (await group.exchange("outcome", problem)).map((p, r) => p && `rank ${r}: ${p}`).filter(Boolean);
    if (problems.length === 0) passed++;
    else failed++;
    say({ name, ok: problems.length === 0, seconds: +((performance.now() - began) / 1000).toFixed(2), problems });
    // What a failed case left behind must not fail the next.
    if (problems.length > 0) await group.recover();
  }
  say({ summary: true, ranks, backend: group.backend, passed, failed });
  await group.close();
  process.exitCode = failed > 0 ? 1 : 0;
}

if (options.rank) {
  try {
    await runRank();
  } catch (error) {
    console.error(error.stack);
    process.exit(error.exitCode ?? 1);
  }
} else {
  if (options.out) writeFileSync(options.out, "");
  const overlap = openCuda().deviceCount < ranks;
  const result = await launchRanks({
    ranks,
    args: [path.resolve(self), "--rank", ...process.argv.slice(2)],
    env: overlap ? { COLLC_ALLOW_OVERLAPPING_DEVICES: "1" } : {},
    timeoutMs: SUITE_SECONDS * 1000,
    onMessage: (_rank, line) => {
      if (options.out) appendFileSync(options.out, JSON.stringify({ ...line, overlap }) + "\n");
      if (line.summary)
        console.log(
          `${line.backend}, ${line.ranks} ranks${overlap ? " sharing GPUs" : ""}: ${line.passed} passed, ${line.failed} failed`,
        );
      else console.log(JSON.stringify(line));
    },
  });
  if (result.failure) console.log(result.failure.message);
  process.exitCode = result.exitCode;
}
