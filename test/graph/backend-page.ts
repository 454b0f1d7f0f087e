/** Makes docs/BACKEND.md: text, and the partition of a real layer as `lower` gives it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  FX_FORMAT,
  type FxArgument,
  type FxGraph,
  type FxNode,
  lower,
  type Lowered,
  partitionReport,
} from "../../src/compiler/graph/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { LLAMA_8B, llamaLayer } from "../../examples/typescript/llama-layer.js";

const RANKS = 4;

function partition(tokens: number): Lowered {
  return lower(llamaLayer({ ranks: RANKS, tokens, ...LLAMA_8B }), { ranks: RANKS, library: libraryFromDisk, resolve: importsFromDisk }); // prettier-ignore
}

type Measured = Readonly<Record<string, Readonly<Record<string, number>>>>;
const dump = (name: string): unknown => JSON.parse(readFileSync(join(import.meta.dirname, "dumps", `llama-8b-${name}.json`), "utf8")); // prettier-ignore

/** Of a graph that PyTorch has dumped, with what NCCL took there. */
function dumped(kind: "inference" | "backward"): Lowered {
  return lower(dump(kind) as FxGraph, { ranks: 2, caller: "kernels", measured: (dump("measured") as Measured)[kind]!, library: libraryFromDisk, resolve: importsFromDisk }); // prettier-ignore
}

const us = (seconds: number): string => `${(seconds * 1e6).toPrecision(3)} µs`;

/** One line a step, the caller's own nodes beside what became of them. */
function beforeAndAfter(lowered: Lowered): string {
  const rows = lowered.parts.map(({ nodes, baseline, seconds, kind }) => `| ${nodes.join(", ")} | ${us(baseline)} | ${kind === "program" ? "one program" : "stays"} | ${us(seconds)} |`); // prettier-ignore
  return [
    `| before, ${lowered.caller === "nodes" ? "node by node" : "kernel by kernel"} | | after | |`,
    "| --- | ---: | --- | ---: |",
    ...rows,
    `| **all** | **${us(lowered.baseline)}** | | **${us(lowered.seconds)}** |`,
  ].join("\n");
}

export function backendPage(): string {
  const pytorch = dumped("inference");
  const [few, many] = [64, 4096].map((tokens) => ({ tokens, lowered: partition(tokens) })) as [Size, Size];
  return `# collc as a back end

A compiler that holds a graph, as Inductor does, lowers to collc through three doors. None of them parses a text, and behind all of
them is one compiler: a graph becomes the abstract syntax that the parser makes of a text, is checked, lowered and proved as that is.

| door | takes | gives |
| --- | --- | --- |
| \`compileGraph(graph, { ranks })\` | a graph over all ranks: whole tensors, and how they lie | a program, as \`compile\` gives it |
| \`lower(fx, { ranks })\` | an FX graph: what one rank does, with \`_c10d_functional\` between | the partition: programs, and what stays with you |
| \`collc lower fx.json\` | the same as JSON | its report, or with \`--json\` all of it |

## Graphs

\`graph()\` builds one with types; [schemas/graph.schema.json](../schemas/graph.schema.json) is the schema of the same as JSON. Operations
are those of the [language](../grammar/LANGUAGE.md#tensor-expressions), under their names there: the schema is made of the compiler's
tables. \`graphToText\` prints a graph as Coll, one line a node, and \`graphFromText\` reads one. A diagnostic points into that text and
names the node (\`toJson\`), and so do comments in the CUDA text. What stands in the text under another name than in the graph: ids
that the language has no name for, and numbers that are made of numbers of the launch, which stand in the lines of their users.
Loops over elements are no graph: those are compiled from text.

## Regions

\`lower\` takes an FX graph as [schemas/fx.schema.json](../schemas/fx.schema.json) describes it: nodes in order, their arguments, shapes and
dtypes on one rank, process groups by name. It works out how each value lies over the ranks from what the conversions ask for: what is
reduced is a summand, what is gathered a slice, an input is declared as whatever is asked of it. What a rank has of its own where all
must have the same, such as the weight of a norm behind a reduce_scatter, has to be said: \`"replicated": true\`.

What ranks compute by themselves before a reduction need not be linear. A scale that all have, or a sum of summands, is done with
summands as they are. For all else, such as a function of a rank's own values, gates or masks of its own, scales of 8-bit floats, each rank's own tensors are the
rows of one, \`[ranks, …]\`, sharded along the dimension in front: what is computed goes row by row, and what the ranks
reduce is the fold over the rows. That moves nothing more than the summands would. Elementwise operations are done by whoever reduces,
in f32, and a product's tiles leave as they are done. An expert's output times the gates of its tokens, 8192 of them on ${RANKS} ranks, bf16:

\`\`\`text
${edgesOf(expert())}
\`\`\`

What is no number stays none as in torch, but that reductions by max and min, of ranks and along dimensions (\`amax\`), pass it over, as those of
Coll do.

Not fused: what comes out the same on every rank, which would be a summand of each, and concatenations of that with a rank's own. Where several whole tensors of
a rank make one that is reduced, that one is rounded to its dtype and travels, but in packets, which carry all of them: those are for few elements.

Two neighbours become one program where that is a graph, and where the model of the machine says that it is faster than both apart.
Every edge beside a conversion has a verdict with its reason and both times. What "apart" is made of:

- a conversion takes what collc's own program for it takes; nothing is assumed of NCCL that nobody has measured. Where \`collc tune\` has measured
  it on these GPUs, its program takes that, and your own way what NCCL took (of sums \`tune\` measures no NCCL); between sizes on a line of logarithms.
  \`lower\` finds the file by itself, and the machine that the GPUs here are; a library call is given them (\`conversions\`, \`machine\`);
- everything else is a kernel of its own: a launch, a round trip to memory, and its bytes at the rate of memory or its products at the
  rate of cuBLAS with what their elements take to leave it, whichever is longer; of an operation that collc does not know, its bytes alone;
- \`measured\`, seconds by node (\`--measured FILE\`), goes before both;
- with \`caller: "kernels"\` (\`--caller kernels\`), elementwise operations and reductions along one dimension that hang together are one
  kernel of the caller's, as Inductor makes them. Such a kernel goes into a program as a whole, or gives it the one operation beside the
  conversion.

Times are predictions of [the model](../src/compiler/machine/cost.ts) for programs of these sizes, not measurements. Of an architecture that no machine of the
model has, programs are made all the same; the times are another machine's then, and the report says whose (\`standsFor\`).

Layers repeat, and whole models come as one graph: what differs in names alone is compiled once, and the steps of all layers share that program, its graph and its
parameters' names, each with tensors of its own. The layer [below](#in-pytorch) eighty times over, 2960 nodes, takes some 17 seconds of one processor.

What it knows: products (\`mm\`, \`addmm\`, \`bmm\`, \`baddbmm\`, \`linear\`, \`_scaled_mm\` by tensor and by row, on tensor cores of 8 bits where the weight lies transposed), views of all kinds between, weights
that lie transposed, \`cat\` of \`split\` or of slices around a conversion along another dimension, \`view.dtype\` detours around a gather,
what is expanded or repeated, several users of one gather, elementwise operations (GELU in each of its forms, the sines and cosines of rotary embeddings, rounding to whole numbers among them), bounds, masks, constants and indices (a causal mask is computed where it is needed), reductions,
softmax, its logarithm, variances, RMS and layer norm, casts; all_reduce, all_gather, reduce_scatter, all_to_all of equal parts, listed or not, broadcast; and the first three of lists of tensors, as \`all_reduce_coalesced\` is, which one program exchanges together with what is around each of them, or else NCCL. Arguments mean the same by place and by name; one that it does not know makes the node one that it does not know. What it does not: dimensions that are repeated as often as a
size says, \`_scaled_mm\` with scales in blocks, all_to_all of parts that are not known to be equal; groups of another size than \`ranks\`. Those stay with you, and the
report says so.

Nodes that change a tensor in place (\`copy_\`, \`all_reduce_\`, \`out=\`, and whatever \`"mutates"\` says) stay with you where anybody looks at that
tensor afterwards, the caller of the graph included, and are steps whether their result is used or not: all that stands before such a node
comes before it, all behind it later, and no program reaches over it. Where nobody does, they are what they are without the underscore. A call
of another library that has neither result nor user counts as one that changes its arguments.

With several process groups of \`ranks\` ranks there are programs for each: a step's \`group\` says whose ranks run it. What all ranks of one group
have, those of another may have each its own of; only what is said to be \`"replicated": true\` is so for all.

### Sizes that only a launch knows

Lengths may be names, and sums, products and quotients of them: \`"sizes": { "s0": { "min": 2, "max": 65536, "hint": 2048 } }\` lists them, and
shapes, strides and arguments have \`{ "op": "mul", "a": 4, "b": "s0" }\`, arguments as \`{ "size": … }\`. They become dimensions of the programs,
each of which is compiled once for all sizes:

- What a conversion cuts must divide, and so does what \`holds\` says: then s0 is a multiple of a dimension, \`s0_by_4\`, and a rank's rows are
  \`s0_by_4\`, which no rounding stands between. \`dims\` of a step says what each dimension of its program is.
- \`guards\` of a step are what must hold at a launch: limits, divisions, and what the program itself requires, such as a part that holds
  something. Where one does not, \`fallback\` is what to do. All ranks come to the same answer: a size that no conversion's tensor is as
  long as may be another on each rank, so what depends on it is not fused.
- What is fused, and where tensors lie, is decided for the sizes under \`at\`: the hints, as near as the guards allow, or 1024. The report says so.
- \`times\` of a step has, for each size, what its program and your own way take at sizes around that one, up to 64 times as long and as short.
  Where your own way is predicted to become faster, a guard says from which size on: beyond it, \`fallback\` is what runs. What is not fused
  at \`at\` is fused at no size.
- Not fused: lengths that are a minimum or a maximum, sizes among elements, splits into as many parts as a size says, lengths of which nothing
  says that they are equal.

## A layer

One layer of Llama 3 8B on ${RANKS} ranks, its tokens cut among them between the products
([examples/typescript/llama-layer.ts](../examples/typescript/llama-layer.ts)), bf16. Attention is the caller's own kernel.

### ${few.tokens} tokens

${beforeAndAfter(few.lowered)}

\`\`\`text
${partitionReport(few.lowered).trimEnd()}
\`\`\`

### ${many.tokens} tokens

${beforeAndAfter(many.lowered)}

Of edges that could be fused, the one that gains most goes first, for it may stand in the way of others. Rows that are only gathered travel while those
that are there are multiplied, and tiles of a product that is scattered leave while later ones are computed. A gather of what needs
whole rows first comes before the product as a whole:

\`\`\`text
${partitionReport(many.lowered).split("\n\n")[2]}
\`\`\`

## In PyTorch

\`collc.enable()\` does all of this in torch.compile ([python/](../python/README.md)): a pass behind Inductor's own ones dumps each graph with
collectives, measures what they take as they are, has \`collc lower --caller kernels --build\` make a partition with its programs, and puts
these in their places. The graph below is the one of [examples/pytorch/llama_layer.py](../examples/pytorch/llama_layer.py) for 2048 tokens on
2 H200s, sizes of Llama 3 8B, bf16, as PyTorch 2.11 dumped it ([test/graph/dumps](../test/graph/dumps)); of NCCL are the times that were
measured there, all others are the model's.

${beforeAndAfter(pytorch)}

\`\`\`text
${partitionReport(pytorch).split("\n\n").slice(1, 3).join("\n\n")}
\`\`\`

The model's products are held against those measured on one GPU ([bench/results](../bench/results/products.md)): they are within 15 % of each.
A layer on four H100s, timed on 2026-11-27, is in [bench/results](../bench/results/README.md#a-layer-in-pytorch). On 2 H200s, the
forward pass of 2048 tokens with these steps was predicted to take 778 µs, and took 789; of 64 tokens all products stay with cuBLAS. Beside PyTorch's own ways,
microseconds of a replayed CUDA graph, the slowest rank's median, 2026-11-29 (16e66f8; 8192 tokens 2026-11-23):

${layerTable()}

Ahead most where conversions are short and there is a lot between them; where products take nearly all of the time, level with PyTorch's
asynchronous tensor parallelism. Called from Python instead of replayed, 64 tokens forward and backward take 2.8 ms with collc and
compiled alike: Python's launches are what takes it.

What autograd saves for the gradient is a result of the graph, so it cannot stay in the region's symmetric memory: it is copied out, and the
verdict counts the copy. The same weight's norm is computed in a
program only if the model says \`collc.replicated(weight)\`.

## What to do with the result

1. Allocate. Placeholders and results named under "symmetric tensors" lie in symmetric memory; \`buffers.tensors\` places what is between
   steps in two pools, at offsets that are the same on every rank and multiples of 256 bytes. Memory is used again for tensors of
   disjoint lifetimes. That is safe among peers, too: a program waits at its start until its peers have come to it before it stores to
   them, and at its end until they have read what they read.
2. Flags, epochs, packets, and scratch that peers reach belong to one kernel each: a peer may be a kernel ahead. Scratch that no peer
   reaches may be one piece of memory for all, of \`buffers.sharedScratch\` bytes. \`Group.load\` allocates what a program needs by itself.
3. Launch the steps in their order on one stream, the same order on every rank. \`inputs\` and \`outputs\` say which FX tensor each
   parameter is; tensors are contiguous, row-major, but for placeholders with strides, whose memory is taken as it lies:
   \`order\` has the tensor's dimensions, the slowest first.
4. Your own memory and streams serve as they are: \`Group.external\` takes an address, with the peers' addresses where the tensor is
   symmetric, \`Group.externalStream\` a CUstream; [src/runtime/external.ts](../src/runtime/external.ts) has the rules of lifetime and
   alignment, and \`toDLPack\` and \`fromDLPack\` the fields of a DLTensor. Prepared runs can be captured into your own CUDA graph, and \`record\` notes what they become there, so that
   their numbers can change without another capture.
5. Where a program cannot be used, \`fallback\` says by whom each node is carried out: NCCL or yourself.

Values that every rank has (results of all_reduce and all_gather, and what is computed of such values alone) are taken to be the same on
all of them also where your kernels compute them: the same kernels on the same GPUs.

<!-- Made by test/graph/page.test.ts: npx vitest run test/graph/page.test.ts -u writes it anew. -->
`;
}

interface Row {
  readonly way: string;
  readonly tokens: number;
  readonly direction: "forward" | "both";
  readonly replayed: { readonly median: number; readonly p10: number; readonly p90: number };
}

/** What test/gpu/pytorch_layer.py has measured: medians, and the tenth and ninetieth percentile. */
function layerTable(): string {
  const read = (day: string): Row[] => {
    const file = join(import.meta.dirname, `../../bench/results/${day}-2x-nvidia-h200-pytorch-layer.jsonl`);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Row).filter((row) => "replayed" in row);
  };
  const last = read("2026-11-30");
  const isLast = (row: Row): boolean => last.some(({ tokens }) => tokens === row.tokens);
  const rows = [...last, ...read("2026-11-23").filter((row) => !isLast(row))];
  const ways = ["eager", "compiled", "async tp", "collc"];
  const cell = (way: string, of: Row): string => {
    const { median, p10, p90 } = rows.find((r) => r.way === way && r.tokens === of.tokens && r.direction === of.direction)!.replayed; // prettier-ignore
    return `${median.toFixed(0)} (${p10.toFixed(0)} to ${p90.toFixed(0)})`;
  };
  const of = rows.filter((r) => r.way === "collc").sort((a, b) => (a.direction === b.direction ? a.tokens - b.tokens : a.direction === "forward" ? -1 : 1)); // prettier-ignore
  return [
    "| tokens | | eager, NCCL | compiled, NCCL | compiled, async TP | compiled, collc |",
    "| ---: | --- | ---: | ---: | ---: | ---: |",
    ...of.map((r) => `| ${r.tokens} | ${r.direction === "forward" ? "forward" : "forward and backward"} | ${ways.map((way) => cell(way, r)).join(" | ")} |`), // prettier-ignore
  ].join("\n");
}

/** Rows of tokens through a rank's expert, by the gates that the rank has for them. */
function expert(): Lowered {
  const [rows, width, hidden] = [8192, 4096, 2048];
  const dtype = "torch.bfloat16";
  const given = (name: string, ...shape: number[]): FxNode => ({ name, op: "placeholder", shape, dtype });
  const call = (name: string, target: string, args: readonly FxArgument[], ...shape: number[]): FxNode => ({ name, op: "call_function", target, args, shape, dtype }); // prettier-ignore
  const of = (node: string): FxArgument => ({ node });
  const nodes = [
    given("h", rows, hidden),
    given("w", hidden, width),
    given("gates", rows, 1),
    call("product", "aten.mm.default", [of("h"), of("w")], rows, width),
    call("gated", "aten.mul.Tensor", [of("product"), of("gates")], rows, width),
    call("scatter", "_c10d_functional.reduce_scatter_tensor.default", [of("gated"), "sum", RANKS, "tp"], rows / RANKS, width), // prettier-ignore
    call("y", "_c10d_functional.wait_tensor.default", [of("scatter")], rows / RANKS, width),
    { name: "output", op: "output", args: [[of("y")]] } as const,
  ];
  return lower({ format: FX_FORMAT, name: "expert", groups: { tp: RANKS }, nodes }, { ranks: RANKS, library: libraryFromDisk, resolve: importsFromDisk }); // prettier-ignore
}

const edgesOf = ({ edges }: Lowered): string => edges.map((e) => `${e.from} -> ${e.to}: ${e.isFused ? "fused: " : "not fused because "}${e.why}`).join("\n"); // prettier-ignore

interface Size {
  readonly tokens: number;
  readonly lowered: Lowered;
}
