// Every GPU suite, one after the other, within a given time; results as JSON lines, a page to read, and the whole output.
//
//   node test/gpu/all.mjs [--ranks 1,2,4] [--backends cuda,nvshmem,nccl] [--suites runtime,faults,suite,aot]
//                         [--minutes 9] [--out DIR]
//
// DIR, default $OUT or the current folder, gets gpu-results.jsonl, gpu-summary.md and gpu-log.txt. With more ranks than
// GPUs the ranks share them. NVLink multicast is off in everything started here.
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeDevices, openCuda } from "../../dist/src/runtime/cuda/index.js";
import { quietEnvironment } from "./harness.mjs";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "1,2,4" },
    backends: { type: "string", default: "cuda" },
    suites: { type: "string", default: "runtime,faults,suite,aot" },
    minutes: { type: "string", default: "9" },
    out: { type: "string", default: process.env.OUT ?? "." },
  },
});
const here = path.dirname(fileURLToPath(import.meta.url));
const list = (text) => text.split(",").filter(Boolean);
mkdirSync(options.out, { recursive: true });
const results = path.join(options.out, "gpu-results.jsonl");
const summary = path.join(options.out, "gpu-summary.md");
const log = createWriteStream(path.join(options.out, "gpu-log.txt"));
writeFileSync(results, "");
const deadline = performance.now() + Number(options.minutes) * 60_000;

const jobs = list(options.ranks).flatMap((ranks) =>
  list(options.suites).flatMap((suite) => {
    const perBackend = (seconds) =>
      list(options.backends).map((backend) => ({ suite, ranks, backend, args: ["--backend", backend], seconds }));
    if (suite === "runtime") return perBackend(200);
    if (suite === "faults") return Number(ranks) < 2 ? [] : perBackend(150);
    // Ranks of the examples need GPUs of their own.
    if (suite === "aot") return Number(ranks) < 2 ? [] : [{ suite, ranks, backend: "cuda", args: [], seconds: 240 }];
    // The library, and programs of what the language has beyond it.
    return [
      { suite, ranks, backend: "cuda", args: ["--quick"], seconds: 200 },
      { suite, ranks, backend: "cuda", args: ["--quick", "--kernels", path.join(here, "language")], seconds: 100 },
    ];
  }),
);

function run({ suite, ranks, args, seconds }) {
  const left = (deadline - performance.now()) / 1000;
  const bound = Math.min(seconds, left);
  if (bound < 10) return Promise.resolve({ how: "not run: no time left", seconds: 0, last: "" });
  const began = performance.now();
  const part = path.join(options.out, `part-${suite}.jsonl`);
  writeFileSync(part, "");
  return new Promise((done) => {
    const child = spawn(process.execPath, [path.join(here, `${suite}.mjs`), "--ranks", ranks, ...args, "--out", part], {
      env: { ...process.env, ...quietEnvironment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let last = "";
    let how = null;
    const stop = (signal) => {
      how = `stopped after ${Math.round(bound)} s`;
      child.kill(signal);
    };
    const timers = [setTimeout(stop, bound * 1000, "SIGTERM"), setTimeout(stop, bound * 1000 + 5000, "SIGKILL")];
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        log.write(text);
        last = (last + text).slice(-4000);
      });
    child.once("close", (code, signal) => {
      timers.forEach(clearTimeout);
      const lines = readFileSync(part, "utf8").split("\n").filter(Boolean);
      writeFileSync(results, lines.map((line) => line + "\n").join(""), { flag: "a" });
      const failures = lines
        .map((line) => JSON.parse(line))
        .filter(({ ok, problems }) => ok === false || (ok === undefined && problems));
      done({ how: how ?? signal ?? code, seconds: (performance.now() - began) / 1000, last, failures });
    });
  });
}

const driver = openCuda();
const gpus = describeDevices();
const page = [
  `# GPU suites, ${new Date().toISOString()}`,
  "",
  `${gpus.length} × ${gpus[0]?.name}, driver for CUDA ${driver.version}, node ${process.version}`,
  "",
  "| suite | backend | ranks | outcome | exit | s |",
  "|---|---|---|---|---|---|",
];
const details = [];
let worst = 0;
for (const job of jobs) {
  log.write(`\n== ${job.suite} ${job.backend} ${job.ranks} ranks\n`);
  const { how, seconds, last, failures = [] } = await run(job);
  const outcome =
    last
      .trimEnd()
      .split("\n")
      .findLast((line) => /\d+ passed, \d+ failed/.test(line)) ?? "no summary";
  const counts = /\d+ passed, \d+ failed/.exec(outcome)?.[0] ?? outcome;
  page.push(`| ${job.suite} | ${job.backend} | ${job.ranks} | ${counts} | ${how} | ${seconds.toFixed(0)} |`);
  console.log(page.at(-1));
  if (how !== 0) {
    worst = 1;
    details.push("", `## ${job.suite}, ${job.backend}, ${job.ranks} ranks`, "");
    for (const failure of failures) {
      const { name, file, dtype, dims, problems } = failure;
      const what = name ?? `${file} ${dtype} ${JSON.stringify(dims)}`;
      details.push(`- ${what}`, ...problems.map((text) => `  - ${text.replaceAll("\n", " / ").slice(0, 600)}`));
    }
    if (failures.length === 0) details.push("```", last.slice(-2000), "```");
  }
  // After each job: whoever is cut off has what was done.
  writeFileSync(summary, [...page, ...details, ""].join("\n"));
}
console.log(details.join("\n").slice(0, 10_000));
process.exitCode = worst;
