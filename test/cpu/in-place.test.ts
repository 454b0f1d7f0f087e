/** Inputs that are changed in place: an output of an input's name. */
import { describe, expect, test } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { compile, type CompileResult } from "../../src/compiler/index.js";
import { prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { rejection } from "../runtime/helpers.js";
import { isAll, pairs, turned } from "../scope.js";

const ALL_REDUCE = "collective f(x: T[n] partial(sum)) -> x: T[n] replicated {\n  x = all_reduce(x)\n}\n";
const LOOPS = (body: string, layouts = "partial(sum)) -> x: T[n] replicated"): string =>
  `collective f(x: T[n] ${layouts} {\n${body}\n}\n`;
const TWO_SHOT = LOOPS(`  for i in tiles(chunk(n, rank)) {
    let s = sum(p in ranks) x@p[i]
    for p in ranks {
      x@p[i] = s
    }
  }`);
const RIGHT: Readonly<Record<string, string>> = {
  "a sum over ranks": ALL_REDUCE,
  "the same in loops": TWO_SHOT,
  "what one rank has": "collective f(x: T[n] on(1)) -> x: T[n] replicated {\n  x = broadcast(x)\n}\n",
  "a reduction to one rank": "collective f(x: T[n] partial(max)) -> x: T[n] on(0) {\n  x = reduce(x, to: 0)\n}\n",
  "rows that change places":
    "collective f(x: T[n, n] sharded(0)) -> x: T[n, n] sharded(0) {\n  x = all_to_all(transpose(x), dim: 0) * 2\n}\n",
  "a square of itself": "collective f(x: T[n, n] replicated) -> x: T[n, n] replicated {\n  x = x @ x\n}\n",
  "old and new values side by side": `collective f(x: T[n] partial(sum), z: T[n] replicated) -> (x: T[n] replicated, y: T[n] replicated) {
  let old = all_reduce(x * 2)
  x = all_reduce(x) + z
  y = old - x
}
`,
  "a residual stream": `collective f(h: T[m, n] partial(sum), r: T[m, n] replicated, eps: f32) -> (r: T[m, n] replicated, y: T[m, n] replicated) {
  r = r + all_reduce(h)
  y = r * rsqrt(mean(r * r, dim: 1) + eps)
}
`,
  "two that need each other": `collective f(x: T[m, n] sharded(0), z: T[m, n] sharded(0)) -> (z: T[m, n] sharded(0), x: T[m, n] sharded(0)) {
  let s = x + z
  x = s * 2
  z = s + x
}
`,
  "what a neighbour had": `collective f(x: T[n] local) -> x: T[n] local
  ensures x[i] == x@((rank + 1) % world)[n - 1 - i] {
  scratch s: T[n]
  for i in tiles(n) {
    s[i] = x@((rank + 1) % world)[n - 1 - i]
  }
  for i in tiles(n) {
    x[i] = s[i]
  }
}
`,
};

/** Those whose proofs take seconds. */
const LONG = ["rows that change places", "a square of itself"];

/** One kernel of a program that has several, which one `turn` says; with COLLC_TESTS=all each. */
const proved = (text: string, turn = 0) => {
  const { kernel, diagnostics, variants } = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
  expect(diagnostics).toEqual([]);
  const kernels = variants.length > 0 ? variants.map((v) => v.compiled.kernel!) : [kernel!];
  return turned(kernels, turn).map((k) => prove({ kernel: k }, { shared: sharedLayout(k) }));
};

describe.each(Object.entries(RIGHT).map(([name, text], turn) => [name, text, turn] as const))(
  "%s",
  (name, text, turn) => {
    const cases = pairs([1, 2, 3], ["f32", "bf16"] as const, turn);
    test.each([1, 2, 3])("is computed as if old and new lay apart, on %i ranks", (ranks) => {
      if (ranks === 1 && text.includes("on(1)")) return;
      for (const [, dtype] of cases.filter(([r]) => r === ranks)) {
        const program = compile(text, { ranks, dtype });
        expect(program.diagnostics).toEqual([]);
        const kernels: readonly CompileResult[] =
          program.variants.length > 0 ? program.variants.map((v) => v.compiled) : [program];
        for (const { kernel, manifest } of kernels) {
          const group = new CpuGroup(kernel!, manifest!, { detectUnwritten: true, seed: 5 });
          const dims = { m: 6, n: 6 * 37, eps: 0.25 };
          const tensors = makeInputs(manifest!, dims, 1);
          for (const launch of [0, 1]) {
            group.run(tensors, dims);
            expect(checkOutputs(manifest!, dims, tensors, tensors), `launch ${launch}`).toMatchObject({
              correct: true,
            });
          }
        }
      }
    });

    test.runIf(isAll || !LONG.includes(name))("is proved", () => {
      for (const { answer, ordering } of proved(text, turn))
        expect([answer.status, ordering.status]).toEqual(["proved", "proved"]);
    });
  },
);

describe("what is wrong is found, with what to do", () => {
  const overtakes = LOOPS("  for i in tiles(n) {\n    x[i] = sum(p in ranks) x@p[i]\n  }");
  const shifts = LOOPS(
    "  for i in tiles(n) {\n    x[i] = x[(i + 1) % n]\n  }",
    "local) -> x: T[n] local\n  ensures x[i] == x[(i + 1) % n]",
  );
  test.each([overtakes, shifts])("an iteration that stores what another one reads", (text) => {
    const [claims] = proved(text);
    expect(claims!.ordering).toMatchObject({
      status: "wrong",
      kind: "race",
    });
  });

  test("the new value taken for the old one", () => {
    const [claims] = proved(
      LOOPS(
        "  for i in tiles(n) {\n    x[i] = x[i] * 2\n  }\n  for i in tiles(n) {\n    x[i] = x[i] + 1\n  }",
        "local) -> x: T[n] local\n  ensures x[i] == x[i] + 1",
      ),
    );
    expect(claims!.answer.status).toBe("wrong");
  });

  test("memory that is not the same", () => {
    const said = (text: string): string[] => compile(text, { ranks: 2, dtype: "f32" }).diagnostics.map((d) => d.code);
    expect(said(LOOPS("  x = all_gather(x)", "sharded(0)) -> x: T[n] replicated"))).toEqual(["not-in-place"]);
    expect(said(LOOPS("  x = f16(x)", "local) -> x: f16[n] local"))).toEqual(["not-in-place"]);
    expect(said(LOOPS("  for i in tiles(n) {\n    x[i] = 1\n  }", "local) -> x: T[n] local"))).toEqual(["unused"]);
    expect(said("collective f(x: T[n] local, y: T[n] local) -> (x: T[n] local, x: T[n] local) {\n  x = y + x\n}")).toContain("duplicate-name"); // prettier-ignore
  });
});

test("no copy is made of what is replaced element by element by who has read it", () => {
  const buffers = (text: string): string[] =>
    compile(text, { ranks: 4, dtype: "f32", variant: "two_shot" }).kernel!.buffers.map((b) => `${b.name}: ${b.role}`);
  expect(buffers(ALL_REDUCE).filter((b) => !/flags|epoch/.test(b))).toEqual(["x: inout"]);
});

test("a caller gives one tensor, which holds the result; another that shares its memory is refused", async () => {
  const group = new EmulatedGroup(2);
  const compiled = compile(RIGHT["a residual stream"]!, { ranks: 2, dtype: "f32" });
  expect(compiled.manifest!.inPlace).toEqual(["r"]);
  const kernel = await group.load(compiled);
  const [h, r, y] = [
    await group.symmetric("f32", [8]),
    await group.symmetric("f32", [8]),
    await group.symmetric("f32", [8]),
  ];
  for (const rank of [0, 1]) {
    h.write(
      Float32Array.from({ length: 8 }, (_, i) => i + rank),
      rank,
    );
    r.write(new Float32Array(8).fill(100), rank);
  }
  const dims = { m: 1, n: 8, eps: 0 };
  await kernel.run({ h, r, y }, dims);
  expect([...(await r.read(1))]).toEqual([101, 103, 105, 107, 109, 111, 113, 115]);
  await kernel.run({ h, r, y }, dims);
  expect([...(await r.read(0))].slice(0, 2)).toEqual([102, 106]);
  const error = await rejection(kernel.run({ h, r, y: h }, dims));
  expect(error.message).toBe("'y' shares memory with 'h'");
  expect(error.help).toContain("to change 'h' in place, name it as an output: -> h: …");
  await group.close();
});

test.each(turned([2, 4], 1))("short sums travel in packets, and wait in no scratch, on %i ranks", (ranks) => {
  const packed = (mapping?: typeof PROOF_MAPPING): CompileResult =>
    compile(ALL_REDUCE, { ranks, dtype: "bf16", variant: "one_shot+packets", ...(mapping && { mapping }) });
  const { kernel, manifest, diagnostics } = packed();
  expect(diagnostics).toEqual([]);
  expect([...new Set(kernel!.buffers.map((b) => b.role))].sort()).toEqual(
    expect.arrayContaining(["inout", "packet"]) as string[],
  );
  expect(kernel!.buffers.filter((b) => b.role === "scratch")).toEqual([]);
  // Callers' memory needs no peer.
  expect(manifest!.symmetric).toEqual([]);
  const group = new CpuGroup(kernel!, manifest!, { detectUnwritten: true });
  for (const n of [1, 64, 1000])
    for (const seed of [1, 2]) {
      const data = makeInputs(manifest!, { n }, seed);
      const given = data.map((r) => ({ inputs: { x: r.inputs["x"]!.slice() } }));
      group.run(data, { n });
      expect(checkOutputs(manifest!, { n }, given, data)).toMatchObject({
        correct: true,
        bitwiseEqualAcrossRanks: true,
      });
    }
  const small = packed(PROOF_MAPPING).kernel!;
  const claims = prove({ kernel: small }, { shared: sharedLayout(small) });
  expect([claims.answer.status, claims.ordering.status]).toEqual(["proved", "proved"]);
});
