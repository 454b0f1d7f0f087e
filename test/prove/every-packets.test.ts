/**
 * Packets at every length ("Packets" in docs/PROOF.md): kernels that send them are followed, those of the printed mapping too, and none that is
 * wrong is held to be right, however far away it is wrong.
 */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions, type DType, withMapping } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { without } from "../../src/compiler/prove/every/conditions.js";
import { everyLength, PROOF_MAPPING, prove, proveAnswer } from "../../src/compiler/prove/index.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { FAR_WRONG } from "./every-programs.js";

const PACKETS: CompileOptions["mapping"] = { ...PROOF_MAPPING, transfers: "staged", protocol: "packet" };
const SHAPES = [2, 12, 66, 300, 854].map((n) => ({ n }));

function plain(kernel: Kernel): string {
  return printKernel(kernel).replaceAll(/ loc\(\d+:\d+\)/g, "");
}

function textOf(name: string, dtype: DType, ranks = 2): string {
  const file = LIBRARY.find((f) => f.name === name)!;
  return plain(compileFile(file, { ranks, dtype, mapping: PACKETS }).kernel!);
}

/** Why the ordering or the answer of a kernel is not shown; null where both are. */
function reasonOf(kernel: Kernel): string | null {
  const { answer, ordering } = everyLength(kernel, SHAPES, (dims) => proveAnswer(kernel, { dims }));
  if (!ordering.holds) return ordering.reason;
  return answer.holds ? null : answer.reason;
}

describe("kernels that send packets", () => {
  it.each([
    ["all_reduce/one_shot", "bf16"],
    ["all_reduce/one_shot", "f32"],
    ["all_reduce/one_shot", "i64"],
    ["all_reduce/two_shot", "bf16"],
    ["all_reduce/two_shot", "i64"],
  ] as const)("%s of %s holds for every length, as printed, too", (name, dtype) => {
    const file = LIBRARY.find((f) => f.name === name)!;
    const small = compileFile(file, { ranks: 2, dtype, mapping: PACKETS });
    expect(small.kernel!.buffers.some((b) => b.role === "packet")).toBe(true);
    expect(reasonOf(small.kernel!)).toBe(null);
    const printed = withMapping(small, { elementThreads: 256, elementBlocks: 32, busyBlocks: 32 }).kernel!;
    expect(reasonOf(printed)).toBe(null);
  });
});

describe("kernels that send parts of rows in packets", () => {
  const SIZES = [[24, 24], [48, 72], [72, 408], [408, 72], [792, 1560]].map(([m, n]) => ({ m: m!, n: n! })); // prettier-ignore
  const push = (row: string, column: string): string => `
    collective push(x: T[m, n] sharded(0)) -> y: T[m, n] sharded(1) {
      for p in ranks {
        for i, j in tiles(shard(m, rank), shard(n, p)) {
          y@p[i, j - shard(n, p).start] = x[${row}, ${column}]
        }
      }
    }`;
  const compiled = (text: string, ranks: number, mapping: CompileOptions["mapping"] = {}): Kernel => {
    const { kernel } = compile(text, { ranks, dtype: "bf16", mapping: { ...PACKETS, ...mapping } });
    expect(kernel!.buffers.some((b) => b.role === "packet")).toBe(true);
    return kernel!;
  };
  const why = (kernel: Kernel): string | null => {
    const claim = everyLength(kernel, SIZES, (dims) => proveAnswer(kernel, { dims }));
    if (!claim.ordering.holds) return claim.ordering.reason;
    return claim.answer.holds ? null : claim.answer.reason;
  };
  const RIGHT = push("i - shard(m, rank).start", "j");

  it.each([2, 3, 4, 8])("hold for every length on %i ranks, as printed, too", (ranks) => {
    expect(why(compiled(RIGHT, ranks))).toBe(null);
    expect(why(compiled(RIGHT, ranks, { elementThreads: 512, elementBlocks: 132, busyBlocks: 132 }))).toBe(null);
  });

  it.each([
    ["a row too far on", push("i - shard(m, rank).start + 1", "j"), "an index may leave 'x'"],
    ["a column too far on", push("i - shard(m, rank).start", "j + 1"), "an index may leave 'x'"],
    ["a column too far back", push("i - shard(m, rank).start", "j - 1"), "an index may leave 'x'"],
    ["the columns of rank 0 for all", push("i - shard(m, rank).start", "j - shard(n, p).start"), /farther away/],
    ["the rows the other way round", push("shard(m, rank).end - 1 - i", "j"), "rows are read backwards"],
  ])("and not with %s", (_, text, reason) => {
    expect(why(compiled(text, 4))).toMatch(reason);
  });
});

const WHOLE = textOf("all_reduce/one_shot", "i64");
const LANES = textOf("all_reduce/one_shot", "bf16");
const TWO_SHOT = textOf("all_reduce/two_shot", "i64");
/** In which blocks go through strips and two peers together. */
const THREE = textOf("all_reduce/one_shot", "i64", 3);
const SLOTS = "mul(2, mul(add(ceildiv(n, 64), 1), 64))";
const SLOTS_OF_THREE = "mul(3, mul(add(ceildiv(n, 64), 1), 64))";

const replaced = (text: string, edits: readonly (readonly [RegExp | string, string])[]): string =>
  edits.reduce((t, [from, to]) => {
    const now = t.replaceAll(from instanceof RegExp ? new RegExp(from, "g") : from, to);
    expect(now).not.toBe(t);
    return now;
  }, text);

/** An op with another index in place of one: `of` gives the ops that make it. */
const ANOTHER_SLOT = /( *)packet_store (%\d+), (%\d+), (%\d+), (%\d+) /;
const ANOTHER_PLACE = /( *)(%\d+ = packet_load) (%\d+), (%(\d+)), /;

/** `%902` is the least of n and 500000, or 1 beyond that and else 0. */
const BEYOND = (fn: "min" | "gt"): readonly [RegExp, string] => [
  /(%7 = dim [^\n]*)/,
  `$1\n%900 = const {value=500000} : index\n${
    fn === "min"
      ? '%902 = binary %7, %900 {fn="min"} : index'
      : '%901 = compare %7, %900 {fn="gt"} : bool\n%904 = const {value=0} : index\n%905 = const {value=1} : index\n%902 = select %901, %905, %904 : index'
  }`,
];

describe("kernels that differ in one thing", () => {
  it.each([
    ["as it is", WHOLE, [], null],
    ["as it is, of several lanes", LANES, [], null],
    ["launches use one copy of the slots", WHOLE, [['odd="x_inbox_odd"', 'odd="x_inbox"']], /orders/],
    [
      "nobody waits for word of launches",
      WHOLE,
      [[/\n {4}if %18 \(\) \{\n {6}for[\s\S]*?\n {4}\} \(\) \{\n {4}\}/, ""]],
      /orders/,
    ],
    ["all blocks give word of launches", WHOLE, [[/(%18 = compare %17, %1 \{fn=)"eq"/, '$1"le"']], /alike/],
    ["the first block gives it", WHOLE, [[/%18 = compare %17, %1 /, "%18 = compare %0, %2 "]], /alike/],
    ["the last block but one gives it", WHOLE, [[/(%17 = binary %0, )%9 /, "$1%3 "]], /alike/],
    [
      "slots are used again after so many",
      WHOLE,
      [
        [
          ANOTHER_SLOT,
          '$1%6000$2 = const {value=50000} : index\n$1%6100$2 = binary $5, %6000$2 {fn="rem"} : index\n$1packet_store $2, $3, $4, %6100$2 ',
        ],
        [/%(6[01]00)%/, "%$1"],
        [
          ANOTHER_PLACE,
          '$1%7000$5 = const {value=50000} : index\n$1%7100$5 = binary $4, %7000$5 {fn="rem"} : index\n$1$2 $3, %7100$5, ',
        ],
      ],
      /another order/,
    ],
    ["slots of two ranks meet beyond 64", THREE, [[/%15 = binary %14, %9 /, "%15 = binary %10, %9 "]], /stores/],
    [
      "slots of two ranks meet beyond 50000",
      THREE,
      [
        [/%15 = binary %14, %9 \{fn="mul"\}/, '%900 = const {value=50000} : index\n%15 = binary %900, %10 {fn="mul"}'],
        [`packet i64[${SLOTS_OF_THREE}, 1]`, `packet i64[add(${SLOTS_OF_THREE}, 50000), 1]`],
      ],
      /stores/,
    ],
    ["there are fewer slots", WHOLE, [[`packet i64[${SLOTS}, 1]`, "packet i64[mul(2, n), 1]"]], /may leave 'x_inbox/],
    [
      "the number of slots is fixed",
      WHOLE,
      [[`packet i64[${SLOTS}, 1]`, "packet i64[1000000, 1]"]],
      /may leave 'x_inbox/,
    ],
    [
      "the last strip is not gone through",
      WHOLE,
      [["%25 = binary %24, %19 ", "%25 = binary %7, %19 "]],
      /fewer strips/,
    ],
    ["strips end at a length", WHOLE, [["%25 = binary %24, %19 ", "%25 = binary %19, %9 "]], /'max'/],
    ["a strip has one element too few", WHOLE, [[/%32 = binary %31, %19 /, "%32 = binary %31, %16 "]], /how often/],
    [
      "something is stored in each strip",
      WHOLE,
      [["for %32, %32 ", "for %2, %19 "]],
      /another way|gaps|several times|twice/,
    ],
    [
      "a strip is taken for another's",
      THREE,
      [[/%33 = binary %32, %5 \{fn="div"\}/, '%33 = binary %32, %5 {fn="rem"}']],
      /./,
    ],
    [
      "packets of a rank go to two slots",
      WHOLE,
      [["%26 = binary %15, %14 ", "%26 = binary %20, %14 "]],
      /may leave|stores|takes/,
    ],
    ["a packet is taken twice", THREE, [["%88 = binary %76, %85 ", "%88 = binary %73, %85 "]], /twice/],
    ["one kind of address takes fewer", WHOLE, [["for %2, %67 ", "for %67, %67 "]], /not the same|takes/],
    ["packets carry no number of the launch", WHOLE, [["%6 = binary %4, %5 ", "%6 = binary %5, %5 "]], /number/],
    ["launches are counted by twos", WHOLE, [["%5 = const {value=1} : u32", "%5 = const {value=2} : u32"]], /number/],
    [
      "lanes are taken in another order",
      LANES,
      [
        [/lane=(1|2)\}/, "lane=$1$1}"],
        ["lane=11}", "lane=2}"],
        ["lane=22}", "lane=1}"],
      ],
      /./,
    ],
    ["a lane is taken twice", LANES, [["{lane=7}", "{lane=6}"]], /./],
    ["packets are stored in another format", WHOLE, [[/(packet_store [^\n]*format=")epoch/, "$1inverted"]], /nobody/],
    [
      "packets go to the other copy",
      WHOLE,
      [[/(packet_store [^\n]*)even="x_inbox", odd="x_inbox_odd"/, '$1even="x_inbox_odd", odd="x_inbox"']],
      /nobody/,
    ],
    [
      "beyond 500000 a slot behind is stored to",
      WHOLE,
      [
        BEYOND("gt"),
        [/( *packet_store %(\d+), %\d+, %\d+, )(%\d+) /, '%90$2 = binary $3, %902 {fn="add"} : index\n$1%90$2 '],
      ],
      /nobody/,
    ],
    [
      "no more than 500000 are taken",
      WHOLE,
      [BEYOND("min"), [/(%65|%85) = binary %7, /, "$1 = binary %902, "]],
      /nobody/,
    ],
    [
      "no more than 500000 are stored",
      WHOLE,
      [BEYOND("min"), [/(%30|%46) = binary %7, /, "$1 = binary %902, "]],
      /nobody/,
    ],
    [
      "no more than 500000 strips are gone through",
      WHOLE,
      [
        [
          /%25 = (binary %24, %19 .*)/,
          '%900 = const {value=500000} : index\n%902 = $1\n%25 = binary %902, %900 {fn="min"} : index',
        ],
      ],
      /fewer strips/,
    ],
    [
      "packets carry the number of the launch before",
      WHOLE,
      [[/(packet_store %\d+, |packet_load )%6/, "$1%4"]],
      /number/,
    ],
    ["word of launches is relaxed", WHOLE, [['order="launch"', 'order="relaxed"']], /orders/],
    ["nobody takes word of launches for order", WHOLE, [['order="acquire"', 'order="relaxed"']], /orders/],
    ["word of launches is for this GPU alone", WHOLE, [['"sys", order="launch"', '"gpu", order="launch"']], /orders/],
    ["sums go where parts do", TWO_SHOT, [['"y_box', '"x_inbox']], /./],
    [
      "sums are waited for before they are made",
      TWO_SHOT,
      [[/(\n {4}if %84 [\s\S]*)(\n {4}if %83 [\s\S]*)(\n {4}if %24 \(\) \{[\s\S]*)$/, "$2$1$3"]],
      /circle/,
    ],
    [
      "of a rank's part no more than 500000 are summed",
      TWO_SHOT,
      [
        BEYOND("min"),
        [/(%81 = binary %80, .*)/, '$1\n%903 = binary %81, %900 {fn="min"} : index'],
        [/(%87|%113) = binary %81, /, "$1 = binary %903, "],
      ],
      /nobody/,
    ],
    [
      "beyond 500000 a rank's slots begin farther on",
      TWO_SHOT,
      [
        BEYOND("gt"),
        [/%42 = binary %21, %20 (.*)/, '%903 = binary %21, %20 $1\n%42 = binary %903, %902 {fn="add"} : index'],
      ],
      /nobody/,
    ],
    ["packets go to who sends them", WHOLE, [[/(packet_store %\d+, %6, )%21,/, "$1%15,"]], /nobody/],
    ["what others send is added twice", WHOLE, [["%73 = binary %70, %72 ", "%73 = binary %72, %72 "]], /./],
    ["a rank adds what it has elsewhere", WHOLE, [["%70 = load %69 ", "%70 = load %68 "]], /./],
    [
      "of one kind of address the rank's own sums are not kept",
      TWO_SHOT,
      [['\n          store %97, %92 {buffer="y"}', ""]],
      /./,
    ],
    ["a rank keeps its own sums where another's belong", TWO_SHOT, [["store %97, %92 ", "store %97, %91 "]], /./],
  ] as const)("%s", (_, text, edits, reason) => {
    const found = reasonOf(parseKernel(replaced(text, edits)));
    if (reason === null) expect(found).toBe(null);
    else expect(found).toMatch(reason);
  });

  it("each rank adds what is its own first: two hold the same bits all the same, and three do not", () => {
    const three = textOf("all_reduce/one_shot", "f32", 3);
    const [rank] = /%\d+(?= = rank)/.exec(three)!;
    expect(reasonOf(parseKernel(three))).toBe(null);
    // The first term is each rank's own, and those of the others follow by their ranks.
    const isOwn = new RegExp(`(= compare %\\d+, )${rank} \\{fn="eq"\\}`, "g");
    const first = three.replaceAll(isOwn, '$1%2 {fn="eq"}');
    const text = first.replaceAll(/(= select %101, )%\d+, (%\d+)( : (?:vec<4 x f32>|f32))/g, "$1$2, $2$3");
    expect(text).not.toBe(first);
    expect(text).not.toBe(three);
    expect(reasonOf(parseKernel(text))).not.toBe(null);
    expect(proveAnswer(parseKernel(text), { dims: { n: 12 } })).toMatchObject({ status: "wrong", kind: "bits" });
  });

  it("elements that are left over lie in slots of others", () => {
    // What a strip leaves goes to the slots behind all whole ones; a slot too early, it meets the last of them.
    const early = /(%\d+) = binary (%\d+), (%\d+) (\{fn="add"\} : index\n *packet_store %\d+, )/;
    const text = LANES.replaceAll(new RegExp(early, "g"), "$1 = binary $2, %2 $4");
    expect(text).not.toBe(LANES);
    expect(reasonOf(parseKernel(text))).not.toBe(null);
  });
});

describe("blocks that wait for more than packets", () => {
  /** One rank waits for a flag before it stores; others set it, where `at` says. */
  function gated(
    text: string,
    at: "before they take" | "when they have taken",
    { order = "release", scope = "sys", by = "eq" } = {},
  ): string {
    const value = (of: RegExp): string => of.exec(text)![1]!;
    const [zero, one] = [0, 1].map((n) => value(new RegExp(`(%\\d+) = const \\{value=${n}\\} : index`))) as [
      string,
      string,
    ];
    const [rank, epoch] = [value(/(%\d+) = rank/), value(/(%\d+) = binary %\d+, %\d+ \{fn="add"\} : u32/)];
    const only = (who: string, of: string, op: string, number: number): string => `
%${number} = compare ${rank}, ${of} {fn="${who}"} : bool
if %${number} () {
  block_sync
  for ${zero}, ${one} {map="threads"} (%${number}1) {
    ${op}
  }
  block_sync
} () {
}
`;
    const acquire = order === "release" ? "acquire" : "relaxed";
    const wait = only(
      "eq",
      one,
      `wait ${epoch}, %0, ${zero} {buffer="gate", scope="${scope}", order="${acquire}"}`,
      900,
    );
    const signal = only(
      by,
      by === "eq" ? zero : one,
      `signal ${epoch}, ${one}, %0 {buffer="gate", mode="set", scope="${scope}", order="${order}", remote=true}`,
      910,
    );
    const withFlag = text.replace("  buffer began:", "  buffer gate: signal u32[3, 1] symmetric\n  buffer began:");
    // The first test of an address is of what is stored, the second of where it goes in the end.
    const [stores, takes] = [...withFlag.matchAll(/\n {4}%\d+ = aligned/g)].map((m) => m.index) as [number, number];
    const end = /\n {4}if %18 \(\) \{(?![\s\S]*\n {4}if %18 )/.exec(withFlag)!.index;
    const set = at === "before they take" ? takes : end;
    return withFlag.slice(0, stores) + wait + withFlag.slice(stores, set) + signal + withFlag.slice(set);
  }

  it.each([
    ["in no circle", WHOLE, "before they take", {}, null],
    ["in no circle, relaxed", WHOLE, "before they take", { order: "relaxed" }, null],
    ["in a circle", WHOLE, "when they have taken", {}, /circle/],
    ["in a circle, relaxed", WHOLE, "when they have taken", { order: "relaxed" }, /circle/],
    ["in a circle, for this GPU alone", WHOLE, "when they have taken", { scope: "gpu" }, /circle/],
    ["in a circle of three", THREE, "when they have taken", {}, /circle/],
    ["for one of two", THREE, "when they have taken", { by: "ne" }, /one block alone/],
  ] as const)("%s", (_, text, at, kind, reason) => {
    const kernel = parseKernel(gated(text, at, kind));
    const found = reasonOf(kernel);
    const { ordering } = prove({ kernel }, { shapes: [{ n: 6 }] });
    expect(ordering.status).toBe(reason === null ? "proved" : "wrong");
    if (reason === null) expect(found).toBe(null);
    else expect(found).toMatch(reason);
  });
});

describe("wrong at some lengths alone", () => {
  const programs = FAR_WRONG.filter(({ text, large }) => text(large).includes("@"));

  it("programs that send are among them", () => {
    const kernels = programs.map(
      ({ text, large }) => compile(text(large), { ranks: 2, dtype: "f32", mapping: PACKETS }).kernel,
    );
    expect(kernels.filter((k) => k?.buffers.some((b) => b.role === "packet")).length).toBeGreaterThanOrEqual(3);
  });

  it.each(programs.map((p) => [p.name, p] as const))("%s", (_, { text, large }) => {
    const { kernel, snapshots } = compile(text(large), { ranks: 2, dtype: "f32", mapping: PACKETS });
    if (kernel === null) return;
    expect(prove({ kernel, snapshots }).every?.answer.holds ?? false).toBe(false);
    const dims = Object.fromEntries(kernel.dims.map((d) => [d, 24]));
    expect(everyLength(kernel, [dims]).answer.holds).toBe(false);
  });
});

describe("what one packet kernel keeps for the next", () => {
  const kept = (dtype: string, mapping: CompileOptions["mapping"]): Kernel => {
    const text = `collective kept(x: ${dtype}[n] partial(sum), b: ${dtype}[n] replicated) -> y: ${dtype}[n] replicated {
      let r = reduce(x, to: 0) * b
      y = broadcast(relu(r))
    }`;
    return compile(text, { ranks: 2, mapping }).kernel!;
  };
  /** Block 0 stores the last strip, which another block reads. */
  const ELSEWHERE =
    /for (%\d+), (%\d+) \{map="blocks"\} \(%(\d+)\) \{(?=(?:(?!\n {4,10}\}\n {2,8}\})[\s\S])*?store %\d+, %\d+ \{buffer="value"\})/g;
  const moved = (text: string): string => {
    let last = "";
    // The last two loops over blocks that store are those of what is left, for aligned buffers and for others.
    const found = [...text.matchAll(ELSEWHERE)].slice(-2);
    let at = 0;
    for (const m of found) {
      const [all, low, high, v] = m as unknown as [string, string, string, string];
      const loop = `%90${v} = binary ${high}, ${low} {fn="sub"} : index\nfor %2, %90${v} {map="blocks"} (%80${v}) {\n%${v} = binary %80${v}, ${low} {fn="add"} : index`;
      last += text.slice(at, m.index) + loop;
      at = m.index + all.length;
    }
    return last + text.slice(at);
  };

  it.each(["i64", "bf16", "f32"])("is one block's at every length: %s", (dtype) => {
    const small = kept(dtype, PACKETS);
    expect(small.buffers.filter((b) => b.role === "packet").length).toBeGreaterThan(2);
    expect(reasonOf(small)).toBe(null);
    expect(reasonOf(kept(dtype, { transfers: "staged", protocol: "packet" }))).toBe(null);
  });

  it("is not shown where the rows of blocks are others", () => {
    const text = plain(kept("i64", PACKETS));
    const wrong = parseKernel(moved(text));
    expect(plain(wrong)).not.toBe(text);
    const reason = (): string | null => {
      const { ordering } = everyLength(wrong, SHAPES);
      return ordering.holds ? null : ordering.reason;
    };
    expect(reason()).toMatch(/orders/);
    // Nothing else refuses it.
    expect(without("rows", reason)).toBe(null);
    // It is wrong wherever the last strip is not the first block's.
    expect(prove({ kernel: wrong }, { shapes: [{ n: 6 }] }).ordering.status).toBe("wrong");
    expect(prove({ kernel: wrong }, { shapes: [{ n: 4 }] }).ordering.status).toBe("proved");
  });
});
