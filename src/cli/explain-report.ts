/** The text of `collc explain`. */
import { bytes, duration, significant } from "../bench/format.js";
import {
  type CompileResult,
  type DimValues,
  type Explanation,
  type LayoutStep,
  type Machine,
  type PartyStep,
  type SyncStep,
  type TimedStep,
} from "../compiler/index.js";
import { type Io, type Palette, paletteOf } from "./io.js";
import { plainTable } from "./plain-table.js";

/** A measured time beside the predicted one. */
export interface Comparison {
  readonly label: string;
  readonly dims: DimValues;
  /** When it was measured, as 2026-11-27. */
  readonly date: string;
  readonly file: string;
  readonly predictedUs: number;
  readonly measuredUs: number;
}

/** What each layout says of all ranks, in words. */
const LAYOUTS: Readonly<Record<string, string>> = {
  replicated: "every rank holds the whole, and the same",
  sharded: "each rank holds its slice",
  partial: "each rank holds a part of the whole's reduction",
  on: "one rank holds it",
  local: "each rank has its own",
};

/** What each says of the ranks along an axis of a mesh, whatever the other axes say. */
const ALONG_AXIS: Readonly<Record<string, string>> = {
  replicated: "all hold the same",
  sharded: "each holds its slice",
  partial: "each holds a part of the reduction",
  on: "one holds it",
};

/** A layout as the compiler prints it, in words. */
function layoutInWords(layout: string): string {
  const parts = [...layout.matchAll(/(\w+)(?:\(([^)]*)\))?/g)].map(([, kind = "", values = ""]) => {
    const own = kind === "replicated" || kind === "local" ? 0 : 1;
    return { kind, axis: values === "" ? undefined : values.split(", ")[own] };
  });
  return parts
    .map(({ kind, axis }) => (axis === undefined ? (LAYOUTS[kind] ?? "") : `along ${axis} ${ALONG_AXIS[kind] ?? ""}`))
    .join(", ");
}

/** Everything, as a person reads it from top to bottom. */
export function explainReport(
  io: Io,
  file: string,
  compiled: CompileResult,
  e: Explanation,
  machine: Machine,
  compared: readonly Comparison[],
): string {
  const c = paletteOf(io.out, io.env);
  const place = (at: { file: string; line: number } | null): string =>
    at === null ? "" : at.file === compiled.source.name ? `line ${at.line}` : `${at.file}:${at.line}`;
  const given = [...Object.entries(e.dtypes), ...Object.entries(e.dims)].map(([name, v]) => `${name} = ${v}`);
  const parts = [
    `${c.bold(e.collective)} ${c.dim(`(${file})`)}\n${[`${e.ranks} rank${e.ranks === 1 ? "" : "s"}`, ...given].join(", ")}`,
    section(c, "Layouts", layouts(c, e, place)),
    ...(e.plan === null ? [] : [section(c, "Plan", planned(c, e))]),
    section(c, "Algorithm", algorithm(e)),
    ...(e.products.length === 0 ? [] : [section(c, "Products", products(c, e, place))]),
    section(c, "What moves, in one launch, at rank 0", moves(c, e, place)),
    section(c, "Wire", wire(c, e)),
    ...(e.messages.length === 0 ? [] : [section(c, "Messages between domains", messages(c, e))]),
    ...(e.steps.length === 0 ? [] : [section(c, "Steps, predicted", steps(c, e))]),
    ...(e.unstaged.length === 0 ? [] : [section(c, "Transfers that stay as written", unstaged(e, place))]),
    section(c, "Synchronisation", syncs(c, e.syncs, place)),
    section(c, `Time on ${machine.name} (${machine.title}), predicted`, times(c, e, machine)),
    ...(compared.length === 0 ? [] : [section(c, "Beside what was measured", measured(c, compared))]),
  ];
  return `${parts.join("\n\n")}\n`;
}

type Show = (at: { file: string; line: number } | null) => string;

const section = (c: Palette, title: string, body: string): string => `${c.bold(title)}\n${body}`;

function products(c: Palette, e: Explanation, place: Show): string {
  const rows = e.products.map(({ at, unit, tile, products, stages, narrower, gathers, why }) => [
    place(at),
    unit,
    tile === null
      ? (why ?? "")
      : `tiles of ${tile.join("×")}${products > 1 ? " of each of two products" : ""}${orOf(narrower)}, ${stages} stages${gathers.length > 0 ? `, while ${gathers.join(" and ")} is gathered` : ""}`,
  ]);
  return plainTable(c, ["", "", ""], rows);
}

/** Widths that tiles may have instead. */
function orOf(columns: readonly number[]): string {
  const [last] = columns.slice(-1);
  const others = columns.slice(0, -1);
  if (last === undefined) return "";
  return ` or ${others.length === 0 ? last : `${others.join(", ")} or ${last}`} columns`;
}

/** Messages of each step, of all ranks and of the one that sends the most. */
function messages(c: Palette, e: Explanation): string {
  const sent = (sets: readonly (readonly number[])[]): string =>
    sets.length === 0 ? "" : `as broadcasts from ${sets.map(([root, ...others]) => `rank ${root} to ${others.join(", ")}`).join("; ")}`; // prettier-ignore
  const rows = e.messages.map(({ from, messages: all, bytes: size, most, broadcasts }, i) => [
    `step ${i + 1}`,
    from.map((name) => name.slice(name.lastIndexOf("/") + 1)).join(", "),
    String(all),
    bytes(size),
    `rank ${most.rank}: ${most.messages}, ${bytes(most.bytes)}`,
    sent(broadcasts),
  ]);
  return plainTable(c, ["", "from", "messages", "bytes", "most", ""], rows, [2, 3]);
}

const STEPS = { launch: "kernel", copy: "engines' copies", message: "messages" } as const;

/** When each step begins and ends, and what goes on beside what. */
function steps(c: Palette, e: Explanation): string {
  const us = (seconds: number): string => duration(seconds * 1e6);
  const nameOf = ({ kind, number }: TimedStep): string => `${STEPS[kind]} ${number}`;
  const rows = e.steps.map((step) => {
    const end = step.start + step.seconds;
    const beside = e.steps.filter((o) => step.isBeside && o.kind === "launch" && o.start < end && step.start < o.start + o.seconds); // prettier-ignore
    const words = [
      ...(beside.length === 0 ? [] : [`beside ${beside.map(nameOf).join(", ")}`]),
      ...(step.awaits === null ? [] : [`waits for messages ${step.awaits}`]),
    ];
    return [nameOf(step), us(step.start), us(step.seconds), words.join(", ")];
  });
  return plainTable(c, ["", "begins", "takes", ""], rows, [1, 2]);
}

function layouts(c: Palette, e: Explanation, place: Show): string {
  const rows = e.layouts.map((l: LayoutStep) => {
    const change = l.from === undefined ? "" : `${l.from} → ${l.layout}`;
    return [l.what, `${l.dtype}[${l.shape.join(", ")}]`, l.layout, change === "" ? layoutInWords(l.layout) : change, place(l.at)]; // prettier-ignore
  });
  return plainTable(c, ["", "whole tensor", "layout", "", ""], rows);
}

/** Which kernel each size takes, and by how much it is ahead at these. */
function planned(c: Palette, e: Explanation): string {
  const { by, choices, chosen, isMeasured, times: all } = e.plan!;
  const rows = choices.map(({ below, kernel, isTaken }, i) => {
    const from = choices[i - 1]?.below ?? null;
    const bound = [...(from === null ? [] : [`${by} ≥ ${from}`]), ...(below === null ? [] : [`${by} < ${below}`])];
    const sizes = bound.length === 0 ? "every size" : bound.join(", ");
    return [sizes, kernel, isTaken ? "← these sizes" : ""];
  });
  const us = (seconds: number): string => duration(seconds * 1e6);
  const own = all.find((t) => t.name === chosen);
  const source = isMeasured ? `\n  Measured on this machine by \`collc tune\`; times below are the model's.` : "";
  const plan = plainTable(c, ["", "", ""], rows) + source;
  if (own === undefined)
    return `${plan}\n  ${chosen} does these sizes with its own collective. What is below is of ${all[0]!.name}, beside it.`;
  const next = all.find((t) => t.name !== chosen);
  if (next === undefined) return `${plan}\n  ${chosen} is predicted to take ${us(own.seconds)}.`;
  const ahead = next.seconds / own.seconds - 1;
  const isPlanned = choices.some(({ kernel }) => kernel === next.name);
  const why = isPlanned
    ? `but the plan goes by ${by} alone, for matrices of lengths as models have them`
    : "which is too little less to have one kernel more";
  const verdict =
    ahead >= 0
      ? `${next.name}, the next best, would take ${us(next.seconds)}: ${(ahead * 100).toFixed(0)} % more`
      : `${next.name} would take ${us(next.seconds)}, ${why}`;
  const others = all.filter((t) => t !== own && t !== next).map((t) => `${t.name} ${us(t.seconds)}`);
  const rest = others.length === 0 ? "" : `\n  ${c.dim(`further: ${others.join(", ")}`)}`;
  return `${plan}\n  ${chosen} is predicted to take ${us(own.seconds)}. ${verdict}.${rest}`;
}

function algorithm(e: Explanation): string {
  if (e.form === "explicit")
    return e.plan === null
      ? "  Written by its author: the body says which rank reads and stores what."
      : `  That of ${e.plan.chosen}, which the plan has for these sizes.`;
  const changes = e.layouts.filter((l) => l.from !== undefined);
  if (changes.length === 0) return "  Nothing changes its layout, so nothing has to move.";
  return changes
    .map((l) => {
      const how = l.algorithm ?? "the compiler's only way for this change";
      return `  ${l.from} → ${l.layout}: ${how}${l.why === undefined ? "" : `, because ${l.why}`}`;
    })
    .join("\n");
}

function moves(c: Palette, e: Explanation, place: Show): string {
  if (e.moves.length === 0) return "  Nothing.";
  const rows = e.moves.map((m) => [
    place(m.at),
    `${m.kind === "load" ? "loads" : "stores"} ${m.buffer}`,
    m.own === 0 ? "" : bytes(m.own),
    m.peers === 0 ? "" : bytes(m.peers),
  ]);
  const unknown = e.unknown.map((at) => `  ${place(at)}: how much moves there is decided by data, and not counted`);
  const notes = e.isSampled ? ["  Long loops were sampled: sizes are close, not exact."] : [];
  return [plainTable(c, ["", "", "own memory", "peers' memory"], rows, [2, 3]), ...notes, ...unknown].join("\n");
}

function wire(c: Palette, e: Explanation): string {
  const sum = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0);
  const sent = e.wire.map(sum);
  const isKnown = e.unknown.length === 0;
  if (sum(sent) === 0)
    return isKnown ? "  Nothing goes from rank to rank." : "  What goes from rank to rank is decided by data.";
  const received = e.wire.map((_, to) => sum(e.wire.map((row) => row[to]!)));
  const head = ["from \\ to", ...e.wire.map((_, r) => `rank ${r}`), "sends", "receives"];
  const rows = e.wire.map((row, from) => [
    `rank ${from}`,
    ...row.map((b, to) => (from === to ? "" : b === 0 ? "0" : bytes(b))),
    bytes(sent[from]!),
    bytes(received[from]!),
  ]);
  const rest = isKnown ? "" : "\n  What goes as data decides is not in it.";
  return plainTable(c, head, rows, head.map((_, i) => i).slice(1)) + rest;
}

const SCOPES: Readonly<Record<SyncStep["scope"], string>> = {
  block: ", block by block",
  grid: ", all blocks",
  launch: ", as the launch begins; waited for as it ends",
};

function unstaged(e: Explanation, place: Show): string {
  return e.unstaged.map((t) => `  ${place(t.at)} ${t.kind}s '${t.buffer}' at its peers: ${t.why}`).join("\n");
}

function syncs(c: Palette, all: readonly SyncStep[], place: Show): string {
  if (all.length === 0) return "  None is needed: no rank touches what another one uses.";
  return all
    .map((s, i) => {
      const who = s.kind === "barrier" ? whoMeets(s.ranks) : "";
      const blocks = s.kind !== "barrier" ? "" : SCOPES[s.scope];
      const times = s.times === 1 ? "" : s.times === 0 ? ", not at these sizes" : `, ${s.times} times`;
      const where = s.isWritten ? `in ${place(s.at)}` : s.isAtEnd ? "at the end" : `before ${place(s.at)}`;
      const origin = s.isWritten ? "written" : "derived";
      const head = `  ${i + 1}. ${c.bold(s.kind)} ${where}${who}${blocks}${times} ${c.dim(`(${origin})`)}`;
      return `${head}\n     ${reason(s, place)}`;
    })
    .join("\n");
}

/** The IR's text for pairs of ranks, in words. */
function whoMeets(ranks: string): string {
  if (ranks === "all") return ": all ranks";
  if (ranks === "self") return ": each rank alone";
  const steps = /^\+\d+(,\+\d+)*$/.test(ranks) ? ranks.replace(/\+/g, "rank + ").replace(/,/g, ", ") : null;
  const masks = /^\^\d+(,\^\d+)*$/.test(ranks) ? ranks.replace(/\^/g, "rank xor ").replace(/,/g, ", ") : null;
  return `: each rank tells ${steps ?? masks ?? ranks.replace(/>/g, " tells ").replace(/,/g, ", ")}`;
}

function reason(s: SyncStep, place: Show): string {
  if (s.why === null) return "no two accesses were found that need it alone";
  const text = `${party(s.why.earlier, place)}; ${party(s.why.later, place, true)}`;
  return s.kind === "barrier" ? text : `signals and waits together: ${text}`;
}

function party(p: PartyStep, place: Show, isLater = false): string {
  const whose = p.owner === p.rank ? `its ${p.buffer}` : `rank ${p.owner}'s ${p.buffer}`;
  if (p.when === "caller")
    return isLater
      ? `rank ${p.rank}'s caller then uses ${p.buffer}`
      : `rank ${p.rank}'s caller made or used ${p.buffer} before`;
  const does = p.writes ? "stores to" : "loads";
  const when = p.when === "launch before" ? " in the launch before" : "";
  return `${isLater ? "then " : ""}rank ${p.rank} ${does} ${whose} in ${place(p.at)}${when}`;
}

function times(c: Palette, e: Explanation, machine: Machine): string {
  const p = e.prediction;
  const us = (seconds: number): string => duration(seconds * 1e6);
  const wireSource = `${significant(machine.push.value / 1e9, 3)} GB/s stored, ${significant(machine.pull.value / 1e9, 3)} GB/s loaded`;
  const cached = e.products.length === 0 ? "" : `; tiles that several blocks take, ${significant(machine.cache.value / 1e12, 2)} TB/s from the second-level cache`; // prettier-ignore
  const multiplied = e.products.length === 0 ? "" : `, ${significant(machine.tensor.value / 1e12, 3)}e12/s in products, ${significant(machine.accumulator.value / 1e12, 2)}e12/s on elements that leave them`; // prettier-ignore
  const rows = [
    ["latency", us(p.latency), "launch, flags, and round trips to memory that nothing else covers"],
    ["wire", us(p.wire), wireSource],
    ["memory", us(p.memory), `${significant(machine.memory.value / 1e12, 2)} TB/s${cached}`],
    ["arithmetic", us(p.arithmetic), `${significant(machine.scalar.value / 1e12, 3)}e12/s on elements${multiplied}`],
    [
      "total",
      us(p.total),
      `latency, and the longest of the others wherever they overlap; ${p.blocks} block${p.blocks === 1 ? "" : "s"}`,
    ],
  ];
  const left = e.unknown.length === 0 ? "" : "\n  What moves as data decides is in none of these.";
  return plainTable(c, ["", "", ""], rows, [1]) + left;
}

function measured(c: Palette, compared: readonly Comparison[]): string {
  const rows = compared.map((m) => {
    const error = m.predictedUs / m.measuredUs - 1;
    const text = `${error >= 0 ? "+" : "−"}${(Math.abs(error) * 100).toFixed(0)} %`;
    return [m.label, `${significant(m.predictedUs, 3)} µs`, `${significant(m.measuredUs, 3)} µs`, Math.abs(error) > 0.25 ? c.yellow(text) : c.green(text), m.date]; // prettier-ignore
  });
  const files = `kernels of that day, ${[...new Set(compared.map((m) => `bench/results/${m.file}`))].join(", ")}`;
  return `${plainTable(c, ["", "predicted", "measured", "error", "on"], rows, [1, 2, 3])}\n  ${c.dim(files)}`;
}
