// What a connected group does, the same on every backend: kernels of the library unchanged, memory, subgroups, signals,
// copies, graphs, and going on after a wait ran out. `place` is {group, rank, world}.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { compile, fitDims } from "../../../dist/src/compiler/index.js";
import { capabilitiesOf } from "../../../dist/src/runtime/capabilities/group.js";
import { describeDevice } from "../../../dist/src/runtime/cuda/index.js";
import { connect } from "../../../dist/src/runtime/connect.js";
import { importsFromDisk } from "../../../dist/src/runtime/imports.js";
import { checkOutputs, generatedInputs, makeRankInputs } from "../../../dist/src/runtime/reference/index.js";
import { rowsGoAndReturn } from "../uneven.mjs";
import { check, mustThrow, range, same } from "./support.mjs";

const library = fileURLToPath(new URL("../../../kernels/", import.meta.url));

/** The whole library: every backend must run it unchanged. */
export const kernels = readdirSync(library, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".coll") && !file.startsWith("common"))
  .map((file) => file.replace(/\.coll$/, ""))
  .sort();

/** Null where the kernel's own `where` clause excludes the dtype or the number of ranks. @throws with the diagnostics. */
export function compiled(name, ranks, dtype) {
  const file = path.join(library, `${name}.coll`);
  const result = compile(readFileSync(file, "utf8"), { file, ranks, dtype, resolve: importsFromDisk });
  if (result.manifest !== null) return result;
  const { diagnostics } = result;
  if (diagnostics.some(({ code }) => code.endsWith("-not-allowed"))) return null;
  throw new Error(`${name} does not compile: ${JSON.stringify(diagnostics.slice(0, 2)).slice(0, 800)}`);
}

/** The fake driver computes one_shot and two_shot in f32, and nothing else. */
const isFake = (group) => describeDevice(group.device).name.startsWith("Fake");

function dimsOf(manifest, size) {
  const side = Math.max(16, Math.floor(Math.sqrt(size) / 64) * 16) * manifest.ranks;
  const each = manifest.dims.length === 1 ? size : side;
  const dims = Object.fromEntries(manifest.dims.map((name) => [name, each]));
  return fitDims(manifest.requirements, dims, new Set(manifest.dims));
}

/** Inputs and zeroed outputs as the kernel wants them. */
async function tensorsFor(group, manifest, dims, seed) {
  const local = makeRankInputs(manifest, dims, seed, group.rank);
  const tensors = {};
  for (const [name, values] of [...Object.entries(local.inputs), ...Object.entries(local.outputs)]) {
    const { dtype } = [...manifest.inputs, ...manifest.outputs].find((tensor) => tensor.name === name);
    const symmetric = manifest.symmetric.includes(name);
    tensors[name] = symmetric ? await group.symmetric(dtype, [values.length]) : group.local(dtype, [values.length]);
    tensors[name].write(values);
  }
  await group.barrier();
  return tensors;
}

/**
 * Three launches of a kernel of the library, against the reference of its signature.
 * @returns false where the kernel is not for this dtype or number of ranks.
 * @throws with the first wrong element.
 */
export async function answersAreRight(group, name, dtype, size, seed) {
  const program = compiled(name, group.world, dtype);
  if (program === null) return false;
  const kernel = await group.load(program);
  const { manifest } = kernel;
  const dims = dimsOf(manifest, size);
  const tensors = await tensorsFor(group, manifest, dims, seed);
  try {
    for (let launch = 0; launch < 3; launch++) await kernel.run(tensors, dims);
    const outputs = {};
    for (const output of manifest.outputs) outputs[output.name] = await tensors[output.name].read();
    const all = range(group.world).map((rank) => (rank === group.rank ? { outputs } : undefined));
    const result = checkOutputs(manifest, dims, generatedInputs(manifest, dims, seed), all, {
      maxElements: 1 << 16,
      seed,
    });
    check(
      result.correct,
      `${name} ${dtype} ${JSON.stringify(dims)}: error ${result.maxError}, allowed ${result.tolerance}, first ${JSON.stringify(result.firstMismatch)}`,
    );
    return true;
  } finally {
    for (const tensor of Object.values(tensors)) await tensor.free();
    await kernel.unload();
  }
}

const words = async (tensor) => [...(await tensor.read())];

export const groupCases = {
  ...Object.fromEntries(
    kernels.map((name) => [
      `kernel ${name}`,
      async ({ group }) => {
        if (isFake(group) && !/one_shot|two_shot/.test(name)) return "skipped: the fake driver does not compute it";
        const dtypes = isFake(group) ? ["f32"] : ["f32", "bf16"];
        const sizes = [64, 20_011, ...(isFake(group) ? [] : [1 << 20])];
        const ran = [];
        for (const dtype of dtypes) {
          for (const size of sizes) {
            if (await answersAreRight(group, name, dtype, size, size % 97)) ran.push(`${dtype} ${size}`);
          }
        }
        return ran.length === 0 ? "skipped: not for this many ranks" : `${ran.join(", ")}; three launches each`;
      },
    ]),
  ),

  async "rows: dispatch and combine with random splits"({ group, world }) {
    if (isFake(group)) return "skipped: the fake driver does not compute it";
    const ran = [];
    for (const dtype of ["f32", "bf16"]) {
      const [dispatch, combine] = ["dispatch", "combine"].map((name) => compiled(`all_to_all/${name}`, world, dtype));
      // Rows that no vector fits, and rows of whole vectors.
      for (const [most, n] of [
        [7, 5],
        [67, 512],
      ]) {
        const rows = await rowsGoAndReturn(group, { dispatch, combine }, { dtype, most, n, seed: most + n });
        ran.push(`${dtype} ${rows} rows of ${n}`);
      }
    }
    return `${ran.join(", ")}; two launches each`;
  },

  async "kernels: time of one_shot and two_shot"({ group }) {
    if (isFake(group)) return "skipped: times of the fake driver say nothing";
    const times = [];
    for (const [name, bytes] of [
      ["all_reduce/one_shot", 8 << 10],
      ["all_reduce/one_shot", 256 << 10],
      ["all_reduce/two_shot", 16 << 20],
    ]) {
      const kernel = await group.load(compiled(name, group.world, "bf16"));
      const dims = { [kernel.manifest.dims[0]]: bytes / 2 };
      const tensors = await tensorsFor(group, kernel.manifest, dims, 5);
      const { median, min, max } = await kernel.time(tensors, dims);
      times.push(`${name} ${bytes >> 10} KiB: ${median.toFixed(1)} µs (${min.toFixed(1)} to ${max.toFixed(1)})`);
      for (const tensor of Object.values(tensors)) await tensor.free();
      await kernel.unload();
    }
    return times.join("; ");
  },

  async "memory: zeroed, seen by peers, recycled"({ group, rank, world }) {
    for (let round = 0; round < 3; round++) {
      const tensor = await group.symmetric("u32", [5000]);
      check(
        (await words(tensor)).every((word) => word === 0),
        `round ${round}: not zeroed`,
      );
      tensor.write(Uint32Array.from(range(5000), (i) => rank * 10_000 + i));
      await group.signalBarrier();
      for (const peer of range(world)) {
        same(
          await words(tensor.getBuffer(peer, [100], "u32", 4900)),
          range(100).map((i) => peer * 10_000 + 4900 + i),
          `rank ${peer}'s end`,
        );
      }
      await group.signalBarrier();
      await tensor.free();
    }
  },

  async "memory: more than 2 GiB"({ group, rank, world }) {
    if (isFake(group)) return "skipped: the fake heaps are small";
    const bytes = 2 ** 31 + (4 << 20);
    const tensor = await group.symmetric("u8", [bytes]);
    tensor.view(bytes - 16, [16]).write(Uint8Array.from(range(16), (i) => 16 * rank + i));
    await group.signalBarrier();
    const peer = (rank + 1) % world;
    same(
      await words(tensor.getBuffer(peer, [16], "u8", bytes - 16)),
      range(16).map((i) => (16 * peer + i) % 256),
      "a peer's last bytes",
    );
    await group.signalBarrier();
    await tensor.free();
    return `${bytes} bytes`;
  },

  async "signals: a ring of put and wait, counted"({ group, rank, world }) {
    const data = await group.symmetric("u32", [1024]);
    const next = (rank + 1) % world;
    const before = (rank - 1 + world) % world;
    for (let round = 1; round <= 20; round++) {
      const source = group.local("u32", [1024]);
      source.write(new Uint32Array(1024).fill(rank * 1000 + round));
      await group.putWithSignal(data, source, next, { channel: 3 });
      await group.waitSignal(before, { channel: 3 });
      same(await words(data), Array(1024).fill(before * 1000 + round), `round ${round}`);
      await group.signalBarrier({ channel: 1 });
      await source.free();
    }
    await data.free();
  },

  async "signals: barriers hold a straggler's peers"({ group, rank, world }) {
    const flag = await group.symmetric("u32", [world]);
    for (let round = 1; round <= world; round++) {
      if (rank === round - 1) await sleep(120);
      flag.write(Uint32Array.from(range(world), () => round));
      await group.signalBarrier();
      for (const peer of range(world)) {
        const seen = (await words(flag.getBuffer(peer, [1])))[0];
        check(seen === round, `round ${round}: rank ${peer} shows ${seen}`);
      }
      await group.signalBarrier();
    }
    await flag.free();
  },

  async "signals: a wait that runs out names the peer, and the group goes on"({ group, rank, world }) {
    const tensor = await group.symmetric("u32", [4]);
    if (rank === 0) {
      const error = await mustThrow(() => group.waitSignal(world - 1, { channel: 7, timeoutMs: 200 }), /waited 200 ms/);
      check(error.code === "timeout" && error.message.includes(`rank ${world - 1}`), error.message);
    }
    await group.barrier();
    await group.putSignal((rank + 1) % world, { channel: 7 });
    await group.waitSignal((rank - 1 + world) % world, { channel: 7 });
    await group.recover();
    await group.signalBarrier();
    await tensor.free();
    await answersAreRight(group, "all_reduce/one_shot", "f32", 5000, 3);
  },

  async "subgroups: halves, overlapping pairs, both at work"({ group, rank, world }) {
    if (world < 2) return "skipped: one rank";
    const lists =
      world >= 4
        ? [
            [0, 1],
            [2, 3],
            [1, 2],
            [3, 1, 0],
          ]
        : [[1, 0], [0], [1]];
    const done = [];
    for (const list of lists) {
      if (list.includes(rank)) {
        const some = await group.subgroup(list);
        const tensor = await some.symmetric("u32", [2048]);
        tensor.write(new Uint32Array(2048).fill(100 + rank));
        await some.signalBarrier();
        for (const [index, member] of list.entries()) {
          same(
            await words(tensor.getBuffer(index)),
            Array(2048).fill(100 + member),
            `rank ${member} in ${list.join("+")}`,
          );
        }
        await some.signalBarrier();
        await answersAreRight(some, "all_reduce/two_shot", "f32", 30_000, 11);
        await tensor.free();
        await some.close();
      }
      done.push(list.join("+"));
    }
    await group.barrier();
    return done.join(", ");
  },

  async "graphs: copies, signals and barriers replay with a straggler"({ group, rank, world }) {
    const data = await group.symmetric("u32", [256]);
    const source = group.local("u32", [256]);
    const next = (rank + 1) % world;
    const before = (rank - 1 + world) % world;
    const graph = await group.capture(async (stream) => {
      await group.putWithSignal(data, source, next, { stream });
      await group.waitSignal(before, { stream });
    });
    for (let replay = 0; replay < 5; replay++) {
      if (rank === replay % world) await sleep(50);
      source.write(new Uint32Array(256).fill(rank * 100 + replay));
      await graph.replay();
      same(await words(data), Array(256).fill(before * 100 + replay), `replay ${replay}`);
      await group.signalBarrier();
    }
    graph.destroy();
    await source.free();
    await data.free();
  },

  async "capabilities of the group"({ group, rank, world }) {
    const { sameHost, reaches, nvlinks, multicast, ...rest } = await capabilitiesOf(group);
    check(sameHost, "one host");
    check(reaches.length === world && reaches[rank].every(Boolean), `reaches ${JSON.stringify(reaches[rank])}`);
    check(!multicast.usable, "COLLC_DISABLE_MULTICAST is set");
    const { fabric, cooperativeLaunch } = rest;
    return JSON.stringify({ nvlinks: nvlinks[0], fabric, cooperativeLaunch, multicast: multicast.reasons[0] });
  },

  async "a second backend is refused, naming both"({ group }) {
    const other = group.backend === "cuda" ? "nccl" : "cuda";
    await mustThrow(() => connect({ backend: other }), new RegExp(`${group.backend} backend .*${other}`));
  },
};
