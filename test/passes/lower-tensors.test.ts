/** Memory that ranks divide among themselves: what is kept of it, and what of it other ranks get. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import type { PassOptions } from "../../src/compiler/passes/options.js";
import { storedWhereLoaded } from "../../src/compiler/passes/support/stored-where-loaded.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { isAll } from "../scope.js";

/** Rows of length 1, divided among ranks and then repeated. */
const REPEATED = {
  "a sum over ranks, repeated for all rows": `
collective f(a: T[m, n] sharded(0), b: T[m, n] replicated) -> y: T[m, n] replicated
  where m % world == 0 { y = b + all_reduce(sum(a, dim: 0)) + sum(b, dim: 1) }`,
  "a product over ranks, of one row": `
collective f(a: T[1, k] sharded(1), b: T[k, n] sharded(0), c: T[m, n] replicated) -> y: T[m, n] replicated
  where k % world == 0 { y = c * all_reduce(a @ b) + sum(c, dim: 1) }`,
  "one value, repeated and as it is": `
collective f(a: T[1, n] partial(sum), b: T[m, n] replicated) -> (y: T[m, n] replicated, z: T[1, n] replicated) {
  let s = relu(all_reduce(a))
  y = b + s + sum(b, dim: 1)
  z = s * 2
}`,
};

const compiled = (text: string, ranks: number) => {
  const result = compile(text, { ranks, dtype: "f32" });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
};

/** Every other number of ranks, the others at the next turn; with COLLC_TESTS=all all of them. */
const halved = (worlds: readonly number[], turn: number): readonly number[] =>
  worlds.filter((_, i) => isAll || (i + turn) % 2 === 0);

describe("a tensor that ranks divide", () => {
  for (const [turn, [name, text]] of Object.entries(REPEATED).entries())
    it(`reaches all of them: ${name}`, () => {
      for (const ranks of halved([1, 2, 3, 5], turn)) {
        const { kernel, manifest, source } = compiled(text, ranks);
        const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
        for (const [m, n] of [
          [ranks, 7],
          [1, 1],
          [30, 12],
          [0, 3],
        ] as const) {
          // prettier-ignore
          const dims = Object.fromEntries(manifest!.dims.map((d) => [d, { m, n, k: 2 * ranks }[d]!]));
          if (m % ranks !== 0 && text.includes("m % world")) continue;
          const tensors = makeInputs(manifest!, dims, 1);
          group.run(tensors, dims);
          const result = checkOutputs(manifest!, dims, tensors, tensors);
          expect(result, `${ranks} ranks, ${JSON.stringify(dims)}`).toMatchObject({ correct: true });
        }
      }
    });
});

describe("what lower-tensors ensures", () => {
  const text = `
collective f(a: T[m, n] partial(sum)) -> y: T[m, n] replicated {
  let s = all_reduce(a)
  y = s - max(s, dim: 1)
}`;
  const { snapshots } = compiled(text, 4);
  const at = (pass: string) => snapshots.find((s) => s.pass === pass)!.kernel;
  const before = at("choose-algorithms");
  const printed = printKernel(at("lower-tensors"));
  /** The kernel with the one load of a divided buffer changed. */
  const problems = (from: RegExp, to: string): string[] => {
    const changed = printed.replace(from, to);
    expect(changed).not.toBe(printed);
    return storedWhereLoaded(parseKernel(changed), before).map((p) => p.message);
  };

  it("holds as it is", () => {
    expect(storedWhereLoaded(parseKernel(printed), before)).toEqual([]);
  });

  it("does not hold where a fixed row of the rank's part is loaded", () => {
    expect(problems(/load %\d+, (%\d+) \{buffer="folded"\}/, 'load $1, $1 {buffer="folded"}')).toEqual([
      "load: 'folded', of which each rank stores a part along dimension 0, is loaded at an index that may lie outside its part",
    ]);
  });

  it("does not hold where a peer's copy is loaded", () => {
    expect(problems(/load (%\d+, %\d+) \{buffer="folded"\}/, 'load %0, $1 {buffer="folded", remote=true}')).toEqual([
      "load: 'folded', of which each rank stores a part along dimension 0, is loaded from a peer, which has another part",
    ]);
  });

  describe("of parts that are the same for ranks of one place in their domains", () => {
    const sum = "collective f(x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) * 2 }";
    const options = { ranks: 6, dtype: "f32", reach: { ranksPerDomain: 3 }, variant: "hierarchical" } as const;
    const passes = compile(sum, options).snapshots;
    const kernelAt = (pass: string) => passes.find((snapshot) => snapshot.pass === pass)!.kernel;
    const text = printKernel(kernelAt("lower-tensors")).replace(/ loc\([^)]*\)/g, "");
    const found = (from: RegExp, to: string): string[] => {
      expect(text).toMatch(from);
      return storedWhereLoaded(parseKernel(text.replace(from, to)), kernelAt("choose-algorithms")).map((p) => p.message); // prettier-ignore
    };
    const ANOTHER = "load: 'own', of which each rank stores a part along dimension 0, is loaded from a peer, which has another part"; // prettier-ignore

    it("holds where ranks of the same place are asked", () => {
      expect(found(/buffer="own"/, 'buffer="own"')).toEqual([]);
    });

    it("does not hold of a neighbour, nor where another part is stored", () => {
      const neighbour = /(%\d+) = binary (%\d+), (%\d+) \{fn="mul"\}( : index\s*%\d+ = binary %\d+, %\d+ \{fn="add"\} : index\s*%\d+ = load %\d+, %\d+ \{buffer="own")/; // prettier-ignore
      expect(found(neighbour, '$1 = binary $2, $2 {fn="mul"}$4')).toEqual([ANOTHER]);
      expect(found(/= binary (%\d+), (%\d+) \{fn="rem"\}/, '= binary $1, $2 {fn="div"}')).toEqual([ANOTHER]);
    });
  });
});

/** Of a tensor of as many rows as there are ranks, each has one. */
const ROWS = {
  "a function of each": `
collective f(x: T[world, m, n] sharded(0)) -> y: T[m, n] replicated {
  y = all_reduce(reshape(sum(relu(x), dim: 0), m, n))
}`,
  "a product of each, to whoever has the part": `
collective f(a: T[world, world * m, k] sharded(0), b: T[world, k, n] sharded(0)) -> y: T[world * m, n] sharded(0) {
  y = reduce_scatter(reshape(sum(relu(a @ b), dim: 0), world * m, n), dim: 0)
}`,
  "all folds": `
collective f(x: T[world, m, n] sharded(0)) -> (most: T[1, m, n] replicated, middle: T[1, m, n] replicated, all: T[1, m, n] on(0)) {
  most = all_reduce(max(abs(x), dim: 0)) - all_reduce(min(relu(x), dim: 0))
  middle = all_reduce(mean(relu(x), dim: 0)) * 2
  all = reduce(prod(tanh(x), dim: 0), to: 0)
}`,
  "rows of a row of the mesh": `
collective f(x: T[world.b, m, n] sharded(0, b)) -> y: T[1, m, n] replicated(b)
  mesh(a, b) { y = all_reduce(sum(relu(x), dim: 0), over: b) }`,
  "several rows of each": `
collective f(x: T[2 * world, m, n] sharded(0)) -> y: T[1, m, n] replicated { y = all_reduce(sum(relu(x), dim: 0)) }`,
};

describe("a fold over ranks", () => {
  const WAYS: readonly Partial<PassOptions>[] = (["one_shot", "two_shot"] as const).flatMap((algorithm) => [
    { algorithm },
    { algorithm, transfers: "staged", protocol: "packet" },
  ]);

  for (const [turn, [name, text]] of Object.entries(ROWS).entries())
    it(`of rows that they have: ${name}`, () => {
      for (const ranks of halved([1, 2, 3, 4], turn))
        for (const mapping of WAYS) {
          const { kernel, manifest, source, diagnostics } = compile(text, { ranks, dtype: "f32", mapping });
          expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
          const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
          for (const [m, n] of [
            [5, 7],
            [1, 1],
            [30, 12],
            [0, 3],
          ] as const) {
            const dims = Object.fromEntries(manifest!.dims.map((d) => [d, { m, n, k: 6 }[d]!]));
            const tensors = makeInputs(manifest!, dims, 1);
            group.run(tensors, dims);
            const result = checkOutputs(manifest!, dims, tensors, tensors);
            expect(result, `${ranks} ranks, ${JSON.stringify({ mapping, dims })}`).toMatchObject({ correct: true });
          }
        }
    });

  it("moves what its summands would move, and keeps nothing", () => {
    const summands = `
collective f(x: T[m, n] partial(sum)) -> y: T[m, n] replicated { y = all_reduce(x * 2) }`;
    for (const ranks of [2, 4])
      for (const mapping of WAYS) {
        const [rows, parts] = [ROWS["a function of each"], summands].map((text) => compile(text, { ranks, mapping }).kernel!.buffers.map(({ role, name, dtype, symmetric }) => ({ role, name, dtype, symmetric }))); // prettier-ignore
        expect(rows).toEqual(parts);
      }
  });
});
