/** For every code, the shortest program that gives it: `⟦…⟧` marks where, `⟨…⟩` the second places it points at. */
import type { DiagnosticCode } from "../../src/compiler/diagnostics/index.js";
import type { CheckSettings, Expected } from "./helpers.js";

export interface Fault extends Omit<Expected, "code"> {
  readonly text: string;
  readonly settings?: CheckSettings;
}

/** An explicit body over x and y, both `T[n] local`. */
export const loops = (body: string): string => `collective f(x: T[n] local) -> y: T[n] local {\n${body}\n}\n`;
/** One statement inside `for i in tiles(n)`. */
export const inTiles = (statement: string): string => loops(`  for i in tiles(n) {\n    ${statement}\n  }`);
/** `y[i] = …` */
export const element = (e: string): string => inTiles(`y[i] = ${e}`);
/** A body that is right, for faults in the signature of `x` and `y`. */
export const signed = (signature: string): string =>
  `collective f${signature} {\n  for i in tiles(4) {\n    y[i] = x[i]\n  }\n}\n`;
/** A tensor-level body over vectors and matrices of many layouts. */
export const tensors = (e: string, layout = "replicated", shape = "n"): string =>
  `collective f(${INPUTS.filter((d) => new RegExp(`\\b${d.split(":")[0]}\\b`).test(e)).join(", ")}) -> y: T[${shape}] ${layout} {\n  y = ${e}\n}\n`;

const INPUTS = [
  "part: T[n] partial(sum)",
  "most: T[n] partial(max)",
  "whole: T[n] replicated",
  "cut: T[n] sharded(0)",
  "first: T[n] on(0)",
  "own: T[n] local",
  "long: T[n + 1] replicated",
  "count: i32[n] replicated",
  "a: T[m, k] sharded(1)",
  "b: T[k, n] sharded(0)",
  "c: T[k, n] replicated",
  "rows: T[m, n] sharded(0)",
  "turned: T[m, n] sharded(1)",
];

export const FAULTS: Record<DiagnosticCode, Fault | string> = {
  "unknown-character": { text: inTiles("y[i] = x[i]⟦;⟧"), help: /statements end with their line/ },
  syntax: {
    text: inTiles("y[i] = x⟨[⟩i ⟦}⟧\n}").replace("}\n  }", "}"),
    message: "expected `]` to close the index of `x`",
  },
  "too-deep": element(`${"(".repeat(300)}1${")".repeat(300)}`),
  "too-large": `${["fn f0(v) = v", ...Array.from({ length: 40 }, (_, i) => `fn f${i + 1}(v) = f${i}(v) + f${i}(v)`)].join("\n")}\n${element("f40(x[i])")}`,
  "program-too-long": loops(`  for i in tiles(n) {\n    y[i] = x[i]${" + x[i]".repeat(120_000)}\n  }`),
  "too-many-statements": loops(`  for i in tiles(n) {\n${"    y[i] = x[i]\n".repeat(4999)}    ⟦y[i] = x[i]⟧\n  }`),
  "too-many-dimensions": signed("(x: T[4] local, ⟦z: T[a, b, c, d, e, f, g, h, i] local⟧) -> y: T[4] local"),
  "tensor-too-large": signed("(x: T[4] local, ⟦z: T[2147483648, 2147483648] local⟧) -> y: T[4] local"),
  "loop-too-long": element("sum(k in ⟦0..1000000000000⟧) x[i]"),
  "number-too-large": element("x[i] + ⟦1e39⟧"),
  "empty-file": "// nothing here\n",
  "unknown-collective": { text: element("x[i]"), settings: { collective: "g" }, help: /it has f/ },
  "ambiguous-collective": { text: element("x[i]") + element("x[i]").replace(" f(", " ⟦g⟧("), help: "f, g" },
  "duplicate-collective": element("x[i]").replace(" f(", " ⟨f⟩(") + element("x[i]").replace(" f(", " ⟦f⟧("),
  "duplicate-name": loops("  let ⟨v⟩ = 1\n  let ⟦v⟧ = 2\n  for i in tiles(n) {\n    y[i] = x[i] * v\n  }"),
  "reserved-name": {
    text: loops("  let ⟦rank⟧ = 1\n  for i in tiles(n) {\n    y[i] = x[i]\n  }"),
    message: "this rank's number",
  },
  "unknown-name": {
    text: loops("  let other = 1\n  for i in tiles(n) {\n    y[i] = x[i] + ⟦othr⟧ * other\n  }"),
    help: "did you mean 'other'?",
  },
  "unknown-function": { text: element("⟦sqr⟧(x[i])"), help: "did you mean 'sqrt'?" },
  "unknown-reduction": { text: element("⟦summ⟧(p in ranks) x@p[i]"), help: /sum/ },
  "unknown-dtype": { text: signed("(x: ⟦f23⟧[4] local) -> y: f32[4] local"), help: "did you mean 'f32'?" },
  "unknown-dtype-variable": { text: signed("(x: T[4] local) -> y: T[4] local where ⟦U⟧ in (f32)"), help: "it has T" },
  "dtype-not-allowed": {
    text: signed("(x: ⟦T⟧[4] local) -> y: T[4] local where ⟨T in (f16, bf16)⟩"),
    settings: { dtypes: { T: "f32" } },
    help: "f16, bf16",
  },
  "not-in-place": {
    text: signed("(x: T[4] local, ⟨y: T[4] replicated⟩) -> ⟦y: T[8] local⟧"),
    message: "'y' is f32[4] on each rank before, and f32[8] after",
    help: "give the output a name of its own",
  },
  "scalar-dtype": {
    text: signed("(x: T[4] local, ⟦eps: bf16⟧) -> y: T[4] local"),
    message: "'eps' cannot be bf16",
    help: /f32, i32 or u32; a tensor has a shape and a layout: eps: bf16\[n\] replicated/,
  },
  "scalar-output": {
    text: signed("(x: T[4] local) -> (y: T[4] local, ⟦z: f32⟧)"),
    help: "z: f32[1] replicated",
  },
  "scalar-steers": {
    text: signed("(x: T[4] local, k: u32) -> y: T[4] local").replace("y[i] = x[i]", "y[i] = x[index(⟦k⟧)]"),
    message: "'k' decides here what is accessed",
    help: /length of a tensor/,
  },
  "import-not-found": `import g from ⟦"lost.coll"⟧\n${element("x[i]")}`,
  "import-broken": {
    text: `import g from ⟦"broken.coll"⟧\n${element("x[i]")}`,
    settings: { files: { "broken.coll": "fn g( = 1" } },
  },
  "import-unknown": {
    text: `import ⟦nxt⟧ from "ring.coll"\n${element("x[i]")}`,
    settings: { files: { "ring.coll": "fn next(r) = (r + 1) % world\n" } },
    help: "did you mean 'next'?",
  },
  "import-cycle": {
    text: `import g from "a.coll"\n${element("g(x[i])")}`,
    settings: {
      files: {
        "a.coll": 'import h from "b.coll"\nfn g(v) = h(v)\n',
        "b.coll": 'import g from "a.coll"\nfn h(v) = v\n',
      },
    },
  },
  "not-constant": `const K = ⟦rank⟧\n${element("x[i] + K")}`,
  recursive: `fn f2(v) = ⟦f2⟧(v)\n${element("f2(x[i])")}`,
  "bad-choice": element("x[i]").replace(" {", "\n  where world in (⟦two⟧) {"),
  "world-not-allowed": { text: element("x[i]").replace(" {", "\n  where ⟦world in (2, 8)⟧ {"), help: "it may be 2, 8" },
  "requirement-not-met": element("x[i]").replace(" {", "\n  where ⟦3 > 4⟧ {"),
  "bad-requirement": element("x[i]").replace(" {", "\n  where ⟦n + 1 == rank⟧ {"),
  "empty-range": {
    text: element("x[i]").replace(" {", "\n  where ⟦x in 5..5⟧ {"),
    help: "a range ends before its last number: 5..6 has 5 alone",
  },
  "mesh-does-not-fit": {
    text: element("x[i]").replace(" {", "\n  mesh(⟦node, gpu⟧) {"),
    settings: { mesh: { gpu: 3 } },
  },
  "unknown-axis": {
    text: loops("  for p in ranks(⟦gpu⟧) {\n    for i in tiles(n) {\n      y@p[i] = x[i]\n    }\n  }"),
    help: "mesh",
  },
  "unknown-layout": {
    text: signed("(x: T[4] ⟦shard(0)⟧) -> y: T[4] local").replace("shard", "shraded"),
    help: "did you mean 'sharded'?",
  },
  "unknown-argument": { text: tensors("all_reduce(part, ⟦dim⟧: 0)"), help: "it takes over" },
  unused: { text: loops("  let ⟦v⟧ = 1\n  for i in tiles(n) {\n    y[i] = x[i]\n  }"), message: "the let 'v'" },
  "bad-dimension": { text: signed("(x: T[⟦rank⟧] local) -> y: T[4] local"), message: "what differs from rank to rank" },
  "bad-layout-argument": { text: signed("(x: T[4] ⟦sharded(1)⟧) -> y: T[4] local"), help: /the last is 0/ },
  "does-not-divide": signed("(x: T[⟦7⟧] sharded(0)) -> y: T[4] local"),
  "shard-length": inTiles("y[i] = x[shard(⟦i⟧, 0).start]"),
  "shape-mismatch": { text: tensors("⟦⟨whole⟩ + ⟨long⟩⟧"), message: /\[n\] and \[n \+ 1\]/ },
  "not-a-matrix": tensors("⟦⟨whole⟩ @ ⟨c⟩⟧"),
  "dtype-mismatch": { text: tensors("⟦⟨whole⟩ + ⟨count⟩⟧"), message: "f32 and i32", help: "cast one of them" },
  "layout-mismatch": {
    text: `collective f(x: T[n] partial(sum)) -> ⟨y: T[n] replicated⟩ {\n  y = ⟦x⟧\n}\n`,
    help: "y = all_reduce(x)",
  },
  "operand-layouts": {
    text: tensors("all_reduce(⟦⟨part⟩ + ⟨whole⟩⟧)"),
    help: /every rank would add the other operand once/,
  },
  "not-linear": { text: tensors("all_reduce(⟦relu(⟨part⟩)⟧)"), help: "reduce it first: relu(all_reduce(part))" },
  "bad-conversion": { text: tensors("⟦all_reduce(⟨cut⟩)⟧"), help: /all_gather/ },
  "missing-argument": { text: tensors("⟦reduce_scatter(part)⟧", "sharded(0)"), help: "dim: 0" },
  "across-shards": {
    text: tensors("rows[⟦0..4⟧, ..]", "sharded(0)", "4, n"),
    message: /dimension 0.*sharded\(0\)/,
    help: "all_gather(rows)",
  },
  "bad-slice": { text: tensors("whole[⟦1..n + 1⟧]"), message: "ends at n, before n + 1" },
  "bad-permutation": { text: tensors("⟦permute(c, 0, 0)⟧", "replicated", "k, n"), help: "from 0 to 1" },
  "not-a-whole-tensor": {
    text: tensors("whole + ⟦rank⟧"),
    message: "'rank', an index",
    help: "in a loop over elements",
  },
  "mixed-body": { text: element("⟦all_gather(x)⟧"), message: "'all_gather'", help: /`let` at the top/ },
  "wrong-index-count": element("⟦x[i, 0]⟧").replace("x: T[n] local", "⟨x: T[n] local⟩"),
  "index-out-of-range": { text: element("x[⟦-1⟧]").replace("x: T[n] local", "⟨x: T[n] local⟩"), message: "-1" },
  "nothing-there": {
    text: `collective f(⟨x: T[n] on(0)⟩) -> y: T[n] local {\n  for i in tiles(n) {\n    y[i] = x@⟦1⟧[i]\n  }\n}\n`,
    help: "x@0[…]",
  },
  "missing-index": inTiles("⟦y⟧ = x[i]"),
  "not-a-tensor": {
    text: loops("  let ⟨v⟩ = 1\n  for i in tiles(n) {\n    y[i] = x[i] + ⟦v⟧[i]\n  }"),
    message: "a let",
  },
  "not-remote": {
    text: loops("  let ⟨v⟩ = 1.5\n  for i in tiles(n) {\n    y[i] = x[i] + ⟦v⟧@0[i]\n  }"),
    help: /scratch/,
  },
  "tensor-as-value": { text: element("⟦x⟧"), help: "x[i]" },
  "missing-matmul-spaces": { text: tensors("⟦a@b⟧", "partial(sum)", "m, n"), help: /a @ b/ },
  "product-of-elements": element("⟦x @ x⟧"),
  "range-as-index": element("⟦x[0..2]⟧"),
  "value-as-index": element("x[⟦x[i]⟧]"),
  "type-mismatch": {
    text: inTiles("if ⟦i⟧ {\n      y[i] = x[i]\n    }"),
    message: "a condition is needed here, and this is an index",
  },
  "needs-cast": { text: element("⟦⟨x[i]⟩ + ⟨i⟩⟧"), help: /f32\(…\)/ },
  "number-out-of-range": {
    text: element("where(u32(i) < ⟦-1⟧, x[i], 0)"),
    message: "the number -1 stands beside a u32 element, which is never below 0 or above 4294967295",
    help: "i64(…)",
  },
  "needs-float": { text: element("⟦exp(x[i])⟧"), settings: { dtypes: { T: "i32" } } },
  "division-by-zero": element("x[⟦i / 0⟧]"),
  "no-such-rank": { text: element("x@⟦4⟧[i]"), message: "no rank 4 among 4" },
  "no-such-member": { text: element("x[i - chunk(n, rank).⟦begin⟧]"), help: "start, end and length" },
  "wrong-arity": element("⟦min(x[i])⟧"),
  "wrong-variable-count": loops("  for ⟦i⟧, j in tiles(n) {\n    y[i] = x[j]\n  }"),
  "not-a-range": {
    text: loops("  for p in ⟦world⟧ {\n    for i in tiles(n) {\n      y[i] = x@p[i]\n    }\n  }"),
    help: "0..world",
  },
  "tiles-in-reduction": element("sum(k in ⟦tiles(n)⟧) x[k]"),
  "assign-to-input": inTiles("⟦x⟧[i] = 1\n    y[i] = x[i]").replace("x: T[n] local", "⟨x: T[n] local⟩"),
  "assign-to-value": {
    text: loops("  let ⟨v⟩ = 1.5\n  for i in tiles(n) {\n    ⟦v⟧ = x[i]\n    y[i] = v\n  }"),
    message: "it is a let",
  },
  "assigned-twice": "collective f(x: T[n] local) -> y: T[n] local {\n  ⟨y⟩ = x\n  ⟦y⟧ = x + x\n}\n",
  "read-before-assigned": "collective f(x: T[n] local) -> y: T[n] local {\n  y = x + ⟦y⟧\n}\n",
  "duplicate-ensures": signed("(x: T[4] local) -> y: T[4] local ensures ⟨y⟩ == x ensures ⟦y⟧ == x"),
  "output-not-assigned":
    "collective f(x: T[n] local) -> (y: T[n] local, ⟦z: T[n] local⟧) {\n  for i in tiles(n) {\n    y[i] = x[i]\n  }\n}\n",
  "scratch-in-block": inTiles("⟦scratch s: f32[n]⟧\n    s[i] = x[i]\n    y[i] = s[i]"),
  "nested-tiles":
    "collective f(x: T[n, n] local) -> y: T[n, n] local {\n  for i in ⟨tiles(n)⟩ {\n    for j in ⟦tiles(n)⟧ {\n      y[i, j] = x[i, j]\n    }\n  }\n}\n",
  "store-outside-tiles": loops("  ⟦y[0] = x[0]⟧"),
  "same-element": loops("  for ⟨i⟩ in tiles(n) {\n    ⟦y[0]⟧ = x[i]\n  }"),
  "barrier-in-tiles": loops("  for i in ⟨tiles(n)⟩ {\n    y[i] = x[i]\n    ⟦barrier⟧\n  }"),
  "barrier-in-unordered-loop": loops(
    "  for p in ⟨ranks⟩ {\n    ⟦barrier⟧\n  }\n  for i in tiles(n) {\n    y[i] = x[i]\n  }",
  ),
  "sync-in-tiles": inTiles("⟦signal 0⟧\n    y[i] = x[i]"),
  "sync-by-data": loops("  if ⟨x[0] > 0⟩ {\n    ⟦signal 0⟧\n  }\n  for i in tiles(n) {\n    y[i] = x[i]\n  }"),
  "wait-for-itself": loops("  ⟦signal rank⟧\n  for i in tiles(n) {\n    y[i] = x[i]\n  }"),
  "scalar-product": {
    text: "collective f(a: T[m, k] replicated, b: T[k, n] replicated) -> c: T[m, n] replicated {\n  c = ⟦a @ b⟧\n}\n",
    settings: { dtypes: { T: "f8e4m3" } },
    message: /the rows of 'b' do not run along the depth, as those of f8e4m3 have to/,
  },
  "ensures-index": element("x[i]").replace(" {", "\n  ensures y[⟦n⟧] == x[0] {"),
  "out-of-reach": {
    text: signed("(x: T[n] local, to: i32[world] replicated) -> y: T[n] local where to in 0..world").replace(
      / {2}for.*\}\n\}/s,
      "  for i in tiles(n) {\n    y[i] = ⟦x@(index(to[rank]))[i]⟧\n  }\n}",
    ),
    settings: { dtypes: { T: "bf16" }, reach: { ranksPerDomain: 2 } },
    message: /data that its peer does not have; as it is written each rank would send up to n messages of 2 bytes/,
  },
  "barrier-may-hang": loops("  if ⟨rank == 0⟩ {\n    ⟦barrier⟧\n  }\n  for i in tiles(n) {\n    y[i] = x[i]\n  }"),
};
