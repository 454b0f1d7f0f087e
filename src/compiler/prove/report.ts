/** What is not proved, as findings that the renderer of diagnostics prints with code frames. */
import type { Label } from "../diagnostics/create.js";
import type { Printable } from "../diagnostics/render.js";
import { type DType, DTYPES } from "../types/dtype.js";
import type { DimValues } from "../types/extent.js";
import type { Claims, Mapping } from "./claims.js";
import type { Unreached } from "./coverage.js";
import type { EveryClaim, EveryLength } from "./every/index.js";
import type { Obligation } from "./obligations.js";
import { conditionsOf } from "./relaxed.js";
import {
  type Answer,
  type Claim,
  CLAIM_HELP,
  type Place,
  type Unknown,
  type Wrong,
  type WrongKind,
} from "./results.js";
import { NO_SPAN, type Span } from "../source.js";
import type { Beyond } from "./unproved.js";

const HELP: Readonly<Record<WrongKind, string | null>> = {
  answer: null,
  bits: "let all ranks add in one order, as `sum(p in ranks)` does, or let one rank add and give the result to all",
  race: "let the second access wait for a signal that is released after the first; a barrier between them does it",
  deadlock: "signal before waiting for what comes later, and wait only for what is signalled",
  "lost-signal": "let flags only grow, and wait for a value or more",
  "unmatched-signal": "wait once for each signal; one that is left over ends a wait of the next launch too early",
  residency: "start no more blocks than fit at once, or do not let blocks wait for each other",
  bounds: null,
  claim: CLAIM_HELP,
};

const COPY_HELP = "wait for the copy with copy_wait, then let the block synchronise";

/** What is not proved of one collective on one number of ranks. */
export function findings(claims: Claims): Printable[] {
  const { answer, ordering } = claims;
  // What stops the execution stops it for both.
  const isSame =
    (answer.status === "wrong" &&
      ordering.status === "wrong" &&
      answer.kind === ordering.kind &&
      answer.message === ordering.message) ||
    (answer.status === "unknown" && ordering.status === "unknown" && answer.reason === ordering.reason);
  const found = (isSame ? [ordering] : [answer, ordering]).flatMap((a) =>
    a.status === "proved" ? [] : [finding(claims.collective, a)],
  );
  // Of what is wrong or unknown already, how far the rest goes does not matter.
  if (found.length > 0) return found;
  return [
    ...claims.beyond.map((b) => limit(claims, b)),
    ...(claims.leaving === null ? [] : [mayLeave(claims, claims.leaving)]),
    ...claims.unreached.map((u) => unreached(claims, u)),
    ...claims.saturating.map((s) => saturation(claims, s)),
    ...(isSpecified(claims) ? claims.caveats.open : []).flatMap((o) => rounding(claims, o) ?? []),
  ];
}

function finding(collective: string, a: Wrong | Unknown): Printable {
  const found = `found for '${collective}' on ${claimText(a.claim)}`;
  if (a.status === "unknown")
    return {
      code: "proof-unknown",
      severity: "warning",
      message: `not proved: ${a.reason}`,
      span: a.span,
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
  const iteration = p.iteration === undefined ? "" : `, in ${p.iteration}`;
  return `${p.what}, by rank ${p.rank}, block ${p.block}, launch ${p.launch}${iteration}`;
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

function dimsText(dims: DimValues): string {
  return Object.entries(dims)
    .map(([d, n]) => `${d}=${n}`)
    .join(" ");
}

/** One line for claims: what is proved, and of what. Findings say the rest. */
export function summaryLine(claims: Claims): string {
  const { collective, coverage } = claims;
  const took = `${coverage.ran} of ${coverage.total} memory operations took part`;
  const of = [ranksText(claims), ...Object.entries(claims.dtypes).map(([name, dtype]) => `${name} = ${dtype}`)].join(
    ", ",
  );
  return `${collective}, ${of}: answer ${answerText(claims)}, ordering ${orderingText(claims)}, ${mappingText(claims)}; ${took}`;
}

/** Of which mapping that is shown: the one that was executed, or the one of the kernel that is printed. */
function mappingText(claims: Claims): string {
  const text = ({ threads, blocks }: Mapping): string => `${count(threads, "thread")} in ${count(blocks, "block")}`;
  const by = `by ${text(claims.mapping)}`;
  if (claims.printed === null) return by;
  const { mapping, every } = claims.printed;
  const printed = `as printed: ${text(mapping)}`;
  if (!every.ordering.holds) return by;
  return every.answer.holds || !isSpecified(claims) ? printed : `the answer ${by}, the ordering ${printed}`;
}

/** Whether anything says what the outputs must be. */
function isSpecified({ answer, outputs }: Claims): boolean {
  return answer.status === "proved" && answer.unspecified.length < outputs;
}

/** "4 ranks", "4 ranks as 2 × 2". */
function ranksText({ ranks, mesh }: Claims): string {
  const sizes = mesh.map((axis) => axis.size).join(" × ");
  return count(ranks, "rank") + (mesh.length > 1 ? ` as ${sizes}` : "");
}

/**
 * What the tools of others read of claims: statuses, and the shapes that were proved.
 */
export function claimsToJson(claims: Claims): object {
  const { collective, ranks, dtypes, mesh, mapping, printed, coverage } = claims;
  const of = (worst: Answer, all: readonly Answer[]): object => ({
    status: worst.status,
    shapes: all.filter((a) => a.status === "proved").map((a) => ({ ...a.claim.dims, aligned: a.claim.aligned })),
  });
  return {
    collective,
    ranks,
    dtypes,
    mesh: Object.fromEntries(mesh.map((axis) => [axis.name, axis.size])),
    mapping,
    without: claims.without.map(({ reason }) => reason),
    printed: printed && {
      ...printed.mapping,
      answer: printed.every.answer.holds,
      ordering: printed.every.ordering.holds,
    },
    upTo: claims.caveats,
    answer: { ...of(claims.answer, claims.answers), everyLength: claims.every?.answer.holds ?? false },
    ordering: { ...of(claims.ordering, claims.orderings), everyLength: claims.every?.ordering.holds ?? false },
    memoryOperations: { total: coverage.total, ran: coverage.ran },
  };
}

/** The operations that ran at no shape, and where they come from; null where all ran. */
export function idleLine({ coverage }: Claims, lineOf: (at: number) => number): string | null {
  if (coverage.idle.length === 0) return null;
  const texts = coverage.idle.map(({ span, what, count: n, isVariant }) => {
    const times = n === 1 ? "" : `, ${n} times`;
    const where = span.end === 0 ? "" : ` of line ${lineOf(span.start)}`;
    return `${what}${where}${isVariant ? " in another form" : ""}${times}`;
  });
  return `did not take part: ${texts.join("; ")}`;
}

/**
 * Why what is proved is not proved for every length, or not of the kernel that is printed: "not for every n, nor as printed: …,
 * line 4". Null where it is, or is no question.
 */
export function everyLine(claims: Claims, lineOf: (at: number) => number): string | null {
  const { every, printed, answer, without } = claims;
  if (without.length > 0 && every?.answer.holds === true && every.ordering.holds)
    return `shown without ${conditionsOf(without)}: what is executed is shorter than that allows`;
  const stopOf = (claim: EveryClaim): Stop | null => {
    if (!claim.ordering.holds) return { what: "", ...claim.ordering };
    return claim.answer.holds || !isSpecified(claims) ? null : { what: " the answer", ...claim.answer };
  };
  const names = listed(Object.keys(answer.claim.dims));
  const conditions = without.length === 0 ? "" : `; what is executed is shorter than ${conditionsOf(without)} allows`;
  const line = (what: string, { reason, span }: Stop): string =>
    `not${what}: ${reason}${span.end === 0 ? "" : `, line ${lineOf(span.start)}`}${conditions}`;
  const stop = every === null ? null : stopOf(every);
  const printedStop = printed === null ? null : stopOf(printed.every);
  if (stop !== null)
    return line(`${stop.what} for every ${names}${printedStop === null ? "" : ", nor as printed"}`, stop);
  return printedStop === null ? null : line(`${printedStop.what} as printed`, printedStop);
}

interface Stop {
  readonly what: string;
  readonly reason: string;
  readonly span: Span;
}

/** "proved at 4 shapes with n ≤ 595", with samples and what is not specified. */
function answerText(claims: Claims): string {
  const { answer, answers, steering, outputs } = claims;
  if (answer.status !== "proved") return answer.status === "wrong" ? "WRONG" : answer.status;
  const { unspecified, samples } = answer;
  if (unspecified.length === outputs) return "not specified";
  const values = samples > 0 ? ` and ${samples} samples of ${steering.join(", ")}` : "";
  const scope = scopeText(claims, answers, claims.every?.answer);
  return `proved ${scope}${values}${caveatText(claims)}${unspecified.length === 0 ? "" : `, of ${unspecified.join(", ")} not specified`}`;
}

function orderingText(claims: Claims): string {
  const { ordering, orderings, steering, every } = claims;
  if (ordering.status !== "proved") return ordering.status === "wrong" ? "WRONG" : ordering.status;
  const values = ordering.samples > 0 ? ` and ${ordering.samples} samples of ${steering.join(", ")}` : "";
  return `proved ${scopeText(claims, orderings, every?.ordering)}${values}`;
}

/**
 * For which lengths a claim is proved: for every one, or how many shapes and the largest of each dimension: it is no claim about
 * what lies between. Odd addresses alone say nothing of others.
 */
function scopeText({ without }: Claims, answers: readonly Answer[], every?: EveryLength): string {
  const shapes = new Map(
    answers.filter((a) => a.status === "proved" && a.claim.aligned).map((a) => [dimsText(a.claim.dims), a.claim.dims]),
  );
  const all = [...shapes.values()];
  const names = Object.keys(all[0] ?? {});
  // Without dimensions there is one shape, and it is the program's.
  if (names.length === 0) return "for its one shape";
  if (every?.holds === true) return `for every ${listed(names)}`;
  const bounds = names.map((name) => {
    const lengths = all.map((dims) => dims[name]!);
    const most = Math.max(...lengths);
    return lengths.every((n) => n === most) ? `${name} = ${most}` : `${name} ≤ ${most}`;
  });
  const shorter = without.length === 0 ? "" : " that are shorter than its conditions allow,";
  return `at ${count(all.length, "shape")}${shorter} with ${bounds.join(", ")}`;
}

/** " up to rounding and overflow in bf16 and divisors that are 0". */
function caveatText({ caveats }: Claims): string {
  const { rounding, overflow, isDivided, hasNoRoot, isCutOff, isCompared, integers } = caveats;
  const both = rounding.filter((d) => overflow.includes(d));
  const [inexact, large] = [rounding, overflow].map((all) => all.filter((d) => !both.includes(d))) as [
    DType[],
    DType[],
  ];
  const parts = [
    ...(inexact.length === 0 ? [] : [`rounding in ${listed(inexact)}`]),
    ...(both.length === 0 ? [] : [`rounding and overflow in ${listed(both)}`]),
    ...(large.length + integers.length === 0 ? [] : [`overflow in ${listed([...large, ...integers])}`]),
    ...(isDivided ? ["divisors that are 0"] : []),
    ...(hasNoRoot ? ["roots and logarithms of numbers that have none"] : []),
    ...(isCutOff ? ["whole numbers made of rounded ones"] : []),
    ...(isCompared ? ["comparisons of rounded numbers"] : []),
  ];
  return parts.length === 0 ? "" : ` up to ${listed(parts)}`;
}

/**
 * Where the answer is that of the mathematics and nothing shows that it is the machine's, too: "not shown: that line 4 fits
 * in bf16". Null where all is shown, and where no answer is proved.
 */
export function openLine({ answer, caveats }: Claims, lineOf: (at: number) => number): string | null {
  if (answer.status !== "proved" || caveats.open.length === 0) return null;
  const lines = new Map<string, Set<number>>();
  const narrow = caveats.open.filter(({ kind, dtype }) => kind === "overflow" && dtype !== "f32");
  const linesOfNarrow = new Set(narrow.map(({ span }) => lineOf(span.start)));
  for (const { kind, dtype, span } of caveats.open) {
    const line = lineOf(span.start);
    // What may be too large for f32 on the way to less than that goes without saying.
    if (kind === "overflow" && dtype === "f32" && linesOfNarrow.has(line)) continue;
    const what = kind === "overflow" ? `# fit(s) in ${dtype}` : OPEN[kind];
    lines.set(what, (lines.get(what) ?? new Set<number>()).add(line));
  }
  const texts = [...lines].map(([what, numbers]) => {
    const all = [...numbers].sort((a, b) => a - b);
    const shown = [...all.slice(0, MOST_LINES).map(String), ...(all.length > MOST_LINES ? ["others"] : [])];
    const where = all.length === 1 ? `line ${shown[0]!}` : `lines ${listed(shown)}`;
    return `that ${what.replace("#", where).replace("(s)", all.length === 1 ? "s" : "")}`;
  });
  return `not shown: ${texts.join("; ")}`;
}

/** Lines that are named of one kind. */
const MOST_LINES = 6;

const OPEN = {
  divisor: "no divisor of # is 0",
  domain: "what # take(s) a root or a logarithm of has one",
  exactness: "what # compute(s) is exact, before fractions are cut off",
  comparison: "what # compare(s) was not rounded before",
} as const;

/** "a, b and c". */
function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** Scratch that values may not fit in. */
function saturation({ collective, ranks }: Claims, { span, dtype, isScaled }: Claims["saturating"][number]): Printable {
  const isEightBits = DTYPES[dtype].bytes === 1;
  return {
    code: "proof-overflow",
    severity: "warning",
    message: `proved up to overflow in ${dtype}: nothing shows that what is stored here fits, and what does not ${isEightBits ? "is cut off at the largest number" : "becomes infinite"}`,
    span,
    labels: [],
    help: isScaled
      ? "divide by a `max` over the absolute values of all that is scaled by it, itself divided by the largest number of the dtype"
      : `keep it in a dtype with larger numbers, or scale it by a \`max\` over the absolute values`,
    notes: [`found for '${collective}' on ${count(ranks, "rank")}`],
  };
}

/** How lengths are asked for; those that conditions exclude only without these. */
function askFor({ without }: Claims, which: string, at: DimValues): string {
  if (without.length === 0) return `ask for lengths ${which}: --dim ${dimsText(at).replaceAll(" ", " --dim ")}`;
  return `to ask for lengths ${which}, leave out ${conditionsOf(without)}, and give lengths that are numbers a name`;
}

/** What the proofs did not come past. */
function unreached(claims: Claims, { span, what, at, isByData }: Unreached): Printable {
  const { collective, ranks } = claims;
  const lengths = at === null ? null : dimsText(at);
  const why = isByData
    ? "data decides whether it runs, and none of the sampled values leads there"
    : `no shape that was looked at leads there, ${lengths === null ? "and none was found that does" : `${lengths} does`}`;
  const help = isByData ? "limit the input with 'where' to values that lead there" : null;
  return {
    code: "proof-partial",
    severity: "warning",
    message: `nothing is proved of ${what}: ${why}`,
    span,
    labels: [],
    help: at === null ? help : askFor(claims, "that lead there", at),
    notes: [`found for '${collective}' on ${count(ranks, "rank")}`],
  };
}

/** Where rounding, or another dtype, gives another result, and not only one that is less exact; null where it does not. */
function rounding({ collective, ranks }: Claims, { span, dtype, warns }: Obligation): Printable | null {
  if (warns === null) return null;
  const most = DTYPES[dtype].epsilon ** -1;
  const [message, help] = {
    whole: [
      `proved up to rounding in ${dtype}: beyond ±${most}, ${dtype} does not have all whole numbers, and what is made of them here becomes a whole number again`,
      `stay among integers, or limit the input: 'where x in 0..${most + 1}'`,
    ],
    computed: [
      `proved up to rounding in ${dtype}: what is computed of whole numbers here may lie beyond ±${most}, where ${dtype} does not have all of them, and becomes a whole number again`,
      `compute it in integers, or limit the inputs with 'where' so that it stays within ±${most}`,
    ],
    narrowed: [
      `proved up to overflow in ${dtype}: nothing shows that the whole number of 64 bits that is made narrower here fits, and one that does not is another number`,
      "stay with 64 bits, or limit the input: 'where x in 0..1000'",
    ],
    compared: [
      `proved up to rounding in ${dtype}: what is compared here was rounded before, and a comparison of rounded values may come out differently`,
      "compare what is not rounded, or let the claim round what it compares in the same way",
    ],
  }[warns] as [string, string];
  const notes = [`found for '${collective}' on ${count(ranks, "rank")}`];
  return { code: "proof-rounding", severity: "warning", message, span, labels: [], help, notes };
}

/** What a constant decides at lengths that were not proved. */
function limit(claims: Claims, { span, constant, at }: Beyond): Printable {
  const { collective, ranks, answers, orderings, every } = claims;
  const shows = at === null ? "" : `, from ${dimsText(at)} on`;
  return {
    code: "proof-limited",
    severity: "warning",
    message: `proved ${scopeText(claims, every?.ordering.holds === true ? answers : orderings)}; ${constant} makes a difference here only at larger ones${shows}`,
    span,
    labels: [],
    help: at === null ? null : askFor(claims, "on both sides of it", at),
    notes: [`found for '${collective}' on ${count(ranks, "rank")}`],
  };
}

/** An index of which nothing shows that it stays inside at all lengths, where most do. */
function mayLeave(claims: Claims, { span, reason }: NonNullable<Claims["leaving"]>): Printable {
  const { collective, ranks } = claims;
  return {
    code: "proof-limited",
    severity: "warning",
    message: `proved ${scopeText(claims, claims.orderings)}; at other lengths, ${reason}`,
    span,
    labels: [],
    help: "make it as long as the largest index asks for, or limit the lengths with 'where'",
    notes: [`found for '${collective}' on ${count(ranks, "rank")}`],
  };
}
