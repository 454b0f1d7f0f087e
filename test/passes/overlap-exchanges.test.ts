/** An exchange and the work on what it brought, slab by slab: what is cut, and that the proofs see a wait too few. */
import { describe, expect, it } from "vitest";
import {
  compile,
  type CompileResult,
  type DimValues,
  type Kernel,
  PROOF_MAPPING,
  sharedLayout,
} from "../../src/compiler/index.js";
import type { Op } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { prove, summaryLine } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { isAll } from "../scope.js";

const SLABS = { ...PROOF_MAPPING, slabRows: 1 };

function fromLibrary(name: string, options: Parameters<typeof compileFile>[1]): CompileResult {
  return compileFile(
    LIBRARY.find((file) => file.name === name)!,
    options,
  );
}

function barriersAfter(compiled: CompileResult): (string | undefined)[] {
  const kernel = compiled.snapshots.find((s) => s.pass === "overlap-exchanges")!.kernel;
  const halves: (string | undefined)[] = [];
  walkKernel(kernel, (op) => {
    if (op.name === "barrier") halves.push(op.attributes["half"] as string | undefined);
  });
  return halves;
}

const statuses = (kernel: Kernel | null) => {
  const claims = prove({ kernel }, { shared: sharedLayout(kernel!) });
  return { told: summaryLine(claims), status: [claims.answer.status, claims.ordering.status] };
};

function expectCorrect(
  { kernel, manifest, source }: CompileResult,
  dims: DimValues,
  schedule: { readonly seed: number; readonly maxBlocks?: number },
): void {
  const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true, ...schedule });
  const data = makeInputs(manifest!, dims, 1);
  group.run(data, dims);
  expect(checkOutputs(manifest!, dims, data, data)).toMatchObject({ correct: true });
}

describe("overlap-exchanges", () => {
  for (const name of ["reduce_scatter/push", ...(isAll ? ["all_reduce/push"] : [])])
    for (const ranks of isAll ? [3, 4] : [3])
      it(`${name}, ${ranks} ranks: proved slab by slab`, () => {
        const compiled = fromLibrary(name, { ranks, dtype: "bf16", mapping: SLABS });
        expect(barriersAfter(compiled)).toEqual(expect.arrayContaining(["arrive", "wait"]));
        const { told, status } = statuses(compiled.kernel);
        expect(status, told).toEqual(["proved", "proved"]);
      });

  it("is seen to be wrong where a slab waits for the one before it", () => {
    const { kernel } = fromLibrary("reduce_scatter/push", { ranks: 2, dtype: "bf16", mapping: SLABS });
    const late = (op: Op): Op => ({
      ...op,
      // The difference of the newest arrival and the one that is waited for, which is 0 or 1.
      ...(op.name === "cast" && isCount(kernel!, op) ? { name: "const", operands: [], attributes: { value: 1 } } : {}),
      regions: op.regions.map((r) => ({ ...r, ops: r.ops.map(late) })),
    });
    const wrong = { ...kernel!, body: { arguments: [], ops: kernel!.body.ops.map(late) } };
    expect(statuses(wrong).status).toContain("wrong");
  });

  it("leaves a kernel as it is where it is not asked for, and where all blocks meet", () => {
    const plain = fromLibrary("reduce_scatter/push", { ranks: 4, dtype: "bf16", mapping: PROOF_MAPPING });
    expect(barriersAfter(plain)).toEqual([undefined]);
    // Element i of the second loop is another block's of the first.
    const crossed = compile(
      `collective f(x: T[n] local) -> y: T[n] local {
  scratch box: T[n]
  for p in ranks { for i in tiles(shard(n, p)) { box@p[rank * (n / world) + i - shard(n, p).start] = x[i] } }
  for i in tiles(n) { y[i] = box[n - 1 - i] }
}`,
      { ranks: 2, dtype: "f32", mapping: SLABS },
    );
    expect(barriersAfter(crossed)).not.toContain("arrive");
  });

  it("cuts nothing that loops beyond are ordered with for blocks of one number: an offset's block is another one in a slab", () => {
    const text = `collective f(x: i32[n] local) -> y: i32[n] local ensures y[i] == sum(p in ranks) (sum(q in ranks) x@q[i]) {
      scratch a: i32[world, n]
      scratch s: i32[n]
      scratch b: i32[world, n]
      for p in ranks { for i in tiles(n) { a@p[rank, i] = x[i] } }
      for i in tiles(n) { s[i] = sum(p in ranks) a[p, i] }
      for p in ranks { for i in tiles(n) { b@p[rank, i] = s[i] } }
      for i in tiles(n) { y[i] = sum(p in ranks) b[p, i] }
    }`;
    const compiled = compile(text, { ranks: 2, dtype: "i32", mapping: SLABS });
    for (const seed of [1, 2, 3, 4]) expectCorrect(compiled, { n: 130 }, { seed, maxBlocks: 2 });
  });

  it("goes through all slabs of loops that begin below 0, and cuts none whose length is not known", () => {
    const text = (
      length: string,
      condition: string,
    ): string => `collective f(x: T[2 * n] partial(sum)) -> y: T[2 * n] replicated {
      scratch s: f32[world, 2 * n]
      for p in ranks { for i in tiles(${length}) { if ${condition} { s@p[rank, i + n] = x[i + n] } } }
      for i in tiles(${length}) { if ${condition} { y[i + n] = sum(p in ranks) s[p, i + n] } }
    }`;
    for (const [length, condition] of [
      ["0 - n..n", "i < n"],
      ["0 - n..n + 50 * rank", "i < n"],
      ["0 - n - 50 * rank..n", "i >= 0 - n"],
    ] as const)
      expectCorrect(
        compile(text(length, condition), { ranks: 2, dtype: "f32", mapping: SLABS }),
        { n: 130 },
        { seed: 1 },
      );
  });
});

/** Whether a value counts arrivals for a wait: a u32 that is chosen from constants. */
function isCount(kernel: Kernel, { operands, results }: Op): boolean {
  if (!("scalar" in results[0]!.type) && JSON.stringify(results[0]!.type).includes("u32") === false) return false;
  let isChosen = false;
  walkKernel(kernel, (op) => (isChosen ||= op.name === "select" && op.results[0] === operands[0]));
  return isChosen;
}
