/** Runs a suite on a group: each kernel is checked first and then timed, next to its peers. Collective throughout. */
import { importsFromDisk } from "../runtime/imports.js";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile, type CompileResult, DTYPES, type DType } from "../compiler/index.js";
import { InternalCompilerError } from "../compiler/index.js";
import { messageOf } from "../runtime/errors.js";
import type { Group, Timing, TimingOptions } from "../runtime/group.js";
import { packageRoot } from "../runtime/native.js";
import { checkDims } from "../runtime/shapes.js";
import { execute } from "./execute.js";
import type { Peer } from "./peers.js";
import { type BenchCase, suites, type SuiteName } from "./suites.js";

/** Microseconds of one call: of each rank the median, of the ranks the slowest. */
export type CellTiming = Pick<Timing, "median" | "min" | "max">;

/** A time, or why there is none. */
export type Cell = { readonly us: CellTiming; readonly maxError: number | null } | { readonly problem: string };

export interface BenchRow {
  readonly label: string;
  readonly size: number;
  readonly dims: BenchCase["dims"];
  /** By kernel, `all_reduce/one_shot`. */
  readonly kernels: Readonly<Record<string, Cell>>;
  /** By name of the peer. */
  readonly peers: Readonly<Record<string, Cell>>;
}

export interface Measured {
  readonly rows: readonly BenchRow[];
  readonly peers: readonly { readonly name: string; readonly version: string }[];
}

export interface MeasureOptions {
  readonly suite: SuiteName;
  readonly cases: readonly BenchCase[];
  readonly dtype: DType;
  readonly timing: Required<TimingOptions>;
  readonly onProgress: (what: string, blocking: boolean) => void;
}

/** Elements of each output that are compared with the reference: enough to see a fault, quick at any size. */
const checkedElements = 2 ** 21;

/** Measures all cases. A kernel that fails a case is a cell with the reason, not the end of the run. */
export async function measure(group: Group, peers: readonly Peer[], options: MeasureOptions): Promise<Measured> {
  const suite = suites[options.suite];
  const compiled = new Map(suite.kernels.map((kernel) => [kernel, compileKernel(kernel, group.world, options.dtype)]));
  const rows: BenchRow[] = [];
  for (const [i, one] of options.cases.entries()) {
    const told = (what: string): string =>
      `${suite.title}, ${one.label} (${i + 1} of ${options.cases.length}): ${what}`;
    const kernels: Record<string, Cell> = {};
    for (const [name, result] of compiled) {
      kernels[name] = await kernelCell(group, result, one, options, (what, blocking) =>
        options.onProgress(told(`${name}, ${what}`), blocking),
      );
    }
    const others: Record<string, Cell> = {};
    for (const peer of peers) {
      options.onProgress(told(peer.name), false);
      others[peer.name] = await peerCell(peer, one, options);
    }
    rows.push({ label: one.label, size: one.size, dims: one.dims, kernels, peers: others });
  }
  return { rows, peers: peers.map(({ name, version }) => ({ name, version })) };
}

function compileKernel(kernel: string, ranks: number, dtype: DType): CompileResult {
  const file = join(packageRoot(), "kernels", `${kernel}.coll`);
  const result = compile(readFileSync(file, "utf8"), {
    file: `kernels/${kernel}.coll`,
    ranks,
    dtype,
    resolve: importsFromDisk,
  });
  const error = result.diagnostics.find((d) => d.severity === "error");
  if (error !== undefined) throw new InternalCompilerError(`kernels/${kernel}.coll does not compile: ${error.message}`);
  return result;
}

async function kernelCell(
  group: Group,
  compiled: CompileResult,
  one: BenchCase,
  options: MeasureOptions,
  onProgress: MeasureOptions["onProgress"],
): Promise<Cell> {
  try {
    checkDims(compiled.manifest!, one.dims);
  } catch (error) {
    // The same on all ranks: it depends on the dimensions alone. Whatever fails later ends the run for all.
    return { problem: messageOf(error) };
  }
  const done = await execute(group, compiled, one.dims, {
    seed: 1,
    timing: options.timing,
    maxElements: checkedElements,
    onProgress,
  });
  const { check, timing, bitwiseEqualAcrossRanks } = done;
  if (!check.correct || timing === null) return { problem: "wrong result" };
  if (bitwiseEqualAcrossRanks === false) return { problem: "ranks differ" };
  return { us: cellTiming(timing), maxError: check.maxError };
}

async function peerCell(peer: Peer, one: BenchCase, options: MeasureOptions): Promise<Cell> {
  const timing = await peer.time(suites[options.suite], one, options.dtype, options.timing);
  return { us: cellTiming(timing), maxError: null };
}

function cellTiming({ median, min, max }: Timing): CellTiming {
  const round = (us: number): number => Math.round(us * 1000) / 1000;
  return { median: round(median), min: round(min), max: round(max) };
}

/** The cases that `sizes` name. @throws RangeError with the entry that is none. */
export function casesOf(suite: SuiteName, sizes: readonly string[], dtype: DType, world: number): BenchCase[] {
  return sizes.map((text) => {
    const one = suites[suite].parse(text, DTYPES[dtype].bytes, world);
    if (one === null) throw new RangeError(text);
    return one;
  });
}
