/** Packing, loading, launching and graphs, against the fake driver. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

import type { KernelManifest, ManifestParameter } from "../../src/compiler/manifest.js";
import { CudaGraph } from "../../src/runtime/cuda/graph.js";
import { checkCubin, KernelFunction, packParameters, type LaunchArguments } from "../../src/runtime/cuda/launch.js";
import { DeviceMemory } from "../../src/runtime/cuda/memory.js";
import { MachineError } from "../../src/runtime/errors.js";
import { native, type StreamHandle } from "../../src/runtime/native.js";
import { failing, fakeCubin, jsonLines, live, openAllDevices, openFakeCuda } from "./support.js";

beforeAll(() => {
  openFakeCuda();
  openAllDevices();
});

const args: LaunchArguments = {
  rank: 3,
  dims: { n: 2 ** 40 + 5, k: 7 },
  pointers: { y: 0x1122334455667788n },
  peers: { x: [0xa0n, 0xb1n, 0xc2n] },
  timeoutNs: 5_000_000_000n,
  status: 0x99n,
};

describe("packing", () => {
  it("puts every parameter at its natural alignment, little-endian", () => {
    const parameters: ManifestParameter[] = [
      { kind: "rank" },
      { kind: "peers", buffer: "x", ranks: 3 },
      { kind: "pointer", buffer: "y" },
      { kind: "rank" },
      { kind: "dim", name: "n" },
      { kind: "timeout" },
      { kind: "status" },
      { kind: "rank" },
    ];
    const { bytes, offsets } = packParameters(parameters, args);
    expect(offsets).toEqual([0, 8, 32, 40, 48, 56, 64, 72]);
    expect(Buffer.from(bytes).toString("hex")).toBe(
      [
        "0300000000000000", // rank, then padding
        "a000000000000000",
        "b100000000000000",
        "c200000000000000",
        "8877665544332211",
        "0300000000000000",
        "0500000000010000", // 2^40 + 5
        "00f2052a01000000",
        "9900000000000000",
        "03000000",
      ].join(""),
    );
  });

  it("packs adjacent 32-bit parameters without a gap, and none as nothing", () => {
    expect(packParameters([{ kind: "rank" }, { kind: "rank" }], args).offsets).toEqual([0, 4]);
    expect(packParameters([], args).bytes.length).toBe(0);
  });

  it("packs numbers of the launch in 4 bytes, as their dtypes have them", () => {
    const number = (name: string, dtype: "f32" | "i32" | "u32"): ManifestParameter => ({ kind: "scalar", name, dtype });
    const parameters = [number("eps", "f32"), number("off", "i32"), number("step", "u32")];
    const dims = { eps: 0.1, off: -2, step: 2 ** 32 - 1 };
    const { bytes, offsets } = packParameters(parameters, { ...args, dims });
    expect(offsets).toEqual([0, 4, 8]);
    expect(Buffer.from(bytes).toString("hex")).toBe("cdcccc3dfeffffffffffffff");
    expect(() => packParameters(parameters, args)).toThrow('the number "eps" has no value');
  });

  describe("of tensor maps", () => {
    const buffers = [
      { name: "x", role: "input", dtype: "bf16", shape: [3, "k", "n"], symmetric: true },
      { name: "y", role: "input", dtype: "f16", shape: ["k", "n"], symmetric: false },
    ] as const;
    const dims = { n: 24, k: 7 };
    const words = (bytes: Uint8Array): bigint[] => [...new BigUint64Array(bytes.slice().buffer)];
    const pack = (parameter: ManifestParameter, changed: Partial<LaunchArguments> = {}) =>
      packParameters([{ kind: "rank" }, parameter], { ...args, dims, ...changed }, buffers);

    it("has the driver encode them, at multiples of 64 bytes", () => {
      const map = { kind: "tensor-map", buffer: "y", ranks: 0, box: [32, 64] } as const;
      const { bytes, offsets } = pack(map, { pointers: { y: 0x1000n } });
      expect(offsets).toEqual([0, 64]);
      expect(bytes.length).toBe(64 + 128);
      // The fake's map: address, type and dimensions, innermost length, box.
      expect(words(bytes.slice(64)).slice(0, 4)).toEqual([0x1000n, (6n << 32n) | 2n, 24n, (64n << 32n) | 32n]);
    });

    it("has one for each rank's memory, or this rank's of what is symmetric", () => {
      const peers = { x: [0x100n, 0x200n, 0x300n] };
      const map = { kind: "tensor-map", buffer: "x", ranks: 3, box: [1, 16, 64] } as const;
      const { bytes } = pack(map, { peers });
      expect([0, 1, 2].map((p) => words(bytes.slice(64 + 128 * p, 192 + 128 * p))[0])).toEqual(peers.x);
      expect(words(pack({ ...map, ranks: 0 }, { peers, rank: 1 }).bytes.slice(64))[0]).toBe(0x200n);
    });

    it("leaves zeros for what no map can describe", () => {
      const map = { kind: "tensor-map", buffer: "y", ranks: 0, box: [32, 64] } as const;
      for (const changed of [{ pointers: { y: 0x1002n } }, { pointers: { y: 0x1000n }, dims: { n: 25, k: 7 } }])
        expect(
          pack(map, changed)
            .bytes.slice(64)
            .every((b) => b === 0),
        ).toBe(true);
    });
  });

  it("says which value is missing or wrong", () => {
    const pack = (parameter: ManifestParameter, changed: Partial<LaunchArguments> = {}) =>
      packParameters([parameter], { ...args, ...changed });
    expect(() => pack({ kind: "pointer", buffer: "z" })).toThrow('no address for buffer "z"');
    expect(() => pack({ kind: "peers", buffer: "z", ranks: 3 })).toThrow('no peer addresses for buffer "z"');
    expect(() => pack({ kind: "peers", buffer: "x", ranks: 4 })).toThrow("addresses of 3 ranks");
    expect(() => pack({ kind: "dim", name: "m" })).toThrow('dimension "m" must be a whole number');
    expect(() => pack({ kind: "dim", name: "n" }, { dims: { n: 1.5 } })).toThrow("not 1.5");
  });
});

const manifest = (changes: Partial<KernelManifest> = {}): KernelManifest => ({
  name: "add",
  symbol: "fake_add",
  buffers: [],
  parameters: [{ kind: "pointer", buffer: "y" }, { kind: "rank" }],
  lengths: [],
  blockThreads: 256,
  grid: { work: [], maxBlocks: 8 },
  sharedBytes: 0,
  cooperative: false,
  early: false,
  ...changes,
});
const cubin = fakeCubin("fake_add params=8,4 registers=64");

describe("kernels", () => {
  let stream: StreamHandle;
  let y: DeviceMemory;
  let before: ReturnType<typeof live>;
  const values = () => ({ ...args, pointers: { y: y.pointer } });
  const read = () => y.read(new Uint32Array(1))[0];
  beforeEach(() => {
    before = live();
    stream = native().streamCreate(0);
    y = DeviceMemory.allocate(0, 4);
    y.fill(0);
  });
  afterEach(() => {
    native().streamDestroy(stream);
    y.free();
    expect({ ...live(), launches: 0 }).toEqual({ ...before, launches: 0 });
  });

  it("launch with the grid, block, shared memory and parameters asked for", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "collc-launch-"));
    vi.stubEnv("FAKE_CUDA_LOG", path.join(folder, "log"));
    const kernel = new KernelFunction(0, manifest({ sharedBytes: 100_000, cooperative: true }), cubin);
    expect(kernel.attributes).toMatchObject({ registers: 64, localBytes: 0, maxDynamicSharedBytes: 48 << 10 });
    expect(kernel.residentBlocks).toBe(8); // two blocks of 100 kB on each of four multiprocessors
    const launch = kernel.prepareBlocks(5, values());
    launch.enqueue(stream);
    launch.enqueue(stream);
    expect(read()).toBe(6);
    const pointer = Buffer.alloc(8);
    pointer.writeBigUInt64LE(y.pointer);
    const line = {
      launch: "fake_add",
      device: 0,
      grid: [5, 1, 1],
      block: [256, 1, 1],
      shared: 100_000,
      cooperative: true,
      early: false,
      parameters: [pointer.toString("hex"), "03000000"],
    };
    expect(jsonLines(path.join(folder, "log"))).toEqual([line, line]);
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
    launch.release();
    expect(() => launch.enqueue(stream)).toThrow("is not open");
    expect(() => launch.release()).toThrow("is not open");
    kernel.unload();
  });

  it("may begin before the launch before them ends, where they say so and graphs keep that", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "collc-launch-"));
    vi.stubEnv("FAKE_CUDA_LOG", path.join(folder, "log"));
    const began = ["13000", "12020"].flatMap((version) => {
      vi.stubEnv("FAKE_CUDA_VERSION", version);
      return [true, false].map((early) => {
        const kernel = new KernelFunction(0, manifest({ early }), cubin);
        const launch = kernel.prepareBlocks(1, values());
        launch.enqueue(stream);
        launch.release();
        kernel.unload();
        return (jsonLines(path.join(folder, "log")).at(-1) as { early: boolean }).early;
      });
    });
    expect(began).toEqual([true, false, false, false]);
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  it("refuse grids that cannot be resident, when blocks wait on each other", () => {
    const kernel = new KernelFunction(0, manifest({ cooperative: true }), cubin);
    expect(kernel.residentBlocks).toBe(16);
    expect(() => kernel.prepareBlocks(17, values())).toThrow(
      /17 blocks that wait on each other, but GPU 0 holds only 16/,
    );
    kernel.prepareBlocks(16, values()).release();
    kernel.unload();
    const free = new KernelFunction(0, manifest(), cubin);
    free.prepareBlocks(17, values()).release();
    expect(() => free.prepareBlocks(0, values())).toThrow("cannot launch 0 blocks");
    free.unload();
  });

  it("refuse what the device cannot hold", () => {
    expect(() => new KernelFunction(0, manifest({ sharedBytes: 300_000 }), cubin)).toThrow(
      /needs 300000 bytes of shared memory a block; GPU 0 \(Fake GPU 0\) has 232448/,
    );
    expect(
      () => new KernelFunction(0, manifest({ blockThreads: 1024 }), fakeCubin("fake_add params=8,4 registers=128")),
    ).toThrow(MachineError);
    expect(() => new KernelFunction(0, manifest({ symbol: "absent" }), cubin)).toThrow("CUDA_ERROR_NOT_FOUND");
    expect(() => new KernelFunction(9, manifest(), cubin)).toThrow("no GPU 9");
  });

  it("do not reach the driver with a cubin cut short", () => {
    const whole = new Uint8Array(1000);
    const view = new DataView(whole.buffer);
    view.setUint32(0, 0x7f454c46);
    view.setBigUint64(40, 744n, true); // section headers: four of 64 bytes
    view.setUint16(58, 64, true);
    view.setUint16(60, 4, true);
    expect(() => checkCubin(whole)).not.toThrow();
    expect(() => checkCubin(whole.subarray(0, 999))).toThrow("cut short: 999 of 1000 bytes");
    expect(() => checkCubin(whole.subarray(0, 20))).toThrow("not an ELF file");
    expect(() => new KernelFunction(0, manifest(), whole.subarray(0, 999))).toThrow("cut short");
  });

  it("cannot be launched after unloading, or on another device's stream", () => {
    const kernel = new KernelFunction(0, manifest(), cubin);
    const launch = kernel.prepareBlocks(1, values());
    const other = native().streamCreate(1);
    expect(() => launch.enqueue(other)).toThrow("different devices");
    native().streamDestroy(other);
    kernel.unload();
    expect(() => launch.enqueue(stream)).toThrow("module was unloaded");
    launch.release();
  });

  it("take new parameter values between launches", () => {
    const module = native().moduleLoad(0, cubin);
    const fn = native().functionGet(module, "fake_add");
    const block = packParameters(manifest().parameters, values());
    const launch = native().launchPrepare(fn, [1, 1, 1], [32, 1, 1], 0, false, block.bytes, block.offsets);
    native().launchPrepared(launch, stream);
    native().launchUpdate(launch, 8, Uint32Array.of(100));
    native().launchPrepared(launch, stream);
    expect(read()).toBe(103);
    expect(() => native().launchUpdate(launch, 9, Uint32Array.of(1))).toThrow(RangeError);
    expect(() => native().launchPrepare(fn, [1, 1, 1], [1, 1, 1], 0, false, block.bytes, [12])).toThrow(RangeError);
    native().launchRelease(launch);
    native().moduleUnload(module);
  });

  it("replay from graphs, with the parameters of the capture", () => {
    const kernel = new KernelFunction(0, manifest(), cubin);
    const launch = kernel.prepareBlocks(1, values());
    const graph = CudaGraph.capture(stream, () => {
      for (let i = 0; i < 10; i++) launch.enqueue(stream);
    });
    launch.release();
    expect(graph.nodes).toBe(10);
    expect(read()).toBe(0); // recorded, not run
    graph.replay(stream);
    graph.replay(stream);
    expect(read()).toBe(60);
    graph.destroy();
    expect(() => graph.replay(stream)).toThrow("is not open");
    expect(() => graph.destroy()).toThrow("is not open");
    kernel.unload();
  });

  it("take new values into a graph, launch by launch, as long as its nodes are there", () => {
    const number = { kind: "scalar", name: "v", dtype: "u32" } as const;
    const kernel = new KernelFunction(0, manifest({ parameters: [{ kind: "pointer", buffer: "y" }, number] }), cubin);
    const three = () => ({ ...values(), dims: { v: 3 } });
    const [one, two] = [kernel.prepareBlocks(1, three()), kernel.prepareBlocks(1, three())];
    const graph = CudaGraph.capture(stream, () => {
      one.enqueue(stream);
      two.enqueue(stream);
      one.enqueue(stream);
    });
    graph.replay(stream);
    expect(read()).toBe(9);
    one.setNumbers({ v: 100 });
    graph.replay(stream);
    expect(read()).toBe(18); // the graph keeps its own
    expect([graph.update(one), graph.update(two)]).toEqual([2, 1]);
    graph.replay(stream);
    expect(read()).toBe(18 + 203);
    const unknown = kernel.prepareBlocks(1, three());
    expect(graph.update(unknown)).toBe(0);
    graph.destroy();
    expect(() => graph.update(one)).toThrow("is not open");
    for (const launch of [one, two, unknown]) launch.release();
    kernel.unload();
  });

  it("leave the stream usable when a capture fails", () => {
    expect(() =>
      CudaGraph.capture(stream, () => {
        throw new Error("in the middle");
      }),
    ).toThrow("in the middle");
    const graph = CudaGraph.capture(stream, () => undefined);
    expect(graph.nodes).toBe(0);
    graph.destroy();
    expect(() => native().captureEnd(stream)).toThrow("CAPTURE_UNMATCHED");
  });

  it.each([
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuFuncGetAttribute",
    "cuFuncGetAttribute:4",
    "cuFuncSetAttribute",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
  ])("leak nothing when %s fails", async (call) => {
    await expect(failing(call, () => new KernelFunction(0, manifest({ sharedBytes: 4096 }), cubin))).rejects.toThrow(
      call.split(":")[0],
    );
  });

  it.each(["cuStreamEndCapture", "cuGraphGetNodes", "cuGraphInstantiateWithFlags"])(
    "leak no graph when %s fails",
    async (call) => {
      await expect(failing(call, () => CudaGraph.capture(stream, () => undefined))).rejects.toThrow(call);
      if (call === "cuStreamEndCapture") native().graphDestroy(native().captureEnd(stream));
    },
  );
});
