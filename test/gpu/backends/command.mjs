// `collc run` on every backend, chosen by option and by variable: the same file, the same answer.
import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const runMs = 50_000;

const how = {
  "--backend": (backend) => ({ args: ["--backend", backend], env: {} }),
  COLLC_BACKEND: (backend) => ({ args: [], env: { COLLC_BACKEND: backend } }),
};
const runs = ["cuda", "nvshmem", "nccl"].flatMap((backend) =>
  ["all_reduce/one_shot", "all_reduce/two_shot"].map((kernel, i) => ({
    backend,
    kernel,
    by: Object.keys(how)[i],
  })),
);

/** By name. */
export const commands = Object.fromEntries(
  runs.map((run) => [`collc run ${run.kernel} on ${run.backend} by ${run.by}`, run]),
);

async function runCommand({ backend, kernel, by }, world, env) {
  const { args, env: chosen } = how[by](backend);
  const all = ["run", path.join(root, `kernels/${kernel}.coll`), "--ranks", String(world), "--dtype", "f32", "--json"];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [path.join(root, "dist/src/cli/main.js"), ...all, "--dim", "n=24000", ...args],
    { timeout: runMs, killSignal: "SIGTERM", env: { ...process.env, ...env, ...chosen } },
  );
  const result = JSON.parse(stdout);
  if (result.backend !== backend) throw new Error(`it ran on ${result.backend}`);
  if (!result.correct || !result.bitwiseEqualAcrossRanks) throw new Error(stdout);
  return `error ${result.maxError}, ${result.timeUs?.median.toFixed(1)} µs`;
}

/** Runs them. @returns rows as run-suite.mjs gives them. */
export async function runCommands(suite, { world, env, deadline, only = "", log, say }) {
  const rows = [];
  for (const [name, run] of Object.entries(commands)) {
    if (!`${suite}: ${name}`.includes(only)) continue;
    const row = { suite, world, name, ok: null, ms: 0, detail: "left out: the time was over" };
    const began = performance.now();
    if (began < deadline) {
      try {
        row.detail = await runCommand(run, world, env);
        row.ok = true;
      } catch (error) {
        log(`[${name}] ${error.stderr ?? ""}`);
        row.detail = `${error.message} ${error.stdout ?? ""}`;
        row.ok = false;
      }
      row.ms = Math.round(performance.now() - began);
    }
    rows.push(row);
    say(row);
  }
  return rows;
}
