/** The emulated group keeps the rules of a group on GPUs: signals, copies, words, streams, graphs, ids, subgroups. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { UsageError } from "../../src/runtime/errors.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { rejection } from "./helpers.js";

const open = (world: number, timeoutMs = 120_000) => new EmulatedGroup(world, { timeoutMs });
const words = (length: number, of: (i: number) => number) => Uint32Array.from({ length }, (_, i) => of(i));
const sum = (world: number) =>
  compile("collective s(x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) }", {
    ranks: world,
    dtype: "u32",
  });

describe("misuse", () => {
  it("a tensor of other ranks is refused, whose parts lie elsewhere", async () => {
    const group = open(3);
    const [a, b] = [await group.subgroup([0, 1]), await group.subgroup([1, 2])];
    const kernel = await a.load(sum(2));
    const [x, y, foreign] = [
      await a.symmetric("u32", [4]),
      await a.symmetric("u32", [4]),
      await b.symmetric("u32", [4]),
    ];
    const error = await rejection(kernel.run({ x: foreign, y }, { n: 4 }));
    expect(error.message).toContain(`'x' belongs to group "ranks 1,2" of ranks 1, 2, not to "ranks 0,1"`);
    // The same ranks in the same order are the same memory for everybody.
    const twin = await group.subgroup([0, 1]);
    await kernel.run({ x, y: await twin.symmetric("u32", [4]) }, { n: 4 });
  });

  it("a tensor that the kernel does not have is refused, whatever else there is", async () => {
    const group = open(2);
    const kernel = await group.load(sum(2));
    const [x, y] = [await group.symmetric("u32", [4]), await group.symmetric("u32", [4])];
    const refusals: [Record<string, typeof x>, string, string][] = [
      [{ x, y, z: x }, "s takes no tensor 'z'", "it takes x, y"],
      [{ xx: x, y }, "s takes no tensor 'xx'", "did you mean 'x'?"],
    ];
    for (const [tensors, message, help] of refusals)
      for (const refused of [
        kernel.run(tensors, { n: 4 }),
        kernel.launch(tensors, { n: 4 }, group.defaultStream),
        kernel.time(tensors, { n: 4 }),
      ]) {
        const error = await rejection(refused);
        expect(error).toBeInstanceOf(UsageError);
        expect(error).toMatchObject({ message, help });
      }
  });

  it("a closed group is closed", async () => {
    const group = open(2);
    const kernel = await group.load(sum(2));
    const [x, y] = [await group.symmetric("u32", [4]), await group.symmetric("u32", [4])];
    await group.close();
    for (const late of [
      group.symmetric("u32", [4]),
      group.load(sum(2)),
      kernel.run({ x, y }, { n: 4 }),
      group.subgroup([0]),
    ])
      expect((await rejection(late)).message).toContain('group "world" is closed');
  });

  it("dtypes that do not exist and sizes that no memory holds", async () => {
    const group = open(2);
    expect((await rejection(group.symmetric("f64" as never, [4]))).message).toContain("there is no dtype 'f64'");
    const error = await rejection(group.symmetric("f32", [2 ** 50]));
    expect(error.message).toContain("no memory for 1125899906842624 elements");
  });
});

describe("signals", () => {
  it("are counted, one taken by each wait, in a ring of all ranks", async () => {
    const group = open(4);
    await group.symmetric("u32", [1]);
    expect(group.channels).toBe(576);
    for (let round = 0; round < 3; round++)
      await Promise.all(
        group.localRanks.flatMap((rank) => [
          group.waitSignal((rank + 3) % 4, { rank, channel: 575 }),
          group.putSignal((rank + 1) % 4, { rank, channel: 575 }),
        ]),
      );
    await Promise.all(group.localRanks.map((rank) => group.signalBarrier({ rank })));
    for (const channel of [576, -1])
      expect((await rejection(group.putSignal(0, { channel }))).message).toContain("no channel");
    for (const peer of [4, -1]) expect((await rejection(group.waitSignal(peer))).message).toContain("no rank");
  });

  it("that do not come are an error that names rank, peer and slot; the group goes on", async () => {
    const group = open(2);
    await group.symmetric("u32", [1]);
    const error = await rejection(group.waitSignal(1, { channel: 3, timeoutMs: 50 }));
    expect(error).toMatchObject({ code: "timeout" });
    expect(error.message).toMatch(
      /rank 0 waited 50 ms for a signal of rank 1 on channel 3 of group "world" \(slot 13: wanted 1, saw 0\)/,
    );
    expect((await rejection(group.signalBarrier({ rank: 1, timeoutMs: 50 }))).message).toContain(
      "for rank 0 at a barrier",
    );
    await group.recover();
    await Promise.all([0, 1].map((rank) => group.signalBarrier({ rank })));
    await group.putSignal(0, { rank: 1, channel: 3 });
    await group.waitSignal(1, { channel: 3 });
    expect([...(await group.signalPad(0, [2], 12).read())]).toEqual([0, 1]);
  });

  it("need a pad, whose size is set before", async () => {
    const group = open(2);
    expect((await rejection(group.putSignal(1))).message).toContain("no signal pad yet");
    group.setSignalPadBytes(64);
    expect(group.channels).toBe(4);
    await group.symmetric("u32", [1]);
    expect(() => group.setSignalPadBytes(128)).toThrow("64 bytes already");
  });
});

describe("copies and words", () => {
  it("get, put and put with a signal, in the order of a stream", async () => {
    const group = open(2);
    const tensor = await group.symmetric("u32", [2048]);
    for (const rank of [0, 1])
      tensor.write(
        words(2048, (i) => 10_000 * rank + i),
        rank,
      );
    const own = group.local("u32", [1024]);
    await group.get(own, tensor, 1, { offset: 512 });
    expect((await own.read())[0]).toBe(10_512);
    const stream = group.stream();
    await group.memset32(own, 0, 7, 1024, { stream });
    await group.streamWriteValue32(own, 1023, 9, { stream });
    await group.putWithSignal(tensor, own, 1, { offset: 1024, stream, channel: 2 });
    await group.waitSignal(0, { rank: 1, channel: 2 });
    expect([...(await tensor.getBuffer(1, [3], "u32", 2045).read())]).toEqual([7, 7, 9]);
    await stream.destroy();
  });

  it("refuse what does not fit", async () => {
    const group = open(2);
    const tensor = await group.symmetric("u32", [64]);
    const own = group.local("u32", [16]);
    const cases: [() => Promise<void>, string][] = [
      [() => group.get(own, tensor, 2), "no rank 2"],
      [() => group.get(own, tensor, 1, { offset: -1 }), "offset -1"],
      [() => group.get(own, tensor, 1, { offset: 49 }), "outside a tensor of 64"],
      [() => group.get(group.local("f32", [16]), tensor, 1), "between f32 and u32"],
      [() => group.put(own, own, 1), "only symmetric tensors"],
      [() => group.memset32(own, 8, 0, 9), "outside a tensor of 16"],
      [() => group.memset32(own, 0, 2 ** 32, 1), "no 32-bit word"],
      [() => group.streamWriteValue32(group.local("i32", [4]), 0, 0), "u32 tensors, not i32"],
    ];
    for (const [call, message] of cases) expect((await rejection(call())).message).toContain(message);
  });
});

describe("streams and graphs", () => {
  it("a read and a free wait for what was enqueued", async () => {
    const group = open(2);
    const kernel = await group.load(sum(2));
    const [x, y] = [await group.symmetric("u32", [8]), await group.symmetric("u32", [8])];
    for (const rank of [0, 1]) x.write(new Uint32Array(8).fill(rank + 1), rank);
    const stream = group.stream();
    await group.waitSignal(1, { stream });
    await kernel.launch({ x, y }, { n: 8 }, stream);
    const read = y.read();
    await group.putSignal(0, { rank: 1 });
    expect((await read)[7]).toBe(3);
    await group.waitSignal(1, { stream });
    let isFreed = false;
    const free = x.free().then(() => (isFreed = true));
    await new Promise((done) => setTimeout(done, 20));
    expect(isFreed).toBe(false);
    await group.putSignal(0, { rank: 1 });
    await free;
    expect((await rejection(x.read())).message).toContain("freed before");
    await group.close();
  });

  it("replay what was recorded; what would wait or allocate is refused", async () => {
    const group = open(2);
    const tensor = await group.symmetric("u32", [16]);
    const kernel = await group.load(sum(2));
    const [x, y] = [await group.symmetric("u32", [4]), await group.symmetric("u32", [4])];
    x.write(new Uint32Array(4).fill(5), 0);
    const graph = await group.capture(async (stream) => {
      for (const refused of [
        () => group.symmetric("u32", [1]),
        async () => group.local("u32", [1]),
        () => group.load(sum(2)),
        () => group.subgroup([0]),
        () => group.putSignal(0),
        () => tensor.read(),
        async () => tensor.write(new Uint32Array(16)),
        () => tensor.free(),
        async () => group.stream(),
        () => kernel.run({ x, y }, { n: 4 }),
      ])
        expect((await rejection(refused())).message).toContain("not possible while a graph is being captured");
      await group.memset32(tensor, 0, 3, 4, { stream });
      await kernel.launch({ x, y }, { n: 4 }, stream);
    });
    expect(graph.nodes).toBe(2);
    expect((await tensor.read())[3]).toBe(0);
    for (let i = 0; i < 4; i++) await graph.replay();
    expect([(await tensor.read())[3], (await y.read(1))[0]]).toEqual([3, 5]);
    graph.destroy();
    expect((await rejection(graph.replay())).message).toContain("destroyed");
  });
});

it("graphs take other numbers of the launch without being recorded anew", async () => {
  const group = open(2);
  const text = `collective f(x: f32[n] partial(sum), k: u32) -> y: f32[n] replicated {
  y = all_reduce(x) * f32(k)
}`;
  const kernel = await group.load(compile(text, { ranks: 2 }));
  const [x, y] = [await group.symmetric("f32", [4]), await group.symmetric("f32", [4])];
  for (const rank of [0, 1]) x.write(new Float32Array(4).fill(1), rank);
  const run = await kernel.prepare({ x, y }, { n: 4, k: 3 });
  const graph = await group.capture((stream) => run.launch(stream));
  const seen: unknown[] = [];
  const replay = async (): Promise<void> => {
    await graph.replay();
    seen.push((await y.read(1))[0]);
  };
  await replay();
  run.set({ k: 5 });
  await replay();
  graph.update(run);
  await replay();
  expect(seen).toEqual([6, 6, 10]);
  expect(() => run.set({ k: -1 })).toThrow("the number 'k' cannot be -1");
  const other = await kernel.prepare({ x, y }, { n: 4, k: 3 });
  expect(() => graph.update(other)).toThrow("the graph has no launch of this run");
  graph.destroy();
  expect(() => graph.update(run)).toThrow("destroyed");
  await group.close();
});

describe("groups", () => {
  it("memory by id, and subgroups with names and bounds of their own", async () => {
    const group = open(4);
    const id = group.nextAllocationId();
    const first = await group.symmetric("u32", [4], { id });
    first.write(words(4, (i) => i));
    expect((await rejection(group.symmetric("u32", [4], { id }))).message).toContain("is alive");
    await first.free();
    expect([...(await (await group.symmetric("u32", [4], { id })).read())]).toEqual([0, 1, 2, 3]);
    const pair = await group.subgroup([3, 1], { name: "pair", timeoutMs: 20 });
    expect(pair).toMatchObject({ name: "pair", world: 2, ranks: [3, 1], localRanks: [0, 1] });
    await pair.symmetric("u32", [1]);
    expect((await rejection(pair.waitSignal(1))).message).toContain(
      'waited 20 ms for a signal of rank 1 on channel 0 of group "pair"',
    );
    for (const list of [[], [4], [1, 1]]) await rejection(group.subgroup(list));
    expect(() => open(0)).toThrow("0 ranks cannot be emulated");
  });
});
