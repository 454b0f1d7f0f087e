/** Symmetric memory between ranks, against the fake driver. Ranks are promises; fd.test.ts crosses processes. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

import { FdExchange } from "../../src/runtime/cuda/fd-exchange.js";
import { DeviceMemory } from "../../src/runtime/cuda/memory.js";
import { allocateInProcess, SymmetricHeap, type SymmetricAllocation } from "../../src/runtime/cuda/symmetric.js";
import { RuntimeError } from "../../src/runtime/errors.js";
import { native } from "../../src/runtime/native.js";
import { failing, live, localExchanges, openAllDevices, openDescriptors, openFakeCuda } from "./support.js";

const granularity = 2 << 20;

beforeAll(() => {
  openFakeCuda();
  openAllDevices();
});

let before: ReturnType<typeof live>;
let descriptors = 0;
beforeEach(() => {
  before = live();
  descriptors = openDescriptors();
});
afterEach(() => {
  expect(live()).toEqual(before);
  expect(openDescriptors()).toBe(descriptors);
});

/** `world` heaps, rank r on device r % 4, and what to close. */
async function heaps(world: number, timeoutMs = 120_000) {
  const exchanges = localExchanges(world);
  const fds = await Promise.all(
    exchanges.map((exchange, rank) => FdExchange.connect({ exchange, rank, world, timeoutMs })),
  );
  return {
    fds,
    heaps: exchanges.map(
      (exchange, rank) => new SymmetricHeap({ device: rank % 4, rank, world, exchange, fds: fds[rank]! }),
    ),
    close: () => fds.forEach((fd) => fd.close()),
  };
}

/** Every rank writes its mark for every peer into that peer's memory; every rank finds the marks of all. */
function exchangeMarks(allocations: readonly SymmetricAllocation[]): void {
  const world = allocations.length;
  allocations.forEach((mine, rank) => {
    expect(mine.peerPointers[rank]).toBe(mine.localPointer);
    mine.peerPointers.forEach((pointer, peer) => {
      const view = DeviceMemory.view(mine.device, pointer, mine.bytes);
      view.write(Uint32Array.of(1000 * rank + peer), 4 * rank);
    });
  });
  allocations.forEach((mine, rank) => {
    const seen = DeviceMemory.view(mine.device, mine.localPointer, mine.bytes).read(new Uint32Array(world));
    expect([...seen]).toEqual(Array.from({ length: world }, (_, sender) => 1000 * sender + rank));
  });
}

describe("one process a rank", () => {
  it.each([1, 2, 3, 5])("maps everybody's memory on everybody, world %i", async (world) => {
    const group = await heaps(world);
    const allocations = await Promise.all(group.heaps.map((heap) => heap.allocate(100, "x")));
    for (const allocation of allocations) {
      expect(allocation).toMatchObject({ bytes: 100, mappedBytes: granularity });
      const bytes = DeviceMemory.view(allocation.device, allocation.localPointer, granularity);
      expect(bytes.read(new Uint8Array(granularity)).every((byte) => byte === 0)).toBe(true);
    }
    exchangeMarks(allocations);
    // Only mappings hold the memory; the handles are gone.
    expect(live()).toMatchObject({ physical: before.physical, mappings: before.mappings + world * world });
    await Promise.all(allocations.map((allocation) => allocation.free()));
    await expect(allocations[0]!.free()).rejects.toThrow("freed before");
    group.close();
  });

  it("keeps several allocations apart, with ranks ahead of each other", async () => {
    const group = await heaps(3);
    const all = await Promise.all(
      group.heaps.map(async (heap) => {
        const first = await heap.allocate(granularity + 1, "big");
        const second = await heap.allocate(8, "small");
        return [first, second] as const;
      }),
    );
    expect(all[0]![0].mappedBytes).toBe(2 * granularity);
    exchangeMarks(all.map(([big]) => big));
    await Promise.all(
      all.map(async ([big, small]) => {
        await small.free();
        await big.free();
      }),
    );
    group.close();
  });

  it("refuses different sizes on every rank, naming who asks for what", async () => {
    const group = await heaps(2);
    const outcomes = await Promise.allSettled(group.heaps.map((heap, rank) => heap.allocate(64 * (rank + 1), "x")));
    expect(outcomes.map((outcome) => outcome.status === "rejected" && String(outcome.reason))).toEqual([
      "RuntimeError: ranks ask for different sizes of symmetric x #0: rank 0 for 64 bytes, rank 1 for 128",
      "RuntimeError: ranks ask for different sizes of symmetric x #0: rank 1 for 128 bytes, rank 0 for 64",
    ]);
    group.close();
  });

  it.each([
    "cuMemCreate:1:2",
    "cuMemCreate:2:2",
    "cuMemAddressReserve:1",
    "cuMemAddressReserve:5",
    "cuMemMap:2",
    "cuMemMap:6",
    "cuMemSetAccess:3",
    "cuMemSetAccess:9",
    "cuMemsetD8Async:2",
    "cuMemExportToShareableHandle:2",
    "cuMemImportFromShareableHandle:1",
    "cuMemImportFromShareableHandle:6",
  ])("fails on every rank and leaks nothing when %s fails on one", async (spec) => {
    const group = await heaps(3, 300);
    const outcomes = await failing(spec, () => Promise.allSettled(group.heaps.map((heap) => heap.allocate(4096, "x"))));
    const messages = outcomes.map((outcome) => (outcome.status === "rejected" ? String(outcome.reason) : ""));
    const call = spec.split(":")[0]!;
    expect(messages.every((message) => message !== "")).toBe(true);
    expect(messages.filter((message) => message.includes(call)).length).toBeGreaterThan(0);
    group.close();
  });

  it("unmaps even when a peer is gone", async () => {
    const exchange = localExchanges(1)[0]!;
    const dying = {
      ...exchange,
      barrier: () => Promise.reject(new RuntimeError("rank 1 died", undefined, "rank-lost")),
    };
    const heap = new SymmetricHeap({ device: 0, rank: 0, world: 1, exchange: dying, fds: null });
    const allocation = await heap.allocate(8);
    await expect(allocation.free()).rejects.toThrow("rank 1 died");
  });

  it("refuses sizes that make no sense, and groups without descriptors", async () => {
    const exchange = localExchanges(1)[0]!;
    const heap = new SymmetricHeap({ device: 0, rank: 0, world: 1, exchange, fds: null });
    for (const bytes of [0, -1, 1.5, NaN]) await expect(heap.allocate(bytes)).rejects.toThrow("cannot allocate");
    expect(() => new SymmetricHeap({ device: 0, rank: 0, world: 2, exchange, fds: null })).toThrow("descriptor");
    expect(() => new SymmetricHeap({ device: 7, rank: 0, world: 1, exchange, fds: null })).toThrow("no GPU 7");
  });
});

describe("all ranks in one process", () => {
  it.each([[[0]], [[0, 1, 2, 3]], [[2, 2, 1]]])("maps directly, devices %j", async (devices) => {
    const allocations = allocateInProcess(devices, 4096);
    expect(allocations.map((allocation) => allocation.device)).toEqual(devices);
    exchangeMarks(allocations);
    expect(live().physical).toBe(before.physical);
    for (const allocation of allocations) await allocation.free();
    await expect(allocations[0]!.free()).rejects.toThrow("freed before");
  });

  it("needs peer access", () => {
    vi.stubEnv("FAKE_CUDA_NO_PEER", "1");
    expect(() => allocateInProcess([0, 1], 8)).toThrow(/GPU 0 cannot reach the memory of GPU 1/);
    vi.unstubAllEnvs();
  });

  it.each(["cuMemCreate:2", "cuMemMap:2", "cuMemSetAccess:1", "cuMemsetD8Async:2", "cuStreamSynchronize:2"])(
    "leaks nothing when %s fails",
    async (spec) => {
      const call = spec.split(":")[0]!;
      const outcome = failing(spec, () => allocateInProcess([0, 1], 8));
      await expect(outcome).rejects.toThrow(call);
    },
  );

  it("unmaps twice never", () => {
    const [allocation] = allocateInProcess([0], 8);
    native().memoryUnmap(allocation!.localPointer);
    expect(() => native().memoryUnmap(allocation!.localPointer)).toThrow("not a live mapping");
  });
});
