/** Memory and streams of a framework's, on the fake driver: taken in, checked, launched on, captured, and left as they were. */
import { beforeAll, describe, expect, it } from "vitest";
import { readFileSync } from "node:fs";
import { compile } from "../../src/compiler/index.js";
import { connect, fromDLPack, toDLPack } from "../../src/index.js";
import { DeviceMemory } from "../../src/runtime/cuda/index.js";
import type { DeviceTensor } from "../../src/runtime/device-tensor.js";
import type { DeviceGroup } from "../../src/runtime/group-device.js";
import { native } from "../../src/runtime/native.js";
import { closedAfterEach, connectRanks, onAll, useFakeMachine } from "./device-groups.js";

beforeAll(useFakeMachine);

const { open } = closedAfterEach();

async function ranks(world: number): Promise<DeviceGroup[]> {
  const groups = await connectRanks(world);
  open.push(...groups);
  return groups;
}

const ALL_REDUCE = readFileSync(new URL("../../kernels/all_reduce/one_shot.coll", import.meta.url), "utf8");
const n = 64;

describe("memory of the caller's", () => {
  it("is read, written and launched with, by peers, too, and stays the caller's", async () => {
    const groups = await ranks(2);
    // As a framework's symmetric allocator has it: on each rank, the addresses of all.
    const owned = await onAll(groups, async (g) => (await g.symmetric("f32", [n])) as DeviceTensor);
    const results = groups.map((g) => DeviceMemory.allocate(g.device, 4 * n));
    let released = 0;
    await onAll(groups, async (group, rank) => {
      const { pointer, peerPointers: peers } = owned[rank]!;
      const x = group.external({ memory: pointer, dtype: "f32", shape: [n], peers, release: () => released++ }); // prettier-ignore
      const y = group.external({ memory: results[rank]!.pointer, dtype: "f32", shape: [n] });
      expect(x).toMatchObject({ symmetric: true, pointer, length: n });
      expect(y.symmetric).toBe(false);
      x.write(new Float32Array(n).fill(rank + 1));
      const kernel = await group.load(compile(ALL_REDUCE, { ranks: 2, dtype: "f32" }));
      await kernel.run({ x, y }, { n });
      expect([...(await y.read())]).toEqual(Array(n).fill(3));
      expect((await x.getBuffer(1 - rank).read())[0]).toBe(2 - rank);
      await group.barrier();
      await x.free();
      await expect(x.read()).rejects.toThrow("freed before");
    });
    expect(released).toBe(2);
    // Still there: it was never the tensors'.
    expect(results[0]!.read(new Float32Array(1))[0]).toBe(3);
    expect((await owned[1]!.read())[0]).toBe(2);
    results.forEach((m) => m.free());
  });

  it("is refused where an address cannot be, with the reason", async () => {
    const [group, other] = await ranks(2);
    const memory = DeviceMemory.allocate(group!.device, 64);
    const { pointer } = memory;
    const refuse = (change: object, message: RegExp): void =>
      expect(() => group!.external({ memory: pointer, dtype: "f32", shape: [16], ...change })).toThrow(message);
    refuse({ memory: pointer + 2n }, /no multiple of the 4 bytes of f32/);
    refuse({ shape: [17] }, /needs 68 bytes; the allocation at 0x[0-9a-f]+ has 64 from there on/);
    refuse({ memory: pointer + 32n }, /needs 64 bytes; .* has 32 from there on/);
    refuse({ shape: { shape: [2, 8], strides: [9, 1] } }, /needs 68 bytes/);
    refuse({ memory: 0n }, /0x0 is no address of GPU memory/);
    refuse({ memory: 4096n }, /0x1000 is no address of GPU memory/);
    refuse({ memory: [new Float32Array(16)] }, /memory is an address, a bigint/);
    refuse({ dtype: "f64" }, /there is no dtype 'f64'/);
    refuse({ peers: [pointer] }, /1 addresses of peers for 2 ranks/);
    refuse({ peers: [pointer + 4n, pointer] }, /rank 0's own address among the peers' is not the memory's/);
    refuse({ peers: [pointer, pointer + 1n] }, /rank 1's memory begins at .*, no multiple of the 4 bytes/);
    expect(() => other!.external({ memory: pointer, dtype: "f32", shape: [16] })).toThrow(
      /is GPU 0's; this rank is on GPU 1/,
    );
    memory.free();
    refuse({}, /is no address of GPU memory/);
  });

  it("with strides is no parameter of a kernel", async () => {
    const [group] = await ranks(1);
    const memory = DeviceMemory.allocate(group!.device, 1024);
    const strided = group!.external({
      memory: memory.pointer,
      dtype: "f32",
      peers: [memory.pointer],
      shape: { shape: [8, 8], strides: [16, 1] },
    });
    const kernel = await group!.load(compile(ALL_REDUCE, { ranks: 1, dtype: "f32" }));
    const y = group!.local("f32", [n]);
    await expect(kernel.run({ x: strided, y }, { n })).rejects.toThrow(/is not contiguous/);
    memory.free();
  });

  it("is arrays on the cpu backend", async () => {
    const group = await connect({ backend: "cpu", ranks: 2 });
    const arrays = [new Float32Array(n).fill(1), new Float32Array(n).fill(2)];
    const x = group.external({ memory: arrays, dtype: "f32", shape: [n], symmetric: true });
    const results = [new Float32Array(n), new Float32Array(n)];
    const y = group.external({ memory: results, dtype: "f32", shape: [n], symmetric: true });
    const kernel = await group.load(compile(ALL_REDUCE, { ranks: 2, dtype: "f32" }));
    await kernel.run({ x, y }, { n });
    expect(results.map((r) => r[n - 1])).toEqual([3, 3]);
    expect(x.pointer).toBeNull();
    expect(() => group.external({ memory: [arrays[0]!], dtype: "f32", shape: [n] })).toThrow("1 arrays for 2 ranks");
    expect(() => group.external({ memory: arrays, dtype: "f16", shape: [n] })).toThrow(
      /does not hold a tensor of 64 f16/,
    );
    expect(() => group.external({ memory: 4096n, dtype: "f32", shape: [n] })).toThrow(/not an address/);
    expect(() => group.externalStream(1n)).toThrow(/no streams but its own/);
    await group.close();
  });
});

describe("streams of the caller's", () => {
  it("take launches, wait for them, and live on", async () => {
    const [group] = await ranks(1);
    const addon = native();
    const theirs = addon.streamCreate(group!.device);
    const stream = group!.externalStream(addon.streamPointer(theirs));
    const kernel = await group!.load(compile(ALL_REDUCE, { ranks: 1, dtype: "f32" }));
    const x = await group!.symmetric("f32", [n]);
    const y = group!.local("f32", [n]);
    x.write(new Float32Array(n).fill(7));
    await kernel.launch({ x, y }, { n }, stream);
    await stream.synchronize();
    expect((await y.read())[0]).toBe(7);
    await stream.destroy();
    await expect(kernel.launch({ x, y }, { n }, stream)).rejects.toThrow(/was destroyed/);
    expect(addon.streamQuery(theirs)).toBe(true);
    addon.streamDestroy(theirs);
  });

  it("record prepared runs into the caller's own graph", async () => {
    const [group] = await ranks(1);
    const addon = native();
    const theirs = addon.streamCreate(group!.device);
    const stream = group!.externalStream(addon.streamPointer(theirs));
    const kernel = await group!.load(compile(ALL_REDUCE, { ranks: 1, dtype: "f32" }));
    const [x, y] = [await group!.symmetric("f32", [n]), group!.local("f32", [n])];
    // A launch on another stream, which a capture could not wait for.
    await kernel.run({ x, y }, { n });
    const prepared = await kernel.prepare({ x, y }, { n });
    addon.captureBegin(theirs);
    expect(addon.streamIsCapturing(theirs)).toBe(true);
    prepared.launch(stream);
    prepared.launch(stream);
    const graph = addon.captureEnd(theirs);
    expect(addon.graphNodeCount(graph)).toBe(2);
    const exec = addon.graphInstantiate(graph);
    x.write(new Float32Array(n).fill(5));
    addon.graphLaunch(exec, theirs);
    await stream.synchronize();
    expect((await y.read())[3]).toBe(5);
    prepared.release();
    addon.graphExecDestroy(exec);
    addon.graphDestroy(graph);
    await stream.destroy();
    addon.streamDestroy(theirs);
  });

  it("that the driver does not know are refused", async () => {
    const [group] = await ranks(1);
    expect(() => group!.externalStream(12345n)).toThrow(/cuStreamIsCapturing/);
  });
});

describe("DLPack", () => {
  it("describes tensors, and is taken back", async () => {
    const [group] = await ranks(1);
    const t = group!.local("bf16", { shape: [4, 6], strides: [8, 1] });
    const described = toDLPack(t);
    expect(described).toEqual({
      data: t.pointer,
      device: { type: 2, id: 0 },
      dtype: { code: 4, bits: 16, lanes: 1 },
      shape: [4, 6],
      strides: [8, 1],
      byteOffset: 0n,
    });
    const again = group!.external(fromDLPack(described));
    t.write(Uint16Array.from({ length: 24 }, (_, i) => i));
    expect([...(await again.read())]).toEqual(Array.from({ length: 24 }, (_, i) => i));
    const row = group!.external(fromDLPack({ ...described, shape: [6], strides: null, byteOffset: 16n }));
    expect([...(await row.read())]).toEqual([6, 7, 8, 9, 10, 11]);
  });

  it.each([
    [{ device: { type: 1, id: 0 } }, /device 1 is no GPU of CUDA/],
    [{ dtype: { code: 2, bits: 64, lanes: 1 } }, /no dtype of DLPack's code 2 with 64 bits/],
    [{ dtype: { code: 2, bits: 16, lanes: 2 } }, /2 lanes/],
  ])("of what collc has not is refused: %o", (change, message) => {
    const base = { data: 256n, device: { type: 2, id: 0 }, dtype: { code: 2, bits: 32, lanes: 1 }, shape: [1], strides: null, byteOffset: 0n }; // prettier-ignore
    expect(() => fromDLPack({ ...base, ...change })).toThrow(message);
  });
});
