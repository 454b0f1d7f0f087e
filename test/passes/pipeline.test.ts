/** The page on the passes tells of every pass, in the order in which they run; and what passes gave is not made again. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compile, PIPELINE } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { DEFAULT_PASS_OPTIONS, type PassOptions } from "../../src/compiler/passes/options.js";
import { asking, continuePasses, type Pass, reading } from "../../src/compiler/passes/runner.js";

it("src/compiler/passes/README.md lists the pipeline", () => {
  const page = readFileSync(new URL("../../src/compiler/passes/README.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([a-z-]+)`\s*\| (\w+) → (\w+)\s*\|/gm)].map(([, name, from, to]) => ({
    name,
    from,
    to,
  }));
  expect(rows).toEqual(PIPELINE.map(({ name, from, to }) => ({ name, from, to })));
});

describe("a pass runs once", () => {
  const kernelOf = (text: string): Kernel =>
    compile(text, { ranks: 2, dtype: "f32", stopAfter: "lower-tensors" }).snapshots[0]!.kernel;
  const copying = "collective f(x: T[n] replicated) -> y: T[n] replicated { y = x }";
  const run = (kernel: Kernel, pass: Pass, options: Partial<PassOptions> = {}): Kernel =>
    continuePasses(kernel, [pass], { ...DEFAULT_PASS_OPTIONS, ...options });
  /** A pass between tensors, and how often it ran. */
  const counting = (make: (run: (kernel: Kernel) => Kernel) => Partial<Pass>): { pass: Pass; ran: () => number } => {
    let ran = 0;
    const own = (kernel: Kernel): Kernel => (ran++, { ...kernel, maxBlocks: kernel.maxBlocks + 1 });
    const pass = { name: "counting", from: "tensor", to: "tensor", run: own, ...make(own) } as const;
    return { pass, ran: () => ran };
  };

  it("for one kernel, and for each kernel", () => {
    const { pass, ran } = counting((own) => ({ run: own }));
    const [one, other] = [kernelOf(copying), kernelOf(copying)];
    expect(run(one, pass)).toBe(run(one, pass, { algorithm: "two_shot" }));
    expect(ran()).toBe(1);
    expect(run(other, pass)).not.toBe(run(one, pass));
    expect(ran()).toBe(2);
  });

  it("for what it reads of the options", () => {
    const { pass, ran } = counting((own) => reading(["protocol", "tileBlocks"], own));
    const kernel = kernelOf(copying);
    const first = run(kernel, pass, { protocol: "packet", tileBlocks: 3 });
    expect(run(kernel, pass, { protocol: "packet", tileBlocks: 3, copies: "engine" })).toBe(first);
    expect(ran()).toBe(1);
    expect(run(kernel, pass, { protocol: "packet", tileBlocks: 4 })).not.toBe(first);
    expect(ran()).toBe(2);
  });

  it("for whether an option is there that it asks for", () => {
    const { pass, ran } = counting((own) => asking(["shares"], own));
    const kernel = kernelOf(copying);
    const first = run(kernel, pass, { shares: { meeting: 2, putting: 1, adding: 1 } });
    expect(run(kernel, pass, { shares: { meeting: 3, putting: 1, adding: 1 } })).toBe(first);
    expect(run(kernel, pass, { shares: null })).not.toBe(first);
    expect(ran()).toBe(2);
  });

  it("and again where it failed", () => {
    let fails = true;
    const { pass, ran } = counting((own) => ({
      run: (kernel) => {
        const made = own(kernel);
        if (fails) throw new RangeError("not today");
        return made;
      },
    }));
    const kernel = kernelOf(copying);
    expect(() => run(kernel, pass)).toThrow("not today");
    fails = false;
    expect(run(kernel, pass).maxBlocks).toBe(kernel.maxBlocks + 1);
    expect(ran()).toBe(2);
  });
});
