/**
 * How long `collc check` takes: each file of the library on its own, for 4 ranks, for 8, and for 2, 4 and 8 together; then the
 * whole library for 2, 4 and 8 ranks. Seconds as a person waits for them, so on a machine that does nothing else; CPU seconds
 * of all threads beside them. Fails above the limits, which are for two cores.
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
if (load > 0.5 * availableParallelism())
  console.error(`this machine is busy (load ${load.toFixed(1)}): times will be too long`);

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
console.log(" 4 ranks      (CPU)  8 ranks      (CPU)  2, 4, 8      (CPU)");
for (const file of files) {
  const columns = [];
  for (const ranks of ["4", "8", "2,4,8"]) {
    const { cpu, wall, ok } = measure("check", join(kernels, file), "--ranks", ranks);
    columns.push(`${seconds(wall)} (${seconds(cpu)})`);
    if (!ok) problems.push(`collc check is not content with ${file}`);
    if (!(wall <= LIMITS.file))
      problems.push(`${file} takes ${wall.toFixed(2)} s on ${ranks} ranks; the limit is ${LIMITS.file}`);
  }
  console.log(`${columns.join("  ")}  ${file}`);
}
const { cpu, wall, ok } = measure("check", kernels, "--ranks", "2,4,8");
console.log(`${seconds(wall)} (${seconds(cpu)})  all for 2, 4, 8 ranks`);
if (!ok) problems.push("collc check is not content with the library");
if (!(wall <= LIMITS.library)) problems.push(`the library takes ${wall.toFixed(1)} s; the limit is ${LIMITS.library}`);
for (const p of problems) console.error(`FAILS: ${p}`);
process.exit(problems.length === 0 ? 0 : 1);
