/** Accesses to memory inside nests of loops and conditions. */
import type { Op, Region } from "../../ir/module.js";

/** An op on the way from a nest to an access, and the region of it that holds the next. */
export interface Step {
  readonly op: Op;
  readonly region: number;
}

/** The loads and stores that an op is or holds, each with the way to it. */
export function accessesIn(nest: Op): { readonly access: Op; readonly path: readonly Step[] }[] {
  const found: { access: Op; path: readonly Step[] }[] = [];
  const visit = (region: Region, path: readonly Step[]): void => {
    for (const op of region.ops) {
      if (op.name === "load" || op.name === "store") found.push({ access: op, path });
      op.regions.forEach((inner, i) => visit(inner, [...path, { op, region: i }]));
    }
  };
  if (nest.name === "load" || nest.name === "store") found.push({ access: nest, path: [] });
  nest.regions.forEach((region, i) => visit(region, [{ op: nest, region: i }]));
  return found;
}
