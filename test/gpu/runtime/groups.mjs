// Subgroups, several groups at once, several streams.
import assert from "node:assert/strict";
import { allReduce, compiled, reduceOnce, throws } from "./support.mjs";

export default {
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
  "streams: the copy engine moves what a kernel on another stream does not touch": {
    async run(group, rank) {
      const { world } = group;
      const job = await allReduce(group, 1 << 15, "all_reduce/two_shot.coll");
      const n = 1 << 18;
      const [inbox, source] = [await group.symmetric("u32", [world * n]), group.local("u32", [n])];
      source.write(new Uint32Array(n).fill(rank + 1));
      const [copies, kernels] = [group.stream(), group.stream()];
      for (let round = 0; round < 4; round++) {
        for (let step = 0; step < world; step++) {
          const peer = (rank + step) % world;
          await group.putWithSignal(inbox, source, peer, { offset: rank * n, stream: copies, channel: 5 });
          await job.launch(kernels);
        }
        for (let peer = 0; peer < world; peer++) await group.waitSignal(peer, { stream: copies, channel: 5 });
        await copies.synchronize();
        await kernels.synchronize();
        const now = await inbox.read();
        for (let peer = 0; peer < world; peer++) assert.equal(now[(peer + 1) * n - 1], peer + 1);
        await job.check();
        await group.signalBarrier();
      }
      for (const stream of [copies, kernels]) await stream.destroy();
      await job.free();
      await inbox.free();
      await source.free();
    },
  },
  "groups: the same array twice is refused, and so is a group that was compiled for other ranks": {
    async run(group) {
      const job = await allReduce(group);
      await throws(() => job.kernel.run({ x: job.tensors.x, y: job.tensors.x }, job.dims), /shares memory/);
      await throws(() => group.load(compiled("all_reduce/one_shot.coll", group.world + 1)), /compiled for/);
      await job.run();
      await job.check();
      await job.free();
    },
  },
};
