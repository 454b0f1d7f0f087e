/** Devices, memory, streams and events, against the fake driver. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

import {
  archOf,
  describeDevice,
  describeDevices,
  openCuda,
  requireCapable,
  requireDevice,
} from "../../src/runtime/cuda/device.js";
import { DeviceMemory } from "../../src/runtime/cuda/memory.js";
import { StatusRecord } from "../../src/runtime/cuda/status.js";
import { EventTimer, waitForStream } from "../../src/runtime/cuda/timer.js";
import { MachineError } from "../../src/runtime/errors.js";
import { summarize } from "../../src/runtime/summary.js";
import { isNativeError, native, type ModuleHandle, type StreamHandle } from "../../src/runtime/native.js";
import { failing, fakeCubin, live, openAllDevices, openFakeCuda } from "./support.js";

beforeAll(() => {
  openFakeCuda();
  openAllDevices();
});

let before: ReturnType<typeof live>;
beforeEach(() => {
  before = live();
});
afterEach(() => expect({ ...live(), launches: 0 }).toEqual({ ...before, launches: 0 }));

describe("devices", () => {
  it("are described", () => {
    expect(openCuda()).toMatchObject({ version: "13.0", deviceCount: 4 });
    expect(describeDevices().map((d) => d.name)).toEqual(["Fake GPU 0", "Fake GPU 1", "Fake GPU 2", "Fake GPU 3"]);
    expect(describeDevice(1)).toMatchObject({ ordinal: 1, multiprocessors: 4, computeMajor: 9, multicast: false });
    expect(archOf(describeDevice(0))).toBe("sm_90a");
    expect(archOf({ computeMajor: 8, computeMinor: 6 })).toBe("sm_86");
    expect(native().canAccessPeer(0, 1)).toBe(true);
    expect(native().memoryInfo(0)).toEqual({ freeBytes: 4 * 2 ** 30, totalBytes: 8 * 2 ** 30 });
  });

  it("that do not exist are said not to", () => {
    expect(() => requireDevice(4)).toThrow(/no GPU 4: this machine has 4/);
    expect(() => requireDevice(-1)).toThrow(MachineError);
    expect(() => describeDevice(0.5)).toThrow(MachineError);
  });

  it("that lack something are refused by what they lack", () => {
    vi.stubEnv("FAKE_CUDA_ATTRIBUTES", "102=0,103=0");
    expect(() => requireCapable(0)).toThrow(/lacks virtual memory management, export of memory/);
    vi.unstubAllEnvs();
    expect(requireCapable(0).virtualMemory).toBe(true);
  });

  it("older than CUDA 12 are refused", () => {
    vi.stubEnv("FAKE_CUDA_VERSION", "11080");
    expect(() => openCuda()).toThrow(/supports CUDA 11\.8; collc needs 12/);
    vi.unstubAllEnvs();
  });
});

describe("device memory", () => {
  it("copies there and back, whole and in part", () => {
    const memory = DeviceMemory.allocate(0, 64);
    memory.fill(0);
    memory.write(Uint8Array.of(9, 1, 2, 3, 9).subarray(1, 4), 5);
    const back = memory.read(new Uint8Array(64));
    expect([...back.subarray(4, 9)]).toEqual([0, 1, 2, 3, 0]);
    expect(new DataView(memory.read(new DataView(new ArrayBuffer(2), 1, 1), 6).buffer).getUint8(1)).toBe(2);
    memory.free();
  });

  it("refuses what lies outside", () => {
    const memory = DeviceMemory.allocate(0, 16);
    expect(() => memory.write(new Uint8Array(17))).toThrow(/17 bytes at 0 lie outside device memory of 16/);
    expect(() => memory.read(new Uint8Array(1), 16)).toThrow("lie outside");
    expect(() => memory.fill(0, -1)).toThrow("lie outside");
    memory.free();
  });

  it("throws on a second free and on a stranger's pointer", () => {
    const memory = DeviceMemory.allocate(0, 16);
    memory.free();
    expect(() => memory.free()).toThrow("freed before");
    expect(() => native().memoryFree(memory.pointer)).toThrow("not a live allocation");
    expect(() => DeviceMemory.view(0, 1n, 1).free()).toThrow("not owned");
  });

  it("says when the device is full", () => {
    const error = (() => {
      try {
        return DeviceMemory.allocate(0, 2 ** 40);
      } catch (thrown) {
        return thrown as MachineError;
      }
    })() as MachineError;
    expect(error).toBeInstanceOf(MachineError);
    expect(error.message).toBe("cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
    expect(isNativeError(error.cause) && error.cause.call).toBe("cuMemAlloc");
    expect(error.help).toContain("nvidia-smi");
  });

  it("of zero bytes has an address", () => {
    const memory = DeviceMemory.allocate(0, 0);
    expect(memory.pointer).not.toBe(0n);
    memory.read(new Uint8Array(0));
    memory.free();
  });

  it("copies between devices", () => {
    const [a, b] = [DeviceMemory.allocate(0, 8), DeviceMemory.allocate(1, 8)];
    const stream = native().streamCreate(1);
    a.write(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
    native().copyPeer(stream, b.pointer, 1, a.pointer, 0, 8);
    expect([...b.read(new Uint8Array(8))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(() => native().copyOnDevice(stream, b.pointer, a.pointer, 8)).toThrow("INVALID_VALUE");
    native().copyOnDevice(stream, b.pointer + 4n, b.pointer, 4);
    native().memorySetAsync(stream, b.pointer, 7, 1);
    expect([...b.read(new Uint8Array(8))]).toEqual([7, 2, 3, 4, 1, 2, 3, 4]);
    native().streamDestroy(stream);
    a.free();
    b.free();
  });
});

describe("status record", () => {
  it("is seen by both sides and read when it says something", () => {
    const status = new StatusRecord(0);
    expect(status.read()).toBeNull();
    native().copyToDevice(0, status.pointer, Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8));
    const failure = { rank: 2, peer: 3, buffer: 4, slot: 5, wanted: 6, seen: 7, line: 8, missing: [] };
    expect(status.read()).toEqual(failure);
    native().copyToDevice(0, status.pointer + 32n, Uint32Array.of(2 ** 31 + 4, 1));
    expect(status.read()).toEqual({ ...failure, missing: [2, 31, 32] });
    // Who is let go of stays so, whatever else is forgotten.
    status.letGo(true);
    status.clear();
    const words = new Uint32Array(StatusRecord.words);
    native().copyFromDevice(0, words, status.pointer);
    expect([...words]).toEqual([...new Array<number>(15).fill(0), 1]);
    expect(status.read()).toBeNull();
    status.free();
    expect(() => status.read()).toThrow("was freed before");
    expect(() => status.free()).toThrow("was freed before");
  });

  it("shares pages with others, which go with their last record", () => {
    const before = live().host;
    const records = Array.from({ length: 100 }, () => new StatusRecord(0));
    expect(live().host).toBe(before + 2);
    expect(new Set(records.map(({ pointer }) => pointer)).size).toBe(100);
    native().copyToDevice(0, records[70]!.pointer, Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8));
    expect(records.map((record) => record.read()).filter((failure) => failure !== null)).toHaveLength(1);
    for (const record of records.slice(0, 64)) record.free();
    expect(live().host).toBe(before + 1);
    for (const record of records.slice(64)) record.free();
    expect(live().host).toBe(before);
    const again = new StatusRecord(0);
    expect(again.read()).toBeNull();
    again.free();
  });
});

describe("streams", () => {
  let stream: StreamHandle;
  let module: ModuleHandle;
  let flag: DeviceMemory;
  const hang = () => {
    const fn = native().functionGet(module, "fake_hang");
    const parameters = new Uint8Array(8);
    new DataView(parameters.buffer).setBigUint64(0, flag.pointer, true);
    const launch = native().launchPrepare(fn, [1, 1, 1], [1, 1, 1], 0, false, parameters, [0]);
    native().launchPrepared(launch, stream);
    native().launchRelease(launch);
  };
  beforeEach(() => {
    stream = native().streamCreate(0);
    module = native().moduleLoad(0, fakeCubin("fake_hang params=8"));
    flag = DeviceMemory.allocate(0, 4);
    flag.fill(0);
  });
  afterEach(() => {
    native().moduleUnload(module);
    flag.free();
  });

  it("are waited for with a bound, while JavaScript goes on", async () => {
    hang();
    expect(native().streamQuery(stream)).toBe(false);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    expect(await native().streamSynchronize(stream, 60)).toBe(false);
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(3);
    await expect(waitForStream(stream, 20, "the kernel")).rejects.toThrow("the kernel did not finish within 20 ms");
    expect(native().streamSynchronizeBlocking(stream, 20)).toBe(false);
    const waiting = native().streamSynchronize(stream, -1);
    flag.fill(1);
    expect(await waiting).toBe(true);
    await waitForStream(stream, 20, "the kernel");
    native().streamDestroy(stream);
  });

  it("may be destroyed while waited for", async () => {
    hang();
    const waiting = native().streamSynchronize(stream, 5000);
    native().streamDestroy(stream);
    await expect(waiting).rejects.toThrow("destroyed while waited for");
    expect(() => native().streamDestroy(stream)).toThrow("is not open");
    expect(() => native().streamQuery(stream)).toThrow("is not open");
  });

  it("copy asynchronously, holding the arrays", async () => {
    const memory = DeviceMemory.allocate(0, 1 << 16);
    hang();
    const copies = Array.from({ length: 8 }, (_, i) =>
      memory.writeAsync(stream, new Uint8Array(1 << 13).fill(i + 1), i << 13),
    );
    const target = new Uint8Array(1 << 16);
    const read = memory.readAsync(stream, target);
    (globalThis as { gc?: () => void }).gc?.();
    expect(target.some((byte) => byte !== 0)).toBe(false);
    flag.fill(1);
    await Promise.all([...copies, read]);
    for (let i = 0; i < 8; i++) expect(target[(i << 13) + 77]).toBe(i + 1);
    memory.free();
    native().streamDestroy(stream);
  });

  it("time with events", async () => {
    const timer = new EventTimer(0);
    timer.start(stream);
    hang();
    timer.stop(stream);
    expect(() => timer.elapsedUs()).toThrow("NOT_READY");
    await new Promise((resolve) => setTimeout(resolve, 20));
    flag.fill(1);
    await waitForStream(stream, 1000, "timing");
    expect(timer.elapsedUs()).toBeGreaterThan(15_000);
    timer.destroy();
    expect(summarize([3, 1, 2, 10])).toEqual({ median: 2.5, min: 1, max: 10, samples: 4 });
    expect(() => summarize([])).toThrow("no times");
    native().streamDestroy(stream);
  });

  it("report failures of the driver with its own words", async () => {
    const error = await failing("cuStreamQuery:1:700", () => native().streamSynchronize(stream, 100)).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({
      library: "cuda",
      call: "cuStreamQuery",
      code: 700,
      codeName: "CUDA_ERROR_ILLEGAL_ADDRESS",
    });
    await expect(failing("cuEventCreate:2", () => new EventTimer(0))).rejects.toThrow("cuEventCreate failed");
    native().streamDestroy(stream);
  });
});
