/** Kernels with the grid that their manifest asks for. */
import { evaluateExtent, type DimValues, type KernelManifest } from "../../compiler/index.js";
import { KernelFunction, type LaunchArguments, type PreparedLaunch } from "./launch.js";

/** Blocks of a launch: the largest `work`, at least 1, at most `maxBlocks`. The same on every rank. */
export function gridOf(manifest: Pick<KernelManifest, "grid">, dims: DimValues, limit = Infinity): number {
  const work = manifest.grid.work.map((extent) => evaluateExtent(extent, dims));
  return Math.min(Math.max(1, ...work), manifest.grid.maxBlocks, limit);
}

/** A compiled collective on one device. */
export class Kernel extends KernelFunction {
  /**
   * Fixes the grid and the parameters of a launch, to be launched any number of times.
   * @param limit most blocks, where fewer than the kernel's own
   * @throws MachineError when blocks that wait on each other cannot all be resident; RuntimeError for bad arguments.
   */
  prepare(args: LaunchArguments, limit = Infinity): PreparedLaunch {
    return this.prepareBlocks(gridOf(this.manifest, args.dims, limit), args);
  }
}
