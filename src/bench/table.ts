/** Measurements as a table: one row a size, times in microseconds, and how the best kernel compares with each peer. */
import Table from "cli-table3";
import { bestOf, geometricMean, medianOf, oursOf, ratioOf } from "./cells.js";
import { significant } from "./format.js";
import type { BenchRow, Measured } from "./measure.js";
import type { BenchResult } from "./results.js";
import { suites } from "./suites.js";

/** Colours, or identities. */
export interface TablePalette {
  readonly bold: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly dim: (text: string) => string;
}

/** The text table: a result's rows, the unit that their labels count, and the floor of each where one is known. */
export interface TableInput extends Measured {
  readonly unit: string;
  /** Microseconds that the machine allows on paper, by row. */
  readonly floors: readonly (number | null)[];
}

/** What floors are. */
const WIRE = "launch, exchanges and bytes over the wire at the machine's measured rates";
const PRODUCT = "a rank's product by itself, by cuBLAS";

/** The table as text, and below it what went wrong where. */
export function benchTable({ rows, peers, unit, floors }: TableInput, c: TablePalette): string {
  const names = Object.keys(rows[0]?.kernels ?? {});
  const hasFloor = floors.some((floor) => floor !== null);
  const head = [
    unit,
    ...names.map((name) => `${name} µs`),
    ...peers.map(({ name }) => `${name} µs`),
    ...(peers.length > 0 ? ["best peer ÷ collc"] : []),
    ...(hasFloor ? ["floor µs", "floor ÷ collc"] : []),
  ];
  const table = new Table({
    head: head.map(c.bold),
    style: { head: [], border: [], compact: true },
    colAligns: head.map(() => "right"),
  });
  const problems: string[] = [];
  for (const [i, row] of rows.entries()) {
    const best = bestOf(row.kernels);
    const ours = oursOf(row.kernels);
    const bestPeer = bestOf(row.peers);
    const cellText = (name: string, isBest: boolean, isAlone: boolean): string => {
      const cell = row.kernels[name] ?? row.peers[name];
      if (cell !== undefined && "problem" in cell) problems.push(`${row.label}, ${name}: ${cell.problem}`);
      const us = medianOf(cell);
      const text = us === null ? "–" : significant(us, 3);
      return isBest && !isAlone ? c.bold(text) : text;
    };
    const ratio = ratioOf(row);
    const floor = floors[i] ?? null;
    table.push([
      row.label,
      ...names.map((name) => cellText(name, best?.name === name, names.length === 1)),
      ...peers.map(({ name }) => cellText(name, bestPeer?.name === name, peers.length === 1)),
      ...(peers.length > 0 ? [ratio === null ? "–" : (ratio >= 1 ? c.green : c.yellow)(`${ratio.toFixed(2)}×`)] : []),
      ...(hasFloor
        ? [
            floor === null ? "–" : significant(floor, 3),
            floor === null || ours === null ? "–" : `${Math.round((floor / ours.us) * 100)} %`,
          ]
        : []),
    ]);
  }
  const mean = geometricMean(rows.flatMap((row) => ratioOf(row) ?? []));
  const legend = [
    ...(mean === null ? [] : [`geometric mean of best peer ÷ collc: ${mean.toFixed(2)}× (above 1, collc is faster)`]),
    ...(hasFloor ? [`floor: ${unit === "bytes" ? WIRE : PRODUCT}`] : []),
  ];
  return [table.toString(), ...legend.map(c.dim), ...problems.map(c.yellow)].join("\n") + "\n";
}

/**
 * Results of several suites as one Markdown table: a row a suite, a column a size; in each cell the fastest peer's time
 * over that of the fastest kernel, and the kernel's microseconds. Of models' layers, a row is a layer, and a column its rows.
 */
export function markdownTable(results: readonly BenchResult[]): string {
  if (results.some(({ rows }) => rows.some(({ layer }) => layer !== undefined))) return layerTable(results);
  const labels = [...new Map(results.flatMap(({ rows }) => rows.map((row) => [row.label, row.size])))]
    .sort((a, b) => a[1] - b[1])
    .map(([label]) => label);
  const lines = results.map((result) => {
    const cells = labels.map((label) => cellText(result.rows.find((r) => r.label === label)));
    return [suites[result.suite].title, ...cells, meanText(result.rows)];
  });
  return markdown(["", ...labels, "geomean"], lines, 1);
}

/** Of several results of a suite, what stands in the first of them counts. */
function layerTable(results: readonly BenchResult[]): string {
  const counts = [...new Set(results.flatMap(({ rows }) => rows.map(({ dims }) => dims["m"]!)))].sort((a, b) => a - b);
  const lines = [...new Set(results.map(({ suite }) => suite))].flatMap((suite) => {
    const all = results.filter((r) => r.suite === suite).flatMap(({ rows }) => rows);
    const rows = [...new Map(all.toReversed().map((row) => [row.label, row])).values()];
    return [...new Set(all.map(({ layer }) => layer))].map((layer) => {
      const own = rows.filter((row) => row.layer === layer);
      const { n, k } = own[0]!.dims;
      const cells = counts.map((m) => cellText(own.find(({ dims }) => dims["m"] === m)));
      return [suites[suite].title, `${layer ?? ""}, ${n}×${k}`, ...cells, meanText(own)];
    });
  });
  return markdown(["", "N×K", ...counts.map((m) => (m === 1 ? "1 row" : String(m))), "geomean"], lines, 2);
}

function cellText(row: BenchRow | undefined): string {
  const best = row === undefined ? null : oursOf(row.kernels);
  if (best === null) return "–";
  const ratio = ratioOf(row!);
  const us = `${significant(best.us, 3)} µs`;
  return ratio === null ? us : `${ratio.toFixed(2)} (${us})`;
}

function meanText(rows: readonly BenchRow[]): string {
  return geometricMean(rows.flatMap((row) => ratioOf(row) ?? []))?.toFixed(2) ?? "–";
}

/** @param names columns that are no numbers */
function markdown(head: readonly string[], lines: readonly (readonly string[])[], names: number): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map((_, i) => (i < names ? "---" : "---:"))), ...lines.map(row)].join("\n") + "\n";
}
