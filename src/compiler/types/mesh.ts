/** Ranks in a grid, and the rows that layouts with an axis are about. */
import type { Layout } from "./layout.js";

/** One axis of a grid of ranks. Ranks are numbered with the last axis fastest. */
export interface MeshAxis {
  readonly name: string;
  readonly size: number;
}

/** The ranks that a layout is about, in their order along its axis: all, or those of one row, that of `self`. */
export function membersOf(layout: Layout, mesh: readonly MeshAxis[], world: number, self: number): readonly number[] {
  const at = mesh.findIndex((a) => a.name === layout.axis);
  if (at === -1) return Array.from({ length: world }, (_, rank) => rank);
  const stride = mesh.slice(at + 1).reduce((n, a) => n * a.size, 1);
  const { size } = mesh[at]!;
  const first = self - (Math.floor(self / stride) % size) * stride;
  return Array.from({ length: size }, (_, k) => first + k * stride);
}
