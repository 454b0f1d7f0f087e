/** The text of `collc simulate`. */
import { bytes, duration, significant } from "../bench/format.js";
import type { Io, Palette } from "./io.js";
import { paletteOf } from "./io.js";
import { plainTable } from "./plain-table.js";
import type { SimulateOptions, SimulateResult, Simulated } from "./simulate.js";

const BARS = "▁▂▃▄▅▆▇█";

/** Characters of a column of times: "≥ 8.19 ms" fits. */
const TIME_WIDTH = 9;

/**
 * For each number of ranks a table of times, a row as soon as a program is done, so that columns are as wide as they may have to be;
 * then where which program is ahead.
 */
export class SimulateReport {
  private readonly c: Palette;
  private nameWidth = 0;
  private hasLeftOut = false;

  constructor(
    private readonly io: Io,
    private readonly machine: SimulateResult["machine"],
    private readonly sizes: readonly number[],
    private readonly options: SimulateOptions,
  ) {
    this.c = paletteOf(io.out, io.env);
  }

  /** @param names of the programs */
  begin(names: readonly string[]): void {
    const { c, machine } = this;
    this.nameWidth = Math.max(...names.map((name) => name.length));
    this.write(`${c.bold(machine.name)}: ${machine.title}\n${c.dim("simulated; size: bytes of a rank's largest tensor")}\n`); // prettier-ignore
  }

  /** The head of the table for a number of ranks. */
  table(ranks: number): void {
    const { c, sizes, machine } = this;
    const hosts = Math.ceil(ranks / machine.ranksPerDomain);
    this.write(`\n${c.bold(`${ranksText(ranks)}, ${hosts} domain${hosts === 1 ? "" : "s"}`)}\n`);
    this.write(`${c.dim(this.line("", sizes.map(bytes), "size ÷ time"))}\n`);
  }

  /** A program of it. */
  row({ name, why, help, sizes: own, leftOut }: Simulated): void {
    const { sizes } = this;
    if (why !== null) return this.write(`${this.line(name, sizes.map(() => "–"), [why, help].filter((s) => s !== null).join("; "))}\n`); // prettier-ignore
    this.hasLeftOut ||= leftOut.length > 0;
    // What part of the program's best rate it reaches at each size.
    const most = Math.max(...own.map((s) => s.bytes / s.seconds));
    const bars = sizes.map((size) => {
      const played = own.find((s) => s.bytes === size);
      return played === undefined ? " " : BARS[Math.min(7, Math.floor((8 * size) / played.seconds / most))]!;
    });
    const times = sizes.map((size) => {
      const played = own.find((s) => s.bytes === size);
      const least = leftOut.find((s) => s.bytes === size);
      return played !== undefined ? duration(played.seconds * 1e6) : `≥ ${duration(least!.atLeast * 1e6)}`;
    });
    const last = own.at(-1);
    const rate = last === undefined ? "" : `${bars.join("")} ${significant(last.bytes / last.seconds / 1e9, 3)} GB/s`;
    this.write(`${this.line(name, times, rate)}\n`);
  }

  /** All that is said of several tables. */
  end(result: SimulateResult): void {
    const { c, hasLeftOut } = this;
    const { programs } = result;
    const { links, chunks } = this.options;
    const counts = [...new Set(programs.map((p) => p.ranks))];
    const parts: string[] = [];
    const several = new Set(programs.map((p) => p.name)).size > 1;
    if (several) parts.push(`${c.bold("Fastest")}\n${counts.flatMap((ranks) => fastestOf(result, ranks)).join("\n")}`);
    if (links === true) parts.push(linksOf(c, result));
    if (hasLeftOut) parts.push(c.dim("≥: left out, for it cannot be the fastest: links and latencies alone take so long. `collc simulate --all` has its times.")); // prettier-ignore
    parts.push(c.dim(howOf(programs, chunks)));
    this.write(`\n${parts.join("\n\n")}\n`);
  }

  private line(name: string, times: readonly string[], rest: string): string {
    const cells = times.map((t, i) => t.padStart(Math.max(TIME_WIDTH, bytes(this.sizes[i]!).length)));
    return `  ${[name.padEnd(this.nameWidth), ...cells, rest].join("  ")}`.trimEnd();
  }

  private write(text: string): void {
    this.io.out.write(text);
  }
}

/** The first column names, all others are numbers. */
function tableOf(c: Palette, head: readonly string[], rows: readonly (readonly string[])[]): string {
  return plainTable(c, head, rows, [...head.keys()].slice(1));
}

const ranksText = (ranks: number | string): string => `${ranks} rank${String(ranks) === "1" ? "" : "s"}`;

/** Which program is the fastest from which size on; nothing where none could be simulated. */
function fastestOf({ sizes, programs }: SimulateResult, ranks: number): string[] {
  const here = programs.filter((p) => p.ranks === ranks && p.schedule !== null);
  if (here.length === 0) return [];
  const runs: { name: string; from: number; to: number }[] = [];
  for (const size of sizes) {
    const times = here.flatMap(({ name, sizes: own }) => own.filter((s) => s.bytes === size).map(({ seconds }) => ({ name, seconds }))); // prettier-ignore
    const { name } = times.reduce((a, b) => (b.seconds < a.seconds ? b : a));
    const last = runs.at(-1);
    if (last?.name === name) last.to = size;
    else runs.push({ name, from: size, to: size });
  }
  const text = runs.map(({ name, from, to }) => `${name} ${from === to ? bytes(from) : `${bytes(from)} to ${bytes(to)}`}`); // prettier-ignore
  return [`  ${ranksText(ranks)}: ${text.join(", ")}`];
}

function linksOf(c: Palette, { sizes: asked, programs }: SimulateResult): string {
  const rows = programs.flatMap(({ name, ranks, sizes }) => {
    const last = sizes.find((s) => s.bytes === asked.at(-1));
    return (last?.links ?? []).map((l) => [
      `${name}, ${ranksText(ranks)}`,
      l.kind,
      String(l.links),
      bytes(l.bytes / l.links),
      bytes(l.most),
      `${((100 * l.busy) / last!.seconds).toFixed(0)} %`,
    ]);
  });
  return `${c.bold(`Links at ${bytes(asked.at(-1)!)}`)}\n${tableOf(c, ["", "link", "number", "bytes each", "busiest", "busy"], rows)}`;
}

function howOf(programs: readonly Simulated[], chunks: number | undefined): string {
  const derived = new Set(programs.flatMap((p) => p.schedule?.derivedAt.map(String) ?? []));
  const isBetweenHosts = programs.some((p) => p.sizes.some((s) => s.links.some((l) => l.kind.startsWith("NIC"))));
  const chunked = programs.flatMap((p) => p.sizes).some((s) => s.chunks > 1);
  return [
    `Whom ranks wait for was derived and verified at ${ranksText([...derived].join(", "))}.`,
    !chunked ? "" : chunks === undefined ? "Tensors go in 1, 2, 4, 8 or 16 chunks, more while that is faster." : `Tensors go in ${chunks} chunks.`, // prettier-ignore
    isBetweenHosts ? "Between hosts these are puts out of one kernel; what collc runs there today is messages between kernels, by NCCL or NVSHMEM, which start later (docs/REACH.md)." : "", // prettier-ignore
    "docs/SCALE.md says what is modelled, and how well.",
  ]
    .filter((s) => s !== "")
    .join(" ");
}
