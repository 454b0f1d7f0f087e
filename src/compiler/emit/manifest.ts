/** The launch manifest of a device-level kernel. Parameter order here is the order of the printed signature. */
import { isGlobal, type Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { Manifest, ManifestBuffer, ManifestParameter } from "../manifest.js";
import { sharedLayout } from "./shared-layout.js";
import { symbolName } from "./names.js";

export function manifestOf(kernel: Kernel, arch: string): Manifest {
  let waits = false;
  walkKernel(kernel, (op) => {
    if (op.name === "wait") waits = true;
  });
  const buffers = kernel.buffers.filter(isGlobal) as ManifestBuffer[];
  return {
    formatVersion: 1,
    collective: kernel.name,
    symbol: symbolName(kernel),
    ranks: kernel.world,
    dtypes: kernel.dtypes,
    arch,
    dims: kernel.dims,
    inputs: kernel.inputs,
    outputs: kernel.outputs,
    specification: kernel.specification,
    mesh: kernel.mesh,
    requirements: kernel.requirements,
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
