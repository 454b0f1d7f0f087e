// The messages of the library's programs between pretended hosts, one process a rank: every step of every program brings each peer what was sent to it, byte
// for byte, and touches nothing else; then the program itself is run, recorded in a graph and replayed. What its kernels compute is suite.mjs's
// business: the fakes, which compute none of them, can go through all of this.
// Needs node, dist/, build/Release/collc.node, kernels/ and production node_modules; no test runner.
//
//   node test/gpu/messages.mjs --reach 2x2 [--ranks 4] [--backend nvshmem] [--only all_reduce]
//
// COLLC_MESSAGES chooses what carries them. Prints a line a program that fails, and `N passed, N failed`.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compile, fitDims, runsOf } from "../../dist/src/compiler/index.js";
import { connect } from "../../dist/src/runtime/connect.js";
import { DeviceMemory } from "../../dist/src/runtime/cuda/index.js";
import { detectLauncher } from "../../dist/src/runtime/env.js";
import { importsFromDisk, libraryFromDisk } from "../../dist/src/runtime/imports.js";
import { launchRanks } from "../../dist/src/runtime/launcher.js";
import { prepareMessages, SharedMemory } from "../../dist/src/runtime/message-steps.js";
import { chosenReach, pretendHostToNccl } from "../../dist/src/runtime/reach.js";
import { makeRankInputs } from "../../dist/src/runtime/reference/index.js";
import { someScalars } from "../../dist/src/runtime/shapes.js";
import { quietEnvironment } from "./harness.mjs";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "4" },
    reach: { type: "string" },
    backend: { type: "string", default: "nvshmem" },
    only: { type: "string", default: "" },
    rank: { type: "boolean", default: false },
  },
});
const ranks = Number(options.ranks);
const kernels = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../kernels");

const LONG = 2 ** 18;

/** A byte that a rank sends: a number that names the rank, its place there, whichever peers get it, and how often it was done. */
const byteOf = (from, place, turn) => (37 * from + place + (place >> 8) + 7 * turn) % 251;

const dimsOf = ({ dims, requirements }, size) =>
  fitDims(requirements, Object.fromEntries(dims.map((d) => [d, dims.length === 1 ? size * ranks : 8 * ranks])), new Set(dims)); // prettier-ignore

/** Carries out a step once, and compares all memory that it receives into. */
async function exchange(group, carrier, memory, step, number, dims, turn) {
  const [rank] = group.localRanks;
  const { sends, receives } = step.ranks[rank];
  const held = (name) => DeviceMemory.view(group.device, memory.of(name).pointer, memory.of(name).bytes);
  const names = new Set(receives.map((end) => end.memory));
  const expected = new Map([...names].map((name) => [name, new Uint8Array(memory.of(name).bytes).fill(0xff)]));
  const placeOf = (run) => run.offset * memory.bytesOf(run.memory);
  const dataOf = (run, from) =>
    Uint8Array.from({ length: run.length * memory.bytesOf(run.memory) }, (_, b) =>
      byteOf(from, placeOf(run) + b, turn),
    );
  const fill = (run, at, from) => expected.get(at.memory)?.set(dataOf(run, from), placeOf(at));
  for (const name of names) held(name).fill(0xff);
  for (const run of runsOf(sends, dims)) {
    held(run.memory).write(dataOf(run, rank), placeOf(run));
    fill(run, run, rank);
  }
  for (const peer of new Set(receives.map((end) => end.peer))) {
    const sent = runsOf(step.ranks[peer].sends, dims).filter((end) => end.peer === rank);
    const taken = runsOf(receives, dims).filter((end) => end.peer === peer);
    for (const [k, run] of taken.entries()) fill(sent[k], run, peer);
  }
  const call = prepareMessages(group, carrier, step, number, memory, dims);
  call.enqueue(group.defaultStream.handle);
  group.defaultStream.watch(carrier);
  await group.defaultStream.synchronize();
  call.release();
  for (const [name, bytes] of expected)
    if (Buffer.compare(held(name).read(new Uint8Array(bytes.length)), bytes) !== 0)
      throw new Error(`step ${number} of messages left other bytes in ${name} of rank ${rank}`);
}

async function everyStep(group, manifest) {
  const carrier = await group.messageCarriers.open(manifest);
  const steps = manifest.plan.choices.flatMap((choice) => choice.steps.filter(({ kind }) => kind === "message"));
  const memory = new SharedMemory(group, manifest.collective, manifest.memory, carrier);
  // Of broadcasts, which go as sends where they are short, long ones, too; the fake NCCL takes no other messages that are as long.
  const sizes = steps.some(({ broadcasts }) => broadcasts !== undefined) ? [16, 1000, LONG] : [16, 1000];
  for (const size of sizes) {
    const dims = dimsOf(manifest, size);
    await memory.place(dims);
    for (const turn of [0, 1])
      for (const [number, step] of steps.entries())
        if (size !== LONG || step.broadcasts !== undefined)
          await exchange(group, carrier, memory, step, number, dims, turn);
  }
  await group.barrier();
  for (const free of [...memory.free(), ...(carrier?.free() ?? [])]) await free();
}

/** Runs the program, and replays it: that all its steps end, in the order that the plan has for them. */
async function wholeProgram(group, compiled, rank) {
  const kernel = await group.load(compiled);
  const dims = { ...dimsOf(kernel.manifest, 1000), ...someScalars(kernel.manifest) };
  const { inputs, outputs } = makeRankInputs(kernel.manifest, dims, 1, rank);
  const tensors = {};
  for (const [name, values] of [...Object.entries(inputs), ...Object.entries(outputs)]) {
    const { dtype } = [...kernel.manifest.inputs, ...kernel.manifest.outputs].find((tensor) => tensor.name === name);
    tensors[name] = await group.symmetric(dtype, [values.length]);
    tensors[name].write(values);
  }
  await group.barrier();
  for (let i = 0; i < 3; i++) await kernel.launch(tensors, dims, group.defaultStream);
  await group.defaultStream.synchronize();
  const graph = await group.capture((stream) => kernel.launch(tensors, dims, stream));
  for (let i = 0; i < 3; i++) graph.launch(group.defaultStream);
  await group.defaultStream.synchronize();
  graph.destroy();
  await group.barrier();
  await kernel.unload();
  for (const tensor of Object.values(tensors)) await tensor.free();
}

async function runRank() {
  const reach = chosenReach(options.reach, ranks);
  if (reach !== undefined) pretendHostToNccl(detectLauncher().rank, reach);
  const group = await connect({ backend: options.backend, ranks, timeoutMs: 20_000 });
  const [rank] = group.localRanks;
  const files = readdirSync(kernels, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".coll") && file.includes(options.only))
    .sort();
  for (const file of files) {
    const place = path.join(kernels, file);
    const wanted = { file: place, ranks, dtype: "f32", reach, resolve: importsFromDisk, library: libraryFromDisk };
    const compiled = compile(readFileSync(place, "utf8"), wanted);
    const { manifest } = compiled;
    if (!manifest?.plan.choices.some(({ steps }) => steps.some(({ kind }) => kind === "message"))) continue;
    const act = async () => {
      await everyStep(group, manifest);
      await wholeProgram(group, compiled, rank);
    };
    const problem = await act().then(
      () => null,
      (error) => error.message,
    );
    const problems = (await group.exchange("outcome", problem)).filter((text) => text !== null);
    if (rank === 0) process.send({ file, problems });
    if (problems.length > 0) return process.exit(1); // the ranks are out of step
  }
  await group.close();
}

if (options.rank) await runRank();
else {
  const tally = { passed: 0, failed: 0 };
  const args = [...["--ranks", options.ranks, "--backend", options.backend, "--only", options.only], ...(options.reach ? ["--reach", options.reach] : [])]; // prettier-ignore
  const { failure } = await launchRanks({
    ranks,
    args: [fileURLToPath(import.meta.url), "--rank", ...args],
    env: quietEnvironment,
    timeoutMs: 3_600_000,
    onOutput: (rank, _stream, line) => console.log(`       [rank ${rank}] ${line.slice(0, 500)}`),
    onMessage: (_rank, { file, problems }) => {
      tally[problems.length === 0 ? "passed" : "failed"]++;
      for (const problem of problems) console.log(`FAIL ${file}: ${problem}`);
    },
  });
  if (failure && tally.failed === 0) {
    tally.failed++;
    console.log(`FAIL ${failure.message}`);
  }
  console.log(`messages, ${options.backend}, ${options.reach ?? "as the environment has it"}: ${tally.passed} passed, ${tally.failed} failed`); // prettier-ignore
  process.exitCode = tally.failed > 0 ? 1 : 0;
}
