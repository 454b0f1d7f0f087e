/** Measured times of collc's own kernels, as committed in `bench/results`: what predictions are compared with. */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { type DimValues, type Machine, machinesOf } from "../compiler/index.js";
import { packageRoot } from "../runtime/native.js";

export interface MeasuredTime {
  readonly label: string;
  readonly dims: DimValues;
  /** Median, in microseconds. */
  readonly us: number;
  /** When that was, as 2026-11-27. */
  readonly date: string;
  /** File in `bench/results`. */
  readonly file: string;
}

interface ResultFile {
  readonly date: string;
  /** Hosts that were pretended, as 2x2; none where all ranks had each other's addresses. */
  readonly reach?: string;
  readonly backend: string;
  readonly machine: { readonly gpus: readonly string[] };
  readonly ranks: number;
  readonly dtype: string;
  readonly rows: readonly {
    readonly label: string;
    readonly dims: DimValues;
    readonly kernels: Readonly<Record<string, { readonly us?: { readonly median: number } }>>;
  }[];
}

/**
 * Times of the kernel in a file, on GPUs whose ranks share addresses, the latest of each size; none for a file that is not one of collc's kernels.
 * @param dtype what all of its dtype variables stand for. @param machine whose GPUs they must be of
 */
export function measuredTimes(path: string, ranks: number, dtype: string, machine: Machine): MeasuredTime[] {
  const root = packageRoot();
  const folder = join(root, "bench", "results");
  if (!existsSync(path) || !existsSync(folder)) return [];
  const kernel = relative(realpathSync(join(root, "kernels")), realpathSync(path)).replace(/\.coll$/, "");
  const all = readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .flatMap((file) => {
      const results = readResults(join(folder, file));
      if (results?.backend !== "cuda" || results.ranks !== ranks || results.dtype !== dtype) return [];
      if (results.reach !== undefined) return [];
      if (!machinesOf(results.machine.gpus[0] ?? "").some((m) => m.gpu === machine.gpu)) return [];
      const { date } = results;
      return results.rows.flatMap(({ label, dims, kernels }) => {
        const us = kernels[kernel]?.us?.median;
        return us === undefined ? [] : [{ label, dims, us, date, file }];
      });
    })
    .sort((a, b) => (a.date < b.date ? -1 : 1));
  const latest = new Map(all.map((m) => [m.label, { ...m, date: m.date.slice(0, 10) }]));
  return [...latest.values()];
}

/** Null for a file that holds something else. */
function readResults(path: string): ResultFile | null {
  try {
    const found = JSON.parse(readFileSync(path, "utf8")) as Partial<ResultFile>;
    return Array.isArray(found.rows) ? (found as ResultFile) : null;
  } catch {
    return null;
  }
}
