/** What intervals say of whole numbers, against the numbers themselves: also where doubles begin to round. */
import { expect, it } from "vitest";
import { foldBinary, foldCompare } from "../../src/compiler/ir/functions.js";
import { type Op, Value } from "../../src/compiler/ir/module.js";
import { BINARY_FUNCTIONS, COMPARISONS } from "../../src/compiler/ir/ops.js";
import { BOOL, INDEX, scalar } from "../../src/compiler/ir/types.js";
import { NO_SPAN } from "../../src/compiler/source.js";
import { both, type Range, rangeOf } from "../../src/compiler/prove/ranges.js";
import { randomKey, randomStream } from "../../src/runtime/numbers/index.js";

const FUNCTIONS = BINARY_FUNCTIONS.filter((fn) => fn !== "pow");

const EXACT: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  rem: (a, b) => a % b,
  min: (a, b) => (a < b ? a : b),
  max: (a, b) => (a < b ? b : a),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => a << b,
  shr: (a, b) => a >> b,
};

const op = (name: "binary" | "compare", fn: string, kind: "index" | "i64"): Op => {
  const type = kind === "index" ? INDEX : scalar(kind);
  const operands = [new Value(type), new Value(type)];
  return { name, operands, results: [new Value(name === "compare" ? BOOL : type)], attributes: { fn }, regions: [], span: NO_SPAN }; // prettier-ignore
};

it("hold what every pair of numbers gives, near powers of 2 up to those that doubles count", () => {
  const next = randomStream(randomKey(3, 0));
  const below = (n: number): number => (next() >>> 0) % n;
  let known = 0;
  for (let k = 0; k < 15_000; k++) {
    const fn = FUNCTIONS[below(FUNCTIONS.length)]!;
    const near = (most: number): number => 2 ** below(most) + below(5) - 2;
    const ends = (most: number): [number, number] => {
      const x = near(most) * (below(4) === 0 ? -1 : 1);
      return [x, x + (below(3) === 0 ? 0 : Math.max(0, near(below(2) === 0 ? 4 : most)))];
    };
    const isShift = fn === "shl" || fn === "shr";
    const a = ends(54);
    const b: [number, number] = isShift ? [below(4), 4 + below(40)] : ends(54);
    if (![...a, ...b].every(Number.isSafeInteger)) continue;
    const kind = below(2) === 0 ? "index" : "i64";
    const range = rangeOf(op("binary", fn, kind), [a, b]);
    if (range === null) continue;
    known++;
    const inside = ([lo, hi]: readonly [number, number]): bigint[] =>
      [lo, hi, Math.floor(lo / 2 + hi / 2), Math.min(hi, lo + 1), Math.max(lo, hi - 1)].map(BigInt);
    for (const x of inside(a))
      for (const y of inside(b)) {
        if ((fn === "div" || fn === "rem") && y === 0n) continue;
        const exact = EXACT[fn]!(x, y);
        const isIn = BigInt(range[0]) <= exact && exact <= BigInt(range[1]);
        if (!isIn)
          expect.fail(`${x} ${fn} ${y} of [${a.join()}] and [${b.join()}] is ${exact}, not in [${range.join()}]`);
      }
  }
  expect(known).toBeGreaterThan(4000);
});

it("decide a comparison where all numbers decide it alike", () => {
  const next = randomStream(randomKey(4, 0));
  const below = (n: number): number => (next() >>> 0) % n;
  for (let k = 0; k < 5000; k++) {
    const fn = COMPARISONS[below(COMPARISONS.length)]!;
    const [x, y] = [below(4), below(4)];
    const [a, b] = [[x, x + below(3)], [y, y + below(3)]] as [[number, number], [number, number]]; // prettier-ignore
    const holds = Array.from({ length: 9 }, (_, n) => [a[0] + Math.floor(n / 3), b[0] + (n % 3)] as const)
      .filter(([p, q]) => p <= a[1] && q <= b[1])
      .map(([p, q]) => Number(foldCompare(fn, p, q)));
    const range = rangeOf(op("compare", fn, "index"), [a, b]);
    expect(range).toEqual([Math.min(...holds), Math.max(...holds)]);
  }
});

it("say nothing of what doubles do not count", () => {
  const large = 2 ** 53 - 1;
  const of = (fn: string, kind: "index" | "i64", a: Range, b: Range): Range => rangeOf(op("binary", fn, kind), [a, b]);
  for (const kind of ["index", "i64"] as const) {
    expect(of("add", kind, both(large), both(1))).toBe(null);
    expect(of("mul", kind, [0, large], both(2))).toBe(null);
    expect(of("or", kind, [0, 2 ** 48], [0, 1])).toEqual([0, 2 ** 49 - 1]);
    expect(of("sub", kind, both(large), both(large))).toEqual([0, 0]);
  }
  expect(foldBinary("or", 2 ** 48, 1)).toBe(2 ** 48 + 1);
});
