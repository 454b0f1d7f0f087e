/** Did you mean …? */

/** The nearest of `names`, if one is near enough that a typing error explains it. */
export function nearest(word: string, names: readonly string[]): string | null {
  const limit = Math.max(1, Math.floor(Math.max(word.length, 3) / 3));
  let best: string | null = null;
  let bestDistance = limit + 1;
  for (const name of names) {
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

/** "did you mean 'x'?", or what there is. */
export function suggestion(word: string, names: readonly string[], what: string): string {
  const near = nearest(word, names);
  if (near !== null) return `did you mean '${near}'?`;
  return names.length === 0 ? `there is no ${what}` : `${what}: ${names.join(", ")}`;
}

/** Insertions, deletions, replacements and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, rows[i - 2]![j - 2]! + 1);
      row.push(cost);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
