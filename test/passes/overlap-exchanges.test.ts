/** An exchange and the work on what it brought, slab by slab: what is cut, and that the proofs see a wait too few. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult, type Kernel, PROOF_MAPPING, sharedLayout } from "../../src/compiler/index.js";
import type { Op } from "../../src/compiler/ir/module.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { prove, summaryLine } from "../../src/compiler/prove/index.js";
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
});

/** Whether a value counts arrivals for a wait: a u32 that is chosen from constants. */
function isCount(kernel: Kernel, { operands, results }: Op): boolean {
  if (!("scalar" in results[0]!.type) && JSON.stringify(results[0]!.type).includes("u32") === false) return false;
  let isChosen = false;
  walkKernel(kernel, (op) => (isChosen ||= op.name === "select" && op.results[0] === operands[0]));
  return isChosen;
}
