/**
 * No condition of the theorem is there for nothing ("Every length" in docs/PROOF.md): without each of them, a kernel is claimed to be right
 * for every length that is wrong at one.
 */
import { expect, it } from "vitest";
import { compile, type CompileOptions } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { type Condition, CONDITIONS, without } from "../../src/compiler/prove/every/conditions.js";
import { everyLength, prove, proveAnswer, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { compileFile, LIBRARY } from "../kernels/library.js";

type Mapping = CompileOptions["mapping"];

function plain(kernel: Kernel): string {
  return printKernel(kernel).replaceAll(/ loc\(\d+:\d+\)/g, "");
}

/** A kernel of the library. */
function library(name: string, mapping: Mapping = {}): string {
  const file = LIBRARY.find((f) => f.name === name)!;
  return plain(compileFile(file, { ranks: 2, dtype: "bf16", mapping: { ...PROOF_MAPPING, ...mapping } }).kernel!);
}

/** A kernel that sends packets of one element. */
function byPackets(name: string, ranks = 2): string {
  const file = LIBRARY.find((f) => f.name === name)!;
  const mapping: Mapping = { ...PROOF_MAPPING, transfers: "staged", protocol: "packet" };
  return plain(compileFile(file, { ranks, dtype: "i64", mapping }).kernel!);
}

/** Ops of the last block of one rank. */
function ofLast(rank: number, number: number, ops: string): string {
  return `
    %${number} = const {value=${rank}} : index
    %${number}1 = compare %16, %${number} {fn="eq"} : bool
    if %${number}1 () {
      if %18 () {
        for %2, %10 {map="threads"} (%${number}2) {
          ${ops}
        }
      } () {
      }
    } () {
    }
`;
}

/** A kernel of one rank's own elements. */
function local(body: string, ensures = "y[i] == x[i]"): string {
  const text = `collective f(x: T[n] local) -> y: T[n] local ensures ${ensures} {\n${body}\n}`;
  return plain(compile(text, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING }).kernel!);
}

function signalOf(value: string): string {
  return `signal ${value}, %5, %2 {buffer="gate", mode="set", scope="sys", order="release", remote=true}`;
}

interface Witness {
  readonly text: string;
  readonly edits: readonly (readonly [RegExp, string])[];
  /** Lengths at which it is wrong. */
  readonly at: DimValues;
  /** Lengths at which the answer is taken to be proved, of the kernel without the edits. */
  readonly proved?: readonly DimValues[];
  /** What is claimed of it. */
  readonly claim?: "ordering" | "answer";
  /** Why no execution shows that it is wrong. */
  readonly unseen?: string;
}

const N: readonly DimValues[] = [{ n: 2 }, { n: 854 }];

const COPY = "for i in tiles(n) { y[i] = x[i] }";

/** Ops before all others. */
function first(ops: string): readonly [RegExp, string] {
  return [/(\n *%\d+ = const \{value=2\} : index)/, `$1\n${ops}`];
}

const WITNESSES: Readonly<Record<Condition, () => Witness>> = {
  steady: () => ({
    // As many flags are waited for as there are elements.
    text: library("all_reduce/one_shot", { elementBlocks: 1, busyBlocks: 1 }),
    edits: [
      [/for (%\d+), %\d+ (\{map="threads"\} \(%\d+\) \{\n[^\n]*\n *wait)/g, "for $1, %900 $2"],
      first('%900 = dim {name="n"} : index'),
    ],
    at: { n: 1 },
  }),
  alike: () => ({
    // The third block waits for nobody.
    text: library("all_reduce/one_shot", { elementBlocks: 4, busyBlocks: 4 }),
    edits: [
      [/for (%\d+), %\d+ (\{map="threads"\} \(%\d+\) \{\n[^\n]*\n *wait)/, "for $1, %902 $2"],
      first('%901 = compare %0, %3 {fn="eq"} : bool\n%902 = select %901, %2, %3 : index'),
    ],
    at: { n: 256 },
  }),
  digits: () => ({
    // Each two strips are one strip after the two before them.
    text: library("all_reduce/one_shot"),
    edits: [[/(%30 = binary %29, )%27 /, "$1%1 "]],
    at: { n: 32 * 12 },
  }),
  joined: () => ({
    // What vectors have stored is stored again one by one.
    text: library("all_reduce/one_shot"),
    edits: [[/for %77, (%75 \{map="threads"\} \(%87\))/, "for %2, $1"]],
    at: { n: 44 },
  }),
  vectors: () => ({
    // A shard begins where it begins.
    text: library("reduce_scatter/pull"),
    edits: [[/%32 = binary %29, %31 \{fn="and"\}/, '%32 = binary %29, %29 {fn="and"}']],
    at: { n: 66 },
  }),
  starts: () => ({
    // Wherever buffers begin.
    text: library("all_reduce/one_shot"),
    edits: [[/%25 = binary %23, %24 \{fn="and"\}/, '%25 = compare %2, %2 {fn="eq"}']],
    at: { n: 64 },
    unseen: "An execution has buffers without addresses; the machine faults.",
  }),
  rows: () => ({
    // Of 16 elements where buffers begin at multiples of 16 bytes, of 32 elsewhere.
    text: local(`scratch box: T[n]\n${COPY.replace("y[", "box[")}\n${COPY.replace("x[", "box[")}`),
    edits: [
      [/%20 = binary %7, %16 \{fn="div"\} : index/, "%20 = const {value=0} : index"],
      [
        /for %41, %7 \{map="blocks"\} \(%42\) \{\n *%43 = binary %42, %6 (.*)\n *for %2, %15 /,
        '%900 = const {value=16} : index\n%901 = binary %7, %3 {fn="mul"} : index\nfor %41, %901 {map="blocks"} (%42) {\n%43 = binary %42, %900 $1\nfor %2, %3 ',
      ],
    ],
    at: { n: 32 * 6 },
  }),
  inside: () => ({
    text: library("all_reduce/one_shot"),
    edits: [[/buffer y: output bf16\[n\]/, "buffer y: output bf16[div(n, 2)]"]],
    at: { n: 64 },
  }),
  divisors: () => ({
    // As many elements as two for each row, however long rows are.
    text: library("fused/all_reduce_bias_gelu"),
    edits: [
      [/(%18 = binary )%16, %17 /, "$1%16, %3 "],
      [/(buffer [xy]: \w+ bf16\[)m, n\]/g, "$1add(m, m), add(n, 2)]"],
      [/buffer bias: input bf16\[n\]/, "buffer bias: input bf16[add(n, 8)]"],
    ],
    at: { m: 3, n: 0 },
    proved: [{ m: 4, n: 4 }],
    claim: "ordering",
  }),
  ordered: () => ({ text: library("reduce_scatter/push"), edits: [[/"inbox_odd"/g, '"inbox"']], at: { n: 64 } }),
  phases: () => ({
    // Threads add up what others have not stored yet.
    text: library("fused/softmax_over_ranks"),
    edits: [[/(store %338, %312 .*\n *\}\n *\}\n) *block_sync\n/, "$1"]],
    at: { m: 6, n: 144 },
    proved: [{ m: 2, n: 2 }],
    claim: "ordering",
  }),
  "own rows": () => ({
    // The maximum of a row that another block has found.
    text: library("fused/softmax_over_ranks"),
    edits: [[/load %876 (\{buffer="value"\})/, "load %873 $1"]],
    at: { m: 14, n: 8 },
    proved: [{ m: 2, n: 2 }],
    claim: "ordering",
  }),
  "whole rows": () => ({
    // Of a row's parts the first.
    text: library("fused/all_reduce_rms_norm"),
    edits: [[/(%521 = reduce %2, )%520 /, "$1%7 "]],
    at: { m: 2, n: 72 },
    proved: [{ m: 2, n: 2 }],
  }),
  "one row": () => ({
    // All rows of a round have the norm of the first.
    text: library("fused/all_reduce_rms_norm"),
    edits: [[/load %555 (\{buffer="folded_row"\})/, "load %2 $1"]],
    at: { m: 14, n: 10 },
    proved: [{ m: 2, n: 2 }],
  }),
  "stored once": () => ({
    // All but the first elements of threads that have four or more.
    text: library("fused/all_reduce_rms_norm"),
    edits: [[/for %2, (%87 \{map="serial", unordered=true\} \(%559\))/, "for %89, $1"]],
    at: { m: 2, n: 141 },
    proved: [{ m: 2, n: 2 }],
  }),
  "all rows": () => ({
    // None, where a row is no whole number of vectors.
    text: library("fused/all_reduce_rms_norm"),
    edits: [[/(\n {4}for %2, %33 \{map="blocks"\}[\s\S]*?\n {4}\})(\n {4}block_sync)/, "\nif %56 () {$1\n} () {\n}$2"]],
    at: { m: 2, n: 42 },
    proved: [{ m: 2, n: 2 }],
  }),
  "one order": () => ({
    // In another order one rank adds up what its threads have of four terms at once, of two and of one.
    text: library("fused/all_reduce_rms_norm"),
    edits: [
      [
        /store %224, %102 \{buffer="parts_f32"\}/,
        `%900 = compare %13, %2 {fn="eq"} : bool
if %900 () {
$&
} () {
%901 = binary %107, %206 {fn="add"} : vec<8 x f32>
%902 = binary %901, %172 {fn="add"} : vec<8 x f32>
store %902, %102 {buffer="parts_f32"}
}`,
      ],
    ],
    at: { m: 1, n: 7 * 32 },
    proved: [{ m: 2, n: 2 }],
  }),
  epochs: () => ({
    // Packets are stored with the number of the next launch, and waited for with that of this one.
    text: byPackets("all_reduce/one_shot"),
    edits: [
      [
        /(%6 = binary %4, %5 \{fn="add"\} : u32)/,
        '$1\n%900 = const {value=2} : u32\n%901 = binary %4, %900 {fn="add"} : u32',
      ],
      [/(packet_store %\d+, )%6/g, "$1%901"],
    ],
    at: { n: 5 },
  }),
  taken: () => ({
    // Each slot gets another packet first.
    text: byPackets("all_reduce/one_shot"),
    edits: [[/( *)packet_store %(\d+)(, .*)/g, '$1%9$2 = unary %$2 {fn="neg"} : i64\n$1packet_store %9$2$3\n$&']],
    at: { n: 5 },
  }),
  progress: () => ({
    // All ranks wait for what they have not stored yet.
    text: byPackets("all_reduce/one_shot"),
    edits: [
      [
        /(\n {4}if %27 \(\) \{[\s\S]*?)(\n {4}%60 = [\s\S]*)(\n {4}if %18 \(\) \{\n {6}for [^\n]*%103[\s\S]*)/,
        "$2$1$3",
      ],
    ],
    at: { n: 5 },
    claim: "ordering",
  }),
  "one signaller": () => ({
    // Rank 0 lets rank 2 go, rank 1 takes that back, and lets it go once more when it has taken what rank 2 has not stored yet.
    text: byPackets("all_reduce/one_shot", 3),
    edits: [
      [/ {2}buffer began:/, "  buffer gate: signal u32[1] symmetric\n$&"],
      [/\n {4}%19 = [^\n]*/, `$&${ofLast(0, 800, signalOf("%7"))}`],
      [
        /\n {4}%26 = [^\n]*/,
        `$&${ofLast(1, 810, signalOf("%4"))}${ofLast(2, 820, 'wait %7, %2, %2 {buffer="gate", scope="sys", order="acquire"}')}    block_sync`,
      ],
      [/\n {4}block_sync(?![\s\S]*block_sync)/, `$&${ofLast(1, 830, signalOf("%7"))}`],
    ],
    at: { n: 5 },
    claim: "ordering",
  }),
  strips: () => ({
    // The last strip, where it is short, is not gone through.
    text: byPackets("all_reduce/one_shot"),
    edits: [[/%25 = binary %24, %19 /, "%25 = binary %7, %19 "]],
    at: { n: 5 },
  }),
  callers: () => ({
    text: library("all_reduce/one_shot"),
    edits: [
      [
        /(\n {4}for [^\n]*\n {6}signal[^\n]*\n {4}\})(\n {4}for [^\n]*\n(?: {6}%[^\n]*\n)* {6}wait[^\n]*\n {4}\})(?![\s\S]*signal)/,
        "",
      ],
    ],
    at: { n: 64 },
  }),
  elementwise: () => ({ text: local(COPY, "y[i] == where(i < 5000, x[i], x[i] + x[i])"), edits: [], at: { n: 5001 } }),
  written: () => ({ text: local("for i in tiles(min(n, 5000)) { y[i] = x[i] }"), edits: [], at: { n: 5001 } }),
  kinds: () => ({
    text: library("all_reduce/one_shot"),
    edits: [[/fn="add"(\} : (?:vec<8 x f32>|f32))/g, 'fn="max"$1']],
    at: { n: 64 },
  }),
  "told apart": () => ({
    // Blocks are transposed, but for those that stay where they are.
    text: plain(
      compile(
        `collective f(x: T[m, m] sharded(1)) -> y: T[m, m] sharded(1)
  ensures y[j, i] == x@(j / (m / world))[i + shard(m, rank).start, j % (m / world)] {
  for p in ranks {
    let from = shard(m, rank).start
    for j, i in tiles(m / world, m / world) {
      if p == rank { y[from + j, i] = x[from + j, i] } else { y@p[from + j, i] = x[shard(m, p).start + i, j] }
    }
  }
}`,
        { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING },
      ).kernel!,
    ),
    edits: [],
    at: { m: 4 },
    proved: [{ m: 2 }],
  }),
};

it.each(CONDITIONS)("%s", (condition) => {
  const { text, edits, at, proved = N, claim = "answer", unseen } = WITNESSES[condition]();
  const edited = edits.reduce((t, [from, to]) => {
    expect(t).toMatch(from);
    return t.replace(from, to);
  }, text);
  const claimed = (): boolean => {
    const kernel = parseKernel(edited);
    // Of other conditions than those that ask for it, the answer at some lengths is taken for granted: it may be wrong there, too.
    const isAsking = condition === "kinds" || condition === "told apart";
    return everyLength(kernel, proved, isAsking ? (dims) => proveAnswer(kernel, { dims }) : null)[claim].holds;
  };
  expect(claimed()).toBe(false);
  expect(without(condition, claimed)).toBe(true);
  const { answer, ordering } = prove({ kernel: parseKernel(edited) }, { shapes: [at] });
  const isWrong = answer.status === "wrong" || ordering.status === "wrong";
  expect(isWrong).toBe(unseen === undefined);
});
