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
  /** File in `bench/results`. */
  readonly file: string;
}

interface ResultFile {
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
 * Times of the kernel in a file, on GPUs; none for a file that is not one of collc's kernels.
 * @param dtype what all of its dtype variables stand for. @param machine whose GPUs they must be of
 */
export function measuredTimes(path: string, ranks: number, dtype: string, machine: Machine): MeasuredTime[] {
  const root = packageRoot();
  const folder = join(root, "bench", "results");
  if (!existsSync(path) || !existsSync(folder)) return [];
  const kernel = relative(realpathSync(join(root, "kernels")), realpathSync(path)).replace(/\.coll$/, "");
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .sort()
    .flatMap((file) => {
      const results = readResults(join(folder, file));
      if (results?.backend !== "cuda" || results.ranks !== ranks || results.dtype !== dtype) return [];
      if (!machinesOf(results.machine.gpus[0] ?? "").some((m) => m.gpu === machine.gpu)) return [];
      return results.rows.flatMap(({ label, dims, kernels }) => {
        const us = kernels[kernel]?.us?.median;
        return us === undefined ? [] : [{ label, dims, us, file }];
      });
    });
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
