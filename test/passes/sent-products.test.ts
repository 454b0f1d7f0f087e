/** Products that are sent in packets by whoever has their tiles: right and ordered without a meeting of the blocks, and kept where rows are no whole packets. */
import { describe, expect, it } from "vitest";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { Builder } from "../../src/compiler/ir/builder.js";
import type { Kernel, Op } from "../../src/compiler/ir/module.js";
import { rewriteOps, Substitution, walk } from "../../src/compiler/ir/visit.js";
import { compile, type CompileResult } from "../../src/compiler/index.js";
import { PROOF_MAPPING, proofShapes, proveAnswer, proveOrdering } from "../../src/compiler/prove/index.js";
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
  "a sum of which each rank has columns": `${head("y: T[m, n] sharded(1)")}
  y = reduce_scatter(a @ b, dim: 1)
}
`,
  "a sum of what is rounded and scaled": `${head("y: f32[m, n] replicated")}
  y = all_reduce(f32(a @ b) * 0.5)
}
`,
};

/** What is made of more than the product's sums: inputs in their places, in others, and the place itself. */
const KEPT = {
  "an input, too": "(a @ b) * r",
  "an input that lies the other way round, too": "(a @ b) * transpose(t)",
  "the place of an element, too": "where(iota(m, n, dim: 0) >= iota(m, n, dim: 1), a @ b, 0.0)",
};

function compiled(text: string, ranks: number): CompileResult {
  const result = compile(text, { ranks, dtype: "bf16", mapping: PROOF_MAPPING, variant: "one_shot+packets" });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
}

/** Stores to peers in `roles`, and the branches of launches that keep the product, as they were right after products became tiles. */
function parts({ snapshots }: CompileResult): {
  readonly sent: number;
  readonly kept: readonly (readonly Op[])[];
} {
  const { kernel } = snapshots.find(({ pass }) => pass === "tile-contractions")!;
  let sent = 0;
  const kept: (readonly Op[])[] = [];
  walk(kernel.body, (op, parents) => {
    if (op.name === "store" && op.attributes["remote"] === true && parents.some(({ name }) => name === "roles")) sent++;
    const [whole, others] = op.regions;
    if (op.name === "if" && whole!.ops.length === 0 && others!.ops.some(({ name }) => name === "barrier"))
      kept.push(others!.ops);
  });
  return { sent, kept };
}

/** The kernel with some ops left out. */
function without(kernel: Kernel, isLeftOut: (op: Op) => boolean): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op) => isLeftOut(op));
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}

describe("products that are kept for what sends them", () => {
  it.each(Object.entries(PROGRAMS))("%s: tiles are sent, or blocks meet", (_, text) => {
    const { sent, kept } = parts(compiled(text, 2));
    // By wide tiles and by narrow ones.
    expect(sent).toBe(2);
    expect(kept.map((ops) => ops.map(({ name }) => name))).toEqual([["barrier", "for"]]);
  });

  it.each(Object.entries(PROGRAMS))("%s: proved, and right with and without whole packets", (_, text) => {
    for (const ranks of [2, 3]) {
      const result = compiled(text, ranks);
      const of = (m: number, n: number, k: number) => ({ m: m * ranks, n: n * ranks, k: k * ranks });
      // Of some lengths rows fill no packet, some depths are in pieces, and the last has tiles for all blocks.
      expectRight(result, [of(1, 8, 40), of(2, 7, 33), of(1, 16, 3), of(16, 40, 20), of(9, 12, 20)]);
      if (ranks === 2) expectProved(result);
    }
  });

  it.each(Object.entries(PROGRAMS))("%s: printed as it is launched", (_, text) => {
    for (const ranks of [2, 3]) {
      const result = compile(text, { ranks, dtype: "bf16", arch: "sm_90a", variant: "one_shot+packets" });
      expect(parts(result).sent).toBe(2);
      expect(result.cuda).toContain("store_packet<InvertedPacket>");
    }
  });

  it.each(Object.entries(KEPT))("is kept where it is made of %s: right, and printed", (_, what) => {
    const text = `${head("y: T[m, n] replicated").replace("r: ", "t: T[n, m] replicated, r: ")}
  y = all_reduce(${what})
}
`;
    const result = compiled(text, 2);
    expect(parts(result).sent).toBe(0);
    expectRight(result, [{ m: 2, n: 16, k: 40 }, { m: 32, n: 80, k: 40 }]); // prettier-ignore
    const { cuda } = compile(text, { ranks: 2, dtype: "bf16", arch: "sm_90a", variant: "one_shot+packets" });
    expect(cuda).toContain("store_packet<");
  });

  it("is refused without its meeting, and without what it sends", () => {
    const { kernel } = compiled(PROGRAMS["a sum on all ranks"], 2);
    const meetings: Op[] = [];
    walk(kernel!.body, (op, parents) => {
      const isMeeting = op.name === "wait" && op.attributes["scope"] === "gpu";
      if (isMeeting && !parents.some(({ name }) => name === "roles")) meetings.push(op);
    });
    expect(meetings).toHaveLength(1);
    const unmet = without(kernel!, (op) => op === meetings[0]);
    const shared = sharedLayout(unmet);
    const orderings = proofShapes(kernel!).map((dims) => proveOrdering(unmet, { dims, sample: 0, shared }).status);
    expect(orderings).toContain("wrong");
    const sends: Op[] = [];
    walk(kernel!.body, (op, parents) => {
      if (op.name === "packet_store" && parents.some(({ name }) => name === "roles")) sends.push(op);
    });
    const unsent = without(kernel!, (op) => op === sends[0]);
    const [dims] = [{ m: 2, n: 8, k: 40 }];
    expect(proveAnswer(unsent, { dims, sample: 0 }).status).toBe("wrong");
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
    expect(parts(result)).toEqual({ sent: 0, kept: [] });
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
    expect(parts(result)).toEqual({ sent: 0, kept: [] });
    expectRight(result, [{ m: 2, n: 8, k: 80 }]);
  });
});
