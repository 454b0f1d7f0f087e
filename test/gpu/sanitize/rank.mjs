// What runs under compute-sanitizer: the library's kernels, signals and copies, small. The outcome goes to a file, because
// the tool stands between this process and its launcher. With --plant, one kernel with a fault that the tool must see.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { connect } from "../../../dist/src/runtime/connect.js";
import { answersAreRight, compiled, kernels } from "../backends/group.mjs";

const { values: options } = parseArgs({
  options: { result: { type: "string" }, minutes: { type: "string", default: "1" }, plant: { type: "string" } },
});
const deadline = performance.now() + Number(options.minutes) * 60_000;
const done = [];
const failed = [];
const left = [];

/** By tool: a statement at the start of a kernel that it must report. */
const PLANTED = {
  memcheck: "if (threadIdx.x == 0) *(volatile u32*)(16ull) = 1u;",
  racecheck: "__shared__ volatile u32 planted[32]; planted[0] = threadIdx.x;",
};

async function runPlanted(group, tool) {
  const program = compiled("all_reduce/one_shot", group.world, "f32");
  const body = program.cuda.indexOf("{", program.cuda.indexOf("__global__")) + 1;
  const cuda = `${program.cuda.slice(0, body)}\n  ${PLANTED[tool]}${program.cuda.slice(body)}`;
  const kernel = await group.load({ ...program, cuda });
  const tensors = { x: await group.symmetric("f32", [1000]), y: group.local("f32", [1000]) };
  await kernel.run(tensors, { n: 1000 });
}

async function primitives(group) {
  const { rank, world } = group;
  const target = await group.symmetric("u32", [1000]);
  const source = group.local("u32", [1000]);
  const next = (rank + 1) % world;
  const before = (rank - 1 + world) % world;
  for (let round = 1; round <= 3; round++) {
    source.write(new Uint32Array(1000).fill(rank * 10 + round));
    await group.putWithSignal(target, source, next);
    await group.waitSignal(before);
    const words = await target.read();
    if (words.some((word) => word !== before * 10 + round)) throw new Error(`round ${round}: ${words[0]}`);
    await group.signalBarrier();
  }
  await source.free();
  await target.free();
}

const group = await connect({ timeoutMs: 100_000, allowOverlappingDevices: true });
if (options.plant !== undefined) {
  // The tool has its say whatever becomes of the launch.
  await runPlanted(group, options.plant).catch((error) => failed.push(error.message));
  writeFileSync(options.result, JSON.stringify({ done, failed, left }));
  process.exit(0);
}
const cases = [["signals and copies", () => primitives(group)]];
for (const kernel of kernels) {
  for (const dtype of ["f32", "bf16"]) {
    cases.push([`${kernel} ${dtype}`, () => answersAreRight(group, kernel, dtype, 4099, 3)]);
  }
}
for (const [name, act] of cases) {
  // The ranks decide together, or one would wait for the other.
  const over = (await group.exchange("time", performance.now() > deadline)).some(Boolean);
  if (over) {
    left.push(name);
    continue;
  }
  let ran = true;
  const outcome = await act().then(
    (answer) => {
      ran = answer !== false;
      return null;
    },
    (error) => error.message,
  );
  const all = await group.exchange("outcome", outcome);
  const bad = all.flatMap((message, rank) => (message === null ? [] : [`rank ${rank}: ${message}`]));
  // Its own `where` clause may exclude the dtype or the number of ranks.
  if (!ran) continue;
  if (bad.length === 0) done.push(name);
  else failed.push(`${name}: ${bad.join("; ")}`);
  // Ranks may be out of step after a failure.
  if (bad.length > 0) break;
}
writeFileSync(options.result, JSON.stringify({ done, failed, left }));
await group.close();
