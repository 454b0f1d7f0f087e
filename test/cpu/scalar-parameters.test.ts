/** Numbers that launches are given, `eps: f32`: computed with as they are, proved for all values, checked before a launch. */
import { describe, expect, test } from "vitest";
import { compile, parseKernel, printKernel } from "../../src/compiler/index.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { UsageError } from "../../src/runtime/errors.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { rejection } from "../runtime/helpers.js";

const NORM = `collective norm(x: T[m, n] partial(sum), weight: T[n] replicated, eps: f32) -> y: T[m, n] replicated
  where T in (bf16, f32) {
  let h = all_reduce(x)
  y = h * rsqrt(mean(h * h, dim: 1) + eps) * weight
}
`;
const LOOPS = (
  value: string,
): string => `collective f(x: f32[n] partial(sum), alpha: f32, step: u32, off: i32) -> y: f32[n] replicated
  ensures y[i] == (sum(p in ranks) x@p[i]) * alpha / f32(step) + f32(off) {
  let rate = alpha / f32(step)
  for i in tiles(chunk(n, rank)) {
    let v = ${value}
    for p in ranks {
      y@p[i] = v
    }
  }
}
`;
const RIGHT = "(sum(p in ranks) x@p[i]) * rate + f32(off)";
const whole = (text: string, ranks = 2, dtype: "f32" | "bf16" | "i32" | "u32" = "f32") =>
  compile(text, { ranks, dtype });
const proved = (text: string) => {
  const { kernel, diagnostics } = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
  expect(diagnostics).toEqual([]);
  return prove({ kernel }, { shared: sharedLayout(kernel!) });
};

describe("values", () => {
  test.each([1e-5, 0.5, 3e7])("of a norm with eps = %d, unrounded beside bf16", (eps) => {
    const { kernel, manifest } = whole(NORM, 2, "bf16");
    const dims = { m: 5, n: 40, eps };
    const ranks = makeInputs(manifest!, dims, 3);
    new CpuGroup(kernel!, manifest!).run(ranks, dims);
    expect(checkOutputs(manifest!, dims, ranks, ranks)).toMatchObject({ correct: true });
    // The reference knows the number: with another one it is another result.
    expect(checkOutputs(manifest!, { ...dims, eps: 2 + 2 * eps }, ranks, ranks)).toMatchObject({ correct: false });
  });

  // What the sum is multiplied by with alpha = 0.25, step = 3, on 3 ranks: by hand, since the reference is made of the same tree.
  test.each([
    ["a let of them", "", "let c = 1 - pow(0.9, f32(step))\n let d = c * alpha", "d / c", 0.25],
    ["a let of a written number", "", "let c = 0.5", "c * alpha", 0.125],
    ["an argument of a function", "fn of(b, t) = 1 - pow(b, t)", "", "alpha / of(0.9, f32(step))", 0.25 / 0.271],
    [
      "an argument that goes on to another",
      "fn twice(a) = a + a\nfn of(b, t) = twice(b * t) / b",
      "",
      "of(alpha, f32(step) + 1)",
      8,
    ],
    ["the number of ranks, as a float", "", "let half = f32(world) / 2", "alpha / half / f32(world)", 0.25 / 4.5],
    ["the same, as an argument", "fn part(a, w) = a / (w + 1)", "", "part(alpha, f32(world))", 0.0625],
  ])("computed beside whole tensors: %s", (_, functions, lets, factor, by) => {
    const text = `${functions}
      collective f(x: f32[n] partial(sum), alpha: f32, step: u32) -> y: f32[n] replicated {
        ${lets}
        y = all_reduce(x) * (${factor})
      }`;
    const { kernel, manifest, diagnostics } = whole(text, 3);
    expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    const dims = { n: 77, alpha: 0.25, step: 3 };
    const ranks = makeInputs(manifest!, dims, 3);
    new CpuGroup(kernel!, manifest!).run(ranks, dims);
    expect(checkOutputs(manifest!, dims, ranks, ranks)).toMatchObject({ correct: true });
    const sum = ranks.reduce((all, { inputs }) => all + Number(inputs["x"]![5]), 0);
    expect(Number(ranks[1]!.outputs["y"]![5])).toBeCloseTo(sum * by, 5);
  });

  test("a function is given the number of ranks where a launch is given no numbers, too", () => {
    const text = `fn mean(a, w) = a / w
      collective f(x: f32[n] partial(sum)) -> y: f32[n] replicated { y = mean(all_reduce(x), f32(world) * 2) }`;
    const { kernel, manifest, diagnostics } = whole(text, 3);
    expect(diagnostics).toEqual([]);
    const ranks = makeInputs(manifest!, { n: 10 }, 3);
    new CpuGroup(kernel!, manifest!).run(ranks, { n: 10 });
    expect(checkOutputs(manifest!, { n: 10 }, ranks, ranks)).toMatchObject({ correct: true });
  });

  test.each([
    ["given twice", "let c = alpha * 2\n let c = alpha * 3", "duplicate-name"],
    ["with the name of an input", "let x = alpha * 2", "duplicate-name"],
  ])("a let of them %s is refused", (_, lets, code) => {
    const text = `collective f(x: f32[n] partial(sum), alpha: f32) -> y: f32[n] replicated {
      ${lets}
      y = all_reduce(x)
    }`;
    expect(whole(text).diagnostics.map((d) => d.code)).toContain(code);
  });

  test("of one compilation, one after the other, whole ones among them", () => {
    const { kernel, manifest } = whole(LOOPS(RIGHT), 3);
    const group = new CpuGroup(kernel!, manifest!);
    for (const [alpha, step, off] of [
      [1, 1, 0],
      [-0.25, 1000, -7],
      [2.5, 4294967295, 2147483647],
    ] as const) {
      const dims = { n: 131, alpha, step, off };
      const ranks = makeInputs(manifest!, dims, step);
      group.run(ranks, dims);
      expect(checkOutputs(manifest!, dims, ranks, ranks)).toMatchObject({ correct: true });
    }
  });

  test("reach integer tensors, functions and conditions of whole tensors", () => {
    const { kernel, manifest, diagnostics } = whole(
      `fn scaled(t, by) = t * by + t
collective f(x: i32[n] sharded(0), v: f32[n] replicated, k: i32, cut: f32) -> (y: i32[n] replicated, w: f32[n] replicated) {
  y = all_gather(scaled(x, k)) - k
  w = where(v > -cut, v * tanh(cut), f32(k)) + cut
}`,
    );
    expect(diagnostics).toEqual([]);
    const dims = { n: 20, k: -3, cut: 0.125 };
    const ranks = makeInputs(manifest!, dims, 1);
    new CpuGroup(kernel!, manifest!).run(ranks, dims);
    expect(checkOutputs(manifest!, dims, ranks, ranks)).toMatchObject({ correct: true, unspecified: [] });
  });
});

describe("proofs", () => {
  test("hold for all values", () => {
    expect(proved(LOOPS(RIGHT)).answer.status).toBe("proved");
    expect(proved(NORM).answer.status).toBe("proved");
  });

  test.each([
    ["another number", "(sum(p in ranks) x@p[i]) * alpha + f32(off)"],
    ["counted twice", "(sum(p in ranks) x@p[i]) * rate + f32(off) + f32(off)"],
    ["a value that some number may have", "(sum(p in ranks) x@p[i]) * rate + 1"],
  ])("find out %s", (_, value) => {
    expect(proved(LOOPS(`${value} + rate * 0 + f32(off) * 0`)).answer.status).toBe("wrong");
  });

  test("say that they cannot tell where a number reaches an index through memory", () => {
    const claims = proved(`collective f(x: f32[n] local, k: u32) -> y: f32[n] local
  ensures y[i] == x[i] {
  scratch at: u32[n]
  for i in tiles(n) {
    at[i] = k
  }
  for i in tiles(n) {
    y[i] = x[index(at[i])]
  }
}`);
    expect([claims.answer.status, claims.ordering.status]).toEqual(["unknown", "unknown"]);
  });
});

test("types: what does not fit is said, with what to write", () => {
  const said = (text: string) => whole(text).diagnostics.map((d) => [d.code, d.help]);
  const over = (value: string, T = "i32"): string =>
    `collective f(x: ${T}[n] replicated, eps: f32, k: u32) -> y: ${T}[n] replicated {\n  y = x * ${value} + x * f32(k)\n}`;
  expect(said(over("eps"))[0]).toEqual(["dtype-mismatch", "cast one of them: i32(…) or f32(…)"]);
  expect(said(over("k", "f32"))).toEqual([["dtype-mismatch", "cast one of them: f32(…) or u32(…)"]]);
  expect(said(over("f32(k + 1) * eps", "f32"))).toEqual([
    ["not-a-whole-tensor", "cast the number itself, f32(k), and compute with that"],
  ]);
  expect(said(over("exp(k)", "f32"))).toEqual([["needs-float", "cast it: f32(…)"]]);
  expect(said("collective f(x: f32[n] replicated, eps: f32) -> y: f32[n] replicated {\n  y = x\n}")).toEqual([
    ["unused", "remove it, or use it"],
  ]);
});

test("the manifest, the printed kernel and the text form name them", () => {
  const { manifest, kernel, cuda } = whole(LOOPS(RIGHT));
  expect(manifest!.scalars).toEqual([
    { name: "alpha", dtype: "f32" },
    { name: "step", dtype: "u32" },
    { name: "off", dtype: "i32" },
  ]);
  expect(manifest!.kernels[0]!.parameters.filter((p) => p.kind === "scalar")).toEqual([
    { kind: "scalar", name: "alpha", dtype: "f32" },
    { kind: "scalar", name: "step", dtype: "u32" },
    { kind: "scalar", name: "off", dtype: "i32" },
  ]);
  expect(cuda).toMatch(/const float s_alpha, const u32 s_step, const int s_off, const int rank/);
  expect(printKernel(parseKernel(printKernel(kernel!)))).toBe(printKernel(kernel!));
});

test("a launch refuses numbers that are missing, misspelt, or none of their dtype", async () => {
  const group = new EmulatedGroup(2);
  const kernel = await group.load(whole(LOOPS(RIGHT)));
  const [x, y] = [await group.symmetric("f32", [8]), await group.symmetric("f32", [8])];
  const given = { n: 8, alpha: 1, step: 2, off: 3 };
  await kernel.run({ x, y }, given);
  for (const [values, message] of [
    [{ n: 8, step: 2, off: 3 }, "the number 'alpha' of f has no value"],
    [{ ...given, alhpa: 1 }, "f has no dimension 'alhpa', nor such a number"],
    [{ ...given, step: -1 }, "the number 'step' cannot be -1"],
    [{ ...given, off: 0.5 }, "the number 'off' cannot be 0.5"],
    [{ ...given, alpha: 1e39 }, "the number 'alpha' cannot be 1e+39"],
    [{ ...given, alpha: NaN }, "the number 'alpha' cannot be NaN"],
  ] as const) {
    const error = await rejection(kernel.run({ x, y }, values));
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toBe(message);
  }
  await kernel.run({ x, y }, { ...given, alpha: Infinity });
  await group.close();
});
