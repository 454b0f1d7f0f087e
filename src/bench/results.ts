/** What a bench run leaves behind: a JSON file with the machine's facts, and a plot if it was asked for. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DType } from "../compiler/index.js";
import type { BackendName, TimingOptions } from "../runtime/group.js";
import { writeOutput } from "../runtime/output-file.js";
import { type MachineFacts, machineSlug } from "./machine.js";
import type { Measured } from "./measure.js";
import type { SuiteName } from "./suites.js";

export interface BenchResult extends Measured {
  readonly formatVersion: 1;
  readonly suite: SuiteName;
  /** ISO 8601, UTC. */
  readonly date: string;
  readonly backend: BackendName;
  readonly ranks: number;
  readonly dtype: DType;
  /** Most multiprocessors of a kernel, where that was asked for. */
  readonly sms?: number;
  /** With `--round-partial-sums`. */
  readonly roundPartialSums?: true;
  /** Hosts that were pretended, and the GPUs of each: `2x2`. */
  readonly reach?: string;
  readonly timing: Required<TimingOptions>;
  readonly machine: MachineFacts;
}

/** "2026-11-21-4x-nvidia-h200-all_reduce", and hosts that were pretended, and the dtype where it is not bf16; further runs of a day get a number. */
function freeName(folder: string, result: BenchResult): string {
  const dtype = result.dtype === "bf16" ? "" : `-${result.dtype}`;
  const sms = result.sms === undefined ? "" : `-${result.sms}-sms`;
  const rounded = result.roundPartialSums === true ? "-rounded" : "";
  const hosts = result.reach === undefined ? "" : `-${result.reach}-hosts`;
  const machine = machineSlug(result.machine, result.ranks);
  const base = `${result.date.slice(0, 10)}-${machine}-${result.suite}${hosts}${dtype}${sms}${rounded}`;
  for (let i = 1; ; i++) {
    const name = i === 1 ? base : `${base}-${i}`;
    if (!existsSync(join(folder, `${name}.json`))) return name;
  }
}

/** The files of a run: each suite has one, which takes what was measured since. Results of other runs stay. */
export class ResultFiles {
  private readonly names = new Map<SuiteName, string>();

  constructor(private readonly folder: string) {}

  /** Writes what is measured of a suite so far, in place of what this run wrote of it before. @returns the path */
  async save(result: BenchResult): Promise<string> {
    const path = `${this.nameOf(result)}.json`;
    await writeOutput(path, JSON.stringify(result, null, 1) + "\n");
    return path;
  }

  /** Draws the result beside its file. @returns the path */
  async plot(result: BenchResult): Promise<string> {
    const { plotOf } = await import("./plot.js");
    const path = `${this.nameOf(result)}.svg`;
    await writeOutput(path, await plotOf(result));
    return path;
  }

  private nameOf(result: BenchResult): string {
    let name = this.names.get(result.suite);
    if (name === undefined) this.names.set(result.suite, (name = join(this.folder, freeName(this.folder, result))));
    return name;
  }
}
