/** A partition for people, as text, and for other programs, as plain JSON. */
import { showExtent } from "../../check/extents.js";
import { RELATION_SIGNS } from "../../types/requirement.js";
import { type Binding, type EdgeVerdict, type Lowered, type Part, us } from "./partition.js";
import type { SizeTimes } from "./times.js";

const KIB = 1024;

function bytes(n: number): string {
  if (n < KIB) return `${n} B`;
  const [unit, size] = n < KIB ** 2 ? ["KiB", KIB] : n < 10 * KIB ** 3 ? ["MiB", KIB ** 2] : ["GiB", KIB ** 3];
  return `${+(n / size).toPrecision(n < 1000 * size ? 3 : 4)} ${unit}`;
}

/** The report, line by line; what is not fused says why. */
export function partitionReport(lowered: Lowered): string {
  const { name, ranks, machine, standsFor, parts, edges, buffers, symmetric } = lowered;
  const programs = parts.filter((p) => p.kind === "program");
  const lines = [
    `${name}: ${count(parts.flatMap((p) => p.nodes).length, "node")} in ${count(parts.length, "step")}, ${programs.length} of them collc's, for ${count(ranks, "rank")} on ${machine}`,
    `predicted ${us(lowered.seconds)}; the caller's own way, ${lowered.caller === "nodes" ? "node by node" : "kernel by kernel"}, ${us(lowered.baseline)}`,
    ...(standsFor === null
      ? []
      : [`programs are for ${standsFor}, times are those of ${machine}, which is of another architecture`]),
    ...(lowered.conversions === null
      ? []
      : [`times of collectives by themselves were measured: ${lowered.conversions}`]),
    ...sizeLines(lowered),
    "",
    "Steps",
    ...parts.flatMap(stepLines),
    "",
    "Edges",
    ...(edges.length === 0 ? ["  none: no conversion has a neighbour"] : edges.map(edgeLine)),
    "",
    "Memory",
    `  symmetric tensors: ${symmetric.length === 0 ? "none" : symmetric.join(", ")}`,
    ...(["symmetric", "device"] as const).map((pool) => {
      const { bytes: all, withoutReuse } = buffers.pools[pool];
      return `  ${pool} pool: ${bytes(all)} between steps and for results${all < withoutReuse ? `, ${bytes(withoutReuse)} if nothing were used again` : ""}`;
    }),
    ...buffers.tensors.map((t) => `    ${t.tensor.padEnd(width(buffers.tensors.map((x) => x.tensor)))}  ${t.pool} +${t.offset}, ${bytes(t.bytes)}, steps ${t.from + 1} to ${t.to >= parts.length ? "the end" : t.to + 1}`), // prettier-ignore
    ...(buffers.workspaces.length === 0 ? [] : [`  workspace: ${bytes(buffers.workspaces.reduce((sum, w) => sum + w.bytes, 0))} of flags, packets and scratch${buffers.sharedScratch > 0 ? `, of which kernels share ${bytes(buffers.sharedScratch)} of scratch` : ""}`]), // prettier-ignore
  ];
  return `${lines.join("\n")}\n`;
}

/** What sizes may be, and which of them the report is for. */
function sizeLines({ sizes, at }: Lowered): string[] {
  const names = Object.keys(sizes);
  if (names.length === 0) return [];
  const ranges = names.map((name) => {
    const { min = 0, max } = sizes[name]!;
    return `${name} ${max === undefined ? `from ${min} on` : `from ${min} to ${max}`}`;
  });
  const isHint = names.every((name) => sizes[name]!.hint === at[name]);
  return [`sizes that the launch knows: ${ranges.join(", ")}; times and memory are for ${names.map((name) => `${name} = ${at[name]}`).join(", ")}${isHint ? (names.length === 1 ? ", the hint" : ", the hints") : ""}`]; // prettier-ignore
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
const width = (texts: readonly string[]): number => Math.max(0, ...texts.map((t) => t.length));

function stepLines(part: Part, i: number): string[] {
  const head = `  ${String(i + 1).padStart(2)}. ${part.kind === "program" ? "program" : part.by === "nccl" ? "NCCL   " : "caller "}  ${part.nodes.join(" + ")}: ${us(part.seconds)}`;
  if (part.kind === "external") return [`${head}; ${part.why}`];
  const list = (all: readonly Binding[]): string =>
    all.map((b) => `${b.tensor}${b.isSymmetric ? " (symmetric)" : ""}`).join(", ");
  const ways = part.compiled.variants.length > 1 ? `; ${part.compiled.variants.length} kernels, by size` : "";
  const guards = part.guards.map(({ left, relation, right, reason }) => `        if ${showExtent(left)} ${RELATION_SIGNS[relation]} ${showExtent(right)}: ${reason}`); // prettier-ignore
  const times = part.times.flatMap(timesLine);
  return [`${head}, own way ${us(part.baseline)}${ways}`, `        ${list(part.inputs)} -> ${list(part.outputs)}`, ...guards, ...times]; // prettier-ignore
}

/** What both ways take over a range of a size. */
function timesLine({ size, times }: SizeTimes): string[] {
  if (times.length < 2) return [];
  const points = times.map(({ at, seconds, baseline }) => `${at[size]}: ${us(seconds)} (${us(baseline)})`);
  return [`        by ${size}, and the own way: ${points.join(", ")}`];
}

function edgeLine({ from, to, isFused, why }: EdgeVerdict): string {
  return `  ${from} -> ${to}: ${isFused ? "fused: " : "not fused because "}${why}`;
}

/** The partition as plain JSON: graphs, their texts and manifests, bindings, verdicts, memory. */
export function loweredToJson(lowered: Lowered): unknown {
  return {
    ...lowered,
    parts: lowered.parts.map((part) => {
      if (part.kind === "external") return part;
      const { compiled, ...rest } = part;
      return { ...rest, text: compiled.source.text, manifest: compiled.manifest };
    }),
  };
}
