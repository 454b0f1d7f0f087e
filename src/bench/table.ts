/** Measurements as a table: one row a size, times in microseconds, and how the best kernel compares with each peer. */
import Table from "cli-table3";
import { significant } from "./format.js";
import type { Cell, Measured } from "./measure.js";

/** Colours, or identities. */
export interface TablePalette {
  readonly bold: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly dim: (text: string) => string;
}

/** Median of a cell, or null. */
export const medianOf = (cell: Cell | undefined): number | null =>
  cell !== undefined && "us" in cell ? cell.us.median : null;

/** The fastest kernel of a row. */
export function bestOf(kernels: Readonly<Record<string, Cell>>): { readonly name: string; readonly us: number } | null {
  const timed = Object.entries(kernels).flatMap(([name, cell]) => ("us" in cell ? [{ name, us: cell.us.median }] : []));
  return timed.reduce<(typeof timed)[number] | null>(
    (best, one) => (best === null || one.us < best.us ? one : best),
    null,
  );
}

/** The table as text, and below it what went wrong where. */
export function benchTable({ rows, peers }: Measured, unit: string, c: TablePalette): string {
  const names = Object.keys(rows[0]?.kernels ?? {});
  const head = [
    unit,
    ...names.map((name) => `${name} µs`),
    ...peers.flatMap(({ name }) => [`${name} µs`, `${name} ÷ best`]),
  ];
  const table = new Table({
    head: head.map(c.bold),
    style: { head: [], border: [], compact: true },
    colAligns: head.map(() => "right"),
  });
  const problems: string[] = [];
  for (const row of rows) {
    const best = bestOf(row.kernels);
    const cells = names.map((name) => {
      const cell = row.kernels[name]!;
      if ("problem" in cell) problems.push(`${row.label}, ${name}: ${cell.problem}`);
      const text = "us" in cell ? significant(cell.us.median, 3) : "–";
      return best?.name === name && names.length > 1 ? c.bold(text) : text;
    });
    const compared = peers.flatMap(({ name }) => {
      const us = medianOf(row.peers[name]);
      if (us === null) return ["–", "–"];
      const ratio = best === null ? null : us / best.us;
      const text = ratio === null ? "–" : `${ratio.toFixed(2)}×`;
      return [significant(us, 3), ratio !== null && ratio >= 1 ? c.green(text) : c.yellow(text)];
    });
    table.push([row.label, ...cells, ...compared]);
  }
  const legend =
    peers.length > 0
      ? `${c.dim("÷ best: time of the peer over that of the fastest kernel; above 1, collc is faster")}\n`
      : "";
  return `${table.toString()}\n${legend}${problems.map((line) => `${c.yellow(line)}\n`).join("")}`;
}
