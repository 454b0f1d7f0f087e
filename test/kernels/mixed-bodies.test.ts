/**
 * Bodies in which loops and tensor expressions use what the other has made, on the cpu backend against the float64
 * reference made from their text, and proved.
 */
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile, type DimValues } from "../../src/compiler/index.js";
import { prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { isAll, pairs } from "../scope.js";

const PROGRAMS: Readonly<Record<string, string>> = {
  "a scattered sum, scaled on each rank, with the neighbour's part, and gathered": `
collective f(x: T[n] partial(sum)) -> y: T[n] replicated
  ensures y[i] == (sum(p in ranks) x@p[i]) * f32(i / (n / world) + 1) + (sum(p in ranks) x@p[(i + n / world) % n]) {
  scratch own: accumulator(T)[n] sharded(0)
  let s = reduce_scatter(f32(x), dim: 0)
  for i in tiles(n / world) {
    own[i] = s[i] * f32(rank + 1) + s@((rank + 1) % world)[i]
  }
  y = all_gather(own)
}`,
  "a loop, and the sum over the ranks of what it stored": `
collective f(x: T[n] local) -> y: T[n] replicated
  ensures y[i] == sum(p in ranks) x@p[i] * f32(p + 1) {
  scratch part: accumulator(T)[n] partial(sum)
  for i in tiles(n) {
    part[i] = x[i] * f32(rank + 1)
  }
  y = all_reduce(part)
}`,
  "an output that a loop wrote, in an expression": `
collective f(x: T[n] partial(sum)) -> (part: T[n] partial(sum), y: T[n] replicated)
  ensures part == x
  ensures y == x {
  for i in tiles(n) {
    part[i] = x[i]
  }
  y = all_reduce(part)
}`,
  "parts that cancel once they are rounded to a scratch": `
collective f(a: T[n] partial(sum), b: T[n] replicated) -> y: T[n] replicated {
  scratch part: T[n] partial(sum)
  part = a * b
  y = relu(all_reduce(part))
}`,
  "a product of parts that cancel once they are rounded": `
collective f(a: T[m, k] partial(sum), b: T[k, n] replicated) -> y: T[n, m] on(0) {
  y = reduce(transpose(a @ b), to: 0)
}`,
  "products of parts, in batches": `
collective f(a: T[2, m, k] partial(sum), b: T[2, k, n] replicated) -> y: T[2, n, m] replicated {
  y = all_reduce(transpose(a @ b))
}`,
  "a product, what loops make of it, and what expressions do": `
collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> (y: T[m, n] sharded(0), z: T[m, n] replicated)
  ensures y == (a @ b) * 2 {
  let p = reduce_scatter(a @ b, dim: 0)
  for i, j in tiles(m / world, n) {
    y[i, j] = p[i, j] * 2
  }
  z = all_gather(p) + 1
}`,
  "what has been named keeps its value when loops and assignments store over it": `
collective f(x: T[8, 8] replicated) -> (y: T[8, 8] replicated, z: T[8, 8] replicated, w: T[8, 8] replicated)
  ensures y == transpose(x) + 1
  ensures z == x
  ensures w == transpose(x) + 2 {
  scratch t: accumulator(T)[8, 8] replicated
  for i, j in tiles(8, 8) {
    t[i, j] = x[i, j]
  }
  let old = t
  let turned = transpose(t)
  t = transpose(t)
  for i, j in tiles(8, 8) {
    t[i, j] = t[i, j] + 1
  }
  y = t
  z = old
  w = turned + 2
}`,
  "conditions, what one rank has, and lengths with names": `
collective f(x: T[2 * n] partial(sum), r: T[2 * n] on(0)) -> (y: T[2 * n] local, z: T[n] replicated)
  ensures y[i] == where((sum(p in ranks) x@p[i]) > 0, r@0[i], 0) {
  let half = n
  let whole = all_reduce(f32(x))
  let positive = whole > 0
  let root = r
  for i in tiles(2 * n) {
    y[i] = where(positive[i], root@0[i], 0)
  }
  z = whole[half..2 * half]
}`,
  "elements that one rank alone has": `
collective f(x: T[n] partial(sum), r: T[n] on(0)) -> (y: T[n] on(0), z: T[n] on(0))
  ensures y[i] == (sum(p in ranks) x@p[i]) + f32(rank + 1)
  ensures z == r + 1 {
  let s = reduce(f32(x), to: 0)
  if rank == 0 {
    for i in tiles(n) {
      y[i] = s[i] + 1
    }
  }
  z = r + 1
}`,
  "scratch that is assigned right below its declaration, with a layout and without": `
collective f(x: T[n] partial(sum), v: T[n] local) -> (y: T[n] replicated, z: T[n] local) {
  scratch sums: T[n] replicated
  sums = all_reduce(x)
  scratch own: T[n]
  own = v
  y = sums
  z = own
}`,
  "steps that signal each other between expressions": `
collective f(x: T[n] partial(sum)) -> y: T[n] local
  ensures y[i] == sum(p in ranks) x@p[i] {
  scratch box: accumulator(T)[n]
  let s = all_reduce(f32(x))
  let next = (rank + 1) % world
  for i in tiles(n) {
    box@next[i] = s[i]
  }
  signal next
  wait (rank - 1) % world
  y = box
}`,
};

const sizesFor = (ranks: number): DimValues => ({ m: 3 * ranks, n: 5 * ranks, k: 4 * ranks });

for (const [turn, [name, program]] of Object.entries(PROGRAMS).entries())
  describe(name, () => {
    const text = program.trimStart() + "\n";
    it("is right", () => {
      for (const [ranks, dtype] of pairs(isAll ? [1, 2, 3, 4] : [1, 3], ["f32", "bf16"] as const, turn)) {
        const { kernel, manifest, source, diagnostics } = compile(text, { ranks, dtype });
        expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
        const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true, maxBlocks: 3 });
        const own = Object.fromEntries(manifest!.dims.map((d) => [d, sizesFor(ranks)[d]!]));
        for (const seed of [1, 2, 3, 4]) {
          const data = makeInputs(manifest!, own, seed);
          group.run(data, own);
          const result = checkOutputs(manifest!, own, data, data);
          expect(result, `${ranks} ranks, ${dtype}`).toMatchObject({ correct: true, unspecified: [] });
        }
      }
    });
    it("is proved", () => {
      for (const ranks of isAll ? [1, 2, 3, 4] : [3]) {
        const compiled = compile(text, { ranks, dtype: "bf16", mapping: PROOF_MAPPING });
        const claims = prove(compiled, { shared: sharedLayout(compiled.kernel!) });
        expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
      }
    });
  });

describe("specifications", () => {
  const specification = (body: string, outputs = "(y: T[n] replicated, z: T[n] replicated)"): unknown[] => {
    const text = `collective f(x: T[n] partial(sum), v: T[n] replicated) -> ${outputs} {\n${body}\n}\n`;
    const { manifest, diagnostics } = compile(text, { ranks: 2 });
    expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    return [...manifest!.specification.outputs];
  };
  const copy = (to: string, from: string): string => `  for i in tiles(n) {\n    ${to}[i] = ${from}[i]\n  }`;

  it("an expression over what no loop has touched is kept", () => {
    const [y, z] = specification(`${copy("y", "v")}\n  z = all_reduce(x)`);
    expect(y).toBeNull();
    expect(z).not.toBeNull();
  });

  it("an expression over what a loop stored says nothing", () => {
    expect(specification(`${copy("y", "v")}\n  let twice = y + y\n  z = twice`)).toEqual([null, null]);
  });

  it("a loop that stores over an output takes its specification away, and that of later uses alone", () => {
    const [y, z] = specification(`  y = v\n  z = y + 1\n${copy("y", "v")}`);
    expect(y).toBeNull();
    expect(z).not.toBeNull();
  });
});
