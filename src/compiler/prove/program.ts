/** The program behind a kernel. Who only launches kernels asks for it, too, and loads no proofs for it. */
import type { Kernel } from "../ir/module.js";

/** The program among the kernels that passes gave: the last of them whose constants are those of its author. */
export function programOf(snapshots: readonly { readonly pass: string; readonly kernel: Kernel }[]): Kernel | null {
  return snapshots.find(({ pass }) => pass === "simplify-elements")?.kernel ?? null;
}
