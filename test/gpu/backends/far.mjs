// A group whose ranks have no addresses of each other's memory, as on several nodes: COLLC_PRETEND_UNREACHABLE is set. What
// can work without addresses does, through the library's own calls; the rest says what it lacks.
import { setTimeout as sleep } from "node:timers/promises";
import { compile } from "../../../dist/src/compiler/index.js";
import { check, mustThrow, range, same } from "./support.mjs";

const words = async (tensor) => [...(await tensor.read())];
const ring = ({ rank, world }) => ({ next: (rank + 1) % world, before: (rank - 1 + world) % world });

const oneShot = `collective sum_up(x: T[n] partial(sum)) -> y: T[n] replicated {
  for i in tiles(n) { y[i] = sum(p in ranks) x@p[i] }
}
`;

export const farCases = {
  async "put, get and put with signal in a ring, counted"({ group, rank, world }) {
    const { next, before } = ring({ rank, world });
    const data = await group.symmetric("u32", [world * 1000 + 8]);
    const source = await group.symmetric("u32", [1000]);
    for (let round = 1; round <= 10; round++) {
      source.write(Uint32Array.from(range(1000), (i) => rank * 10_000 + round * 1000 + i));
      await group.putWithSignal(data, source, next, { offset: rank * 1000, channel: 2 });
      await group.waitSignal(before, { channel: 2 });
      const wanted = range(1000).map((i) => before * 10_000 + round * 1000 + i);
      same(await words(data.view(before * 1000, [1000])), wanted, `round ${round}`);
      await group.signalBarrier();
    }
    const into = await group.symmetric("u32", [500]);
    for (const peer of range(world)) {
      await group.get(into, source, peer, { offset: 500 });
      same(
        await words(into),
        range(500).map((i) => peer * 10_000 + 10_500 + i),
        `get from ${peer}`,
      );
    }
    await group.put(data, into, rank, { offset: 0 });
    await group.signalBarrier();
    for (const tensor of [into, source, data]) await tensor.free();
  },

  async "barriers hold a straggler's peers"({ group, rank, world }) {
    const flags = await group.symmetric("u32", [world]);
    const own = await group.symmetric("u32", [1]);
    for (let round = 1; round <= world; round++) {
      if (rank === round - 1) await sleep(100);
      own.write(Uint32Array.of(round));
      for (const peer of range(world)) await group.put(flags, own, peer, { offset: rank });
      await group.signalBarrier({ channel: 4 });
      same(await words(flags), Array(world).fill(round), `round ${round}`);
      await group.signalBarrier({ channel: 4 });
    }
    await own.free();
    await flags.free();
  },

  async "a wait that runs out names the peer; after recovery all goes on"({ group, rank, world }) {
    const tensor = await group.symmetric("u32", [4]);
    if (rank === 0) {
      const error = await mustThrow(() => group.waitSignal(world - 1, { channel: 7, timeoutMs: 200 }), /waited 200 ms/);
      check(error.message.includes(`a signal of rank ${world - 1}`), error.message);
    }
    await group.barrier();
    if (world > 1 && rank !== world - 1) {
      const error = await mustThrow(() => group.signalBarrier({ channel: 1, timeoutMs: 200 }), /at a barrier/);
      check(error.message.includes(`rank ${world - 1} at a barrier on channel 1`), error.message);
    }
    await group.recover();
    for (let round = 0; round < 3; round++) await group.signalBarrier({ channel: 1 });
    await tensor.free();
  },

  async "copies and signals replay from a graph with a straggler"({ group, rank, world }) {
    const { next, before } = ring({ rank, world });
    const data = await group.symmetric("u32", [256]);
    const source = await group.symmetric("u32", [256]);
    await group.putWithSignal(data, source, next); // what NVSHMEM makes lazily is made now
    await group.waitSignal(before);
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

  async "subgroups of far ranks"({ group, rank, world }) {
    if (world < 2) return "skipped: one rank";
    const list = [world - 1, 0];
    if (list.includes(rank)) {
      const some = await group.subgroup(list);
      const data = await some.symmetric("u32", [64]);
      const source = await some.symmetric("u32", [64]);
      source.write(new Uint32Array(64).fill(rank + 50));
      await some.putWithSignal(data, source, 1 - some.rank);
      await some.waitSignal(1 - some.rank);
      same(await words(data), Array(64).fill(list[1 - some.rank] + 50), "the other's words");
      await some.signalBarrier();
      await some.close();
    }
    await group.barrier();
    return list.join("+");
  },

  async "what needs addresses says so, and what may not be a source"({ group, rank, world }) {
    if (world < 2) return "skipped: one rank";
    const { next } = ring({ rank, world });
    const x = await group.symmetric("f32", [1024]);
    const y = await group.symmetric("f32", [1024]);
    await mustThrow(() => x.getBuffer(next), /is not reachable/);
    const kernel = await group.load(compile(oneShot, { file: "far.coll", ranks: world, dtype: "f32" }));
    await mustThrow(() => kernel.run({ x, y }, { n: 1024 }), /is not reachable/);
    await kernel.unload();
    const local = group.local("f32", [1024]);
    await mustThrow(() => group.put(x, local, next), /only from symmetric memory/);
    await local.free();
    await group.signalBarrier();
    await y.free();
    await x.free();
  },
};
