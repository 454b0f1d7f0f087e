/** Did you mean …? */

/** "did you mean 'x'?" for the nearest known name; null when none is so near that a typing error explains it. */
export function suggestion(name: string, known: readonly string[]): string | null {
  const near = nearest(name, known);
  return near === null ? null : `did you mean '${near}'?`;
}

/** The nearest known name within a third of the letters (at least one); null if there is none. */
export function nearest(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let limit = Math.max(1, Math.floor(name.length / 3));
  for (const candidate of known) {
    if (candidate === name || Math.abs(candidate.length - name.length) > limit) continue;
    const distance = editDistance(name, candidate);
    // A single letter is near to every other one: that is no hint.
    if (distance > limit || distance >= Math.max(name.length, candidate.length)) continue;
    [best, limit] = [candidate, distance - 1];
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let cost = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (isSame ? 0 : 1));
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) cost = Math.min(cost, rows[i - 2]![j - 2]! + 1);
      row.push(cost);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
