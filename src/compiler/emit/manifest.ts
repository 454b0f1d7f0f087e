/** The launch manifest of a device-level kernel. Parameter order here is the order of the printed signature. */
import { isGlobal, type Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { Manifest, ManifestBuffer, ManifestParameter } from "../manifest.js";
import { tableOf } from "../specification-table.js";
import { sharedLayout } from "./shared-layout.js";
import { symbolName } from "./names.js";
import { scalarOf } from "../ir/types.js";
import { type DType, DTYPES, isDType } from "../types/dtype.js";

export function manifestOf(kernel: Kernel, arch: string): Manifest {
  let waits = false;
  walkKernel(kernel, (op) => {
    if (op.name === "wait") waits = true;
  });
  const buffers = kernel.buffers.filter(isGlobal) as ManifestBuffer[];
  return {
    formatVersion: 2,
    collective: kernel.name,
    symbol: symbolName(kernel),
    ranks: kernel.world,
    dtypes: kernel.dtypes,
    arch,
    dims: kernel.dims,
    inputs: kernel.inputs,
    outputs: kernel.outputs,
    specification: tableOf(kernel.specification),
    mesh: kernel.mesh,
    requirements: kernel.requirements,
    roundings: roundingsOf(kernel),
    buffers,
    parameters: parametersOf(kernel),
    blockThreads: kernel.blockThreads,
    grid: { work: kernel.work, maxBlocks: kernel.maxBlocks },
    sharedBytes: sharedLayout(kernel).bytes,
    cooperative: waits,
  };
}

export function parametersOf(kernel: Kernel): ManifestParameter[] {
  const memory = kernel.buffers
    .filter(isGlobal)
    .map((b): ManifestParameter =>
      b.symmetric ? { kind: "peers", buffer: b.name, ranks: kernel.world } : { kind: "pointer", buffer: b.name },
    );
  const dims = kernel.dims.map((name): ManifestParameter => ({ kind: "dim", name }));
  return [...memory, ...dims, { kind: "rank" }, { kind: "timeout" }, { kind: "status" }];
}

/** Narrower float dtypes than the inputs' that some value is cast to. */
function roundingsOf(kernel: Kernel): DType[] {
  const inputs = kernel.inputs.map((t) => DTYPES[t.dtype]).filter((d) => d.kind === "float");
  const coarsest = Math.max(0, ...inputs.map((d) => d.epsilon));
  const found = new Set<DType>();
  walkKernel(kernel, (op) => {
    const kind = op.name === "cast" ? scalarOf(op.results[0]!.type) : null;
    if (inputs.length > 0 && kind !== null && isDType(kind) && DTYPES[kind].epsilon > coarsest) found.add(kind);
  });
  // One rounding at the end, to an output's dtype, is in every tolerance already.
  for (const t of kernel.outputs) found.delete(t.dtype);
  return [...found].sort();
}
