/**
 * How ranks that do the same lie to each other. Rank r of a program does what rank r mod p does, where each peer of the one is moved
 * to a peer of the other by one rule: further on by as many ranks as these two lie apart, as in a ring; or with those bits of its number
 * turned over in which these two differ, as where partners are twice as far away in each round.
 */

/** The rule; that of bits is for worlds, and numbers p, that are powers of two. */
export type Likeness = "shift" | "flip";

/**
 * The rank that is to the rank `by` what `rank` is to rank 0.
 * @param by a multiple of the number of ranks after which they are alike
 */
export function moved(rank: number, by: number, world: number, likeness: Likeness): number {
  return likeness === "flip" ? rank ^ by : (rank + by) % world;
}

/** The rank that {@link moved} brings to `rank`. */
export function movedBack(rank: number, by: number, world: number, likeness: Likeness): number {
  return likeness === "flip" ? rank ^ by : (rank - by + world) % world;
}

/** Whether ranks can be alike by a rule after so many. */
export function isPossible(likeness: Likeness, world: number, after: number): boolean {
  return likeness === "shift" || (isPowerOfTwo(world) && isPowerOfTwo(after));
}

function isPowerOfTwo(n: number): boolean {
  return (n & (n - 1)) === 0;
}
