/** Flags that only go up, whose signals need not be looked at one by one. */

/** Values of a flag that are nearer to each other are in one order, though they wrap. */
export const NEAR = 2 ** 30;

/** The first number below `count` of which something is true that is true of all behind it; `count` where there is none. */
export function firstWhere(count: number, isSo: (at: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isSo(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
