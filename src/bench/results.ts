/** What a bench run leaves behind: a JSON file with the machine's facts, and a plot if it was asked for. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DType } from "../compiler/index.js";
import { writeFileAtomic } from "../runtime/atomic-file.js";
import type { BackendName, TimingOptions } from "../runtime/group.js";
import { bytes } from "./format.js";
import { type MachineFacts, machineSlug } from "./machine.js";
import type { BenchRow, Measured } from "./measure.js";
import { type Line, svgPlot } from "./plot.js";
import { medianOf } from "./table.js";
import { suites, type SuiteName } from "./suites.js";

export interface BenchResult extends Measured {
  readonly formatVersion: 1;
  readonly suite: SuiteName;
  /** ISO 8601, UTC. */
  readonly date: string;
  readonly backend: BackendName;
  readonly ranks: number;
  readonly dtype: DType;
  readonly timing: Required<TimingOptions>;
  readonly machine: MachineFacts;
}

/** "2026-11-21-4x-nvidia-h200-all_reduce"; further runs of a day get a number. */
function freeName(folder: string, result: BenchResult): string {
  const base = `${result.date.slice(0, 10)}-${machineSlug(result.machine, result.ranks)}-${result.suite}`;
  for (let i = 1; ; i++) {
    const name = i === 1 ? base : `${base}-${i}`;
    if (!existsSync(join(folder, `${name}.json`))) return name;
  }
}

/** Writes the result into `folder` and returns the paths. Existing results stay. */
export async function saveResult(folder: string, result: BenchResult, withPlot: boolean): Promise<string[]> {
  const name = join(folder, freeName(folder, result));
  const paths = [`${name}.json`];
  await writeFileAtomic(paths[0]!, JSON.stringify(result, null, 1) + "\n");
  if (withPlot) {
    paths.push(`${name}.svg`);
    await writeFileAtomic(paths[1]!, plotOf(result));
  }
  return paths;
}

/** The times over the sizes. */
export function plotOf(result: BenchResult): string {
  const { rows, machine, suite } = result;
  const line = (name: string, isPeer: boolean, cells: (row: BenchRow) => number | null): Line => ({
    name,
    isPeer,
    points: rows.flatMap((row) => {
      const us = cells(row);
      return us === null ? [] : [[row.size, us] as const];
    }),
  });
  const { unit, title } = suites[suite];
  const where =
    machine.gpus.length > 0 ? `${result.ranks} × ${machine.gpus[0]}` : `${result.ranks} ranks emulated on the CPU`;
  return svgPlot({
    title: `${title}, ${result.dtype}`,
    subtitle: `${where}, collc ${machine.collc}, ${result.date.slice(0, 10)}; lower is better`,
    xTitle: unit === "bytes" ? "bytes of the full tensor" : "multiplications of the whole product",
    yTitle: "microseconds a call",
    xLabel: (size) =>
      unit === "bytes" ? bytes(size).replace(/\.0+(?= )/, "") : size.toExponential(0).replace("+", ""),
    lines: [
      ...Object.keys(rows[0]?.kernels ?? {}).map((name) => line(name, false, (row) => medianOf(row.kernels[name]))),
      ...result.peers.map((peer) =>
        line(`${peer.name} ${peer.version}`, true, (row) => medianOf(row.peers[peer.name])),
      ),
    ],
  });
}
