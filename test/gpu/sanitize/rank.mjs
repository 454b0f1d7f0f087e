// What runs under compute-sanitizer: the library's kernels, signals and copies, small. The outcome goes to a file, because
// the tool stands between this process and its launcher.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { connect } from "../../../dist/src/runtime/connect.js";
import { answersAreRight, kernels } from "../backends/group.mjs";

const { values: options } = parseArgs({ options: { result: { type: "string" }, minutes: { type: "string" } } });
const deadline = performance.now() + Number(options.minutes) * 60_000;
const done = [];
const failed = [];
const left = [];

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
  const outcome = await act().then(
    () => null,
    (error) => error.message,
  );
  const all = await group.exchange("outcome", outcome);
  const bad = all.flatMap((message, rank) => (message === null ? [] : [`rank ${rank}: ${message}`]));
  if (bad.length === 0) done.push(name);
  else failed.push(`${name}: ${bad.join("; ")}`);
  // Ranks may be out of step after a failure.
  if (bad.length > 0) break;
}
writeFileSync(options.result, JSON.stringify({ done, failed, left }));
await group.close();
