// Graphs, and going on after a wait that ran out.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { allReduce, compiled, throws } from "./support.mjs";

export default {
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
        { name: "faulty", timeoutMs: 2000 },
      );
      const job = await allReduce(group);
      await job.run();
      const last = group.world - 1;
      if (rank !== last) {
        const error = await throws(job.run, new RegExp(`waited 2000 ms for rank ${last} in one_shot`));
        assert.equal(error.code, "timeout");
        await throws(job.run, /out of step/);
      } else await sleep(2300);
      await group.recover();
      job.reset();
      await group.barrier();
      await job.run();
      await job.check();
      await group.close();
    },
  },
};
