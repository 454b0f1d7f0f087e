/**
 * How long `collc check` takes: each file of the library on its own for 4 ranks, then the whole library for 2, 4 and 8 ranks. CPU
 * seconds of all threads, so that a busy machine tells nearly the same. Fails above the limits.
 *
 *     npm run build && node test/prove/speed.mjs [FOLDER]
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kernels = process.argv[2] ?? join(root, "kernels");

/** CPU seconds: one file on 4 ranks; the library, which two cores do in half of it. */
const LIMITS = { file: 2, library: 2 * 60 };

const command = join(root, "dist/src/cli/main.js");
if (!existsSync(command)) throw new Error("build first: npm run build");

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
const files = readdirSync(kernels, { recursive: true, encoding: "utf8" })
  .filter((f) => f.endsWith(".coll"))
  .sort();
for (const file of files) {
  const { cpu, wall, ok } = measure("check", join(kernels, file), "--ranks", "4");
  console.log(`${cpu.toFixed(2).padStart(7)} s CPU ${wall.toFixed(2).padStart(7)} s  ${file}`);
  if (!ok) problems.push(`collc check is not content with ${file}`);
  if (!(cpu <= LIMITS.file)) problems.push(`${file} takes ${cpu.toFixed(2)} s of CPU; the limit is ${LIMITS.file}`);
}
const { cpu, wall, ok } = measure("check", kernels, "--ranks", "2,4,8");
console.log(`${cpu.toFixed(2).padStart(7)} s CPU ${wall.toFixed(2).padStart(7)} s  all for 2, 4, 8 ranks`);
if (!ok) problems.push("collc check is not content with the library");
if (!(cpu <= LIMITS.library))
  problems.push(`the library takes ${cpu.toFixed(1)} s of CPU; the limit is ${LIMITS.library}`);
for (const p of problems) console.error(`FAILS: ${p}`);
process.exit(problems.length === 0 ? 0 : 1);
