/** Signals, one-sided copies, words, streams, graphs and recovery, on the fake driver. */
import { beforeAll, describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { UsageError } from "../../src/runtime/errors.js";
import type { DeviceGroup, DeviceGroupOptions } from "../../src/runtime/group-device.js";
import type { CapturedGraph, Tensor } from "../../src/runtime/group.js";
import { failing, live } from "../native/support.js";
import { closedAfterEach, connectRanks, onAll, useFakeMachine } from "./device-groups.js";
import { rejection } from "./helpers.js";

beforeAll(useFakeMachine);

const { open, forgive } = closedAfterEach();

/** Groups with a tensor of 1024 words on every rank. */
async function ranks(
  world: number,
  options: Partial<DeviceGroupOptions> = {},
): Promise<{ groups: DeviceGroup[]; tensors: Tensor[] }> {
  const groups = await connectRanks(world, options);
  open.push(...groups);
  return { groups, tensors: await onAll(groups, (group) => group.symmetric("u32", [1024])) };
}

const values = (length: number, of: (i: number) => number) => Uint32Array.from({ length }, (_, i) => of(i));
const pads = (groups: readonly DeviceGroup[]) =>
  onAll(groups, async (group, rank) => Array.from(await group.signalPad(rank).read(), Number));

describe("signals", () => {
  it("are counted: a put never waits, each wait takes one", async () => {
    const { groups, tensors } = await ranks(2);
    await onAll(groups, async (group, rank) => {
      if (rank === 0) {
        for (let i = 0; i < 3; i++) await group.putSignal(1, { channel: 5 });
        tensors[0]!.write(values(1024, (i) => i));
        await group.putSignal(1, { channel: 6 });
      } else {
        for (let i = 0; i < 3; i++) await group.waitSignal(0, { channel: 5 });
        await group.waitSignal(0, { channel: 6 });
        expect((await tensors[1]!.getBuffer(0).read())[1023]).toBe(1023);
        const error = await rejection(group.waitSignal(0, { channel: 5, timeoutMs: 50 }));
        expect(error.message).toMatch(/rank 1 waited 50 ms for a signal of rank 0 on channel 5 .*wanted 4, saw 3/);
        expect(error).toMatchObject({ code: "timeout" });
      }
    });
    // The wait that ran out took nothing.
    await onAll(groups, (group, rank) => (rank === 0 ? group.putSignal(1, { channel: 5 }) : Promise.resolve()));
    await groups[1]!.waitSignal(0, { channel: 5 });
  });

  it("channels: the last is taken, the next refused, ranks are checked", async () => {
    const { groups } = await ranks(2);
    const [group] = groups as [DeviceGroup];
    expect(group.channels).toBe(1152);
    await Promise.all([group.putSignal(1, { channel: 1151 }), groups[1]!.waitSignal(0, { channel: 1151 })]);
    for (const channel of [1152, -1, 0.5, 1152 * 2])
      for (const call of [
        () => group.putSignal(1, { channel }),
        () => group.waitSignal(1, { channel }),
        () => group.signalBarrier({ channel }),
      ])
        expect((await rejection(call())).message).toContain(`no channel ${channel}`);
    for (const rank of [-1, 2]) {
      expect((await rejection(group.putSignal(rank))).message).toContain(`no rank ${rank}`);
      expect((await rejection(group.waitSignal(rank))).message).toContain(`no rank ${rank}`);
      expect(() => group.signalPad(rank)).toThrow(`no rank ${rank}`);
    }
    expect((await rejection(group.waitSignal(1, { timeoutMs: -1 }))).message).toContain("no timeout");
  });

  it("the pad's size can be set before the first allocation, and is the same on all ranks", async () => {
    const groups = await connectRanks(2);
    open.push(...groups);
    for (const group of groups) {
      expect((await rejection(group.putSignal(0))).message).toContain("no signal pad yet");
      expect(() => group.setSignalPadBytes(15)).toThrow("cannot have 15 bytes");
      expect(() => group.setSignalPadBytes(8)).toThrow("cannot have 8 bytes");
      group.setSignalPadBytes(2 * group.signalPadBytes);
      expect(group.signalPadBytes).toBe(36864);
    }
    const tensors = await onAll(groups, (group) => group.symmetric("u32", [4]));
    await onAll(groups, (group) => group.signalBarrier({ channel: 2303 }));
    expect(() => groups[0]!.setSignalPadBytes(64)).toThrow("36864 bytes already");
    expect((await pads(groups))[0]!.length).toBe(9216);
    await Promise.all(tensors.map((tensor) => tensor.free()));
    const unlike = await connectRanks(2);
    open.push(...unlike);
    unlike[1]!.setSignalPadBytes(64);
    for (const error of await onAll(unlike, (group) => rejection(group.symmetric("u32", [4]))))
      expect(error).toMatchObject({ code: "mismatch" });
  });

  it("pads seen as words, of one's own and of a peer", async () => {
    const { groups, tensors } = await ranks(2);
    tensors[0]!.write(new Uint32Array(1024).fill(7));
    await groups[0]!.putSignal(1, { channel: 3 });
    const slot = 3 * 2 * 2 + 0;
    expect([...(await groups[0]!.signalPad(1, [8, 8]).read())].length).toBe(64);
    expect([...(await groups[1]!.signalPad(1, [1], slot).read())]).toEqual([1]);
    expect([...(await groups[0]!.signalPad(1, [1], slot).read())]).toEqual([1]);
    expect(() => groups[0]!.signalPad(1, [8], groups[0]!.signalPadBytes / 4 - 7)).toThrow("outside");
    // Writing up to a tensor's end does not reach the pad.
    tensors[1]!.view(1023, [1]).write(Uint32Array.of(0xffffffff));
    expect((await pads(groups))[1]!.filter((x) => x !== 0)).toEqual([1]);
  });

  it("a barrier that ran out on the punctual ranks is met by the late one, and all go on", async () => {
    const { groups } = await ranks(3);
    const punctual = groups.slice(0, 2).map((group) => rejection(group.signalBarrier({ timeoutMs: 100 })));
    const errors = await Promise.all(punctual);
    for (const error of errors) expect(error.message).toMatch(/waited 100 ms for rank 2 at a barrier on channel 0/);
    await onAll(groups, (group) => group.signalBarrier());
    await onAll(groups, (group) => group.signalBarrier());
  });

  it("a ring on two streams, and two groups at once, meet in no slot", async () => {
    const { groups } = await ranks(4);
    await onAll(groups, async (group, rank) => {
      const other = await group.subgroup([3, 2, 1, 0], { name: "other" });
      await other.symmetric("u32", [1]);
      const [waits, puts] = [group.stream(), group.stream()];
      for (let round = 0; round < 5; round++) {
        await group.waitSignal((rank + 3) % 4, { stream: waits, channel: 1 });
        await group.putSignal((rank + 1) % 4, { stream: puts, channel: 1 });
        await other.signalBarrier({ channel: 1 });
      }
      await waits.synchronize();
      await puts.synchronize();
      // Host-driven and at once: neither holds up the other.
      await Promise.all([group.waitSignal((rank + 3) % 4), group.putSignal((rank + 1) % 4)]);
      await waits.destroy();
      expect((await rejection(group.putSignal(0, { stream: waits }))).message).toContain("destroyed");
    });
  });
});

describe("copies", () => {
  it("get a whole tensor, and a part at an offset", async () => {
    const { groups, tensors } = await ranks(2);
    await onAll(groups, async (group, rank) => {
      tensors[rank]!.write(values(1024, (i) => 1000 * rank + i));
      await group.barrier();
      const all = group.local("u32", [1024]);
      await group.get(all, tensors[rank]!, 1 - rank);
      expect([...(await all.read())]).toEqual([...values(1024, (i) => 1000 * (1 - rank) + i)]);
      const part = group.local("u32", [256]);
      await group.get(part, tensors[rank]!, 1 - rank, { offset: 512 });
      expect((await part.read())[0]).toBe(1000 * (1 - rank) + 512);
      await group.barrier();
    });
  });

  it("put, and put with a signal", async () => {
    const { groups, tensors } = await ranks(2);
    await onAll(groups, async (group, rank) => {
      const source = group.local("u32", [4]);
      source.write(values(4, (i) => 10 * rank + i));
      const stream = group.stream();
      await group.putWithSignal(tensors[rank]!, source, 1 - rank, { offset: 100, channel: 2, stream });
      await stream.synchronize();
      await group.waitSignal(1 - rank, { channel: 2 });
      expect([...(await tensors[rank]!.view(99, [6]).read())].slice(1, 5)).toEqual([
        ...values(4, (i) => 10 * (1 - rank) + i),
      ]);
      await group.put(tensors[rank]!, source, rank, { offset: 0 });
      expect((await tensors[rank]!.read())[3]).toBe(10 * rank + 3);
    });
  });

  it("refuse what cannot be copied", async () => {
    const { groups, tensors } = await ranks(2);
    const [group] = groups as [DeviceGroup];
    const [tensor] = tensors as [Tensor];
    const own = group.local("u32", [16]);
    const cases: [() => Promise<void>, string][] = [
      [() => group.get(group.local("u32", { shape: [2, 2], strides: [4, 1] }), tensor, 1), "not contiguous"],
      [() => group.get(own, tensor, 1, { offset: -1 }), "offset -1"],
      [() => group.get(own, tensor, 1, { offset: 1009 }), "outside a tensor of 1024"],
      [() => group.get(own, tensor, 2), "no rank 2"],
      [() => group.get(own, tensor, -1), "no rank -1"],
      [() => group.get(group.local("f32", [16]), tensor, 1), "between f32 and u32"],
      [() => group.put(own, tensor.view(0, [16]), 1), "only symmetric tensors"],
      [() => group.get(own, groups[1]!.local("u32", [16]), 1), "another backend or GPU"],
    ];
    for (const [call, message] of cases) expect((await rejection(call())).message).toContain(message);
  });
});

describe("words", () => {
  it("are written one by one and many at once, in the order of the stream", async () => {
    const { groups, tensors } = await ranks(1);
    const [group] = groups as [DeviceGroup];
    const words = tensors[0]!.view(0, [64]);
    const stream = group.stream();
    await group.memset32(words, 32, 9, 16, { stream });
    await group.streamWriteValue32(words, 33, 0xffffffff, { stream });
    await stream.synchronize();
    const now = [...(await words.read())];
    expect(now.slice(30, 50)).toEqual([0, 0, 9, 0xffffffff, ...Array(14).fill(9), 0, 0]);
    const four = group.local("u32", [4]);
    for (let i = 0; i < 4; i++) await group.streamWriteValue32(four, i, 2 ** i);
    expect([...(await four.read())]).toEqual([1, 2, 4, 8]);
  });

  it("refuse the eight ways of being wrong", async () => {
    const { groups } = await ranks(1);
    const [group] = groups as [DeviceGroup];
    const words = group.local("u32", [64]);
    const cases: [() => Promise<void>, string][] = [
      [() => group.memset32(group.local("i32", [64]), 0, 0, 1), "u32 tensors, not i32"],
      [() => group.memset32(group.local("u32", [8, 8]), 0, 0, 1), "one-dimensional"],
      [() => group.memset32(group.local("u32", { shape: [8], strides: [2] }), 0, 0, 1), "not contiguous"],
      [() => group.memset32(words, -1, 0, 1), "word -1"],
      [() => group.memset32(words, 0, -1, 1), "-1 is no 32-bit word"],
      [() => group.memset32(words, 0, 2 ** 32, 1), "is no 32-bit word"],
      [() => group.memset32(words, 0, 0, 0), "0 words"],
      [() => group.memset32(words, 60, 0, 5), "outside a tensor of 64"],
      [() => group.streamWriteValue32(words, 64, 0), "outside a tensor of 64"],
      [() => group.streamWriteValue32(words, 0.5, 0), "word 0.5"],
    ];
    for (const [call, message] of cases) expect((await rejection(call())).message).toContain(message);
  });
});

describe("graphs", () => {
  it("replay signals, barriers, copies and words, with a straggler, and count on", async () => {
    const { groups, tensors } = await ranks(2);
    // A capture belongs to the thread, which these ranks share: one after the other.
    const graphs: CapturedGraph[] = [];
    for (const group of groups) {
      const { rank } = group;
      const source = group.local("u32", [4]);
      source.write(values(4, () => rank + 1));
      const graph = await group.capture(async (stream) => {
        await group.signalBarrier({ stream });
        await group.putWithSignal(tensors[rank]!, source, 1 - rank, { stream, channel: 1 });
        await group.waitSignal(1 - rank, { stream, channel: 1 });
        await group.streamWriteValue32(tensors[rank]!, 100, 5, { stream });
      });
      graphs.push(graph);
      expect(graph.nodes).toBe(5);
    }
    await onAll(groups, async (group, rank) => {
      const graph = graphs[rank]!;
      expect((await tensors[rank]!.read())[0]).toBe(0);
      for (let replay = 0; replay < 5; replay++) {
        if (rank === 0) await new Promise((done) => setTimeout(done, 20));
        await graph.replay();
      }
      expect((await tensors[rank]!.read())[0]).toBe(2 - rank);
      graph.destroy();
      expect((await rejection(graph.replay())).message).toContain("destroyed");
      // The counters go on from where the replays left them.
      await group.signalBarrier();
      await Promise.all([group.putSignal(1 - rank, { channel: 1 }), group.waitSignal(1 - rank, { channel: 1 })]);
    });
    for (const pad of await pads(groups)) expect(pad.filter((x) => x !== 0).sort((a, b) => a - b)).toEqual([6, 6, 6]);
  });

  it("a capture that is not replayed leaves nothing", async () => {
    const { groups } = await ranks(2);
    const graphs = [];
    for (const group of groups) graphs.push(await group.capture((stream) => group.signalBarrier({ stream })));
    expect((await pads(groups)).flat().every((x) => x === 0)).toBe(true);
    for (const graph of graphs) graph.destroy();
    await onAll(groups, (group) => group.signalBarrier());
  });

  it("refuse what would break the capture, before it does", async () => {
    const { groups, tensors } = await ranks(1);
    const [group] = groups as [DeviceGroup];
    const [tensor] = tensors as [Tensor];
    const compiled = compile("collective all(x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) }", {
      ranks: 1,
      dtype: "f32",
    });
    const calls: (() => unknown)[] = [
      () => group.symmetric("u32", [4]),
      () => group.local("u32", [4]),
      () => group.subgroup([0]),
      () => group.load(compiled),
      () => group.stream(),
      () => group.recover(),
      () => tensor.read(),
      () => tensor.write(new Uint32Array(1024)),
      () => tensor.free(),
      () => group.putSignal(0),
      () => group.defaultStream.synchronize(),
      () => group.capture(() => {}),
    ];
    for (const call of calls) {
      const graph = await group.capture(async (stream) => {
        await group.memset32(tensor, 0, 1, 4, { stream });
        const error = await rejection((async () => call())());
        expect(error.message).toContain("not possible while a graph is being captured");
      });
      expect(graph.nodes).toBe(1);
      graph.destroy();
    }
    const failed = await rejection(group.capture(() => Promise.reject(new Error("mine"))));
    expect(failed.message).toBe("mine");
    (await group.capture((stream) => group.memset32(tensor, 0, 1, 4, { stream }))).destroy();
  });
});

describe("streams and teardown", () => {
  it("a tensor of other ranks is refused, whose parts lie elsewhere", async () => {
    const { groups } = await ranks(2);
    await onAll(groups, async (world) => {
      const turned = await world.subgroup([1, 0]);
      const [mine, theirs, y] = [
        await world.symmetric("f32", [64]),
        await turned.symmetric("f32", [64]),
        await world.symmetric("f32", [64]),
      ];
      const source = "collective all(x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) }";
      // With packets each rank would read its own alone.
      const kernel = await world.load(compile(source, { ranks: 2, dtype: "f32", mapping: { transfers: "written" } }));
      const error = await rejection(kernel.run({ x: theirs, y }, { n: 64 }));
      expect(error.message).toContain('of ranks 1, 0, not to "world" of ranks 0, 1');
      await world.barrier();
      // What the rank itself reads may come from anywhere.
      const own = await world.load(
        compile("collective c(x: T[n] local) -> y: T[n] local { for i in tiles(n) { y[i] = x[i] } }", {
          ranks: 2,
          dtype: "f32",
        }),
      );
      await own.run({ x: theirs, y: mine }, { n: 64 });
      await kernel.unload();
      await own.unload();
    });
  });

  it("a tensor that the kernel does not have is refused", async () => {
    const { groups } = await ranks(1);
    const [group] = groups as [DeviceGroup];
    const source = "collective twice(x: T[n] replicated) -> total: T[n] replicated { total = x + x }";
    const kernel = await group.load(compile(source, { ranks: 1, dtype: "f32" }));
    const [x, total] = [await group.symmetric("f32", [64]), await group.symmetric("f32", [64])];
    const launches = live().launches;
    const refusals: [Record<string, Tensor>, string, string][] = [
      [{ x, total, bias: x }, "twice takes no tensor 'bias'", "it takes x, total"],
      [{ x, totl: total }, "twice takes no tensor 'totl'", "did you mean 'total'?"],
    ];
    for (const [tensors, message, help] of refusals)
      for (const refused of [
        kernel.run(tensors, { n: 64 }),
        kernel.launch(tensors, { n: 64 }, group.defaultStream),
        kernel.time(tensors, { n: 64 }),
      ]) {
        const error = await rejection(refused);
        expect(error).toBeInstanceOf(UsageError);
        expect(error).toMatchObject({ message, help });
      }
    expect(live().launches).toBe(launches);
    await kernel.unload();
  });

  it("kernels of one group run one after the other, whatever their streams", async () => {
    const { groups } = await ranks(1);
    const [group] = groups as [DeviceGroup];
    const source = "collective twice(x: T[n] replicated) -> y: T[n] replicated { y = x + x }";
    const kernel = await group.load(compile(source, { ranks: 1, dtype: "f32" }));
    const [x, y] = [await group.symmetric("f32", [64]), await group.symmetric("f32", [64])];
    const [a, b] = [group.stream(), group.stream()];
    // Stream a stands still; what b launches after a's kernel must wait for it.
    await group.waitSignal(0, { stream: a });
    await kernel.launch({ x, y }, { n: 64 }, a);
    const launches = live().launches;
    await kernel.launch({ x, y }, { n: 64 }, b);
    expect(live().launches).toBe(launches);
    await group.putSignal(0);
    await b.synchronize();
    await a.synchronize();
    // The two launches, and the signal.
    expect(live().launches).toBe(launches + 3);
    await kernel.unload();
    expect((await rejection(kernel.run({ x, y }, { n: 64 }))).message).toContain("was unloaded");
  });

  it("recovers: every counter is zero again, on all ranks", async () => {
    const { groups } = await ranks(2);
    await groups[0]!.putSignal(1);
    await rejection(groups[0]!.signalBarrier({ timeoutMs: 100 }));
    expect((await pads(groups)).flat().some((x) => x !== 0)).toBe(true);
    await onAll(groups, (group) => group.recover());
    expect((await pads(groups)).flat().every((x) => x === 0)).toBe(true);
    await onAll(groups, (group) => group.signalBarrier());
    await rejection(groups[1]!.waitSignal(0, { timeoutMs: 20 }));
  });

  it("free waits for pending work", async () => {
    const { groups, tensors } = await ranks(1);
    const [group] = groups as [DeviceGroup];
    const stream = group.stream();
    await group.waitSignal(0, { stream });
    await group.memset32(tensors[0]!, 0, 3, 4, { stream });
    let isFreed = false;
    const free = tensors[0]!.free().then(() => (isFreed = true));
    await new Promise((done) => setTimeout(done, 50));
    expect(isFreed).toBe(false);
    await group.putSignal(0);
    await free;
    expect(isFreed).toBe(true);
  });

  it("close never throws, not even with a driver that fails", async () => {
    const groups = await connectRanks(1);
    await groups[0]!.symmetric("u32", [4]);
    await failing("cuMemUnmap,cuMemAddressFree,cuStreamDestroy", () => groups[0]!.close());
    forgive();
    await groups[0]!.close();
  });
});
