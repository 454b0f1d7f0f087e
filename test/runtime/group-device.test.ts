/** Groups of ranks on the fake driver: memory, subgroups, signals, copies, streams, graphs, recovery. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { joinGroup } from "../../src/runtime/bootstrap.js";
import { DeviceMemory } from "../../src/runtime/cuda/index.js";
import { UsageError } from "../../src/runtime/errors.js";
import { DeviceGroup, type DeviceGroupOptions } from "../../src/runtime/group-device.js";
import type { Tensor } from "../../src/runtime/group.js";
import { native } from "../../src/runtime/native.js";
import { memoryStores } from "../../src/runtime/store.js";
import { fakeCubin, live, openDescriptors } from "../native/support.js";
import { closeAll, connectRanks, onAll, useFakeMachine } from "./device-groups.js";
import { rejection } from "./helpers.js";

beforeAll(useFakeMachine);

let before: ReturnType<typeof live>;
let descriptors = 0;
const open: DeviceGroup[] = [];
beforeEach(() => {
  before = live();
  descriptors = openDescriptors();
});
afterEach(async () => {
  await closeAll(open.splice(0));
  const { launches: _now, ...now } = live();
  const { launches: _then, ...then } = before;
  expect(now).toEqual(then);
  expect(openDescriptors()).toBe(descriptors);
});

async function ranks(world: number, options: Partial<DeviceGroupOptions> = {}): Promise<DeviceGroup[]> {
  const groups = await connectRanks(world, options);
  open.push(...groups);
  return groups;
}

const u32 = (...values: number[]) => Uint32Array.from(values);
const numbers = async (tensor: Tensor) => [...(await tensor.read())];

describe("allocation", () => {
  it("gives zeroed tensors that peers see, with strides, offsets and views", async () => {
    const groups = await ranks(4);
    await onAll(groups, async (group, rank) => {
      const tensor = await group.symmetric("f32", { shape: [64, 64], strides: [64, 1] });
      expect(tensor).toMatchObject({ length: 4096, strides: [64, 1], symmetric: true });
      expect((await tensor.read()).every((x) => x === 0)).toBe(true);
      tensor.write(new Float32Array(4096).fill(rank + 1));
      await group.barrier();
      for (let peer = 0; peer < 4; peer++)
        expect(await numbers(tensor.getBuffer(peer, [2, 2], "f32", 4092))).toEqual(Array(4).fill(peer + 1));
      const wide = await group.symmetric("u32", { shape: [3, 2], strides: [4, 2] });
      wide.write(u32(1, 2, 3, 4, 5, 6));
      expect(await numbers(wide)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await numbers(wide.getBuffer(rank, [10], "u32"))).toEqual([1, 0, 2, 0, 3, 0, 4, 0, 5, 0].slice(0, 10));
      await group.barrier();
    });
  });

  it("refuses dtypes that do not exist, before it allocates", async () => {
    const [group] = await ranks(1);
    await group!.symmetric("u32", [1]); // the first one opens the signal pad, too
    const allocated = live();
    for (const dtype of ["f64", "", "toString"]) {
      const refused = {
        message: `there is no dtype '${dtype}'`,
        help: expect.stringMatching(/^choose one of f32, /) as string,
      };
      const error = await rejection(group!.symmetric(dtype as never, [4]));
      expect(error).toBeInstanceOf(UsageError);
      expect(error).toMatchObject(refused);
      expect(() => group!.local(dtype as never, [4])).toThrow(UsageError);
      expect(() => group!.local(dtype as never, [4])).toThrow(refused.message);
    }
    expect(live()).toEqual(allocated);
  });

  it("frees nothing under a kernel that does not end, for which the driver would hold the thread", async () => {
    const [group] = await ranks(1, { timeoutMs: 50 });
    const tensor = group!.local("u32", [4]);
    const flag = DeviceMemory.allocate(0, 4);
    flag.fill(0);
    const addon = native();
    const module = addon.moduleLoad(0, fakeCubin("fake_hang params=8"));
    const parameters = new Uint8Array(new BigUint64Array([flag.pointer]).buffer);
    const fn = addon.functionGet(module, "fake_hang");
    const launch = addon.launchPrepare(fn, [1, 1, 1], [1, 1, 1], 0, false, parameters, [0]);
    addon.launchPrepared(launch, group!.defaultStream.handle);
    expect((await rejection(tensor.free())).message).toMatch(/did not finish within 5050 ms/);
    await expect(tensor.read()).rejects.toThrow("freed before");
    // Whatever else waits behind it does not wait as long again; once the kernel has ended, all do.
    const other = group!.local("u32", [4]);
    expect((await rejection(other.free())).message).toMatch(/did not finish within 1000 ms/);
    flag.fill(1);
    await group!.settle();
    flag.fill(0);
    addon.launchPrepared(launch, group!.defaultStream.handle);
    addon.launchRelease(launch);
    expect((await rejection(group!.local("u32", [4]).free())).message).toMatch(/did not finish within 5050 ms/);
    flag.fill(1);
    await group!.close();
    addon.moduleUnload(module);
    flag.free();
  });

  it("checks where a peer's buffer lies", async () => {
    const [group] = await ranks(1);
    const tensor = await group!.symmetric("f32", [1024]);
    expect(() => tensor.getBuffer(1)).toThrow("there is no rank 1");
    expect(() => tensor.getBuffer(-1)).toThrow("there is no rank -1");
    expect(() => tensor.getBuffer(0, [1025])).toThrow("outside a tensor of 1024");
    expect(() => tensor.getBuffer(0, [1], "f32", -1)).toThrow("offset -1");
    expect(() => tensor.getBuffer(0, [8192], "u8")).toThrow("outside a tensor of 4096");
    expect(tensor.getBuffer(0, [4096], "u8").length).toBe(4096);
    expect(() => group!.local("f32", [4]).getBuffer(0)).toThrow("only symmetric tensors");
    expect(() => tensor.view(1000, [25])).toThrow("outside");
    await tensor.free();
    expect(() => tensor.getBuffer(0).write(new Float32Array(1024))).toThrow("freed before");
    await expect(tensor.read()).rejects.toThrow("freed before");
    await expect(tensor.free()).rejects.toThrow("freed before");
  });

  it("refuses shapes that cannot be", async () => {
    const [group] = await ranks(1);
    await expect(group!.symmetric("f32", [-1])).rejects.toThrow("is no shape");
    await expect(group!.symmetric("f32", [1.5])).rejects.toThrow("is no shape");
    await expect(group!.symmetric("f32", { shape: [2, 2], strides: [1, 1] })).rejects.toThrow("one place");
    await expect(group!.symmetric("f32", { shape: [2, 2], strides: [2] })).rejects.toThrow("1 strides");
    expect((await group!.symmetric("f32", [0])).length).toBe(0);
  });

  it("takes 2 GiB and more", async () => {
    const groups = await ranks(1);
    const tensor = await groups[0]!.symmetric("u8", [2 ** 31 + 4096]);
    const end = tensor.view(2 ** 31 - 8, [16]);
    expect(await numbers(end)).toEqual(Array(16).fill(0));
    end.write(Uint8Array.from({ length: 16 }, (_, i) => i));
    expect((await numbers(tensor.getBuffer(0, [4], "u8", 2 ** 31)))[0]).toBe(8);
    await tensor.free();
  });

  it("keeps memory by id: same size, one living tensor, counted ids", async () => {
    const groups = await ranks(2);
    await onAll(groups, async (group, rank) => {
      const id = group.nextAllocationId();
      const first = await group.symmetric("u32", [4], { id });
      first.write(u32(1, 2, 3, rank));
      expect((await rejection(group.symmetric("u32", [4], { id }))).message).toContain(`tensor of id ${id} is alive`);
      await first.free();
      expect((await rejection(group.symmetric("u32", [8], { id }))).message).toContain("has 16 bytes, not 32");
      const again = await group.symmetric("u32", [4], { id });
      expect(await numbers(again)).toEqual([1, 2, 3, rank]);
      expect(group.nextAllocationId()).not.toBe(id);
      const other = await group.symmetric("u32", [4], { id: group.nextAllocationId() });
      expect(await numbers(other)).toEqual([0, 0, 0, 0]);
      expect((await rejection(group.symmetric("u32", [4], { id: -1 }))).message).toContain("no allocation id");
    });
    const outcomes = await Promise.all(
      groups.map((group, rank) => rejection(group.symmetric("u32", [4 + rank], { id: 77 }))),
    );
    for (const error of outcomes) expect(error).toMatchObject({ code: "mismatch" });
  });

  it("recycles blocks, zeroed, the same on all ranks", async () => {
    const groups = await ranks(2);
    await onAll(groups, async (group, rank) => {
      const first = await group.symmetric("u32", [64]);
      const others = await group.symmetric("u32", [64]);
      const { peerPointers } = first as never as { peerPointers: bigint[] };
      first.write(new Uint32Array(64).fill(9));
      await first.free();
      const again = await group.symmetric("u32", [32]);
      expect((again as never as { peerPointers: bigint[] }).peerPointers).toEqual(peerPointers);
      expect((await again.read()).every((x) => x === 0)).toBe(true);
      again.write(new Uint32Array(32).fill(rank));
      await group.barrier();
      expect((await numbers(again.getBuffer(1 - rank)))[31]).toBe(1 - rank);
      await group.barrier();
      await others.free();
    });
  });

  it("refuses to go on when the ranks allocate in another order", async () => {
    const groups = await ranks(2);
    const kept = await onAll(groups, (group) => group.symmetric("u32", [16]));
    const sizes = [
      [16, 64],
      [64, 16],
    ];
    const errors = await onAll(groups, (group, rank) => rejection(group.symmetric("u32", [sizes[rank]![0]!])));
    for (const error of errors) {
      expect(error).toMatchObject({ code: "mismatch" });
      expect(error.message).toMatch(/in step/);
    }
    await Promise.all(kept.map((tensor) => tensor.free()));
  });

  it("lets ranks share a GPU when told to", async () => {
    expect((await rejection(connectRanks(5, { allowOverlappingDevices: false }))).message).toContain(
      "5 ranks need as many GPUs; this machine has 4",
    );
    const groups = await ranks(6);
    await onAll(groups, async (group, rank) => {
      const tensor = await group.symmetric("u32", [64]);
      tensor.write(new Uint32Array(64).fill(rank));
      await group.signalBarrier();
      expect((await numbers(tensor.getBuffer((rank + 5) % 6)))[63]).toBe((rank + 5) % 6);
      await group.signalBarrier();
    });
  });

  it("stays usable after the run was aborted", async () => {
    const groups = await ranks(2);
    const tensors = await onAll(groups, (group) => group.symmetric("u32", [4]));
    await onAll(groups, (group, rank) => Promise.resolve(tensors[rank]!.write(u32(rank, rank, rank, rank))));
    for (const group of groups) group.boot.abort(new Error("enough"));
    for (const rank of [0, 1])
      expect(await numbers(tensors[rank]!.getBuffer(1 - rank))).toEqual(Array(4).fill(1 - rank));
    expect((await rejection(groups[0]!.barrier())).message).toMatch(/rank 1 was lost.*enough/);
  });

  it("a recycled block leaves the pads in step", async () => {
    const groups = await ranks(2);
    await onAll(groups, async (group, rank) => {
      for (let round = 0; round < 4; round++) {
        const tensor = await group.symmetric("u32", [1024]);
        tensor.write(new Uint32Array(1024).fill(42 + rank));
        await group.putSignal(1 - rank);
        await group.waitSignal(1 - rank);
        expect((await numbers(tensor.getBuffer(1 - rank)))[1023]).toBe(43 - rank);
        await group.signalBarrier();
        await tensor.free();
      }
    });
  });

  it("does not reach other hosts on this backend, and says so before anything is exchanged", async () => {
    const [store] = memoryStores(1);
    const boot = await joinGroup({ store: store! });
    const far = {
      ...boot,
      hosts: [
        { name: "here", ranks: [0] },
        { name: "there", ranks: [1] },
      ],
      world: 2,
      localRanks: [0],
    };
    const error = await rejection(DeviceGroup.connect(far, { backend: "cuda", timeoutMs: 120_000 }));
    expect(error.message).toContain(
      'the ranks of group "world" are on 2 hosts, and the GPU of rank 0 has no fabric handles',
    );
    expect(error.help).toContain("--backend nccl: --reach 2x1");
    await boot.close();
  });

  it("reaches other hosts of one NVLink domain by fabric handles", async () => {
    vi.stubEnv("FAKE_CUDA_ATTRIBUTES", "128=1");
    try {
      const stores = memoryStores(2);
      const groups = await Promise.all(
        stores.map(async (store, rank) => {
          const boot = await joinGroup({ store });
          const hosts = [0, 1].map((host) => ({ name: `host${host}`, ranks: [host] }));
          const far = { ...boot, hosts, localRanks: [rank], localRank: rank };
          return DeviceGroup.connect(far, { backend: "cuda", timeoutMs: 120_000 });
        }),
      );
      open.push(...groups);
      await onAll(groups, async (group, rank) => {
        const tensor = await group.symmetric("u32", [64]);
        tensor.write(new Uint32Array(64).fill(7 + rank));
        await group.signalBarrier();
        expect((await numbers(tensor.getBuffer(1 - rank)))[63]).toBe(8 - rank);
        await group.signalBarrier();
        await tensor.free();
      });
    } finally {
      vi.unstubAllEnvs();
      useFakeMachine();
    }
  });

  it("stays flat over 10,000 allocations", async () => {
    const [group] = await ranks(1);
    const first = await group!.symmetric("u32", [1024]);
    await first.free();
    const counts = live();
    const fds = openDescriptors();
    for (let i = 0; i < 10_000; i++) await (await group!.symmetric("u32", [1 + (i % 1000)])).free();
    expect({ ...live(), launches: 0 }).toEqual({ ...counts, launches: 0 });
    expect(openDescriptors()).toBe(fds);
    for (let i = 0; i < 10_000; i++) await group!.local("u32", [256]).free();
    expect({ ...live(), launches: 0 }).toEqual({ ...counts, launches: 0 });
  });
});

describe("subgroups", () => {
  it("halves, overlapping pairs, strict ones and the world, all alive at once", async () => {
    const groups = await ranks(4);
    await onAll(groups, async (world, rank) => {
      const half = await world.subgroup(rank < 2 ? [0, 1] : [2, 3]);
      expect(half).toMatchObject({ world: 2, ranks: rank < 2 ? [0, 1] : [2, 3], localRanks: [rank % 2] });
      const tensor = await half.symmetric("u32", [4]);
      tensor.write(u32(rank, rank, rank, rank));
      await half.signalBarrier();
      expect((await numbers(tensor.getBuffer(1 - (rank % 2))))[0]).toBe(rank ^ 1);
      await half.signalBarrier();
      // [0, 1] and [1, 2] overlap in rank 1.
      const pairs = [
        [0, 1],
        [1, 2],
      ].filter((pair) => pair.includes(rank));
      const made = await Promise.all(pairs.map((pair) => world.subgroup(pair)));
      for (const pair of made) {
        const shared = await pair.symmetric("u32", [1]);
        shared.write(u32(100 + rank));
        await pair.signalBarrier();
        const other = pair.ranks.find((member) => member !== rank)!;
        expect(await numbers(shared.getBuffer(pair.ranks.indexOf(other)))).toEqual([100 + other]);
        await pair.signalBarrier();
      }
      const all = await world.symmetric("u32", [1]);
      all.write(u32(rank));
      await world.signalBarrier();
      expect(await numbers(all.getBuffer(3))).toEqual([3]);
      await world.signalBarrier();
      for (const pair of made) await pair.close();
    });
  });

  it("takes ranks in any order and names again and again", async () => {
    const groups = await ranks(3);
    for (let round = 0; round < 3; round++)
      await onAll(groups, async (world, rank) => {
        if (rank === 0) return;
        const pair = await world.subgroup([2, 1], { name: "pair" });
        expect(pair).toMatchObject({ name: "pair", ranks: [2, 1], localRanks: [rank === 2 ? 0 : 1] });
        expect(await pair.exchange("who", rank)).toEqual([2, 1]);
        if (rank === 1) {
          const nested = await pair.subgroup([1]);
          expect(nested.ranks).toEqual([1]);
          await nested.symmetric("u32", [4]);
        }
        await pair.close();
      });
  });

  it("says what is wrong with a list of ranks", async () => {
    const [group] = await ranks(1);
    for (const [list, message] of [
      [[], "needs a rank"],
      [[1], "there is no rank 1"],
      [[0, 0], "twice"],
      [[0.5], "there is no rank 0.5"],
    ] as const)
      expect((await rejection(group!.subgroup(list))).message).toContain(message);
    const pair = await ranks(2);
    expect((await rejection(pair[0]!.subgroup([1]))).message).toContain("rank 0 is not among the ranks [1]");
  });

  it("names the member that does not come", async () => {
    const groups = await ranks(2, { timeoutMs: 200 });
    expect((await rejection(groups[0]!.subgroup([0, 1]))).message).toMatch(/missing rank 1/);
  });
});
