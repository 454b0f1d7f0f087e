/**
 * How much of what blocks copy in tiles comes from memory. Blocks run beside each other and begin their tiles together: of one place that
 * several of them take in a round, the first has it from memory, and the others from the second-level cache.
 */
import type { KnownValues } from "./iterations.js";
import type { PreparedOp, PreparedRegion } from "./prepared.js";

/** Rounds of blocks that are looked at: the order of tiles goes on alike. */
const ROUNDS = 4;

/**
 * Of each `copy_tile` in a loop over blocks, the part of its tiles that no other block takes in the same round.
 * @param body whose only variable counts from `lo` up to before `hi`
 * @param values of what is known before the loop; those of its ops are entered anew
 */
export function sharesOfTiles(
  body: PreparedRegion,
  [lo, hi]: readonly [number, number],
  grid: number,
  values: KnownValues<number>,
): ReadonlyMap<PreparedOp, number> {
  const rounds = Math.ceil((hi - lo) / grid);
  const step = Math.ceil(rounds / ROUNDS);
  const taken = new Map<PreparedOp, { all: number; own: number }>();
  for (let round = 0; round < rounds; round += step) {
    const first = lo + round * grid;
    const places = new Map<PreparedOp, Set<string>>();
    for (let at = first; at < Math.min(hi, first + grid); at++) {
      values.set(body.arguments[0]!, at);
      visit(body, values, (op, place) => {
        const count = taken.get(op) ?? { all: 0, own: 0 };
        taken.set(op, count);
        count.all++;
        const seen = places.get(op) ?? new Set();
        places.set(op, seen);
        if (seen.has(place)) return;
        seen.add(place);
        count.own++;
      });
    }
  }
  return new Map([...taken].map(([op, { all, own }]) => [op, own / all]));
}

/** Goes to the copies of a block's first step, by what is known. */
function visit(
  region: PreparedRegion,
  values: KnownValues<number>,
  found: (op: PreparedOp, place: string) => void,
): void {
  for (const op of region.tiling) {
    if (op.fold !== null) values.fold(op.results[0]!, op.fold, op.operands[0]!, op.operands[1]!);
    else if (op.name === "copy_tile") found(op, op.operands.map((v) => values.of(v)).join(" "));
    else if (op.name === "if") {
      const condition = values.of(op.operands[0]!);
      visit(op.regions[condition === 0 ? 1 : 0]!, values, found);
    } else if (op.regions.length > 0) {
      const [inner] = op.regions as [PreparedRegion];
      inner.arguments.forEach((a, i) => values.set(a, values.of(op.operands[2 * i]!)));
      visit(inner, values, found);
    } else values.enter(op);
  }
}
