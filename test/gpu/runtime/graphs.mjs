// Graphs, and going on after a wait that ran out.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { compile } from "../../../dist/src/compiler/index.js";
import { allReduce, compiled, sum, throws } from "./support.mjs";

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
  "graphs: numbers of the launch change without another capture": {
    async run(group, rank) {
      const { world } = group;
      const text = `collective scaled(x: T[n] partial(sum), eps: f32, step: u32) -> y: T[n] replicated {
  y = all_reduce(x) * eps + f32(step)
}`;
      const kernel = await group.load(compile(text, { ranks: world, dtype: "f32" }));
      // A size for packets, and one for flags.
      for (const n of [256, 1 << 18]) {
        const [x, y] = [await group.symmetric("f32", [n]), await group.symmetric("f32", [n])];
        x.write(new Float32Array(n).fill(rank + 1));
        await group.barrier();
        const run = await kernel.prepare({ x, y }, { n, eps: 0.5, step: 7 });
        await kernel.run({ x, y }, { n, eps: 0.5, step: 7 });
        const graph = await group.capture((stream) => {
          run.launch(stream);
          run.launch(stream);
        });
        const replayed = async (eps, step) => {
          await graph.replay();
          const wanted = sum(world) * eps + step;
          assert(
            (await y.read()).every((v) => v === wanted),
            `${n}: ${eps}, ${step}`,
          );
        };
        await replayed(0.5, 7);
        run.set({ eps: 0.25, step: 9 });
        await replayed(0.5, 7);
        graph.update(run);
        for (let i = 0; i < 3; i++) await replayed(0.25, 9);
        run.set({ step: 2 ** 20 });
        graph.update(run);
        await replayed(0.25, 2 ** 20);
        graph.destroy();
        run.release();
        await x.free();
        await y.free();
      }
      await kernel.unload();
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
