/** Compiles programs to look at their synchronisation, proves it, and runs them. */
import { expect } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { Kernel, Op, Region } from "../../src/compiler/ir/module.js";
import { verifySync } from "../../src/compiler/passes/support/verify-sync.js";
import { PROOF_MAPPING, proofShapes, proveOrdering } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

/** The kernel as derive-sync left it. */
export function atRank(text: string, ranks: number): Kernel {
  const { snapshots, diagnostics } = compile(text, { ranks, dtype: "f32" });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return snapshots.find((s) => s.pass === "derive-sync")!.kernel;
}

/** The kernel's synchronisation and control in one line a nest: `block +1`, `for {…}`, `tiles`. */
export function outline(region: Region): string {
  const one = (op: Op): string[] => {
    if (op.name === "barrier") return [`${String(op.attributes["scope"])} ${String(op.attributes["ranks"])}`];
    if (op.name === "notify" || op.name === "await") return [op.name];
    if (op.name === "if") return [`if {${op.regions.map(outline).join(" | ")}}`];
    if (op.name !== "for") return [];
    const map = String(op.attributes["map"]);
    return [map === "tiles" ? "tiles" : `${map} {${outline(op.regions[0]!)}}`];
  };
  return region.ops.flatMap(one).join("; ");
}

/** Proved in the form that ships, for several launches and all shapes of proofs; complete to the analysis itself. */
export function expectOrdered(text: string, ranks: number): void {
  expect(verifySync(atRank(text, ranks))).toEqual([]);
  const { kernel } = compile(text, { ranks, dtype: "f32", mapping: PROOF_MAPPING });
  for (const dims of proofShapes(kernel!, "ordering")) {
    const answer = proveOrdering(kernel!, { dims, shared: sharedLayout(kernel!), launches: 4 });
    expect(answer.status === "wrong" ? answer.message : answer.status, JSON.stringify(dims)).toBe("proved");
  }
}

export function expectRight(text: string, ranks: number, dims: Record<string, number>): void {
  const { kernel, manifest, source } = compile(text, { ranks, dtype: "f32" });
  for (const seed of [1, 2]) {
    const group = new CpuGroup(kernel!, manifest!, { source, seed, detectUnwritten: true });
    for (let launch = 0; launch < 4; launch++) {
      const data = makeInputs(manifest!, dims, launch);
      group.run(data, dims);
      expect(checkOutputs(manifest!, dims, data, data)).toMatchObject({ correct: true, unspecified: [] });
    }
  }
}

/** The barriers of a kernel, and a proof. */
export function syncOf(text: string, ranks: number, proved = true): string {
  if (proved) expectOrdered(text, ranks);
  return outline(atRank(text, ranks).body);
}
