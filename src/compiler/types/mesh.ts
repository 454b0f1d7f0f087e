/** Ranks in a grid, and what layouts say of its axes. */
import { extent, type Extent } from "./extent.js";
import { type AxisPlacement, type Layout, type Placement, sameLayout } from "./layout.js";

/** One axis of a grid of ranks. Ranks are numbered with the last axis fastest. */
export interface MeshAxis {
  readonly name: string;
  readonly size: number;
}

type Mesh = readonly MeshAxis[];

/** How far apart in rank numbers neighbours along an axis are. */
export function strideOf(mesh: Mesh, at: number): number {
  return mesh.slice(at + 1).reduce((n, a) => n * a.size, 1);
}

/** A rank's place along an axis. */
export function coordinateOf(rank: number, mesh: Mesh, at: number): number {
  return Math.floor(rank / strideOf(mesh, at)) % mesh[at]!.size;
}

/** The ranks that a layout of all ranks or of one axis is about, in their order along it: all, or those of one row, that of `self`. */
export function membersOf(layout: Layout, mesh: Mesh, world: number, self: number): readonly number[] {
  const at = mesh.findIndex((a) => a.name === layout.axis);
  return at === -1 ? Array.from({ length: world }, (_, rank) => rank) : rowOf(mesh, at, self);
}

/** The ranks that differ from `self` along one axis alone, in their order. */
export function rowOf(mesh: Mesh, at: number, self: number): readonly number[] {
  const stride = strideOf(mesh, at);
  const first = self - coordinateOf(self, mesh, at) * stride;
  return Array.from({ length: mesh[at]!.size }, (_, k) => first + k * stride);
}

/** What a layout says of each axis, in the order of the mesh. */
export function placementsOf(layout: Layout, mesh: Mesh): Placement[] {
  if (layout.kind === "grid")
    return mesh.map(({ name }) => plain(layout.parts.find((p) => p.axis === name) ?? { kind: "local" }));
  if (layout.axis !== undefined)
    return mesh.map(({ name }) => (name === layout.axis ? plain(layout) : { kind: "local" }));
  if (layout.kind === "on") return mesh.map((_, at) => ({ kind: "on", rank: coordinateOf(layout.rank, mesh, at) }));
  return mesh.map(() => layout);
}

function plain({ axis: _, ...placement }: Placement & { readonly axis?: string }): Placement {
  return placement;
}

/** Whether a rank's memory counts: it is not one of those beside the one that a tensor lies `on`. */
export function isHolder(layout: Layout, mesh: Mesh, rank: number): boolean {
  if (layout.kind === "on" && layout.axis === undefined) return rank === layout.rank;
  return placementsOf(layout, mesh).every((p, at) => p.kind !== "on" || coordinateOf(rank, mesh, at) === p.rank);
}

/** The layout that says this of the axes, as it is written most shortly: of all ranks, where they all say the same. */
export function layoutOf(placements: readonly Placement[], mesh: Mesh): Layout {
  const [first] = placements;
  if (first !== undefined && first.kind !== "on" && placements.every((p) => sameLayout(p, first))) return first;
  if (first !== undefined && placements.every((p) => p.kind === "on"))
    return { kind: "on", rank: placements.reduce((sum, p, at) => sum + (p as { rank: number }).rank * strideOf(mesh, at), 0) }; // prettier-ignore
  const parts = placements.flatMap((p, at): AxisPlacement[] =>
    p.kind === "local" ? [] : [{ ...p, axis: mesh[at]!.name }],
  );
  return parts.length === 1 ? parts[0]! : { kind: "grid", parts };
}

/** Whether a layout speaks of axes. */
export function hasAxes(layout: Layout): boolean {
  return layout.kind === "grid" || layout.axis !== undefined;
}

/** Into how many parts each dimension of a tensor of that many is cut. */
export function cutsOf(layout: Layout, mesh: Mesh, world: number, rank: number): number[] {
  const cuts = new Array<number>(rank).fill(1);
  if (!hasAxes(layout)) {
    if (layout.kind === "sharded") cuts[layout.dim] = world;
    return cuts;
  }
  placementsOf(layout, mesh).forEach((p, at) => {
    if (p.kind === "sharded") cuts[p.dim]! *= mesh[at]!.size;
  });
  return cuts;
}

/** What one rank holds of a tensor. */
export function localShapeOf(shape: readonly Extent[], layout: Layout, mesh: Mesh, world: number): Extent[] {
  const cuts = cutsOf(layout, mesh, world, shape.length);
  return shape.map((e, d) => (cuts[d] === 1 ? e : extent("div", e, cuts[d]!)));
}

/** Which part of each dimension a rank holds, of a layout with axes. */
export function partsOfRank(layout: Layout, mesh: Mesh, rank: number, dimensions: number): number[] {
  const parts = new Array<number>(dimensions).fill(0);
  placementsOf(layout, mesh).forEach((p, at) => {
    if (p.kind === "sharded") parts[p.dim] = parts[p.dim]! * mesh[at]!.size + coordinateOf(rank, mesh, at);
  });
  return parts;
}

/**
 * The rank under whose name a rank's part of a tensor goes, where others hold the same: that of the first of them. Of `on`,
 * everybody's own, though it means nothing elsewhere.
 */
export function leaderOf(layout: Layout, mesh: Mesh, rank: number): number {
  return placementsOf(layout, mesh).reduce(
    (leader, p, at) => (p.kind === "replicated" ? leader - coordinateOf(rank, mesh, at) * strideOf(mesh, at) : leader),
    rank,
  );
}

/** The ranks whose values `self` sees a tensor made of: one of each part, and of each summand. Leaders alone. */
export function sourcesOf(layout: Layout, mesh: Mesh, self: number): readonly number[] {
  return placementsOf(layout, mesh).reduce<readonly number[]>(
    (ranks, p, at) => {
      if (p.kind === "local") return ranks;
      return ranks.flatMap((rank) => {
        const row = rowOf(mesh, at, rank);
        return p.kind === "replicated" ? [row[0]!] : p.kind === "on" ? [row[p.rank]!] : row;
      });
    },
    [self],
  );
}
