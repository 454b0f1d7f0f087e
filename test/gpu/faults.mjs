// Faults on real GPUs, one process a rank: each must end in time, with one clear message, and leave nothing behind.
//
//   node test/gpu/faults.mjs [--ranks 2]
//
// Prints a line a case and `N passed, N failed`.
import { readdirSync, readFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compile } from "../../dist/src/compiler/index.js";
import { connect } from "../../dist/src/runtime/connect.js";
import { launchRanks } from "../../dist/src/runtime/launcher.js";
import { makeRankInputs } from "../../dist/src/runtime/reference/index.js";

const { values: options } = parseArgs({
  options: { ranks: { type: "string", default: "2" }, rank: { type: "string" } },
});
const self = fileURLToPath(import.meta.url);
const kernels = path.join(path.dirname(self), "../../kernels");
const ranks = Number(options.ranks);
const compiled = (file, dtype = "f32", world = ranks) =>
  compile(readFileSync(path.join(kernels, file), "utf8"), { file, ranks: world, dtype });

async function tensorsOf(group, kernel, dims) {
  const { inputs, outputs } = makeRankInputs(kernel.manifest, dims, 1, group.localRanks[0]);
  const tensors = {};
  for (const [name, values] of [...Object.entries(inputs), ...Object.entries(outputs)]) {
    tensors[name] = await group.symmetric("f32", [values.length]);
    tensors[name].write(values);
  }
  return tensors;
}

const expectThrow = async (action, pattern) => {
  const error = await action().then(
    () => null,
    (e) => e,
  );
  if (error === null) throw new Error("no error came");
  if (!pattern.test(error.message)) throw new Error(`another error came: ${error.message}`);
  return error.message;
};

/** What a rank does in each case; throwing fails the case. */
const RANK_CASES = {
  /** One rank does not launch: the others learn which, and the next collective works in the same processes. */
  async straggler() {
    const group = await connect({ backend: "cuda", timeoutMs: 1500 });
    const kernel = await group.load(compiled("all_reduce/one_shot.coll"));
    const dims = { n: 4096 };
    const tensors = await tensorsOf(group, kernel, dims);
    await kernel.run(tensors, dims);
    await group.barrier();
    const rank = group.localRanks[0];
    if (rank !== ranks - 1) {
      const message = await expectThrow(
        () => kernel.run(tensors, dims),
        new RegExp(`waited 1500 ms for rank ${ranks - 1}.*one_shot`),
      );
      if (rank === 0) process.send(message);
    } else await sleep(1200); // the waits of the host end in time, too
    await group.barrier();
    // Ranks stand at different epochs now; a kernel loaded afresh has pads of its own.
    const again = await group.load(compiled("all_reduce/two_shot.coll"));
    await again.run(tensors, dims);
    await group.close();
  },
  async "different kernels"() {
    const group = await connect({ backend: "cuda", timeoutMs: 5000 });
    const file = group.localRanks[0] === 0 ? "all_reduce/one_shot.coll" : "all_reduce/two_shot.coll";
    process.send(await expectThrow(() => group.load(compiled(file)), /one_shot.*two_shot|two_shot.*one_shot/));
    await group.close();
  },
  async "too many ranks"() {
    await connect({ backend: "cuda", timeoutMs: 5000 });
  },
  async "killed while a kernel waits"() {
    const group = await connect({ backend: "cuda", timeoutMs: 30_000 });
    const kernel = await group.load(compiled("all_reduce/one_shot.coll"));
    const dims = { n: 4096 };
    const tensors = await tensorsOf(group, kernel, dims);
    await kernel.run(tensors, dims);
    await group.barrier();
    if (group.localRanks[0] === 1) process.kill(process.pid, "SIGKILL");
    await kernel.run(tensors, dims);
  },
};

if (options.rank !== undefined) {
  try {
    await RANK_CASES[options.rank]();
    process.exit(0);
  } catch (error) {
    writeSync(2, `${error.message}\n`); // a pipe would lose it at exit
    process.exit(error.exitCode ?? 1);
  }
}

const EXPECTED = {
  straggler: { exitCode: 0, seconds: 20 },
  "different kernels": { exitCode: 0, seconds: 15 },
  "too many ranks": { exitCode: 3, message: /need as many GPUs; this machine has \d+/, ranks: 9, seconds: 20 },
  "killed while a kernel waits": { exitCode: 1, message: /rank 1 .*SIGKILL/, seconds: 10 },
};
const leftovers = () => readdirSync(tmpdir()).filter((f) => f.startsWith("collc-"));
let passed = 0;
let failed = 0;
for (const [name, expected] of Object.entries(EXPECTED)) {
  const before = leftovers().length;
  const messages = [];
  const start = performance.now();
  const result = await launchRanks({
    ranks: expected.ranks ?? ranks,
    args: [self, "--rank", name, "--ranks", String(expected.ranks ?? ranks)],
    onMessage: (_rank, message) => messages.push(message),
    onOutput: () => {},
  });
  const seconds = (performance.now() - start) / 1000;
  const message = result.failure?.message ?? "";
  const problems = [
    result.exitCode !== expected.exitCode && `exit code ${result.exitCode}, not ${expected.exitCode}`,
    expected.message && !expected.message.test(message) && "another message",
    seconds > expected.seconds && `took ${seconds.toFixed(1)} s`,
    leftovers().length > before && `left ${leftovers().join(" ")}`,
  ].filter(Boolean);
  if (problems.length === 0) passed++;
  else failed++;
  const said = [message, ...messages].filter(Boolean).join(" | ").slice(0, 300);
  console.log(
    `${problems.length === 0 ? "ok  " : "FAIL"} ${name} (${seconds.toFixed(1)} s) ${problems.join("; ")}\n       ${said}`,
  );
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
