/** The text of `collc simulate`. */
import { bytes, duration, significant } from "../bench/format.js";
import type { Io, Palette } from "./io.js";
import { paletteOf } from "./io.js";
import { plainTable } from "./plain-table.js";
import type { SimulateOptions, SimulateResult, Simulated } from "./simulate.js";

const BARS = "▁▂▃▄▅▆▇█";

/** For each number of ranks a table of times, the fastest marked; then where which program is ahead. */
export function simulateReport(io: Io, result: SimulateResult, { links, chunks }: SimulateOptions): string {
  const c = paletteOf(io.out, io.env);
  const { machine, programs } = result;
  const counts = [...new Set(programs.map((p) => p.ranks))];
  const parts = [
    `${c.bold(machine.name)}: ${machine.title}\n${c.dim("simulated; size: bytes of a rank's largest tensor")}`,
    ...counts.map((ranks) => timesOf(c, result, ranks)),
  ];
  const several = new Set(programs.map((p) => p.name)).size > 1;
  if (several) parts.push(`${c.bold("Fastest")}\n${counts.flatMap((ranks) => fastestOf(result, ranks)).join("\n")}`);
  if (links === true) parts.push(linksOf(c, result));
  parts.push(c.dim(howOf(programs, chunks)));
  return `${parts.join("\n\n")}\n`;
}

/** The first column names, all others are numbers. */
function tableOf(c: Palette, head: readonly string[], rows: readonly (readonly string[])[]): string {
  return plainTable(c, head, rows, [...head.keys()].slice(1));
}

function timesOf(c: Palette, { machine, sizes, programs }: SimulateResult, ranks: number): string {
  const here = programs.filter((p) => p.ranks === ranks);
  const best = sizes.map((_, i) => Math.min(...here.flatMap((p) => p.sizes[i]?.seconds ?? [])));
  // Rates of all programs to one scale: the picture says what part of the best rate is reached at each size.
  const most = Math.max(...here.flatMap((p) => p.sizes.map((s) => s.bytes / s.seconds)));
  const rows = here.map(({ name, why, help, sizes: own }): string[] => {
    if (own.length === 0) return [name, ...sizes.map(() => "–"), [why, help].filter((s) => s !== null).join("; ")];
    const bars = own.map((s) => BARS[Math.min(7, Math.floor((8 * s.bytes) / s.seconds / most))]!).join("");
    const last = own.at(-1)!;
    const rate = `${significant(last.bytes / last.seconds / 1e9, 3)} GB/s`;
    const cells = own.map((s, i) => {
      const text = duration(s.seconds * 1e6);
      return here.length > 1 && s.seconds === best[i] ? c.green(text) : text;
    });
    return [name, ...cells, `${bars} ${rate}`];
  });
  const hosts = Math.ceil(ranks / machine.ranksPerDomain);
  const title = `${ranksText(ranks)}, ${hosts} domain${hosts === 1 ? "" : "s"}`;
  return `${c.bold(title)}\n${tableOf(c, ["", ...sizes.map(bytes), "size ÷ time"], rows)}`;
}

const ranksText = (ranks: number | string): string => `${ranks} rank${String(ranks) === "1" ? "" : "s"}`;

/** Which program is the fastest from which size on; nothing where none could be simulated. */
function fastestOf({ sizes, programs }: SimulateResult, ranks: number): string[] {
  const here = programs.filter((p) => p.ranks === ranks && p.sizes.length > 0);
  if (here.length === 0) return [];
  const runs: { name: string; from: number; to: number }[] = [];
  sizes.forEach((size, i) => {
    const { name } = here.reduce((a, b) => (b.sizes[i]!.seconds < a.sizes[i]!.seconds ? b : a));
    const last = runs.at(-1);
    if (last?.name === name) last.to = size;
    else runs.push({ name, from: size, to: size });
  });
  const text = runs.map(({ name, from, to }) => `${name} ${from === to ? bytes(from) : `${bytes(from)} to ${bytes(to)}`}`); // prettier-ignore
  return [`  ${ranksText(ranks)}: ${text.join(", ")}`];
}

function linksOf(c: Palette, { sizes: asked, programs }: SimulateResult): string {
  const rows = programs.flatMap(({ name, ranks, sizes }) => {
    const last = sizes.at(-1);
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
    isBetweenHosts ? "Between hosts these are puts out of one kernel; what collc runs there today is NCCL's messages between kernels, which start later (docs/REACH.md)." : "", // prettier-ignore
    "docs/SCALE.md says what is modelled, and how well.",
  ]
    .filter((s) => s !== "")
    .join(" ");
}
