/**
 * The printer against the executor: random device-level kernels run as JavaScript and as printed CUDA text, which the host's
 * C++ compiler takes against a small shim. Each run draws new seeds, and says so; `COLLC_PRINTER_SEED` runs those of another.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { emitCuda } from "../../src/compiler/emit/cuda.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { DTYPES } from "../../src/compiler/types/dtype.js";
import { decode, encodeArray, allocate, type TypedArray } from "../../src/runtime/numbers/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { randomKey, randomStream } from "../../src/runtime/numbers/index.js";
import { manifestFor } from "../cpu/kernels.js";
import { type HostCase, lengthsOf, runOnHost } from "./host.js";
import { BLOCKS, LENGTH, randomKernel } from "./kernels.js";

const dims = { n: LENGTH };
const given = process.env["COLLC_PRINTER_SEED"];
const first = given === undefined ? Math.floor(Math.random() * 2 ** 24) : Number(given);
const KERNELS = Number(process.env["COLLC_PRINTER_KERNELS"] ?? 10);

/** Random inputs; everything else is zero. */
function memoryOf(kernel: Kernel, seed: number): TypedArray[][] {
  const lengths = lengthsOf(kernel, dims);
  return kernel.buffers.map((b, j) =>
    Array.from({ length: kernel.world }, (_, rank) => {
      const random = randomStream(randomKey(seed, j, rank));
      const array = allocate(b.dtype, lengths[j]!);
      if (b.role !== "input") return array;
      // Integers of any size: every second one a small one. Of truth values, half are 0, and the others any byte.
      if (array instanceof BigInt64Array)
        for (let i = 0; i < array.length; i++)
          array[i] = BigInt.asIntN(64, i % 2 === 0 ? (BigInt(random()) << 32n) | BigInt(random()) : BigInt(random() >>> 24) - 128n); // prettier-ignore
      else if (DTYPES[b.dtype].kind === "float")
        return encodeArray(
          b.dtype,
          Float64Array.from(array, () => ((random() % 256) - 128) / 1.5),
        );
      else if (b.dtype === "bool") for (let i = 0; i < array.length; i++) array[i] = random() % 2 === 0 ? 0 : random();
      else for (let i = 0; i < array.length; i++) array[i] = random() >>> (i % 2 === 0 ? 0 : 24);
      return array;
    }),
  );
}

function caseOf(kernel: Kernel, seed: number, cuda = emitCuda(kernel, null)): HostCase {
  return { kernel, cuda, dims, grid: BLOCKS, memory: memoryOf(kernel, seed) };
}

/** What the executor leaves in the outputs, by buffer and rank. */
function executed(kernel: Kernel, seed: number): TypedArray[][] {
  const memory = memoryOf(kernel, seed);
  const tensors = (role: string, rank: number): Record<string, TypedArray> =>
    Object.fromEntries(kernel.buffers.flatMap((b, j) => (b.role === role ? [[b.name, memory[j]![rank]!]] : [])));
  const ranks = Array.from({ length: kernel.world }, (_, r) => ({ inputs: tensors("input", r), outputs: tensors("output", r) })); // prettier-ignore
  new CpuGroup(kernel, manifestFor(kernel), { detectUnwritten: true }).run(ranks, dims);
  return memory;
}

/** The first element of an output in which they differ, in words. */
function difference(kernel: Kernel, ours: readonly TypedArray[][], theirs: readonly TypedArray[][]): string | null {
  for (const [j, b] of kernel.buffers.entries())
    for (let rank = 0; b.role === "output" && rank < kernel.world; rank++) {
      const [x, y] = [ours[j]![rank]!, theirs[j]![rank]!];
      for (let i = 0; i < x.length; i++) {
        const isWide = typeof x[i] === "bigint";
        const [u, v] = isWide ? [x[i]!, y[i]!] : [decode(b.dtype, x[i]!), decode(b.dtype, y[i]!)];
        if (typeof u === "bigint" || typeof v === "bigint") {
          if (u !== v) return `'${b.name}'[${i}] of rank ${rank} (${b.dtype}): executed ${u}, printed ${v}`;
          continue;
        }
        const isNear = b.name === "near" && Math.abs(u - v) <= 1e-5 * Math.abs(u);
        if (u !== v && !isNear && !(u !== u && v !== v))
          return `'${b.name}'[${i}] of rank ${rank} (${b.dtype}): executed ${u}, printed ${v}`;
      }
    }
  return null;
}

/** Ways to print something else, which must be noticed: in the first kernel from a seed on that has what is changed. */
const MUTANTS: readonly (readonly [what: string, seed: number, from: RegExp, to: string])[] = [
  ["stores to itself instead of to the peer", 1, /\(\(float\*\)b_box_peers\.p\[\w+\]\)/, "b_box"],
  ["loads from itself instead of from the peer", 2, /\(\(\w+( \w+)?\*\)b_b_peers\.p\[\w+\]\)/, "b_b"],
  ["every block does the first one's iterations", 3, /= blockIdx\.x; /, "= 0; "],
  ["a loop over blocks takes one iteration too many", 4, /(v\d+ = blockIdx\.x; v\d+ <) v?\w+;/, "$1 3;"],
  ["the other side of an if", 5, /if \((v\d+)\) \{\n( *\*\(b_w|.*\n *\*\(b_w)/, "if (!$1) {\n$2"],
  ["threads do not step by their number", 6, /\+= 8\)/, "+= 16)"],
  ["a sum starts elsewhere", 7, /^( *v\d+ = )(0u|0|0e\+0f);$/m, "$1 3;"],
  ["shared memory lies elsewhere for stores", 8, /\*\(b_shared \+ (v\d+)\) = /, "*(b_shared + ($1 ^ 1)) = "],
];

let results: (string | null)[] = [];
let mutated: (string | null)[] = [];

beforeAll(async () => {
  const seeds = Array.from({ length: KERNELS }, (_, k) => first + k);
  const kernels = seeds.map(randomKernel);
  const mutants = MUTANTS.map(([what, seed, from, to]) => {
    for (let s = seed; s < seed + 100; s++) {
      const kernel = randomKernel(s);
      const cuda = emitCuda(kernel, null);
      if (from.test(cuda)) return { kernel, seed: s, cuda: cuda.replace(from, to) };
    }
    throw new Error(`the mutant '${what}' finds nothing to change`);
  });
  const left = await runOnHost([
    ...kernels.map((kernel, k) => caseOf(kernel, seeds[k]!)),
    ...mutants.map(({ kernel, seed, cuda }) => caseOf(kernel, seed, cuda)),
  ]);
  results = kernels.map((kernel, k) => difference(kernel, executed(kernel, seeds[k]!), left[k]!));
  mutated = mutants.map(({ kernel, seed }, m) => difference(kernel, executed(kernel, seed), left[KERNELS + m]!));
}, 900_000);

describe(`random kernels from seed ${first} on (COLLC_PRINTER_SEED=${first})`, () => {
  for (let k = 0; k < KERNELS; k++)
    it(`kernel ${first + k} does the same as CUDA text`, () => {
      expect(results[k], `run it alone: COLLC_PRINTER_SEED=${first + k}`).toBeNull();
    });
});

describe("a printer that", () => {
  MUTANTS.forEach(([what], m) => it(`${what} is noticed`, () => expect(mutated[m]).not.toBeNull()));
});
