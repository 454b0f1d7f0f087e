/** What launches compute for kernels is what kernels would have computed. */
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

describe.each(Object.entries(TEXTS))("lengths of a launch of a %s", (_, text) => {
  const { kernel, cuda } = compile(text, { ranks: 2, dtype: "bf16", arch: "sm_90a" });
  const { names, lengths } = launchLengthsOf(kernel!);

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
        }
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
