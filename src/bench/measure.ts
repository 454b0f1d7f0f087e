/** Runs a suite on a group: each kernel is checked first and then timed, next to its peers. Collective throughout. */
import { importsFromDisk, libraryFromDisk } from "../runtime/imports.js";
import { backendOptions } from "../runtime/machine-at-hand.js";
import { tunedFromDisk } from "../runtime/tuned.js";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  choiceName,
  choiceOf,
  compile,
  type CompileResult,
  DTYPES,
  type DType,
  type Reach,
} from "../compiler/index.js";
import { messageOf, UsageError } from "../runtime/errors.js";
import type { Group, TimingOptions } from "../runtime/group.js";
import { packageRoot } from "../runtime/native.js";
import { checkDims } from "../runtime/shapes.js";
import { type Cell, type Cells, type CellTiming, cellTiming } from "./cells.js";
import { execute } from "./execute.js";
import type { NcclPeer, PeerName } from "./peers.js";
import { type BenchCase, suites, type SuiteName } from "./suites.js";

export interface BenchRow {
  readonly label: string;
  readonly size: number;
  readonly dims: BenchCase["dims"];
  readonly layer?: string;
  /** By kernel, `all_reduce/one_shot`. */
  readonly kernels: Cells;
  /** By name of the peer. */
  readonly peers: Cells;
  /** A rank's product by itself, by cuBLAS; where a peer has timed it. */
  readonly alone?: CellTiming;
}

export interface Measured {
  readonly rows: readonly BenchRow[];
  readonly peers: readonly PeerName[];
}

export interface MeasureOptions {
  readonly suite: SuiteName;
  readonly cases: readonly BenchCase[];
  readonly dtype: DType;
  /** See `CompileOptions.sms`. */
  readonly sms?: number | undefined;
  /** See `CompileOptions.roundPartialSums`. */
  readonly roundPartialSums?: boolean | undefined;
  /** Which ranks share addresses; all where it is left out. */
  readonly reach?: Reach | undefined;
  readonly timing: Required<TimingOptions>;
  /** Also each way that the suite's programs choose from. */
  readonly withWays: boolean;
  readonly onProgress: (what: string, blocking: boolean) => void;
  /** Takes what is measured after each case. */
  readonly onCase?: (measured: Measured) => Promise<void>;
}

/** Elements of each output that are compared with the reference: enough to see a fault, quick at any size. */
const checkedElements = 2 ** 21;

/** Measures all cases. A kernel that fails a case is a cell with the reason, not the end of the run. */
export async function measure(group: Group, nccl: NcclPeer | null, options: MeasureOptions): Promise<Measured> {
  const suite = suites[options.suite];
  const names = [...suite.kernels, ...(options.withWays ? suite.variants : [])];
  const compiled = new Map(names.map((kernel) => [kernel, compileKernel(kernel, group, options)]));
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
    for (const { name } of nccl?.names ?? []) {
      options.onProgress(told(name), false);
      others[name] = await nccl!.time(name, suite, one, options.dtype, options.timing);
    }
    rows.push({ ...one, kernels, peers: others });
    await options.onCase?.({ rows, peers: nccl?.names ?? [] });
  }
  return { rows, peers: nccl?.names ?? [] };
}

function compileKernel(
  kernel: string,
  { world: ranks, backend }: Group,
  { dtype, sms, reach, roundPartialSums }: Pick<MeasureOptions, "dtype" | "sms" | "reach" | "roundPartialSums">,
): CompileResult {
  const file = join(packageRoot(), "kernels", `${kernel}.coll`);
  const result = compile(readFileSync(file, "utf8"), {
    file: `kernels/${kernel}.coll`,
    ranks,
    dtype,
    ...(sms === undefined ? {} : { sms }),
    ...(reach === undefined ? {} : { reach }),
    ...(roundPartialSums === undefined ? {} : { roundPartialSums }),
    resolve: importsFromDisk,
    library: libraryFromDisk,
    ...backendOptions(backend, ranks),
    tuned: tunedFromDisk(undefined, { withLibraries: backend !== "cpu" }),
  });
  const error = result.diagnostics.find((d) => d.severity === "error");
  if (error !== undefined)
    throw new UsageError(`kernels/${kernel}.coll is not for ${dtype}: ${error.message}`, "choose another --dtype");
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
  if (check.unbounded === 1) return { problem: "nothing bounds the error of any element at this data" };
  if (bitwiseEqualAcrossRanks === false) return { problem: "ranks differ" };
  const { considered, manifest } = compiled;
  const way = considered.length < 2 ? {} : { way: choiceName(choiceOf(manifest!, one.dims), manifest!) };
  return { us: cellTiming(timing), maxError: check.maxError, ...way };
}

/** The cases that `sizes` name. @throws RangeError with the entry that is none. */
export function casesOf(suite: SuiteName, sizes: readonly string[], dtype: DType, world: number): BenchCase[] {
  return sizes.map((text) => {
    const one = suites[suite].parse(text, DTYPES[dtype].bytes, world);
    if (one === null) throw new RangeError(text);
    return one;
  });
}
