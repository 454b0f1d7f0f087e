/** Accesses to memory inside nests of loops and conditions. */
import type { Op, Region, Value } from "../../ir/module.js";
import type { Definitions } from "./analysis.js";

/** An op on the way from a nest to an access, and the region of it that holds the next. */
export interface Step {
  readonly op: Op;
  readonly region: number;
}

/** An access and the way to it, the outermost op first. */
export interface Placed {
  readonly access: Op;
  readonly path: readonly Step[];
}

/** The loads and stores that an op is or holds, each with the way to it. */
export function accessesIn(nest: Op): Placed[] {
  const found: Placed[] = [];
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

/** Where a variable of a loop begins and ends. */
export function boundsOf(loop: Op, d: number): [Value, Value] {
  return [loop.operands[2 * d]!, loop.operands[2 * d + 1]!];
}

/** Iterations of a loop of one variable; null where its bounds are not known, or more than `most` lie between them. */
export function tripCount(op: Op, definitions: Definitions, most = Infinity): number | null {
  if (op.operands.length !== 2) return null;
  const [lo, hi] = op.operands.map((v) => definitions.constant(v));
  return lo !== undefined && hi !== undefined && hi - lo <= most ? Math.max(0, hi - lo) : null;
}

/** Whether a loop goes through all ranks, its iterations not spread over blocks. */
export function isAllRanks(op: Op, world: number, definitions: Definitions): boolean {
  if (op.attributes["map"] === "tiles") return false;
  return tripCount(op, definitions) === world && definitions.constant(op.operands[0]!) === 0;
}
