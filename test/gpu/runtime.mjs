// The runtime on real GPUs, one process a rank: memory, subgroups, signals, copies, words, streams, graphs, recovery.
// Needs node, dist/, build/Release/collc.node, kernels/ and production node_modules; no test runner.
//
//   node test/gpu/runtime.mjs --ranks 4 [--backend cuda] [--only signals] [--skip "2 GiB,stays flat"] [--out results.jsonl]
//
// With more ranks than GPUs the ranks share them. Prints a line a case and `N passed, N failed`; --out adds JSON lines.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runCases, runRank, select } from "./harness.mjs";
import { cases } from "./runtime/cases.mjs";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "2" },
    backend: { type: "string", default: "cuda" },
    only: { type: "string", default: "" },
    skip: { type: "string", default: "" },
    out: { type: "string", default: "" },
    rank: { type: "boolean", default: false },
    from: { type: "string", default: "0" },
  },
});
const { backend, only, skip, out } = options;
const ranks = Number(options.ranks);
const names = select(cases, { only, skip, ranks, backend });
const seconds = 40;

if (options.rank) {
  try {
    await runRank({ cases, names, from: Number(options.from), backend, ranks, seconds });
  } catch (error) {
    console.error(error.stack);
    process.exit(error.exitCode ?? 1);
  }
} else {
  const args = ["--ranks", options.ranks, "--backend", backend, "--only", only, "--skip", skip];
  const { failed } = await runCases({
    suite: "runtime",
    self: fileURLToPath(import.meta.url),
    names,
    ranks,
    backend,
    seconds,
    out,
    args,
  });
  process.exitCode = failed > 0 ? 1 : 0;
}
