/** Groups whose ranks are on several hosts, as far as the runtime can see: whose memory has an address where. */
import path from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";
import { closedAfterEach, connectRanks, onAll, useFakeMachine } from "./device-groups.js";

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
