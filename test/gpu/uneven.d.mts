import type { CompileResult } from "../../src/compiler/index.js";
import type { Group } from "../../src/runtime/group.js";

export function movedRows<A extends Int32Array | Float32Array | Uint16Array>(options: {
  readonly counts: readonly Int32Array[];
  readonly x: readonly A[];
  readonly n: number;
  readonly untouched: number;
}): { y: A[]; received: Int32Array[]; back: A[] };

export function rowsGoAndReturn(
  group: Group,
  programs: { readonly dispatch: CompileResult; readonly combine: CompileResult },
  options: { readonly dtype: "f32" | "bf16"; readonly most: number; readonly n: number; readonly seed: number },
): Promise<number>;
