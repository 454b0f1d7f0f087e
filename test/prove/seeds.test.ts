/** What is random in a proof is drawn from the program and a seed: the same again with both, and nothing in common with others. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { InputValues } from "../../src/compiler/prove/inputs.js";
import { prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";

const kernelOf = (text: string, ranks = 2): Kernel =>
  compile(text, { ranks, dtype: "f32", mapping: PROOF_MAPPING }).kernel!;

const routed = (name: string): string => `collective ${name}(x: T[n] local, src: i32[n] local, dst: i32[n] local)
  -> y: T[n] local where src in 0..n where dst in 0..n { for i in tiles(n) { y[i] = x[index(src[i])] + x[index(dst[i])] } }`;

describe("values of inputs that steer", () => {
  const numbers = (kernel: Kernel, seed: number, input: string, { sample = 3, rank = 0, launch = 0 } = {}): string => {
    const element = new InputValues(kernel, { n: 100 }, sample, seed).numbers(launch, input, rank);
    return Array.from({ length: 20 }, (_, i) => element(i)).join();
  };

  it("are the same for a program and a seed", () => {
    const [a, b] = [kernelOf(routed("a")), kernelOf(routed("a"))];
    expect(numbers(a, 7, "src")).toBe(numbers(b, 7, "src"));
  });

  it("have nothing in common with those of another program, seed, input, rank, launch or sample", () => {
    const [a, b] = [kernelOf(routed("a")), kernelOf(routed("b"))];
    const all = [
      numbers(a, 7, "src"),
      numbers(b, 7, "src"),
      numbers(a, 8, "src"),
      numbers(a, 7, "dst"),
      numbers(a, 7, "src", { rank: 1 }),
      numbers(a, 7, "src", { launch: 1 }),
      numbers(a, 7, "src", { sample: 4 }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("a proof", () => {
  const right = `collective right(x: T[n] partial(sum)) -> y: T[n] replicated { for i in tiles(n) { y[i] = sum(p in ranks) x@p[i] } }`;
  const wrong = right.replace("p in ranks", "p in peers");

  it("comes to the same with each seed", () => {
    const status = (text: string, seed: number): string =>
      prove({ kernel: kernelOf(text) }, { seed, shapes: [{ n: 9 }] }).answer.status;
    for (const seed of [0, 1, 2, 12345, 2 ** 31 - 1])
      expect([status(right, seed), status(wrong, seed)]).toEqual(["proved", "wrong"]);
  });
});
