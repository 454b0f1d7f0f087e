/** What one iteration stores and loads again stays in a register, and only that. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { everyLength, PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";

const at = (text: string, ranks: number, mapping = {}): Kernel => {
  const { kernel, diagnostics } = compile(text, { ranks, dtype: "f32", mapping });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return kernel!;
};

/** By the name of a buffer: loads and stores of it in the text, of the loop that takes most of it. */
function accesses(kernel: Kernel): Record<string, { loads: number; stores: number; ifs: number }> {
  const found: Record<string, { loads: number; stores: number; ifs: number }> = {};
  walkKernel(kernel, (op, parents) => {
    if (op.name !== "load" && op.name !== "store") return;
    const buffer = op.attributes["buffer"] as string;
    const of = (found[buffer] ??= { loads: 0, stores: 0, ifs: 0 });
    of[op.name === "load" ? "loads" : "stores"]++;
    const threads = parents.findIndex((p) => p.attributes["map"] === "threads");
    if (threads >= 0 && parents.slice(threads).some((p) => p.name === "if")) of.ifs++;
  });
  return found;
}

/** With one element for each thread, and one loop. */
const plain = { accessBytes: 4, loadsInFlight: 1 };

const holds = (text: string, ranks: number): void => {
  const kernel = at(text, ranks, PROOF_MAPPING);
  for (const n of [1, 13, 64]) expect(proveAnswer(kernel, { dims: { n } })).toMatchObject({ status: "proved" });
};

const LARGEST = `collective largest(x: T[n] partial(max)) -> y: T[n] replicated {
  scratch best: f32[n]
  for i in tiles(n) {
    best[i] = x@0[i]
    for p in 1..world { best[i] = where(x@p[i] > best[i], x@p[i], best[i]) }
    y[i] = best[i]
  }
}`;

describe("elements that an iteration stores and loads again", () => {
  it("need no scratch", () => {
    const kernel = at(LARGEST, 4, plain);
    expect(kernel.buffers.map((b) => b.name)).not.toContain("best");
    const { x, y } = accesses(kernel);
    expect(x!.loads % 4).toBe(0);
    expect(y!.stores).toBe(x!.loads / 4);
    holds(LARGEST, 4);
  });

  it("are proved for every length, as an expression is", () => {
    const kernel = at(LARGEST, 4);
    const shapes = [0, 1, 4, 7, 64, 300, 864].map((n) => ({ n }));
    const { answer } = everyLength(kernel, shapes, (dims) => proveAnswer(kernel, { dims }));
    expect(answer).toEqual({ holds: true });
  });

  it("are vectors, as if they had been written as one expression", () => {
    const expression = LARGEST.replace(
      /scratch[\s\S]*y\[i\] = best\[i\]/,
      "for i in tiles(n) { y[i] = max(p in ranks) x@p[i]",
    );
    expect(accesses(at(LARGEST, 4))["y"]).toEqual(accesses(at(expression, 4))["y"]);
  });

  it("are chosen where data decides", () => {
    const text = `collective f(x: T[n] partial(max)) -> y: T[n] replicated {
      for i in tiles(n) {
        y[i] = x@0[i]
        for p in 1..world { if x@p[i] > y[i] { y[i] = x@p[i] } }
      }
    }`;
    const { x, y } = accesses(at(text, 4, plain));
    expect(y).toMatchObject({ loads: 0, ifs: 0 });
    expect(x!.loads).toBe(4 * y!.stores);
    holds(text, 4);
  });

  it("are chosen by conditions in conditions, of what else is there", () => {
    const text = `collective f(x: T[n] local, w: T[n] local) -> y: T[n] local
      ensures y[i] == where(x[i] > 0, where(w[i] > 0, w@0[i], x[i]), w@1[i]) {
      for i in tiles(n) {
        if x[i] > 0 { if w[i] > 0 { y[i] = w@0[i] } else { y[i] = x[i] } } else { y[i] = w@1[i] }
      }
    }`;
    expect(accesses(at(text, 2, plain))).toMatchObject({ y: { loads: 0, ifs: 0 }, w: { ifs: 0 } });
    holds(text, 2);
  });
});

describe("are left where", () => {
  const kept = (text: string, ranks = 2): Record<string, { loads: number; stores: number; ifs: number }> => {
    holds(text, ranks);
    return accesses(at(text, ranks, plain));
  };

  it("what is stored lies in between", () => {
    const text = `collective f(x: T[n] local, k: i32[n] local) -> y: T[n] local
      where k in 0..2
      ensures y[i] == where(k[i] == 0, x[i] * 2, x[i]) {
      scratch a: f32[n, 2]
      for i in tiles(n) { a[i, 0] = x[i]  a[i, index(k[i])] = x[i] * 2  y[i] = a[i, 0] }
    }`;
    const { a } = kept(text);
    expect(a!.loads).toBeGreaterThan(0);
    expect(a!.stores).toBe(2 * a!.loads);
  });

  it("ranks meet in between", () => {
    const text = `collective f(x: T[n] local) -> y: T[n] local
      ensures y[i] == x@((rank + 1) % world)[i] {
      scratch a: f32[n]
      for i in tiles(n) { a@((rank + world - 1) % world)[i] = x[i] }
      for i in tiles(n) { y[i] = a[i] }
    }`;
    const { a } = kept(text);
    expect(a!.loads).toBeGreaterThan(0);
    expect(a!.stores).toBe(a!.loads);
  });

  it("an index decides, or data whether an element is there", () => {
    const byIndex = `collective f(x: T[n] local) -> y: T[n] local
      ensures y[i] == where(i > 0, x[i - 1], x[i]) {
      for i in tiles(n) { y[i] = x[i]  if i > 0 { y[i] = x[i - 1] } }
    }`;
    expect(kept(byIndex)["y"]!.ifs).toBeGreaterThan(0);
    const byData = `collective f(x: T[n] local, k: i32[n] local) -> y: T[n] local
      where k in 0..1000
      ensures y[i] == where(index(k[i]) < n, x[min(index(k[i]), n - 1)], 0) {
      for i in tiles(n) { y[i] = 0  if index(k[i]) < n { y[i] = x[index(k[i])] } }
    }`;
    expect(kept(byData)["x"]!.ifs).toBeGreaterThan(0);
  });

  it("data decides whether a rank is there", () => {
    const text = `collective f(x: T[n] local, k: i32[n] local) -> y: T[n] local
      where k in 0..world
      ensures y[i] == x@(index(k[i]))[i] {
      for i in tiles(n) {
        y[i] = x[i]
        for p in 0..4 { if k[i] == i32(p) { y[i] = x@p[i] } }
      }
    }`;
    expect(kept(text)["x"]!.ifs).toBeGreaterThan(0);
  });

  it("a condition keeps a divisor from 0", () => {
    const text = `collective f(x: i32[n] local, k: i32[n] local) -> y: i32[n] local
      where x in 0..100 and k in 0..5
      ensures y[i] == where(k[i] > 0, x[i] / max(k[i], 1), 0) {
      for i in tiles(n) { y[i] = 0  if k[i] > 0 { y[i] = x[i] / k[i] } }
    }`;
    expect(kept(text)["y"]!.ifs).toBeGreaterThan(0);
  });

  it("other ranks read what is stored last alone", () => {
    const text = `collective f(x: T[n] local) -> y: T[n] local
      ensures y[i] == x@((rank + 1) % world)[i] * 2 {
      scratch a: f32[n]
      for i in tiles(n) { a[i] = x[i]  a[i] = a[i] * 2 }
      for i in tiles(n) { y[i] = a@((rank + 1) % world)[i] }
    }`;
    const { a } = kept(text);
    expect(a!.loads).toBeGreaterThan(0);
    expect(a!.stores).toBe(a!.loads);
  });
});
