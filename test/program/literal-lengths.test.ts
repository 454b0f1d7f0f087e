/** Lengths that a program writes as numbers: its kernels do what those do of which a launch says the lengths. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult, type DimValues, type Kernel, machineFor } from "../../src/compiler/index.js";
import { buffersNamed } from "../../src/compiler/ir/visit.js";
import { predict } from "../../src/compiler/machine/cost.js";
import { workOfRank } from "../../src/compiler/machine/work.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { LIBRARY } from "../kernels/library.js";

const RANKS = 2;
const ARCH = "sm_90a";
const MACHINE = machineFor(ARCH, RANKS);

const compiled = (file: string, text: string): CompileResult =>
  compile(text, {
    ...{ file, ranks: RANKS, dtype: "bf16" as const, arch: ARCH, machine: MACHINE },
    ...{ resolve: importsFromDisk, library: libraryFromDisk },
  });

/** Bytes and products of a rank; operations on elements are those of indices, too, and meetings those of other lengths. */
const workOf = (kernel: Kernel, dims: DimValues): unknown => {
  const { stretches } = workOfRank(kernel, 0, dims);
  const sums = (of: (s: (typeof stretches)[number]) => readonly number[]): number[] =>
    stretches.map((s) => [...of(s)]).reduce((all, one) => all.map((x, i) => x + one[i]!));
  return {
    ...{ loaded: sums((s) => s.loaded), stored: sums((s) => s.stored) },
    products: sums((s) => [s.tensorOps, s.tiles?.all ?? 0, s.tiles?.loaded ?? 0]),
  };
};

/** By way. */
const waysOf = ({ considered }: CompileResult): ReadonlyMap<string, Kernel> =>
  new Map(considered.map(({ name, compiled: way }) => [name, way.kernel!]));

const CASES: readonly (readonly [string, DimValues])[] = [
  ["matmul/all_reduce", { m: 64, k: 4096, n: 6144 }],
  ["matmul/reduce_scatter", { m: 512, k: 6144, n: 4096 }],
  ["matmul/all_gather", { m: 16, k: 4096, n: 2048 }],
  ["matmul/all_gather_swiglu", { m: 64, k: 2048, n: 4096 }],
  ["all_to_all", { m: 512, n: 6144 }],
  ["all_reduce/quantised", { n: 65536 }],
  ["fused/all_reduce_rms_norm", { m: 64, n: 4096 }],
];

describe.each(CASES)("%s of lengths that are numbers", (name, dims) => {
  const { path, text } = LIBRARY.find((file) => file.name === name)!;
  /** The program with numbers in place of these dimensions. */
  const written = (names: readonly string[]): string =>
    names.reduce((all, d) => all.replaceAll(new RegExp(`\\b${d}\\b(?!:)`, "g"), String(dims[d])), text);
  const named = compiled(path, text);

  const [first, ...others] = Object.keys(dims);
  const cases = [[first!, ...others], ...(others.length > 0 ? [others] : [])];
  it.each(cases.map((names) => [names.join(", "), names] as const))("does the same: %s", (_, names) => {
    const program = compiled(path, written(names));
    expect(program.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    const [own, other] = [waysOf(program), waysOf(named)];
    // A plan leaves out what would be far slower at every size that there is.
    const both = [...own].filter(([way]) => other.has(way));
    expect(both.length).toBeGreaterThan(0);
    for (const [way, kernel] of both) {
      expect(workOf(kernel, dims), way).toEqual(workOf(other.get(way)!, dims));
      const [seconds, before] = [kernel, other.get(way)!].map((k) => predict(k, dims, MACHINE).total);
      // Numbers spare what some sizes have to wait for.
      expect(seconds! / before!, way).toBeGreaterThan(0.95);
      expect(seconds! / before!, way).toBeLessThan(1.01);
    }
    const [taken] = [program.variants, program.considered].find((ways) => ways.length > 0) ?? [];
    expect(other.has(taken!.name), `${taken!.name} is a way of the other`).toBe(true);
  });

  it("has no memory that no op uses", () => {
    for (const { compiled: way } of compiled(path, written(Object.keys(dims))).considered) {
      const used = new Set(way.kernel!.body.ops.flatMap(buffersNamed));
      const unused = way.kernel!.buffers.filter((b) => !used.has(b.name) && !["input", "output"].includes(b.role));
      expect(unused.map((b) => b.name)).toEqual([]);
    }
  });
});
