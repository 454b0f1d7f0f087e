// The cases of runtime.mjs. Each runs on every rank at once, on a group that others have used before.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { compile } from "../../dist/src/compiler/index.js";
import { native } from "../../dist/src/runtime/native.js";

const kernels = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../kernels");
const compiled = (file, ranks, dtype = "f32") =>
  compile(readFileSync(path.join(kernels, file), "utf8"), { file, ranks, dtype });
const words = (length, of) => Uint32Array.from({ length }, (_, i) => of(i));
const throws = async (action, pattern) => {
  const error = await Promise.resolve()
    .then(action)
    .then(
      () => null,
      (e) => e,
    );
  assert(error !== null, `no error ${pattern}`);
  assert.match(error.message, pattern);
  return error;
};
const sum = (ranks) => (ranks * (ranks + 1)) / 2;

/** An all-reduce ready to run: rank r gives r + 1 everywhere. */
async function allReduce(group, n = 4096, file = "all_reduce/one_shot.coll") {
  const kernel = await group.load(compiled(file, group.world));
  const tensors = { x: await group.symmetric("f32", [n]), y: await group.symmetric("f32", [n]) };
  const own = group.localRanks[0] + 1;
  const reset = () => {
    tensors.x.write(new Float32Array(n).fill(own));
    tensors.y.write(new Float32Array(n).fill(NaN));
  };
  reset();
  await group.barrier();
  return {
    kernel,
    tensors,
    dims: { n },
    reset,
    run: () => kernel.run(tensors, { n }),
    launch: (stream) => kernel.launch(tensors, { n }, stream),
    check: async () => {
      const y = await tensors.y.read();
      const bad = y.findIndex((v) => v !== sum(group.world));
      assert.equal(bad, -1, `y[${bad}] is ${y[bad]}, not ${sum(group.world)}`);
    },
    free: async () => {
      await kernel.unload();
      for (const tensor of Object.values(tensors)) await tensor.free();
    },
  };
}

async function reduceOnce(group, file) {
  const job = await allReduce(group, 4096, file);
  await job.run();
  await job.check();
  await job.free();
}

const freeAll = async (...tensors) => {
  for (const tensor of tensors) await tensor.free();
};

export const cases = {
  "allocation: strides, sub-views and peers' buffers": {
    async run(group, rank) {
      const { world } = group;
      const tensor = await group.symmetric("f32", { shape: [64, 64], strides: [64, 1] });
      assert((await tensor.read()).every((x) => x === 0));
      tensor.write(new Float32Array(4096).fill(42 + rank));
      await group.signalBarrier();
      for (let peer = 0; peer < world; peer++) {
        assert.equal((await tensor.getBuffer(peer).read())[4095], 42 + peer);
        assert.equal((await tensor.getBuffer(peer, [4], "f32", 4092).read())[0], 42 + peer);
      }
      await group.signalBarrier();
      const gaps = await group.symmetric("u32", { shape: [3, 2], strides: [4, 2] });
      gaps.write(Uint32Array.of(1, 2, 3, 4, 5, 6));
      assert.deepEqual([...(await gaps.read())], [1, 2, 3, 4, 5, 6]);
      await throws(() => tensor.getBuffer(world), /no rank/);
      await throws(() => tensor.getBuffer(0, [4097]), /outside a tensor of 4096/);
      await freeAll(tensor, gaps);
    },
  },
  "allocation: 2 GiB and more": {
    async run(group, rank) {
      const tensor = await group.symmetric("u8", [2 ** 31 + 4096]);
      const end = tensor.view(2 ** 31 - 8, [16]);
      end.write(Uint8Array.from({ length: 16 }, (_, i) => i + rank));
      await group.signalBarrier();
      const peer = (rank + 1) % group.world;
      assert.equal((await tensor.getBuffer(peer, [1], "u8", 2 ** 31).read())[0], 8 + peer);
      await group.signalBarrier();
      await tensor.free();
    },
  },
  "allocation: memory by id": {
    async run(group, rank) {
      const id = group.nextAllocationId();
      const first = await group.symmetric("u32", [4], { id });
      first.write(words(4, (i) => i + rank));
      await throws(() => group.symmetric("u32", [4], { id }), /is alive/);
      await first.free();
      await throws(() => group.symmetric("u32", [8], { id }), /has 16 bytes, not 32/);
      const again = await group.symmetric("u32", [4], { id });
      assert.equal((await again.read())[3], 3 + rank);
      await again.free();
    },
  },
  "allocation: recycled blocks are zero, and memory stays flat": {
    async run(group) {
      const device = group.device;
      const warm = await group.symmetric("u32", [1024]);
      await warm.free();
      const before = native().memoryInfo(device).freeBytes;
      for (let i = 0; i < 300; i++) {
        const tensor = await group.symmetric("u32", [1 + i]);
        if (i % 50 === 0) assert((await tensor.read()).every((x) => x === 0));
        tensor.write(new Uint32Array(1 + i).fill(7));
        await tensor.free();
      }
      const lost = before - native().memoryInfo(device).freeBytes;
      // Ranks that share a GPU see each other's allocations.
      assert(lost <= 64 << 20, `${lost} bytes are gone`);
    },
  },
  "get and put: whole, at an offset, with a signal, and refused": {
    async run(group, rank) {
      const { world } = group;
      const tensor = await group.symmetric("u32", [2048]);
      tensor.write(words(2048, (i) => 10_000 * rank + i));
      await group.signalBarrier();
      const [next, previous] = [(rank + 1) % world, (rank + world - 1) % world];
      const whole = group.local("u32", [1024]);
      await group.get(whole, tensor, next);
      assert.deepEqual([...(await whole.read())], [...words(1024, (i) => 10_000 * next + i)]);
      await group.get(whole, tensor, next, { offset: 512 });
      assert.equal((await whole.read())[0], 10_000 * next + 512);
      await group.signalBarrier();
      const source = group.local("u32", [16]);
      source.write(words(16, () => 77 + rank));
      await group.putWithSignal(tensor, source, next, { offset: 2032, channel: 3 });
      await group.waitSignal(previous, { channel: 3 });
      assert.equal((await tensor.read())[2047], 77 + previous);
      await throws(() => group.get(source, tensor, world), /no rank/);
      await throws(() => group.get(source, tensor, 0, { offset: -1 }), /offset -1/);
      await throws(() => group.get(source, tensor, 0, { offset: 2040 }), /outside/);
      await throws(() => group.get(group.local("f32", [16]), tensor, 0), /between f32 and u32/);
      await group.signalBarrier();
      await freeAll(tensor, whole, source);
    },
  },
  "signals: channels and ranks are checked, the last channel works": {
    async run(group, rank) {
      const tensor = await group.symmetric("u32", [1]);
      const { channels, world } = group;
      await group.putSignal((rank + 1) % world, { channel: channels - 1 });
      await group.waitSignal((rank + world - 1) % world, { channel: channels - 1 });
      for (const channel of [channels, -1]) await throws(() => group.putSignal(0, { channel }), /no channel/);
      for (const peer of [-1, world]) await throws(() => group.waitSignal(peer), /no rank/);
      await throws(() => group.setSignalPadBytes(1024), /already/);
      await tensor.free();
    },
  },
  "signals: only the rank that waits in vain gets an error, and all go on": {
    least: 2,
    async run(group, rank) {
      const tensor = await group.symmetric("u32", [1]);
      if (rank === 0) {
        const error = await throws(
          () => group.waitSignal(1, { channel: 9, timeoutMs: 1000 }),
          /rank 0 waited 1000 ms for a signal of rank 1 on channel 9/,
        );
        assert.equal(error.code, "timeout");
      }
      if (rank !== group.world - 1)
        await throws(
          () => group.signalBarrier({ channel: 9, timeoutMs: 500 }),
          /waited 500 ms for rank \d+ at a barrier/,
        );
      await group.barrier();
      await group.signalBarrier({ channel: 9 });
      await reduceOnce(group);
      // The signal that was missing may still come.
      if (rank === 1) await group.putSignal(0, { channel: 9 });
      if (rank === 0) await group.waitSignal(1, { channel: 9, timeoutMs: 5000 });
      await tensor.free();
    },
  },
  "signals: a ring on two streams, host-driven ones at once": {
    async run(group, rank) {
      const { world } = group;
      const tensor = await group.symmetric("u32", [1]);
      const [next, previous] = [(rank + 1) % world, (rank + world - 1) % world];
      const [waits, puts] = [group.stream(), group.stream()];
      for (let i = 0; i < 50; i++) {
        await group.waitSignal(previous, { stream: waits, channel: i % 4 });
        await group.putSignal(next, { stream: puts, channel: i % 4 });
      }
      await waits.synchronize();
      await puts.synchronize();
      await Promise.all([group.waitSignal(previous, { channel: 4 }), group.putSignal(next, { channel: 4 })]);
      await waits.destroy();
      await puts.destroy();
      await tensor.free();
    },
  },
  "words: written one by one and many at once, refused when wrong": {
    async run(group) {
      const tensor = group.local("u32", [64]);
      tensor.write(new Uint32Array(64));
      const stream = group.stream();
      await group.memset32(tensor, 32, 9, 16, { stream });
      for (let i = 0; i < 4; i++) await group.streamWriteValue32(tensor, i, 2 ** 32 - 1 - i, { stream });
      await stream.synchronize();
      const now = [...(await tensor.read())];
      assert.deepEqual(now.slice(0, 5), [2 ** 32 - 1, 2 ** 32 - 2, 2 ** 32 - 3, 2 ** 32 - 4, 0]);
      assert.deepEqual(now.slice(31, 49), [0, ...Array(16).fill(9), 0]);
      await throws(() => group.streamWriteValue32(tensor, 64, 0), /outside/);
      await throws(() => group.memset32(tensor, 0, 2 ** 32, 1), /no 32-bit word/);
      await stream.destroy();
      await tensor.free();
    },
  },
  "words: a word written into a peer's memory ends its wait": {
    least: 2,
    async run(group, rank) {
      const tensor = await group.symmetric("u32", [16]);
      const next = (rank + 1) % group.world;
      await group.streamWriteValue32(tensor.getBuffer(next), 5, 1000 + rank);
      await group.signalBarrier();
      assert.equal((await tensor.read())[5], 1000 + ((rank + group.world - 1) % group.world));
      await group.signalBarrier();
      await tensor.free();
    },
  },
  "subgroups: halves, one after the other and the world": {
    least: 4,
    async run(world, rank) {
      const half = await world.subgroup(world.ranks.map((_, r) => r).filter((r) => r < 2 === rank < 2));
      await reduceOnce(half);
      await reduceOnce(world);
      if (rank < 3) {
        const strict = await world.subgroup([0, 1, 2]);
        await reduceOnce(strict);
        await strict.close();
      }
      await reduceOnce(world);
      await half.close();
    },
  },
  "subgroups: overlapping, alive at once, names used again": {
    least: 3,
    async run(world, rank) {
      const pairs = [
        [0, 1],
        [1, 2],
      ].filter((pair) => pair.includes(rank));
      for (let round = 0; round < 2; round++) {
        const groups = [];
        for (const pair of pairs) groups.push(await world.subgroup(pair, { name: "pair" }));
        for (const group of groups) await reduceOnce(group);
        for (const group of groups) {
          const tensor = await group.symmetric("u32", [1]);
          await group.signalBarrier({ channel: 2 });
          await tensor.free();
        }
        for (const group of groups) await group.close();
      }
      await world.barrier();
    },
  },
  "subgroups: two groups of the same ranks at once share no slot": {
    async run(world) {
      const all = world.ranks.map((_, r) => r);
      const [a, b] = [
        await world.subgroup(all, { name: "a" }),
        await world.subgroup([...all].reverse(), { name: "b" }),
      ];
      const jobs = [await allReduce(a), await allReduce(b)];
      const streams = [a.stream(), b.stream()];
      for (let i = 0; i < 20; i++) for (const k of [0, 1]) await jobs[k].launch(streams[k]);
      for (const stream of streams) await stream.synchronize();
      for (const job of jobs) await job.check();
      await a.signalBarrier();
      await b.signalBarrier();
      await a.close();
      await b.close();
    },
  },
  "streams: kernels of one group on two streams": {
    async run(group) {
      const jobs = [await allReduce(group), await allReduce(group, 1 << 15, "all_reduce/two_shot.coll")];
      const streams = [group.stream(), group.stream()];
      for (let i = 0; i < 30; i++) {
        await jobs[0].launch(streams[i % 2]);
        await jobs[1].launch(streams[(i + 1) % 2]);
      }
      for (const stream of streams) await stream.synchronize();
      for (const job of jobs) {
        await job.check();
        await job.free();
      }
      for (const stream of streams) await stream.destroy();
    },
  },
  "graphs: replayed with a straggler, pads in step afterwards": {
    async run(group, rank) {
      const { world } = group;
      const job = await allReduce(group);
      const flags = await group.symmetric("u32", [16]);
      await job.run();
      job.reset();
      await group.barrier();
      const [next, previous] = [(rank + 1) % world, (rank + world - 1) % world];
      const graph = await group.capture(async (stream) => {
        await group.signalBarrier({ stream, channel: 1 });
        await job.launch(stream);
        await group.putSignal(next, { stream, channel: 2 });
        await group.waitSignal(previous, { stream, channel: 2 });
        await group.memset32(flags, 0, 5, 4, { stream });
      });
      assert.equal((await flags.read())[0], 0, "a capture runs nothing");
      for (let i = 0; i < 5; i++) {
        if (rank === world - 1) await sleep(30);
        await graph.replay();
      }
      await job.check();
      assert.equal((await flags.read())[3], 5);
      job.reset();
      await group.barrier();
      await job.run();
      await job.check();
      await group.signalBarrier({ channel: 1 });
      await Promise.all([
        group.putSignal(next, { channel: 2 }),
        group.waitSignal(previous, { channel: 2, timeoutMs: 5000 }),
      ]);
      graph.destroy();
      await job.free();
      await flags.free();
    },
  },
  "graphs: a word written by the stream can be recorded": {
    async run(group) {
      const tensor = group.local("u32", [4]);
      tensor.write(new Uint32Array(4));
      const graph = await group.capture((stream) => group.streamWriteValue32(tensor, 2, 8, { stream }));
      await graph.replay();
      assert.deepEqual([...(await tensor.read())], [0, 0, 8, 0]);
      graph.destroy();
      await tensor.free();
    },
  },
  "graphs: not replayed leaves nothing; what would break a capture is refused before": {
    async run(group) {
      const tensor = await group.symmetric("u32", [16]);
      (await group.capture((stream) => group.signalBarrier({ stream, channel: 1 }))).destroy();
      await group.signalBarrier({ channel: 1 });
      const pattern = /not possible while a graph is being captured/;
      const graph = await group.capture(async (stream) => {
        await throws(() => group.symmetric("u32", [4]), pattern);
        await throws(() => group.local("u32", [4]), pattern);
        await throws(() => group.load(compiled("all_reduce/one_shot.coll", group.world)), pattern);
        await throws(() => group.subgroup([0]), pattern);
        await throws(() => tensor.read(), pattern);
        await throws(() => tensor.free(), pattern);
        await throws(() => group.putSignal(0), pattern);
        await group.memset32(tensor, 0, 3, 4, { stream });
      });
      await graph.replay();
      assert.equal((await tensor.read())[3], 3);
      graph.destroy();
      await tensor.free();
    },
  },
  "recovery: a kernel that waited in vain, then a collective in the same processes": {
    least: 2,
    async run(world, rank) {
      const group = await world.subgroup(
        world.ranks.map((_, r) => r),
        { name: "faulty", timeoutMs: 1000 },
      );
      const job = await allReduce(group);
      await job.run();
      const last = group.world - 1;
      if (rank !== last) {
        const error = await throws(job.run, new RegExp(`waited 1000 ms for rank ${last} in one_shot`));
        assert.equal(error.code, "timeout");
        await throws(job.run, /out of step/);
      } else await sleep(1300);
      await group.recover();
      job.reset();
      await group.barrier();
      await job.run();
      await job.check();
      await group.close();
    },
  },
};
