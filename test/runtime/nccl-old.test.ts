/** An NCCL without symmetric memory: the nccl backend says what it lacks, NCCL's collectives work all the same. */
import path from "node:path";
import { beforeAll, expect, it, vi } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";
import { ncclOf, NcclClique } from "../../src/nccl.js";
import { closeAll, connectRanks, onAll, useFakeMachine } from "./device-groups.js";
import { rejection } from "./helpers.js";

beforeAll(() => {
  useFakeMachine();
  vi.stubEnv("COLLC_NCCL", path.join(packageRoot(), "build/Release/fake-nccl-old"));
});

it("is refused as a backend, with the version that has it", async () => {
  const error = await rejection(connectRanks(2, { backend: "nccl" }));
  expect(error.message).toMatch(/^NCCL 2\.18\.5 \(.*libnccl\.so\.2\) has no symmetric memory$/);
  expect(error).toMatchObject({ help: expect.stringContaining("needs NCCL 2.19") as string, exitCode: 3 });
});

it("serves groups of another backend, all-to-all by sends and receives", async () => {
  const groups = await connectRanks(3);
  await onAll(groups, async (group, rank) => {
    const nccl = await ncclOf(group);
    expect(nccl.version).toBe("2.18.5");
    const x = group.local("u32", [6]);
    const y = group.local("u32", [6]);
    x.write(Uint32Array.from({ length: 6 }, (_, i) => 10 * rank + i));
    await nccl.allToAll(x, y);
    expect([...(await y.read())]).toEqual(
      [0, 1, 2].flatMap((peer) => [10 * peer + 2 * rank, 10 * peer + 2 * rank + 1]),
    );
    const f8 = group.local("f8e4m3", [6]);
    expect((await rejection(nccl.allReduce(f8, f8))).message).toBe("NCCL 2.18.5 has no f8e4m3");
  });
  await closeAll(groups);
});

it("refuses groups without GPUs and lists of one GPU twice", async () => {
  const { EmulatedGroup } = await import("../../src/runtime/group-cpu.js");
  const group = new EmulatedGroup(2, {});
  await expect(() => ncclOf(group)).rejects.toThrow("this group is on the cpu backend");
  await group.close();
  await expect(NcclClique.create([1, 1])).rejects.toThrow("different GPUs");
});
