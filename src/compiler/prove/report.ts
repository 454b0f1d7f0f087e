/** What is not proved, as findings that the renderer of diagnostics prints with code frames. */
import type { Label } from "../diagnostics/create.js";
import type { Printable } from "../diagnostics/render.js";
import type { DimValues } from "../types/extent.js";
import type { Claims } from "./claims.js";
import type { Answer, Claim, Place, Unknown, Wrong, WrongKind } from "./results.js";
import { NO_SPAN } from "../source.js";

const HELP: Readonly<Record<WrongKind, string | null>> = {
  answer: null,
  race: "let the second access wait for a signal that is released after the first; a barrier between them does it",
  deadlock: "signal before waiting for what comes later, and wait only for what is signalled",
  "lost-signal": "let flags only grow, and wait for a value or more",
  "unmatched-signal": "wait once for each signal; one that is left over ends a wait of the next launch too early",
  residency: "start no more blocks than fit at once, or do not let blocks wait for each other",
  bounds: null,
};

const COPY_HELP = "wait for the copy with copy_wait, then let the block synchronise";

/** What is not proved of one collective on one number of ranks. */
export function findings(claims: Claims): Printable[] {
  const { answer, ordering } = claims;
  // What stops the execution stops it for both.
  const isSame =
    answer.status === "wrong" &&
    ordering.status === "wrong" &&
    answer.kind === ordering.kind &&
    answer.message === ordering.message;
  return (isSame ? [ordering] : [answer, ordering]).flatMap((a) =>
    a.status === "proved" ? [] : [finding(claims.collective, a)],
  );
}

function finding(collective: string, a: Wrong | Unknown): Printable {
  const found = `found for '${collective}' on ${claimText(a.claim)}`;
  if (a.status === "unknown")
    return {
      code: "proof-unknown",
      severity: "warning",
      message: `not proved: ${a.reason}`,
      span: NO_SPAN,
      labels: [],
      help: null,
      notes: [found],
    };
  const placed = a.places.filter((p) => p.span.end > 0);
  const labels = placed.map((p): Label => ({ span: p.span, text: labelText(p) }));
  return {
    code: `proof-${a.kind}`,
    severity: "error",
    message: a.message,
    span: placed[0]?.span ?? NO_SPAN,
    labels: merged(labels),
    help: a.help ?? (a.kind === "race" && a.witness[0]?.startsWith("the copy") ? COPY_HELP : HELP[a.kind]),
    notes: [...a.witness, found],
  };
}

/** Labels of one place together. */
function merged(labels: readonly Label[]): Label[] {
  const all = new Map<string, Label>();
  for (const l of labels) {
    const key = `${l.span.start}-${l.span.end}`;
    const known = all.get(key);
    if (known === undefined) all.set(key, l);
    else if (!known.text.includes(l.text)) all.set(key, { ...l, text: `${known.text}; ${l.text}` });
  }
  return [...all.values()].slice(0, 4);
}

function labelText(p: Place): string {
  if (p.block < 0) return p.what;
  return `${p.what}, by rank ${p.rank}, block ${p.block}, launch ${p.launch}`;
}

/** "4 ranks, n=595, 2 blocks each, 2 launches", and whether buffers start at odd addresses. */
export function claimText({ ranks, dims, grid, launches, aligned }: Claim): string {
  const shape = dimsText(dims);
  if (grid === null) return count(ranks, "rank");
  const parts = [count(ranks, "rank"), ...(shape === "" ? [] : [shape]), `${count(grid, "block")} each`];
  return [...parts, count(launches, "launch", "launches"), ...(aligned ? [] : ["odd addresses"])].join(", ");
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

export function dimsText(dims: DimValues): string {
  return Object.entries(dims)
    .map(([d, n]) => `${d}=${n}`)
    .join(" ");
}

/** One line for claims: what is proved, and of what. Findings say the rest. */
export function summaryLine(claims: Claims): string {
  const { collective, ordering, coverage } = claims;
  const word = (a: Answer): string => (a.status === "wrong" ? a.status.toUpperCase() : a.status);
  // A shape for odd addresses alone says nothing of the others.
  const proved = claims.orderings.filter((a) => a.claim.aligned);
  const shapes = [...new Set(proved.map((a) => dimsText(a.claim.dims)))].filter((s) => s !== "");
  const at = shapes.length === 0 ? "" : ` (${shapes.join("; ")})`;
  const took = `${coverage.ran} of ${coverage.total} memory operations took part`;
  return `${collective}, ${count(claims.ranks, "rank")}${at}: answer ${answerText(claims)}, ordering ${word(ordering)}; ${took}`;
}

/** "proved", "proved for 5 sampled values of counts", "not specified". */
function answerText({ answer, steering, outputs }: Claims): string {
  if (answer.status !== "proved") return answer.status === "wrong" ? "WRONG" : answer.status;
  const { unspecified, samples } = answer;
  if (unspecified.length === outputs) return "not specified";
  const values = samples > 0 ? ` for ${samples} sampled values of ${steering.join(", ")}` : "";
  return `proved${values}${unspecified.length === 0 ? "" : `, of ${unspecified.join(", ")} not specified`}`;
}
