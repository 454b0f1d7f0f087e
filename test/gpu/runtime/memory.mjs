// Allocation, views, one-sided copies and words.
import assert from "node:assert/strict";
import { native } from "../../../dist/src/runtime/native.js";
import { compiled, freeAll, sum, throws, words } from "./support.mjs";

export default {
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
  "allocation: memory and streams of somebody else's": {
    async run(group, rank) {
      const { world } = group;
      const [theirs, out] = [await group.symmetric("f32", [4096]), group.local("f32", [4096])];
      const x = group.external({ memory: theirs.pointer, peers: theirs.peerPointers, dtype: "f32", shape: [4096] });
      const y = group.external({ memory: out.pointer, dtype: "f32", shape: [4096] });
      x.write(new Float32Array(4096).fill(rank + 1));
      const kernel = await group.load(compiled("all_reduce/one_shot.coll", world));
      const raw = native().streamCreate(group.device);
      const stream = group.externalStream(native().streamPointer(raw));
      await kernel.launch({ x, y }, { n: 4096 }, stream);
      await stream.synchronize();
      assert((await out.read()).every((v) => v === sum(world)));
      await stream.destroy();
      native().streamDestroy(raw);
      await throws(() => group.external({ memory: theirs.pointer + 1n, dtype: "f32", shape: [1] }), /no multiple/);
      await kernel.unload();
      await freeAll(x, y, theirs, out);
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
      const rounds = group.world === 1 ? 10_000 : 2_000;
      for (let i = 0; i < rounds; i++) {
        const tensor = await group.symmetric("u32", [1 + (i % 300)]);
        if (i % 50 === 0) assert((await tensor.read()).every((x) => x === 0));
        tensor.write(new Uint32Array(1 + (i % 300)).fill(7));
        await tensor.free();
      }
      const lost = before - native().memoryInfo(device).freeBytes;
      // Ranks that share a GPU see each other's allocations.
      assert(lost <= 64 << 20, `${lost} bytes are gone`);
    },
  },
  "allocation: 4 Mi floats, local and symmetric, freed while work on them is pending": {
    async run(group) {
      const n = 4 << 20;
      const [near, far] = [group.local("f32", [n]), await group.symmetric("f32", [n])];
      near.write(new Float32Array(n).fill(3));
      const stream = group.stream();
      const own = group.localRanks[0];
      for (let i = 0; i < 20; i++) await group.put(far, near, own, { stream });
      await group.get(near, far, own, { stream });
      const check = group.local("f32", [1]);
      await group.get(check, far.view(n - 1, [1]), own, { stream });
      await freeAll(near, far);
      assert.equal((await check.read())[0], 3);
      await stream.destroy();
      await check.free();
    },
  },
  "pad: a tensor's last element is not in it, and it can be seen and sized": {
    async run(group, rank) {
      const all = group.ranks.map((_, r) => r);
      const wide = await group.subgroup(all, { name: "wide", signalPadBytes: 2 * group.signalPadBytes });
      assert.equal(wide.channels, Math.floor((2 * group.signalPadBytes) / (8 * group.world)));
      const tensor = await wide.symmetric("u32", [1024]);
      await throws(() => wide.setSignalPadBytes(64), /already/);
      tensor.view(1023, [1]).write(Uint32Array.of(0xffffffff));
      assert((await wide.signalPad(rank).read()).every((word) => word === 0));
      await wide.barrier();
      await wide.signalBarrier({ channel: wide.channels - 1 });
      await wide.barrier(); // whoever is past a signal barrier has been told by all, but a peer may not have been yet
      for (const peer of all) {
        const words = await wide.signalPad(peer).read();
        assert.equal(words.length, wide.signalPadBytes / 4);
        // Two words a rank and channel, the second for barriers.
        const last = (2 * wide.channels - 1) * wide.world;
        assert.deepEqual(
          [...words.slice(last, last + wide.world)],
          all.map(() => 1),
        );
        assert.equal((await wide.signalPad(peer, [8, 8]).read()).length, 64);
      }
      await throws(() => wide.signalPad(0, [8], wide.signalPadBytes / 4 - 7), /outside/);
      await wide.signalBarrier();
      await wide.close();
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
};
