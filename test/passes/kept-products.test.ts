/** Products whose slices are added up where they are sent: right and ordered, with one meeting of the blocks, and refused without it. */
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { Builder } from "../../src/compiler/ir/builder.js";
import type { Kernel, Op } from "../../src/compiler/ir/module.js";
import { rewriteOps, Substitution, walk } from "../../src/compiler/ir/visit.js";
import { compile, type CompileResult } from "../../src/compiler/index.js";
import { PROOF_MAPPING, proofShapes, proveOrdering } from "../../src/compiler/prove/index.js";
import { expectProved, expectRight } from "./compiled-products.js";

const head = (outputs: string): string =>
  `collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0), r: T[n] replicated) -> ${outputs} {`;
const PROGRAMS = {
  "a sum on all ranks": `${head("y: T[m, n] replicated")}
  y = all_reduce(a @ b)
}
`,
  "a sum that is scattered, after a function of it": `${head("y: T[m, n] sharded(0)")}
  y = gelu(reduce_scatter(a @ b, dim: 0) + r)
}
`,
  "what is made of an input, too": `${head("y: T[m, n] replicated")}
  y = all_reduce((a @ b) * r)
}
`,
};

function compiled(text: string, ranks: number): CompileResult {
  const result = compile(text, { ranks, dtype: "bf16", mapping: PROOF_MAPPING, variant: "one_shot+packets" });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
}

/** The branch of launches that cut the depth, as it was right after products became tiles. */
function cutOf({ snapshots }: CompileResult): { readonly cut: readonly Op[]; readonly uncut: readonly Op[] } | null {
  const { kernel } = snapshots.find(({ pass }) => pass === "tile-contractions")!;
  let found: { readonly cut: readonly Op[]; readonly uncut: readonly Op[] } | null = null;
  walk(kernel.body, (op) => {
    const [cut, uncut] = op.regions;
    const isMeeting = op.name === "if" && cut!.ops.some((o) => o.attributes["sums"] === true);
    if (isMeeting) found = { cut: cut!.ops, uncut: uncut!.ops };
  });
  return found;
}

/** Buffers of this rank's scratch that are loaded from. */
function loaded(ops: readonly Op[], { kernel }: CompileResult): string[] {
  const scratch = kernel!.buffers.filter(({ role }) => role === "scratch").map(({ name }) => name);
  const found = new Set<string>();
  walk({ arguments: [], ops }, (op) => void (op.name === "load" && found.add(String(op.attributes["buffer"]))));
  return [...found].filter((name) => scratch.includes(name));
}

function without(kernel: Kernel, left: Op): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op) => op === left);
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}

describe("products that are kept for what sends them", () => {
  it.each(Object.entries(PROGRAMS))("%s: slices are added up where they are sent", (_, text) => {
    const result = compiled(text, 2);
    const { cut, uncut } = cutOf(result)!;
    expect(cut.filter(({ name }) => name === "barrier")).toHaveLength(1);
    expect(loaded(cut, result)).toEqual(["slices"]);
    expect(loaded(uncut, result)).toHaveLength(1);
    expect(loaded(uncut, result)).not.toContain("slices");
  });

  it.each(Object.entries(PROGRAMS))("%s: proved, and right with and without a cut", (_, text) => {
    for (const ranks of [2, 3]) {
      const result = compiled(text, ranks);
      const of = (m: number, n: number, k: number) => ({ m: m * ranks, n, k: k * ranks });
      // Some lengths fill no packet, and the last has tiles for all blocks.
      expectRight(result, [of(1, 8, 40), of(2, 7, 33), of(1, 16, 3), of(16, 40, 20)]);
      if (ranks === 2) expectProved(result);
    }
  });

  it("is refused without its meeting", () => {
    const { kernel } = compiled(PROGRAMS["a sum on all ranks"], 2);
    const waits: Op[] = [];
    walk(kernel!.body, (op) => {
      if (op.name === "wait" && op.attributes["scope"] === "gpu") waits.push(op);
    });
    // One of launches that cut, one of the others.
    expect(waits).toHaveLength(2);
    for (const wait of waits) {
      const mutant = without(kernel!, wait);
      const shared = sharedLayout(mutant);
      const verdicts = proofShapes(kernel!).map((dims) => proveOrdering(mutant, { dims, sample: 0, shared }).status);
      expect(verdicts).toContain("wrong");
    }
  });

  it.each(["(a @ b) + (a @ transpose(c))", "(a @ b) * sum(a @ b, dim: 1)"])("leaves alone %s", (what) => {
    const result = compile(
      `collective f(a: T[m, k] replicated, b: T[k, n] replicated, c: T[n, k] replicated) -> y: T[m, n] replicated {
  y = ${what}
}
`,
      { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING },
    );
    expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    expect(cutOf(result)?.uncut ?? []).toEqual([]);
    expectRight(result, [{ m: 2, n: 8, k: 80 }]);
  });

  it("leaves alone what is also given to the caller", () => {
    const result = compiled(
      `${head("(p: T[m, n] partial(sum), y: T[m, n] replicated)")}
  let product = a @ b
  p = product
  y = all_reduce(product)
}
`,
      2,
    );
    expect(cutOf(result)?.uncut ?? []).toEqual([]);
    expectRight(result, [{ m: 2, n: 8, k: 80 }]);
  });
});
