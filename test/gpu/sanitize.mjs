// compute-sanitizer over the library's kernels, signals and copies: memcheck and racecheck, each rank's process under
// the tool.
//
//   node test/gpu/sanitize.mjs [--ranks 1,2] [--tools memcheck,racecheck] [--minutes 9] [--out FOLDER]
//
// With fewer GPUs than ranks, ranks share them. Prints a line a job; into FOLDER go sanitize.md, sanitize.json and
// sanitize.log (the tool's own words). Every job has its share of --minutes and is killed after it. First, each tool must
// report a fault that is planted in a kernel: what reports nothing there would report nothing anywhere.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { launchRanks } from "../../dist/src/runtime/launcher.js";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "1,2" },
    tools: { type: "string", default: "memcheck,racecheck" },
    minutes: { type: "string", default: "9" },
    out: { type: "string", default: "" },
  },
});
const program = fileURLToPath(new URL("sanitize/rank.mjs", import.meta.url));
const places = [
  ...(process.env.PATH ?? "").split(":").map((folder) => path.join(folder, "compute-sanitizer")),
  "/usr/local/cuda/bin/compute-sanitizer",
  "/usr/local/cuda/compute-sanitizer/compute-sanitizer",
];
const sanitizer = places.find((file) => existsSync(file));
if (sanitizer === undefined) {
  console.error(`compute-sanitizer is not there; looked in ${places.join(", ")}`);
  process.exit(3);
}
const tools = options.tools.split(",");
const controls = tools.map((tool) => ({ tool, ranks: 1, isControl: true }));
const jobs = options.ranks
  .split(",")
  .flatMap((ranks) => tools.map((tool) => ({ tool, ranks: Number(ranks), isControl: false })));
/** The last lines of a log count: `ERROR SUMMARY: 0 errors`, `RACECHECK SUMMARY: 0 hazards displayed (…)`. */
const summaries = /^=+ ((?:ERROR|RACECHECK|LEAK) SUMMARY: .*)$/gm;
const share = (Number(options.minutes) * 60_000) / jobs.length;

async function runJob({ tool, ranks, isControl }) {
  const folder = mkdtempSync(path.join(tmpdir(), "collc-sanitize-"));
  const began = performance.now();
  try {
    const script =
      `exec env -u NODE_CHANNEL_FD "${sanitizer}" --tool ${tool} --print-limit 20 --error-exitcode 9 ` +
      `--log-file "${folder}/log-$RANK-%p" "${process.execPath}" "${program}" --result "${folder}/result-$RANK" ` +
      // Starting, and ending what runs, comes on top.
      `--minutes=${(share * 0.6) / 60_000}${isControl ? ` --plant ${tool}` : ""}`;
    const { failure } = await launchRanks({
      ranks,
      command: "/bin/sh",
      args: ["-c", script],
      timeoutMs: isControl ? 60_000 : share,
      env: {
        COLLC_BACKEND: "cuda",
        COLLC_DISABLE_MULTICAST: "1",
        NCCL_NVLS_ENABLE: "0",
        NVSHMEM_DISABLE_NVLS: "1",
        COLLC_ALLOW_OVERLAPPING_DEVICES: "1",
      },
    });
    const logs = readdirSync(folder)
      .filter((name) => name.startsWith("log-"))
      .map((name) => ({ name, text: readFileSync(path.join(folder, name), "utf8") }));
    const said = logs.flatMap(({ text }) => [...text.matchAll(summaries)].map(([, line]) => line));
    const result = path.join(folder, "result-0");
    const cases = existsSync(result) ? JSON.parse(readFileSync(result, "utf8")) : { done: [], failed: [], left: [] };
    const clean = said.length >= ranks && said.every((line) => /SUMMARY: 0 /.test(line));
    const hasRun = failure === null && cases.failed.length === 0 && cases.done.length > 0;
    const ok = isControl ? said.some((line) => /(?:ERROR|RACECHECK) SUMMARY: [1-9]/.test(line)) : clean && hasRun;
    const seconds = Math.round((performance.now() - began) / 1000);
    return { tool, ranks, isControl, ok, seconds, said, ...cases, failure: failure?.message ?? null, logs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const results = [];
if (options.out) mkdirSync(options.out, { recursive: true });
for (const job of [...controls, ...jobs]) {
  const result = await runJob(job);
  results.push(result);
  const { tool, ranks, isControl, ok, seconds, said, done, failed, left, failure } = result;
  if (isControl) {
    console.log(
      `${ok ? "✓" : "✗"} ${tool} ${ok ? "sees" : "DOES NOT SEE"} a planted fault: ${said.join("; ") || "no summary"}`,
    );
    if (!ok) console.log(`  ${[...failed, failure].filter(Boolean).join("; ").slice(0, 1500)}`);
    if (options.out) write();
    continue;
  }
  console.log(
    `${ok ? "✓" : "✗"} ${tool}, ${ranks} ranks: ${done.length} cases, ${left.length} left out, ${seconds} s: ${said.join("; ") || "no summary"}`,
  );
  for (const line of [...failed, ...(failure === null ? [] : [failure])]) console.log(`  ${line.slice(0, 1500)}`);
  if (options.out) write();
}
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;

function write() {
  const lines = ["# compute-sanitizer over the library", "", `tool: ${sanitizer}`, ""];
  lines.push("| tool | ranks | outcome | cases | left out | s | the tool says |", "|---|---|---|---|---|---|---|");
  for (const { tool, ranks, isControl, ok, done, left, seconds, said } of results) {
    const words = [...new Set(said)].join("; ") || "nothing";
    if (isControl) {
      lines.push(`| ${tool} | ${ranks} | ${ok ? "sees a planted fault" : "BLIND"} | | | ${seconds} | ${words} |`);
      continue;
    }
    lines.push(
      `| ${tool} | ${ranks} | ${ok ? "clean" : "NOT CLEAN"} | ${done.length} | ${left.length} | ${seconds} | ${words} |`,
    );
  }
  for (const { tool, ranks, isControl, done, failed, left, failure } of results) {
    if (isControl) continue;
    lines.push("", `## ${tool}, ${ranks} ranks`, "", `- ran: ${done.join(", ") || "nothing"}`);
    if (left.length > 0) lines.push(`- left out, the time was over: ${left.join(", ")}`);
    for (const line of failed) lines.push(`- failed: ${line}`);
    if (failure !== null) lines.push("", "```", failure.slice(0, 3000), "```");
  }
  writeFileSync(path.join(options.out, "sanitize.md"), lines.join("\n") + "\n");
  writeFileSync(
    path.join(options.out, "sanitize.json"),
    JSON.stringify(
      results.map(({ logs: _logs, ...rest }) => rest),
      null,
      1,
    ),
  );
  const text = results.flatMap(({ tool, ranks, logs }) =>
    logs.map((log) => `### ${tool}, ${ranks} ranks, ${log.name}\n${log.text.slice(0, 1 << 20)}`),
  );
  writeFileSync(path.join(options.out, "sanitize.log"), text.join("\n").slice(0, 12 << 20));
}
