/**
 * How long `collc check` takes for 2, 4 and 8 ranks together: each file of the library on its own, then the whole library.
 * Seconds of processor of all threads, and seconds as a person waits for them, which mean something only on a machine that does
 * nothing else. The limits are those of a person with two cores; of a busy machine, the processor's seconds are held against
 * twice as many.
 *
 *     npm run build && node test/prove/speed.mjs [FOLDER]
 *
 * `speed.txt` is what it said last.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kernels = process.argv[2] ?? join(root, "kernels");

/** Seconds: one file on any number of ranks, and the library. */
const LIMITS = { file: 2, library: 30 };

const command = join(root, "dist/src/cli/main.js");
if (!existsSync(command)) throw new Error("build first: npm run build");
const [load] = loadavg();
const isBusy = load > 0.5 * availableParallelism();
const cores = 2;
if (isBusy)
  console.log(
    `# load ${load.toFixed(1)}: of what others leave; waits mean nothing, and processors that share work take longer`,
  );

/** Runs before the command, in each thread; the main one says at its end what all have used. */
const meter = `data:text/javascript,import { isMainThread } from "node:worker_threads";
if (isMainThread) process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write("CPU " + (user + system) / 1e6);
});`.replaceAll("\n", " ");

/** @returns CPU seconds and wall seconds of one command line */
function measure(...argv) {
  const start = performance.now();
  const child = spawnSync(process.execPath, ["--import", meter, command, ...argv], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  const cpu = Number(/CPU ([\d.]+)$/.exec(child.stderr)?.[1]);
  if (child.status !== 0) process.stderr.write(child.stdout + child.stderr);
  return { cpu, wall: (performance.now() - start) / 1000, ok: child.status === 0 };
}

const problems = [];
const seconds = (s) => `${s.toFixed(2).padStart(6)} s`;
const files = readdirSync(kernels, { recursive: true, encoding: "utf8" })
  .filter((f) => f.endsWith(".coll"))
  .sort();

function row(path, what, limit) {
  const { cpu, wall, ok } = measure("check", path, "--ranks", "2,4,8");
  console.log(`${seconds(cpu)}  ${seconds(wall)}  ${what}`);
  if (!ok) problems.push(`collc check is not content with ${what}`);
  const took = isBusy ? cpu / cores : wall;
  if (!(took <= limit)) problems.push(`${what} takes ${took.toFixed(2)} s; the limit is ${limit}`);
}

console.log("processor    wait");
for (const file of files) row(join(kernels, file), file, LIMITS.file);
row(kernels, "all", LIMITS.library);
for (const p of problems) console.error(`FAILS: ${p}`);
process.exit(problems.length === 0 ? 0 : 1);
