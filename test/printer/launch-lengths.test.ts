/** What launches compute for kernels is what kernels would have computed. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parametersOf } from "../../src/compiler/emit/manifest.js";
import { launchLengthsOf } from "../../src/compiler/emit/launch-lengths.js";
import { compile } from "../../src/compiler/index.js";
import type { Op, Value } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { withLengths } from "../../src/runtime/cuda/launch.js";

const TEXTS = {
  product: `collective f(a: T[m, k] local, b: T[k, n] local) -> c: T[m, n] local { c = a @ b }`,
  gathered: `collective f(a: T[m, k] sharded(0), b: T[k, n] sharded(1)) -> c: T[m, n] sharded(1) { c = all_gather(a, dim: 0) @ b }`,
  scattered: `collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] sharded(0) { c = reduce_scatter(a @ b, dim: 0) }`,
};

/** Lengths on both sides of every choice: no rows, few, some, and so many that products go beyond 32 bits. */
const LENGTHS = [0, 1, 4, 60, 128, 132, 1000, 8192, 70_000];

/** What ops compute of dimensions, as kernels do: whole numbers, quotients cut off. */
function computed(op: Op, of: (v: Value) => bigint | undefined, dims: Readonly<Record<string, number>>): bigint | null {
  const fn = op.attributes["fn"];
  if (op.name === "const") return BigInt(Number(op.attributes["value"]));
  if (op.name === "dim") return BigInt(dims[op.attributes["name"] as string]!);
  const operands = op.operands.map(of);
  if (operands.includes(undefined)) return null;
  const [a, b, c] = operands as bigint[];
  if (op.name === "select") return a !== 0n ? b! : c!;
  const truth = (x: boolean): bigint => (x ? 1n : 0n);
  if (op.name === "compare")
    return truth({ lt: a! < b!, le: a! <= b!, gt: a! > b!, ge: a! >= b!, eq: a! === b!, ne: a! !== b! }[fn as "lt"]);
  if (op.name !== "binary") return null;
  if (fn === "div" || fn === "rem") return b === 0n ? null : fn === "div" ? a! / b! : a! % b!;
  const found: Record<string, bigint> = {
    ...{ add: a! + b!, sub: a! - b!, mul: a! * b!, and: a! & b!, or: a! | b! },
    ...{ min: a! < b! ? a! : b!, max: a! > b! ? a! : b! },
  };
  return found[fn as string] ?? null;
}

it("quotients of what programs say are signed, of tiles' numbers not", () => {
  const text = readFileSync(new URL("../gpu/language/behind_zero.coll", import.meta.url), "utf8");
  const { cuda } = compile(text, { ranks: 2, dtype: "bf16", arch: "sm_90a" });
  expect(compile(TEXTS.product, { ranks: 2, dtype: "bf16", arch: "sm_90a" }).cuda).not.toContain("signed_quotient");
  expect(cuda!).toMatch(/signed_quotient<false>\(v\d+, d_m, d_length_\d+\)/);
});

it("what is one of two numbers has the reciprocal of one, where tiles say that it is no third", () => {
  const text = `collective f(a: T[m, k] local, b: T[k, n] local, s: T[16] local) -> (c: T[m, n] local, y: T[m] local) {
    c = a @ b
    for g in 0..(m + 7) / 8 { for i in tiles(min(8, m - 8 * g)) { y[8 * g + i] = s[(i - 3) / min(8, m - 8 * g) + 3] } }
  }`;
  const { cuda, diagnostics } = compile(text, { ranks: 1, dtype: "bf16", arch: "sm_90a" });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  const lines = cuda!.split("\n");
  const isOfTwo = (v: string): boolean =>
    lines.some((l) => l.includes(`const i64 ${v} = `) && /(8ll < |< 8ll)/.test(l));
  const signed = [...cuda!.matchAll(/signed_quotient<\w+>\(v\d+, (v\d+)(, \w+)?\)/g)].filter(([, v]) => isOfTwo(v!));
  expect(signed.length).toBeGreaterThan(0);
  for (const [, , reciprocal] of signed) expect(reciprocal).toBeUndefined();
});

describe.each(Object.entries(TEXTS))("lengths of a launch of a %s", (name, text) => {
  const { kernel, cuda } = compile(text, { ranks: 2, dtype: "bf16", arch: "sm_90a" });
  const { names, lengths, reciprocals } = launchLengthsOf(kernel!);

  it("are those that the kernel had computed", () => {
    expect(names.size).toBeGreaterThan(3);
    for (const m of LENGTHS)
      for (const k of [0, 1, 64, 4096, 70_000])
        for (const n of LENGTHS) {
          const dims = { m, k, n };
          const known = withLengths(lengths, dims);
          const values = new Map<Value, bigint>();
          walkKernel(kernel!, (op) => {
            const [result] = op.results;
            const value = op.results.length === 1 && op.regions.length === 0 ? computed(op, (v) => values.get(v), dims) : null; // prettier-ignore
            if (value !== null) values.set(result!, value);
          });
          const wrong = [...names].filter(([v, name]) => values.get(v) !== BigInt(known[name]!));
          expect({ dims, wrong: wrong.map(([, name]) => name) }).toEqual({ dims, wrong: [] });
          for (const [v, { name: reciprocal, or }] of reciprocals) {
            const by = values.get(v);
            if (or === null) expect(BigInt(known[reciprocal]!)).toBe(2n ** 52n / (by! > 1n ? by! : 1n) + 1n);
          }
        }
  });

  it("multiply what is divided by them", () => {
    const entry = cuda!.slice(cuda!.indexOf('extern "C"'));
    const quotients = [...entry.matchAll(/quotient\(([^()]|\([^()]*\))*\)/g)].map(([all]) => all);
    expect(quotients.filter((q) => q.includes("d_length_")).length).toBeGreaterThan(5);
    // What says where a block's tiles lie comes first; movers divide by the lengths of parts, which differ.
    if (name !== "gathered") for (const q of quotients.slice(0, 4)) expect(q).toMatch(/, d_length_\d+\)$/);
  });

  it("are parameters, and nothing is divided before the first tile", () => {
    const taken = parametersOf(kernel!).flatMap((p) => (p.kind === "length" ? [p.name] : []));
    expect(new Set(taken).size).toBe(taken.length);
    expect(lengths.map(({ name }) => name)).toEqual(expect.arrayContaining(taken));
    for (const name of taken) expect(cuda).toContain(`const i64 d_${name}`);
    const before = cuda!.slice(cuda!.indexOf('extern "C"'), cuda!.indexOf("ring_begin", cuda!.indexOf('extern "C"')));
    expect(before).not.toMatch(/quotient\((?!.*(block|grid))/);
  });
});

it("do not take a dimension's name", () => {
  const text = TEXTS.product.replaceAll("n]", "length_0]");
  const { manifest } = compile(text, { ranks: 1, dtype: "bf16", arch: "sm_90a" });
  const [kernel] = manifest!.kernels;
  expect(kernel!.lengths.map(({ name }) => name)).not.toContain("length_0");
  expect(kernel!.parameters).toContainEqual({ kind: "dim", name: "length_0" });
});

it("are none where nothing is divided by what a launch brings", () => {
  const text = "collective f(x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) }";
  const { manifest } = compile(text, { ranks: 2, dtype: "bf16", arch: "sm_90a" });
  expect(manifest!.kernels.flatMap(({ lengths }) => lengths)).toEqual([]);
});

/** The least and the greatest of what is divided, and by what, and some in between. */
const NUMBERS = [0, 1, 2, 3, 5, 7, 8, 10, 20, 30, 31, 32, 33, 40, 47, 51, 52].flatMap((bits) =>
  [-1, 0, 1, 12_345].map((more) => 2 ** bits + more),
);

it("a product with a reciprocal is the quotient, and of what is negative, too", () => {
  const text = readFileSync(new URL("../gpu/language/behind_zero.coll", import.meta.url), "utf8");
  const { cuda } = compile(text, { ranks: 2, dtype: "bf16", arch: "sm_90a" });
  const functions = cuda!.match(/(template <[^\n]*> )?__device__ __forceinline__ i64 \w*quotient\([\s\S]*?\n\}\n/g)!;
  expect(functions).toHaveLength(3);
  const printed = functions.join("");
  const below = NUMBERS.filter((a) => a >= 0 && a < 2 ** 52);
  const folder = mkdtempSync(join(tmpdir(), "collc-quotient-"));
  try {
    const file = join(folder, "quotient");
    writeFileSync(
      `${file}.cpp`,
      `#include <cstdio>
typedef long long i64; typedef unsigned long long u64; typedef unsigned u32;
#define __device__
#define __forceinline__ inline
static u64 __umul64hi(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
${printed}
int main() {
  const i64 numbers[] = {${below.join(", ")}};
  u64 random = 1; int wrong = 0, tried = 0;
  auto is = [&](i64 a, i64 b) {
    tried++;
    if (a >= 1ll << 52 || b <= 0) return;
    const i64 reciprocal = (1ll << 52) / b + 1;
    if (quotient(a, b, reciprocal) != a / b || quotient(a, b) != a / b) wrong++;
    if (signed_quotient<false>(-a, b, reciprocal) != -a / b || signed_quotient<false>(a, b) != a / b || signed_quotient<true>(-a, b) != -a / b) wrong++;
    if (signed_quotient<true>(a, -b) != a / -b || signed_quotient<true>(-a, -b) != -a / -b) wrong++;
  };
  for (i64 a : numbers) for (i64 b : numbers) is(a, b);
  for (int i = 0; i < 1000000; i++) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    const i64 a = (random >> 12) >> (random % 52); random = random * 6364136223846793005ull + 1442695040888963407ull;
    const i64 b = (random >> 12) >> (random % 52);
    is(a, b); is(a / (b + 1) * b, b); is(a / (b + 1) * b + b - 1, b);
  }
  std::printf("%d of %d", wrong, tried); return 0;
}`,
    );
    execFileSync(process.env["CXX"] ?? "c++", ["-O1", "-o", file, `${file}.cpp`]);
    expect(execFileSync(file, { encoding: "utf8" })).toMatch(/^0 of 30\d{5}$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
