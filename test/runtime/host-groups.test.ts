/** Groups whose ranks are on several hosts, as far as the runtime can see: whose memory has an address where. */
import path from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Reach } from "../../src/compiler/index.js";
import type { DeviceGroup } from "../../src/runtime/group-device.js";
import { packageRoot } from "../../src/runtime/native.js";
import { compiledFor } from "../reach/programs.js";
import { closedAfterEach, connectRanks, onAll, useFakeMachine } from "./device-groups.js";
import { rejection } from "./helpers.js";

/** NCCL 2.28 has no addresses of peers on the host; later ones have. */
const before229 = path.join(packageRoot(), "build/Release/fake-nccl-2.28/libnccl.so.2");

beforeAll(() => {
  useFakeMachine();
  vi.stubEnv("COLLC_NCCL", before229);
});

const { open } = closedAfterEach();

describe("with an NCCL that has no addresses", () => {
  it.each([
    ["of two hosts of two", ["a", "a", "b", "b"]],
    ["of hosts that take turns", ["a", "b", "a", "b"]],
    ["of hosts of three and one", ["a", "b", "b", "b"]],
  ])("ranks %s reach those of their own host, and no others", async (_, hosts) => {
    open.push(...(await connectRanks(hosts.length, { backend: "nccl", hosts })));
    await onAll(open, async (group, rank) => {
      for (let round = 0; round < 2; round++) {
        const tensor = await group.symmetric("u32", [4]);
        tensor.write(new Uint32Array(4).fill(10 * round + rank));
        await group.barrier();
        for (const [peer, host] of hosts.entries()) {
          if (host === hosts[rank]) expect((await tensor.getBuffer(peer).read())[3]).toBe(10 * round + peer);
          else expect(() => tensor.getBuffer(peer)).toThrow(`the memory of rank ${peer} is not reachable`);
        }
        await group.barrier();
        await tensor.free();
      }
    });
  });

  it("so do subgroups, in any order", async () => {
    const hosts = ["a", "a", "b", "b"];
    open.push(...(await connectRanks(4, { backend: "nccl", hosts })));
    await onAll(open, async (world, rank) => {
      if (rank === 2) return;
      const group = await world.subgroup([3, 1, 0]);
      const tensor = await group.symmetric("u32", [1]);
      tensor.write(new Uint32Array([rank]));
      await group.barrier();
      const known = (tensor as unknown as { peerPointers: readonly bigint[] }).peerPointers.map((p) => p !== 0n);
      expect(known).toEqual(rank === 3 ? [true, false, false] : [false, true, true]);
      if (rank !== 3) expect(await tensor.getBuffer(rank === 1 ? 2 : 1).read()).toEqual(new Uint32Array([1 - rank]));
      await group.barrier();
      await group.close();
    });
  });
});

describe("a program's reach", () => {
  const nccl = (hosts: readonly string[]): Promise<DeviceGroup[]> =>
    connectRanks(hosts.length, { backend: "nccl", hosts });
  const programOf = (reach: Reach | undefined): ReturnType<typeof compiledFor> =>
    compiledFor("all_gather/push", { hosts: 2, gpus: 2 }, { reach });

  it("follows from hosts that are runs of equally many ranks", async () => {
    const reachOn = async (hosts: readonly string[]): Promise<unknown> => {
      const groups = await nccl(hosts);
      open.push(...groups);
      return groups[0]!.reach;
    };
    expect(await reachOn(["a", "a", "b", "b"])).toEqual({ ranksPerDomain: 2 });
    expect(await reachOn(["a", "a", "b"])).toEqual({ ranksPerDomain: 2 });
    expect(await reachOn(["a", "a", "a"])).toBeUndefined();
    expect(await reachOn(["a", "b", "b"])).toBeUndefined();
    expect(await reachOn(["a", "b", "a", "b"])).toBeUndefined();
  });

  it("is taken where its domains are inside of hosts", async () => {
    open.push(...(await nccl(["a", "a", "b", "b"])));
    for (const reach of [open[0]!.reach, { ranksPerDomain: 1 }])
      await onAll(open, async (group) => (await group.load(programOf(reach))).unload());
  });

  it.each<[string, readonly string[], Reach | undefined, string, string]>([
    [
      "none for ranks of two hosts",
      ["a", "a", "b", "b"],
      undefined,
      "in push as it is compiled all ranks share addresses, and rank 0 on host a has none of rank 2's memory on b: a has ranks 0 and 1, b has ranks 2 and 3",
      "--reach 2x2, in the library reach: group.reach, has programs send messages between hosts",
    ],
    [
      "one for hosts that take turns",
      ["a", "b", "a", "b"],
      { ranksPerDomain: 2 },
      "in push as it is compiled ranks 0 and 1 share addresses (reach 2x2), and rank 0 on host a has none of rank 1's memory on b: a has ranks 0 and 2, b has ranks 1 and 3",
      "start ranks host by host and equally many on each, as srun --distribution=block and mpirun --map-by slot do; --reach 4x1 goes in any order",
    ],
    [
      "one that one host's ranks do not notice",
      ["a", "a", "b", "c"],
      { ranksPerDomain: 2 },
      "in push as it is compiled ranks 2 and 3 share addresses (reach 2x2), and rank 2 on host b has none of rank 3's memory on c: a has ranks 0 and 1, b has rank 2, c has rank 3",
      "start ranks host by host and equally many on each, as srun --distribution=block and mpirun --map-by slot do; --reach 4x1 goes in any order",
    ],
  ])("is refused on all ranks before anything runs: %s", async (_, hosts, reach, message, help) => {
    open.push(...(await nccl(hosts)));
    const program = programOf(reach);
    const errors = await onAll(open, (group) => rejection(group.load(program)));
    for (const error of errors) expect([error.message, error.help]).toEqual([message, help]);
  });

  it("may span hosts of one NVLink domain, which share addresses", async () => {
    vi.stubEnv("FAKE_CUDA_ATTRIBUTES", "128=1");
    open.push(...(await connectRanks(4, { backend: "cuda", hosts: ["a", "a", "b", "b"] })));
    vi.stubEnv("FAKE_CUDA_ATTRIBUTES", "");
    expect(open[0]!.reach).toBeUndefined();
    await onAll(open, async (group) => (await group.load(programOf(undefined))).unload());
  });

  it("is named where memory or the cuda backend does not get to another host", async () => {
    open.push(...(await nccl(["a", "a", "b", "b"])));
    await onAll(open, async (group, rank) => {
      const tensor = await group.symmetric("u32", [4]);
      if (rank === 0)
        expect(await rejection(Promise.resolve().then(() => tensor.getBuffer(3)))).toMatchObject({
          message: "the memory of rank 3 is not reachable from rank 0: a has ranks 0 and 1, b has ranks 2 and 3",
          help: expect.stringContaining("--reach 2x2"),
        });
      await group.barrier();
    });
    const errors = await Promise.all([rejection(connectRanks(4, { backend: "cuda", hosts: ["a", "a", "b", "b"] }))]);
    expect(errors[0]).toMatchObject({
      message:
        'the ranks of group "world" are on 2 hosts, and the GPU of rank 0 has no fabric handles: the cuda backend does not reach it',
      help: expect.stringMatching(/^start all ranks on one host, or use --backend nccl: --reach 2x2/),
    });
  });
});
