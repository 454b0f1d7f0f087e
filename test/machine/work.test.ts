/** What the model counts on device-level kernels, held against what `explain` counts on rank-level ones, and by hand. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import {
  ARCHITECTURES,
  architectureOf,
  compile,
  DEFAULT_MACHINE,
  explain,
  machineFor,
  MACHINES,
  predictTime,
  predictOperation,
  predictWork,
  type RankWork,
  workOfRank,
} from "../../src/compiler/index.js";
import { candidateOf } from "../../src/compiler/compiled.js";
import { predict, predictCopies } from "../../src/compiler/machine/cost.js";
import { type PassOptions, passOptionsFor } from "../../src/compiler/passes/options.js";
import type { Copy } from "../../src/compiler/manifest-steps.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";

const KERNELS = join(import.meta.dirname, "../../kernels");
const RESULTS = join(import.meta.dirname, "../../bench/results");

/** Kernels whose elements are moved one by one, by everybody: tiles of products are cut off at edges, and data decides elsewhere. */
const MOVED = ["all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]
  .flatMap((folder) => readdirSync(join(KERNELS, folder)).map((file) => `${folder}/${file}`))
  .filter((file) => !/dispatch|combine|quantised/.test(file));

const compiled = (file: string, ranks: number): ReturnType<typeof compile> =>
  compile(readFileSync(join(KERNELS, file), "utf8"), {
    file: relative(process.cwd(), join(KERNELS, file)),
    ranks,
    dtype: "bf16",
    resolve: importsFromDisk,
  });

describe("of many iterations that go to one rank after the other, those that are looked at go to each as often", () => {
  for (const ranks of [2, 3, 4])
    for (const name of ["all_reduce", "all_gather", "reduce_scatter"])
      test(`${name}, ${ranks} ranks`, () => {
        const file = join(KERNELS, `${name}.coll`);
        const options = { file, ranks, dtype: "bf16", resolve: importsFromDisk, library: libraryFromDisk } as const;
        const { considered } = compile(readFileSync(file, "utf8"), options);
        const sending = considered.filter((way) => way.name.endsWith("one_shot+packets") || way.name.endsWith("pull+packets")); // prettier-ignore
        expect(sending.length).toBeGreaterThan(0);
        for (const { compiled: way } of sending)
          for (let n = 2 ** 19; n < 2 ** 21; n += 31 * 4096) {
            const dims = { n: n - (n % (64 * ranks)) };
            const { stretches } = workOfRank(way.kernel!, 0, dims);
            const sent = Array.from({ length: ranks - 1 }, (_, p) => stretches.reduce((all, s) => all + s.stored[p + 1]!, 0)); // prettier-ignore
            expect(Math.max(...sent) / Math.min(...sent), JSON.stringify(dims)).toBeLessThan(1.1);
          }
      });
});

test.for([2, 3, 4])("more elements do not take less time, on %i ranks", (ranks) => {
  const falls: string[] = [];
  for (const name of [
    "all_reduce/one_shot",
    "all_reduce/two_shot",
    "all_gather/push",
    "reduce_scatter/pull",
    "broadcast/relay",
  ]) {
    const { considered, machine } = compiled(`${name}.coll`, ranks);
    for (const way of considered.map(candidateOf)) {
      let before = 0;
      for (let step = 0; step < 60; step++) {
        const each = Math.round(2 ** (6 + step / 5)) * 64;
        const seconds = predict(way.kernel, { n: each * ranks }, machine).total;
        if (seconds < 0.93 * before) falls.push(`${way.name}, n = ${each * ranks}: ${seconds} after ${before}`);
        before = seconds;
      }
    }
  }
  expect(falls).toEqual([]);
});

describe("bytes from rank to rank are those of the rank level", () => {
  for (const file of MOVED)
    test(file, () => {
      const program = compiled(file, 4);
      const { kernel, manifest } = program;
      for (const n of [64, 4096 * 4, 2 ** 22]) {
        const dims = Object.fromEntries(manifest!.dims.map((name) => [name, manifest!.dims.length > 1 ? 1024 : n]));
        const { wire } = explain(program, dims, DEFAULT_MACHINE);
        for (let rank = 0; rank < 4; rank++) {
          const { stretches } = workOfRank(kernel!, rank, dims);
          const total = stretches.reduce(
            (sum, s) => sum + [...s.loaded, ...s.stored].reduce((a, b) => a + b, 0) - s.loaded[rank]! - s.stored[rank]!,
            0,
          );
          // Of the wire, what this rank itself loads or stores: each pair's bytes are one of the two.
          const sent = wire[rank]!.reduce((a, b) => a + b, 0) + wire.reduce((a, row) => a + row[rank]!, 0);
          expect(total, `rank ${rank}, ${JSON.stringify(dims)}`).toBeLessThanOrEqual(sent * 1.001);
        }
        const all = [0, 1, 2, 3].flatMap((rank) =>
          workOfRank(kernel!, rank, dims).stretches.map(
            (s) => [...s.loaded, ...s.stored].reduce((a, b) => a + b, 0) - s.loaded[rank]! - s.stored[rank]!,
          ),
        );
        const wired = wire.flat().reduce((a, b) => a + b, 0);
        expect(Math.abs(all.reduce((a, b) => a + b, 0) / wired - 1), JSON.stringify(dims)).toBeLessThan(0.02);
      }
    });
});

describe("trips to memory", () => {
  const trips = (body: string, n: number): { peer: number; own: number }[] => {
    const { kernel, diagnostics } = compile(`collective c(x: T[n] local) -> y: T[n] local { ${body} }`, {
      ranks: 4,
      dtype: "f32",
    });
    expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    return workOfRank(kernel!, 0, { n }).stretches.map((s) => s.trips);
  };

  test("loads of all peers are one, of one block's row after the other as many as there are", () => {
    const row = 512 * 4;
    expect(trips("for i in tiles(n) { y[i] = sum(p in ranks) x@p[i] }", row)[1]).toEqual({
      peer: 1,
      own: 0,
      packets: 0,
    });
    // 32 blocks have a row each; then two.
    expect(trips("for i in tiles(n) { y[i] = sum(p in ranks) x@p[i] }", 32 * row)[1]).toEqual({
      peer: 1,
      own: 0,
      packets: 0,
    });
    expect(trips("for i in tiles(n) { y[i] = sum(p in ranks) x@p[i] }", 64 * row)[1]).toEqual({
      peer: 2,
      own: 0,
      packets: 0,
    });
  });

  test("a load that waits for another's value comes after it", () => {
    const [only] = trips("for i in tiles(n) { y[i] = x[i] + y[i] }", 64);
    expect(only).toEqual({ peer: 0, own: 1, packets: 0 });
  });

  test("what a rank has loaded is not fetched again", () => {
    const stretches = trips("for i in tiles(n) { for p in ranks { y@p[i] = x[i] } }", 64);
    expect(stretches[1]).toEqual({ peer: 0, own: 1, packets: 0 });
  });
});

describe("packets", () => {
  const looks = (busyBlocks: number): number => {
    const text = "collective c(x: T[n] on(0)) -> y: T[n] replicated { for i in tiles(n) { y[i] = x@0[i] } }";
    const mapping = { transfers: "staged", protocol: "packet", busyBlocks } as const;
    const { kernel } = compile(text, { ranks: 2, dtype: "bf16", mapping });
    return workOfRank(kernel!, 1, { n: 2 ** 22 }).stretches.at(-1)!.trips.packets;
  };

  test("each look at one is a trip, and fewer blocks have more of them", () => {
    // 2^19 packets of 16 bytes for 512 threads a block, each of which looks at one after the other.
    expect(looks(32)).toBe(32);
    expect(looks(64)).toBe(16);
  });

  const trips = { peer: 0, own: 0, packets: 0 };
  const nothing = { loaded: [0, 0], stored: [0, 0], trips, scalarOps: 0, tensorOps: 0 };
  const bytes = 100e6;
  const sends = { ...nothing, stored: [0, bytes] };
  const takes = { ...nothing, loaded: [0, bytes], stored: [0, bytes] };
  const silent = { tells: [], awaits: null, isGrid: false };
  const work = (stretches: RankWork["stretches"], tells: readonly number[]): RankWork => {
    return { stretches, meetings: [{ ...silent, tells }], grid: 132 };
  };
  const wire = bytes / DEFAULT_MACHINE.pairPush.value;
  const taking = (2 * bytes) / DEFAULT_MACHINE.memory.value;

  test("are taken while others are still being sent, by a rank that has nothing else to do", () => {
    const { total } = predictWork([work([sends, nothing], [1]), work([nothing, takes], [])], DEFAULT_MACHINE);
    expect(total).toBeGreaterThan(wire);
    expect(total).toBeLessThan(wire + taking / 4);
  });

  test("wait for a rank that sends its own first", () => {
    const back = { ...nothing, stored: [bytes, 0] };
    const taken = { ...nothing, loaded: [bytes, 0], stored: [bytes, 0] };
    const { total } = predictWork([work([sends, taken], [1]), work([back, takes], [0])], DEFAULT_MACHINE);
    expect(total).toBeGreaterThan(wire + taking);
  });
});

describe("the wire", () => {
  const trips = { peer: 0, own: 0, packets: 0 };
  const nothing = { loaded: [0, 0, 0], stored: [0, 0, 0], trips, scalarOps: 0, tensorOps: 0 };
  const alone = (stored: readonly number[]): number => {
    const ranks = [0, 1, 2].map((rank): RankWork => {
      return { stretches: [rank === 0 ? { ...nothing, stored } : nothing], meetings: [], grid: 132 };
    });
    return predictWork(ranks, DEFAULT_MACHINE).total - DEFAULT_MACHINE.launch.value;
  };

  test("carries stores to one peer faster than stores to several in turns", () => {
    const { push, pairPush } = DEFAULT_MACHINE;
    expect(alone([0, 100e6, 0])).toBeCloseTo(100e6 / pairPush.value, 9);
    expect(alone([0, 50e6, 50e6])).toBeCloseTo(100e6 / push.value, 9);
  });

  test("is not what copies in own memory wait for", () => {
    const end = (tensor: string, rank: number): Copy["from"] => ({ tensor, rank, offset: 0, pitch: 0 });
    const copies = (to: number): Copy[][] => [[{ rows: 1, length: 64, from: end("x", 0), to: end("y", to) }], []];
    const start = (to: number): number => predictCopies(copies(to), false, () => 2, {}, DEFAULT_MACHINE).latency;
    expect(start(0)).toBe(DEFAULT_MACHINE.ownCopyStart.value);
    expect(start(1)).toBe(DEFAULT_MACHINE.copyStart.value);
    const [one] = copies(1);
    const inOrder = predictCopies([[...one!, ...one!], []], true, () => 2, {}, DEFAULT_MACHINE);
    expect(inOrder.latency).toBe(DEFAULT_MACHINE.copyStart.value + 2 * DEFAULT_MACHINE.copyNext.value);
  });
});

describe("times", () => {
  const program = compiled("all_reduce/two_shot.coll", 4);

  test("grow with the size", () => {
    const times = [2, 64, 4096, 2 ** 16, 2 ** 20, 2 ** 24, 2 ** 27].map(
      (n) => predictTime(program, { n }, DEFAULT_MACHINE).total,
    );
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  test("are longer with fewer blocks, where there is enough to do", () => {
    const with8 = compile(program.source.text, { ranks: 4, dtype: "bf16", mapping: { elementBlocks: 4 } });
    const [few, many] = [with8, program].map((p) => predictTime(p, { n: 2 ** 24 }, DEFAULT_MACHINE).total);
    expect(few! / many!).toBeGreaterThan(1.5);
  });

  test("come from every machine, for as many ranks as it has", () => {
    for (const machine of MACHINES) {
      const text = program.source.text;
      const made = compile(text, { ranks: machine.ranks, dtype: "bf16", machine });
      const { total } = predictTime(made, { n: 2 ** 20 }, machine);
      expect(total, machine.name).toBeGreaterThan(5e-6);
      expect(total, machine.name).toBeLessThan(50e-6);
    }
  });
});

describe("the tables", () => {
  test("every number of a machine says where it comes from", () => {
    for (const machine of MACHINES)
      for (const [key, value] of Object.entries(machine))
        if (typeof value === "object") expect((value as { source: string }).source.length, key).toBeGreaterThan(10);
  });

  test("a name that is newer than the table is taken for the newest that is older", () => {
    expect(architectureOf("sm_90a").capability).toBe(90);
    expect(architectureOf("sm_101a").capability).toBe(100);
    expect(architectureOf("sm_200").capability).toBe(ARCHITECTURES.at(-1)!.capability);
    expect(architectureOf("sm_61").capability).toBe(75);
  });

  test("the machine of an architecture and a number of ranks", () => {
    expect(machineFor("sm_90a", 2).name).toBe("h200x2");
    expect(machineFor("sm_90a", 3).name).toBe("h200x4");
    expect(machineFor("sm_90a", 8).name).toBe("h100x8");
    expect(machineFor("sm_80", 4).name).toBe("a100x8");
    expect(machineFor("sm_100a", 4)).toBe(DEFAULT_MACHINE);
  });

  test("the machine of GPUs with a name, which share an architecture with others", () => {
    expect(machineFor("sm_90a", 2, "NVIDIA H100 80GB HBM3").name).toBe("h100x2");
    expect(machineFor("sm_90a", 4, "NVIDIA H100 80GB HBM3").name).toBe("h100x4");
    expect(machineFor("sm_90a", 2, "NVIDIA H200").name).toBe("h200x2");
    // No machine of so many H200s is described.
    expect(machineFor("sm_90a", 8, "NVIDIA H200").name).toBe("h100x8");
    expect(machineFor("sm_90a", 2, "NVIDIA L4").name).toBe("h200x2");
    expect(machineFor("sm_80", 2, "NVIDIA A100-SXM4-80GB").name).toBe("a100x8");
  });

  test("H100s have H200s' links, and their memory is slower; nobody has fitted eight of them", () => {
    const [fitted, made] = ["h200x4", "h100x8"].map((name) => MACHINES.find((m) => m.name === name)!);
    expect(made!.push.value).toBe(fitted!.push.value);
    expect(made!.memory.value / fitted!.memory.value).toBeCloseTo(3.35 / 4.8, 9);
    expect([fitted!.isCalibrated, made!.isCalibrated]).toEqual([true, false]);
    for (const name of ["h100x2", "h100x4"]) expect(MACHINES.find((m) => m.name === name)!.isCalibrated).toBe(true);
  });

  // The second takes several rows at once.
  test.each([
    ["for i in tiles(n) { if rank == 0 { y[i] = x[i] } }"],
    ["if rank == 0 { for i in tiles(n) { y[i] = x[i] } }"],
  ])("while a block copies its own memory, the wire rests: %s", (own) => {
    const text = `collective f(x: T[n] on(0)) -> y: T[n] replicated {
      if rank == 0 { for i in tiles(n) { y@1[i] = x[i] } }
      ${own}
    }`;
    const { kernel } = compile(text, { ranks: 2, dtype: "bf16" });
    const bytes = (n: number): number =>
      workOfRank(kernel!, 0, { n }).stretches.reduce((sum, { apart = 0 }) => sum + apart, 0);
    // The root loads what it copies, and stores it.
    for (const n of [8192, 2 ** 26]) expect(bytes(n)).toBe(2 * 2 * n);
    const machine = MACHINES.find((m) => m.name === "h100x2")!;
    const seconds = (n: number): number => predict(kernel!, { n }, machine).total;
    const [wire, copied] = [2 ** 25 * 2, 2 ** 25 * 4];
    expect(seconds(2 ** 26) - seconds(2 ** 25)).toBeCloseTo(
      wire / machine.pairPush.value + copied / machine.memory.value,
      5,
    );
  });

  test("in a loop that stores to a peer, too, it does not rest", () => {
    const text = `collective f(x: T[n] on(0)) -> y: T[n] replicated {
      if rank == 0 { for i in tiles(n) { let v = x[i]  y[i] = v  y@1[i] = v } }
    }`;
    const { kernel } = compile(text, { ranks: 2, dtype: "bf16" });
    const n = 2 ** 20;
    const { stretches } = workOfRank(kernel!, 0, { n });
    const sum = (of: (s: (typeof stretches)[number]) => number): number => stretches.reduce((all, s) => all + of(s), 0);
    // Both copies are counted, so the loop was gone through.
    expect([sum((s) => s.stored[0]!), sum((s) => s.stored[1]!), sum((s) => s.apart!)]).toEqual([2 * n, 2 * n, 0]);
  });

  test("what fits the second-level cache is not memory's to bring", () => {
    const machine = MACHINES.find((m) => m.name === "h100x2")!;
    const seconds = (loaded: number): number =>
      predictOperation({ loaded, stored: 0, scalarOps: 0, tensorOps: 0 }, machine);
    const { memory, cachedMemory, cachedBytes } = machine;
    const size = cachedBytes.value;
    expect(seconds(size) - seconds(size / 2)).toBeCloseTo(size / 2 / cachedMemory.value, 9);
    expect(seconds(3 * size) - seconds(2 * size)).toBeCloseTo(size / memory.value, 9);
  });
});

describe("products", () => {
  const MEASURED = join(RESULTS, "2026-11-30-1x-nvidia-h200-products.json");
  const machine = machineFor("sm_90a", 1);
  const compiled = (mapping: Partial<PassOptions>) =>
    compile("collective mm(a: T[m, k] local, b: T[k, n] local) -> c: T[m, n] local { c = a @ b }", {
      ...{ ranks: 1, dtype: "bf16", machine, mapping },
    });
  const product = compiled({ roles: { ...passOptionsFor(machine).roles!, few: null, narrower: [] } });

  test("take what was measured, of few tiles and of many, however wide, within 15 %", () => {
    const product = compiled({});
    const { times } = JSON.parse(readFileSync(MEASURED, "utf8")) as {
      times: { kernel: string; m: number; n: number; k: number; collc_us: number }[];
    };
    const own = times.filter(({ kernel }) => kernel === "mm");
    expect(own.length).toBeGreaterThan(20);
    for (const { m, n, k, collc_us } of own) {
      const error = (predictTime(product, { m, n, k }, machine).total * 1e6) / collc_us - 1;
      expect(Math.abs(error), `${m}x${n}x${k}: ${(error * 100).toFixed(0)} %`).toBeLessThan(0.15);
    }
  });

  test("leave one after the other: of one round, when all are done, and of several while others are multiplied", () => {
    const [file, machine] = [join(KERNELS, "matmul/all_reduce.coll"), machineFor("sm_90a", 2)];
    const options = { file, ranks: 2, dtype: "bf16", machine, resolve: importsFromDisk, library: libraryFromDisk } as const; // prettier-ignore
    const packets = compile(readFileSync(file, "utf8"), { ...options, variant: "one_shot+packets" });
    /** How much of what passes the wire, and is added up then, nothing else covers. */
    const uncovered = (m: number): number => {
      const { total, latency, arithmetic, wire } = predictTime(packets, { m, n: 2048, k: 8192 }, machine);
      return (total - latency - arithmetic) / wire;
    };
    expect(uncovered(1024)).toBeGreaterThan(1);
    expect(uncovered(8192)).toBeLessThan(0.75);
  });

  test("beside a collective take what was measured, nine of ten within 15 %", () => {
    const errors = [
      "4x-nvidia-h200-matmul_reduce_scatter",
      "4x-nvidia-h200-all_gather_matmul",
      "2x-nvidia-h200-all_gather_matmul",
    ].flatMap((name) => {
      const { ranks, rows } = JSON.parse(readFileSync(join(RESULTS, `2026-11-28-${name}.json`), "utf8")) as {
        ranks: number;
        rows: {
          label: string;
          dims: Record<string, number>;
          kernels: Record<string, { way: string; us?: { median: number } }>;
        }[];
      };
      const machine = machineFor("sm_90a", ranks);
      const ways = new Map<string, ReturnType<typeof compile>>();
      const taken = (kernel: string, variant: string) => {
        const file = join(KERNELS, `${kernel}.coll`);
        const options = { file, ranks, dtype: "bf16", machine, variant, resolve: importsFromDisk, library: libraryFromDisk } as const; // prettier-ignore
        if (!ways.has(variant)) ways.set(variant, compile(readFileSync(file, "utf8"), options));
        return ways.get(variant)!;
      };
      return rows.flatMap(({ label, dims, kernels }) =>
        Object.entries(kernels).flatMap(([kernel, { way, us }]) => {
          if (us === undefined) return [];
          const error = (predictTime(taken(kernel, way), dims, machine).total * 1e6) / us.median - 1;
          return [{ label: `${name} ${label}`, error }];
        }),
      );
    });
    const outside = errors.filter(({ error }) => Math.abs(error) > 0.15);
    expect(errors.length).toBeGreaterThan(30);
    expect(outside.length / errors.length, outside.map(({ label, error }) => `${label} ${(error * 100).toFixed(0)} %`).join(", ")).toBeLessThanOrEqual(0.1); // prettier-ignore
  });

  test("load from memory what no block beside them takes, too", () => {
    const tilesOf = (m: number, n: number, k: number): { all: number; loaded: number } =>
      workOfRank(product.kernel!, 0, { m, n, k }).stretches.flatMap((s) => s.tiles ?? [])[0]!;
    const bytes = 2 * 64;
    // One tile: nobody is beside it, and each of its operands' elements is taken once.
    expect(tilesOf(128, 256, 64)).toEqual({ all: (128 + 256) * bytes, loaded: (128 + 256) * bytes });
    // Eight tiles in a column: all take the same columns.
    expect(tilesOf(8 * 128, 256, 64)).toEqual({ all: 8 * (128 + 256) * bytes, loaded: (8 * 128 + 256) * bytes });
    // Eight rows of tiles by 16 columns are one round of 128 blocks, and take each operand once.
    const { all, loaded } = tilesOf(8 * 128, 16 * 256, 64);
    expect(all).toBe(128 * (128 + 256) * bytes);
    expect(loaded).toBe((8 * 128 + 16 * 256) * bytes);
  });

  test("take as long as the block that has most tiles", () => {
    const opsOf = (m: number): number =>
      workOfRank(product.kernel!, 0, { m, n: 2048, k: 4096 }).stretches.reduce((sum, s) => sum + s.tensorOps, 0);
    // 512 tiles of 132 blocks are four each for the busiest, as 528 are.
    expect(opsOf(64 * 128) / opsOf(66 * 128)).toBeCloseTo(1, 5);
    expect(predictTime(product, { m: 67 * 128, n: 2048, k: 4096 }, machine).total).toBeGreaterThan(
      1.2 * predictTime(product, { m: 66 * 128, n: 2048, k: 4096 }, machine).total,
    );
  });
});
