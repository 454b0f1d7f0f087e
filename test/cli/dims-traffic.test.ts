import { describe, expect, it } from "vitest";
import { bandwidths, convert, trafficOf } from "../../src/bench/traffic.js";
import { chooseDims, operationsOf } from "../../src/cli/dims.js";
import { parseCount } from "../../src/cli/options.js";
import { nearest } from "../../src/cli/suggest.js";
import { compile, type Layout, type Manifest } from "../../src/compiler/index.js";
import { readFileSync } from "node:fs";
import { checkOutputs } from "../../src/runtime/reference/index.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { kernel } from "./support.js";

const manifestOf = (name: string, ranks: number, dtype: "f32" | "bf16" = "bf16"): Manifest => {
  const file = kernel(name);
  const options = { file, ranks, dtype, resolve: importsFromDisk };
  const { manifest, diagnostics } = compile(readFileSync(file, "utf8"), options);
  if (manifest === null) throw new Error(JSON.stringify(diagnostics));
  return manifest;
};

describe("bandwidth from the change of layout", () => {
  // nccl-tests' PERFORMANCE.md, for 4 ranks and S = 1 MiB.
  const S = 2 ** 20;
  const elements = S / 2;
  it.each([
    ["all_reduce/one_shot", { n: elements }, S, 2 * (3 / 4)],
    ["all_reduce/ring", { n: elements }, S, 2 * (3 / 4)],
    ["all_gather/push", { n: elements }, S, 3 / 4],
    ["reduce_scatter/pull", { n: elements }, S, 3 / 4],
    ["broadcast/flat", { n: elements }, S, 1],
    // One rank's part is S, so all ranks together hold 4 S.
    ["all_to_all/push", { m: 2048, n: 1024 }, S, 3 / 4],
    // A product's result is scattered, its operand gathered.
    ["matmul/reduce_scatter", { m: 1024, n: 512, k: 65536 }, S, 3 / 4],
    ["matmul/all_gather", { m: 1024, k: 512, n: 65536 }, S, 3 / 4],
  ] as const)("%s", (name, dims, size, factor) => {
    const traffic = trafficOf(manifestOf(name, 4), dims)!;
    expect(traffic.algorithmBytes).toBe(size);
    expect(traffic.busBytes).toBe(size * factor);
  });

  it("one rank moves nothing", () => {
    expect(trafficOf(manifestOf("all_reduce/one_shot", 1), { n: 10 })).toEqual({ algorithmBytes: 20, busBytes: 0 });
  });

  it("takes each value of a chain once, however often it is used", () => {
    const lines = Array.from({ length: 40 }, (_, i) => `let a${i + 1} = a${i} * 0.5 + a${i} * 0.25`);
    const text = `collective chain(x: T[m, n] partial(sum)) -> y: T[m, n] replicated {
      let a0 = all_reduce(x)
      ${lines.join("\n")}
      y = a40
    }`;
    const manifest = compile(text, { ranks: 4, dtype: "bf16" }).manifest!;
    expect(trafficOf(manifest, { m: 4, n: 4 })).not.toBeNull();
    expect(chooseDims(manifest, {}, true)).toEqual({ m: 1024, n: 1024 });
    const zeros = Array.from({ length: 4 }, () => ({
      inputs: { x: new Uint16Array(16) },
      outputs: { y: new Uint16Array(16) },
    }));
    expect(checkOutputs(manifest, { m: 4, n: 4 }, zeros, zeros).correct).toBe(true);
  });

  it("says nothing about local values", () => {
    const local: Layout = { kind: "local" };
    expect(convert(local, { kind: "replicated" }, 8, 2)).toBeNull();
  });

  it("GB/s are 10^9 bytes", () => {
    expect(bandwidths({ algorithmBytes: 1e9, busBytes: 5e8 }, 1e6)).toEqual({ algorithm: 1, bus: 0.5 });
  });
});

describe("dimensions", () => {
  it("are as few by default as a requirement asks for", () => {
    const text = `collective few(x: T[n] partial(sum)) -> y: T[n] replicated where n <= 4096 and n % 3 == 0 { y = all_reduce(x) }`;
    const { n } = chooseDims(compile(text, { ranks: 4 }).manifest!, {}, true);
    expect(n! % 3).toBe(0);
    expect(n).toBeGreaterThan(2000);
    expect(n).toBeLessThanOrEqual(4096);
  });

  it("are shorter by default where a tensor has many of them", () => {
    const text = `collective cube(x: T[a, b, c, d] partial(sum)) -> y: T[a, b, c, d] replicated { y = all_reduce(x) }`;
    const manifest = compile(text, { ranks: 4 }).manifest!;
    for (const emulated of [true, false]) {
      const { a, b, c, d } = chooseDims(manifest, {}, emulated) as Record<"a" | "b" | "c" | "d", number>;
      expect(a * b * c * d).toBeLessThanOrEqual(emulated ? 2 ** 22 : 2 ** 26);
      expect(a).toBeGreaterThanOrEqual(32);
    }
    expect(chooseDims(manifest, { a: 2, b: 2 }, true)).toEqual({ a: 2, b: 2, c: 1024, d: 1024 });
  });

  it("are shorter by default where a vector is made of blocks", () => {
    const text = `collective blocks(x: T[128 * n] partial(sum)) -> y: T[128 * n] replicated { y = all_reduce(x) }`;
    const manifest = compile(text, { ranks: 4 }).manifest!;
    expect(chooseDims(manifest, {}, true)).toEqual({ n: 2 ** 15 });
    expect(chooseDims(manifest, {}, false)).toEqual({ n: 2 ** 19 });
  });

  it("keeps what was given and rounds the rest up", () => {
    const manifest = manifestOf("matmul/reduce_scatter", 3);
    const dims = chooseDims(manifest, { n: 7 }, true);
    expect(dims["n"]).toBe(7);
    expect(dims["m"]! % 3).toBe(0);
    expect(dims["k"]! % 3).toBe(0);
  });

  it("does not change what was given", () => {
    expect(() => chooseDims(manifestOf("matmul/reduce_scatter", 4), { k: 6 }, true)).toThrow(
      /k=6 does not divide by 4/,
    );
  });
});

describe("small parsers", () => {
  it.each([
    ["1048576", 1048576],
    ["1_000", 1000],
    ["64Ki", 65536],
    ["1M", 2 ** 20],
    ["2GiB", 2 ** 31],
    ["", null],
    ["1.5", null],
    ["-1", null],
    ["1e6", null],
  ])("counts: %s", (text, value) => expect(parseCount(text)).toBe(value));

  it("suggests only what a slip explains", () => {
    expect(nearest("vectorise", ["vectorize", "unroll"])).toBe("vectorize");
    expect(nearest("xyz", ["vectorize", "unroll"])).toBeNull();
    expect(nearest("rnak", ["rank"])).toBe("rank");
  });
});

describe("a program that takes more steps than its tensors have elements", () => {
  const chosen = (body: string, given = {}): Record<string, number> => {
    const text = `collective f(c: i32[n] local) -> o: i64[n] sharded(0) where n % world == 0 { ${body} }`;
    const compiled = compile(text, { ranks: 2 });
    expect(compiled.diagnostics).toEqual([]);
    return chooseDims(compiled.manifest!, given, true, operationsOf(compiled));
  };
  const PREFIX = "for i in tiles(n / world) { o[i] = sum(k in 0..i) i64(c[k]) }";

  it("is shorter by default, so that it ends", () => {
    const { n } = chosen(PREFIX);
    expect(n).toBeGreaterThan(1000);
    expect(n! * n!).toBeLessThan(2 ** 29);
  });

  it("is shorter, too, where all ranks meet as often as lengths say, or a loop goes through a chunk for each element", () => {
    const meets = "for k in 0..n / 256 + 1 { for i in tiles(n / world) { o[i] = i64(c[i]) } barrier }";
    const folds = "for i in tiles(n / world) { o[i] = sum(k in chunk(n, rank)) i64(c[k]) }";
    const moves = `scratch s: i64[n] for i in tiles(n) { s[i] = i64(c[i]) }
      for k in 0..n { for i in tiles(n) { s@((rank + 1) % world)[i] = s[i] + 1 } }
      for i in tiles(n / world) { o[i] = s[i] }`;
    for (const body of [meets, folds, moves]) {
      const { n } = chosen(body);
      expect(n).toBeGreaterThan(500);
      expect(n).toBeLessThanOrEqual(2 ** 18);
    }
  });

  it("is as long as asked", () => {
    expect(chosen(PREFIX, { n: 100_000 })).toEqual({ n: 100_000 });
  });

  it("of a fixed number of steps for each element is as long as any", () => {
    expect(chosen("for i in tiles(n / world) { o[i] = sum(k in 0..8) i64(c[i] + i32(k)) }")).toEqual({ n: 2 ** 20 });
    expect(chosen("for i in tiles(n / world) { o[i] = sum(k in 0..3 * world) i64(c[i]) }")).toEqual({ n: 2 ** 20 });
  });
});
