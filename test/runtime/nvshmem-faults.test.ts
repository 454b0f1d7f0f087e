/** NVSHMEM that does not come up, and a heap that is full: what it costs the group, with one rank in this process. */
import path from "node:path";
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import { nvshmemOf } from "../../src/nvshmem.js";
import { packageRoot } from "../../src/runtime/native.js";
import { NvshmemSession } from "../../src/runtime/nvshmem/index.js";
import { closeAll, connectRanks, useFakeMachine } from "./device-groups.js";
import { rejection } from "./helpers.js";

beforeAll(() => {
  useFakeMachine();
  vi.stubEnv("COLLC_NVSHMEM", path.join(packageRoot(), "build/Release/fake-nvshmem"));
});
afterEach(() => vi.stubEnv("FAKE_NVSHMEM_FAIL", undefined));

it("an initialisation that fails is an error, and the next one may work", async () => {
  vi.stubEnv("FAKE_NVSHMEM_FAIL", "init");
  const error = await rejection(connectRanks(1, { backend: "nvshmem" }));
  expect(error.message).toMatch(/nvshmemx_hostlib_init_attr/);
  expect(NvshmemSession.current).toBeNull();
  vi.stubEnv("FAKE_NVSHMEM_FAIL", undefined);
  const groups = await connectRanks(1, { backend: "nvshmem" });
  expect(NvshmemSession.current).not.toBeNull();
  await closeAll(groups);
  expect(NvshmemSession.current).toBeNull();
});

it("a full heap says what to raise, and the group goes on", async () => {
  const groups = await connectRanks(1, { backend: "nvshmem" });
  const [group] = groups;
  const error = await rejection(group!.symmetric("u8", [64 << 20]));
  expect(error.message).toMatch(/^NVSHMEM's heap has no 67108864 bytes for nvshmem tensor u8/);
  expect(error).toMatchObject({ help: expect.stringContaining("NVSHMEM_SYMMETRIC_SIZE") as string });
  const tensor = await group!.symmetric("u8", [1 << 20]);
  expect((await tensor.read()).every((byte) => byte === 0)).toBe(true);
  const calls = await nvshmemOf(group!);
  await calls.barrier(group!.defaultStream.handle);
  await closeAll(groups);
});

it("its calls are for groups on it", async () => {
  const groups = await connectRanks(1);
  await expect(() => nvshmemOf(groups[0]!)).toThrow("the group is on the cuda backend");
  await closeAll(groups);
});
