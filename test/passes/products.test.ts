/** Which products the units for matrices take, and how; all of them are right on the cpu backend, and proved. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult } from "../../src/compiler/index.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { Builder } from "../../src/compiler/ir/builder.js";
import { type Op, Value } from "../../src/compiler/ir/module.js";
import { INDEX } from "../../src/compiler/ir/types.js";
import { rewriteOps, Substitution, walkKernel } from "../../src/compiler/ir/visit.js";
import { rotatedNumber, rotatedVariable } from "../../src/compiler/passes/support/tile-rotation.js";
import { shortestRounds, unitOf, widthsFor } from "../../src/compiler/passes/support/tile-widths.js";
import type { Contraction } from "../../src/compiler/passes/support/contraction.js";
import { passOptionsFor } from "../../src/compiler/passes/options.js";
import { DEFAULT_MACHINE } from "../../src/compiler/machine/machines.js";
import type { DType } from "../../src/compiler/types/dtype.js";
import { evaluateExtent, extent, type Extent } from "../../src/compiler/types/extent.js";
import { everyLength, prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { edited } from "../prove/mutants.js";
import { compiled, expectProved, expectRight, opsOf } from "./compiled-products.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

const SIGNATURES: Readonly<Record<string, string>> = {
  a: "T[m, k]",
  b: "T[k, n]",
  at: "T[k, m]",
  bt: "T[n, k]",
  deep: "T[3, m, k]",
  deepB: "T[3, k, n]",
  wide: "T[m, 2 * k + 3]",
  tall: "T[2 * k + 3, n]",
  heads: "T[m, 2, k]",
};

/** Name, the expression of y, and y's shape. */
const PRODUCTS: readonly (readonly [string, string, string])[] = [
  ["rows by columns", "a @ b", "m, n"],
  ["a transposed right operand", "a @ transpose(bt)", "m, n"],
  ["a transposed left operand", "transpose(at) @ b", "m, n"],
  ["both transposed", "transpose(at) @ transpose(bt)", "m, n"],
  ["batches", "deep @ deepB", "3, m, n"],
  ["one matrix for all batches", "deep @ b", "3, m, n"],
  ["batches of one left matrix", "a @ deepB", "3, m, n"],
  ["a part of the depth of both", "wide[.., 3..k + 3] @ tall[3..k + 3, ..]", "m, n"],
  ["heads in the middle", "permute(heads, 1, 0, 2) @ b", "2, m, n"],
];

const program = (e: string, shape: string): string => {
  const used = Object.entries(SIGNATURES).filter(([name]) => new RegExp(`\\b${name}\\b`).test(e));
  const inputs = used.map(([name, type]) => `${name}: ${type} replicated`).join(", ");
  return `collective f(${inputs}) -> y: T[${shape}] replicated {\n  y = ${e}\n}\n`;
};

/** Shapes of tiles that a product alone has: narrow ones for few tiles, and wide ones. */
const SHAPES = 2;
/** Wide ones have these columns. */
const WIDTHS = [256, 224, 192, 160, 128];

describe.each(PRODUCTS)("%s", (_name, e, shape) => {
  const text = program(e, shape);

  it("takes the tensor cores, and copies no operand", () => {
    const result = compiled(text, "bf16");
    expect(result.diagnostics).toEqual([]);
    expect(opsOf(result, "mma").map((op) => op.attributes["columns"])).toEqual([
      undefined,
      undefined,
      ...WIDTHS.slice(1),
    ]);
    const scratch = result.kernel!.buffers.filter((b) => b.role === "scratch");
    expect(scratch.map(({ name }) => name)).toEqual(["pieces", "pieces_"]);
  });

  it("is right, beyond the ends of its operands too", () => {
    for (const dtype of ["bf16", "f32"] as const) {
      const { kernel, manifest, source } = compiled(text, dtype, PROOF_MAPPING);
      const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
      // Many tiles, and few deep ones, which are cut.
      for (const sizes of [
        { m: 21, n: 37, k: 19 },
        { m: 5, n: 14, k: 61 },
      ]) {
        const dims = Object.fromEntries(manifest!.dims.map((d) => [d, sizes[d as "m"]]));
        const data = makeInputs(manifest!, dims, 5);
        group.run(data, dims);
        expect(checkOutputs(manifest!, dims, data, data), dtype).toMatchObject({ correct: true, unspecified: [] });
      }
    }
  });

  it("is proved", () => {
    const { kernel } = compiled(text, "bf16", PROOF_MAPPING);
    const claims = prove({ kernel }, { shared: sharedLayout(kernel!) });
    expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
  });
});

describe.each(["i8", "u8", "f8e4m3", "f8e5m2"] as const)("a product of %s", (dtype) => {
  const sum = dtype === "i8" ? "i32" : dtype === "u8" ? "u32" : "bf16";
  const text = program("a @ transpose(bt)", "m, n").replace("y: T[", "y: U[");
  const both = { T: dtype, U: sum } as const;

  it("takes the tensor cores where warp groups have them", () => {
    const result = compiled(text, both);
    expect(result.diagnostics).toEqual([]);
    const [op] = opsOf(result, "mma");
    expect(op!.attributes["async"]).toBe(true);
    const accumulator = result.kernel!.buffers.find(({ role }) => role === "fragment")!;
    expect(accumulator.dtype).toBe(sum === "bf16" ? "f32" : sum);
    const older = compile(text, { ranks: 2, dtype: both, arch: "sm_80" });
    expect(older.diagnostics.map((d) => d.message)).toEqual([expect.stringMatching(/no tiles of/)]);
  });

  it("has two stages under way where their sums are added apart, and there are registers for both", () => {
    const { cuda } = compiled(text, both);
    const sums = [...cuda!.matchAll(/wgmma_m64n(\d+)\w+_turn\(\w+_apart(_next)?, /g)].map(
      ([, n, next]) => n! + (next ?? ""),
    );
    const isApart = sum === "bf16";
    expect(sums).toEqual(isApart ? ["64", "64_next", "64", "128", "128_next", "128"] : []);
    expect(cuda!.match(/wgmma_wait_(32|64)\(\w+_apart(_next)?\);/g) ?? []).toHaveLength(sums.length);
  });

  it.runIf(sum !== "bf16")("is said to be one where it was cast before it was multiplied", () => {
    const wide = program(`${sum}(a) @ transpose(${sum}(bt))`, "m, n").replace("y: T[", "y: U[");
    const told = (arch: string): string[] => compile(wide, { ranks: 2, dtype: both, arch }).diagnostics.map((d) => d.message); // prettier-ignore
    expect(told("sm_90a")).toEqual([
      expect.stringContaining(`as in '${sum}(a @ transpose(b))' for a and b of ${dtype}`),
    ]);
    expect(told("sm_80")).toEqual([expect.stringContaining("cast the operands to bf16 or f16")]);
    // What is more than a cast is no operand of 8 bits.
    const more = compile(wide.replace(`${sum}(a)`, `(${sum}(a) * 2)`), { ranks: 2, dtype: both });
    expect(more.diagnostics.map((d) => d.message)).toEqual([
      expect.stringContaining("cast the operands to bf16 or f16"),
    ]);
  });

  it("is a fold where a row of an operand does not run along the depth", () => {
    const result = compiled(text.replace("T[n, k]", "T[k, n]").replace("transpose(bt)", "bt"), both);
    expect(result.diagnostics.map((d) => [d.code, d.severity])).toEqual([["scalar-product", "warning"]]);
    expect(opsOf(result, "mma")).toEqual([]);
    expect(opsOf(result, "reduce")[0]!.attributes["product"]).toMatch(/'bt' do not run along the depth/);
  });

  it("is right, beyond the ends of its operands too, and where its depth is cut", () => {
    expectRight(compiled(text, both, PROOF_MAPPING), [
      { m: 21, n: 37, k: 19 },
      { m: 5, n: 14, k: 61 },
    ]);
  });

  it("is proved", () => {
    expectProved(compiled(text, both, PROOF_MAPPING));
  });
});

describe("products of several dtypes", () => {
  const text = `collective f(a: bf16[m, k] replicated, b: bf16[k, n] replicated, c: i8[m, k] replicated, d: i8[n, k] replicated)
  -> (y: bf16[m, n] replicated, z: i32[m, n] replicated) {
  y = a @ b
  z = c @ transpose(d)
}
`;

  it("share the memory of a block, one after the other, which is proved", () => {
    const result = compiled(text, "bf16");
    expect(opsOf(result, "mma")).toHaveLength(2 * WIDTHS.length);
    expect(sharedLayout(result.kernel!).bytes).toBeLessThan(227 * 1024);
    const { kernel } = compiled(text, "bf16", PROOF_MAPPING);
    const claims = prove({ kernel }, { shared: sharedLayout(kernel!) });
    expect([claims.answer.status, claims.ordering.status], summaryLine(claims)).toEqual(["proved", "proved"]);
  });

  it("have an accumulator each, where they lie over the threads or are added up in other ways", () => {
    const result = compiled(text.replaceAll("i8", "f16").replaceAll("i32", "f16"), "bf16");
    expect(result.cuda).toMatch(/wgmma_m64n256k16_f16/);
    expect(result.cuda).toMatch(/wgmma_m64n256k16_bf16/);
    expect(sharedLayout(result.kernel!).bytes).toBeLessThan(227 * 1024);
  });

  it("leave those of 8 bits a fold where another has no tiles for warp groups", () => {
    const result = compiled(text.replaceAll("bf16", "f32"), "f32");
    expect(result.diagnostics.map((d) => d.message)).toEqual([expect.stringMatching(/another product of the kernel/)]);
    expect(opsOf(result, "mma")).toHaveLength(1);
  });
});

describe("a product that an author wrote out", () => {
  const loops = (body: string): string =>
    `collective f(a: T[m, k] local, b: T[k, n] local) -> c: T[m, n] local {\n  for i, j in tiles(m, n) {\n    c[i, j] = ${body}\n  }\n}\n`;

  it("is raised to the op", () => {
    expect(opsOf(compiled(loops("sum(q in 0..k) a[i, q] * b[q, j]"), "bf16"), "mma")).toHaveLength(1 + WIDTHS.length);
  });

  it("stays the fold it is where only the element knows how deep it is", () => {
    const result = compiled(loops("sum(q in 0..k / m) a[i, q] * b[q, j]"), "bf16");
    expect(result.diagnostics).toEqual([]);
    expect(opsOf(result, "mma")).toEqual([]);
  });

  it("stays the fold it is where no unit takes it, without a word", () => {
    const result = compiled(loops("sum(q in 0..k) a[i, q] * b[q, j] * a[i, q]"), "bf16");
    expect(result.diagnostics).toEqual([]);
    expect(opsOf(result, "mma")).toEqual([]);
  });
});

describe("roles of a block, as printed", () => {
  const text = program("(a @ b) + (a @ transpose(bt))", "m, n");

  // Seen to hang on an H200 (2026-11-23), where ranks took turns on it: a barrier of a ring tells two phases apart, and a warp of
  // the producer that nothing waited for fell a round behind.
  it("let no warp of the producer fall behind the ring", () => {
    const { cuda, kernel } = compiled(text, "bf16");
    const [first, second] = opsOf(compiled(text, "bf16"), "roles");
    expect(first).toBeDefined();
    expect(second).toBeDefined();
    const { consumers, producers } = first!.attributes as { consumers: number; producers: number };
    expect(kernel!.blockThreads).toBe(consumers + producers);
    // The first has nothing before it that the copy engine has to wait for.
    expect(cuda!.match(/ring_begin<\d+, \d+, \d+, \w+>\(\w+\);/g)).toEqual(
      [true, false].map((f) => `ring_begin<4, ${consumers / 32}, 1, ${f}>(b_ring_4);`),
    );
    const [, fill] = /void ring_fill\([^)]*\) \{([^}]*)\}/.exec(cuda!)!;
    expect(fill!.match(/mbarrier\.arrive/g), "one arrival of the warp that fills the stage").toHaveLength(1);
    expect(cuda!.match(/if \(\(u32\)v\d+ % 4 == threadIdx\.x \/ 32 - 8\) \{\s*ring_acquire/g)).toHaveLength(2);
    expect(fill).toMatch(/__syncwarp\(\);[\s\S]*threadIdx\.x % 32 == 0/);
  });

  const [more, less] = ["setmaxnreg.inc", "setmaxnreg.dec"];
  const changes = (cuda: string): string[] => {
    const entry = cuda.slice(cuda.indexOf('extern "C"'));
    return entry
      .match(/setmaxnreg\.(inc|dec)|ring_(begin|end)<[^(]*\(b_|__syncthreads/g)!
      .map((s) => s.replace(/<.*/, ""));
  };

  it("meet between two changes of a warp group's registers", () => {
    // A sum of what all have stored follows.
    const sum =
      "collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] replicated { c = all_reduce(a @ b) }";
    const { cuda } = compile(sum, { ranks: 2, dtype: "bf16", arch: "sm_90a" });
    const seen = changes(cuda!);
    const roles = ["ring_begin", more, less, "__syncthreads", less, more];
    // One of the two has a second ring, of the tiles that leave.
    const once = seen.filter((s, i) => s !== "ring_begin" || seen[i - 1] !== s);
    const at = once.flatMap((s, i) => (s === "ring_begin" ? [i] : []));
    expect(at).toHaveLength(2);
    for (const i of at) expect(once.slice(i, i + roles.length)).toEqual(roles);
  });

  it("meet once where only the launch is counted behind them, and keep their registers", () => {
    const roles = ["ring_begin", more, less, "__syncthreads"];
    expect(changes(compiled(program("a @ b", "m, n"), "bf16").cuda!)).toEqual([...roles, ...roles]);
  });

  it("leave their ring to what has its memory afterwards", () => {
    expect(changes(compiled(text, "bf16").cuda!)).toContain("ring_end");
  });
});

it("tiles of columns that no number of boxes has are refused", () => {
  const roles = { ...passOptionsFor(DEFAULT_MACHINE).roles!, few: null, narrower: [] };
  const tiles = (n: number, b: string, product: string): CompileResult =>
    compile(`collective f(a: T[m, k] local, b: T[${b}] local) -> c: T[m, n] local { c = ${product} }`, { ranks: 1, dtype: "bf16", arch: "sm_90a", mapping: { roles: { ...roles, n } } }); // prettier-ignore
  expect(() => tiles(224, "k, n", "a @ b").cuda).toThrow(
    /tiles of 224 columns, which the copy engine brings in boxes of 64/,
  );
  expect(tiles(192, "k, n", "a @ b").cuda).toBeDefined();
  // Rows of the operand come all at once.
  expect(tiles(224, "n, k", "a @ transpose(b)").cuda).toBeDefined();
});

describe("rows outside of an operand", () => {
  const text = program("a @ transpose(bt)", "m, n");
  const copies = (result: CompileResult): Op[] => opsOf(result, "copy_tile");

  it("hold anything where they are rows of the result, and fewer are loaded where few are inside", () => {
    const result = compiled(text, "bf16");
    expect(copies(result).map((op) => op.attributes["spare"])).toEqual(Array(2 * SHAPES).fill(true));
    const { parameters } = result.manifest!.kernels[0]!;
    const boxes = parameters.flatMap((p) => (p.kind === "tensor-map" ? [`${p.buffer} ${p.box.join("x")}`] : []));
    expect(boxes).toEqual(["a 128x64", "a 16x64", "a 64x64", "bt 64x64", "bt 16x64", "bt 128x64"]);
    expect(result.cuda!.match(/left_\w+ <= 16 \? &b_\w+_map_16x64 : /g)).toHaveLength(3);
    expect(result.cuda!.match(/left_\w+ <= 64 \? &b_\w+_map_64x64 : &b_\w+_map_128x64/g)).toHaveLength(2);
    // Where a launch chooses how many there are, in boxes of 64, of which those behind the last one stay away, and two are one where they can.
    const pairs =
      /if \(s \+ 1 < boxes_\w+\) ring_load\(.*map_128x64.*\n *else if \(s < boxes_\w+\) ring_load\(.*map_64x64/g;
    expect(result.cuda!.match(pairs)).toHaveLength(1);
  });

  it("are zero where they are the depth, or the proof tells", () => {
    const result = compiled(program("a @ b", "m, n"), "bf16", PROOF_MAPPING);
    expect(copies(result).map((op) => op.attributes["spare"])).toEqual(Array(SHAPES).fill([true, undefined]).flat());
    for (const right of copies(result).filter((op) => op.attributes["from"] === "b")) {
      const spare = { ...right, attributes: { ...right.attributes, spare: true } };
      const kernel = edited(result.kernel!, right, () => [spare]);
      expect(prove({ kernel }, { shared: sharedLayout(kernel) }).answer.status).toBe("wrong");
    }
  });
});

describe("the width of tiles", () => {
  const blocks = 132;
  const widthOf = (m: number, n: number, isAlone = 0): number => {
    const tiles = (columns: number): number => Math.ceil(m / 128) * Math.ceil(n / columns);
    const { units } = shortestRounds(WIDTHS, tiles, blocks, isAlone);
    return evaluateExtent(units, {}) * unitOf(WIDTHS);
  };

  it("is the one with which rounds of blocks are the shortest, and the widest of those", () => {
    expect(widthOf(1024, 2560), "128 tiles in one round, in place of 80 that take longer").toBe(160);
    expect(widthOf(2048, 2560), "256 tiles in two rounds, in place of 160 in two").toBe(160);
    expect(widthOf(768, 3584), "114 tiles").toBe(192);
    expect(widthOf(512, 4096), "128 tiles").toBe(128);
    expect(widthOf(2048, 4096), "256 tiles in two rounds").toBe(256);
    expect(widthOf(8192, 8192), "little is won in sixteen").toBe(256);
    expect(widthOf(1024, 2560, 1), "what threads copy").toBe(256);
  });

  it("is computed from any lengths as it is from these", () => {
    const tiles = (columns: Extent): Extent =>
      extent("mul", extent("ceildiv", "m", 128), extent("ceildiv", "n", columns));
    const { units, time } = shortestRounds(WIDTHS, tiles, blocks, 0);
    for (const m of [1, 100, 128, 129, 640, 1024, 2048, 5000])
      for (const n of [1, 64, 160, 1000, 2560, 4096, 14336]) {
        expect(evaluateExtent(units, { m, n }) * 32).toBe(widthOf(m, n));
        const rounds = Math.ceil((Math.ceil(m / 128) * Math.ceil(n / 256)) / blocks);
        expect(evaluateExtent(time(64), { m, n })).toBeLessThanOrEqual(64 * rounds);
      }
  });

  const CHOSEN = { m: 13, n: 40, k: 32 };
  const MANY_CHOSEN = { m: 61, n: 72, k: 24 };

  it.each(["a @ b", "a @ transpose(bt)", "relu(a @ b)"])("leaves %s right, and proved", (e) => {
    const result = compiled(program(e, "m, n"), "bf16", PROOF_MAPPING);
    expect(opsOf(result, "mma").map((op) => op.attributes["columns"])).toContain(24);
    expectRight(result, [CHOSEN, MANY_CHOSEN]);
    expectProved(result, [CHOSEN, MANY_CHOSEN]);
  });

  it("is where the loop over an accumulator ends, and one that ends before leaves elements out", () => {
    const narrow = compiled(program("a @ b", "m, n"), "bf16", PROOF_MAPPING);
    const limited = opsOf(narrow, "for").filter((op) => op.attributes["limit"] === "columns");
    expect(limited.length).toBeGreaterThan(0);
    for (const loop of limited) {
      const [from, to] = loop.operands as [Value, Value];
      const short = edited(narrow.kernel!, loop, () => [{ ...loop, operands: [from, to, from] }]);
      expect(prove({ kernel: short }, { shared: sharedLayout(short) }).answer.status).toBe("wrong");
      const reason = "a loop does not store all of a tile";
      expect(everyLength(short, [CHOSEN])).toMatchObject({ answer: { holds: false, reason } });
    }
  });

  it("is that of lengths that are numbers, with no other beside it", () => {
    const text =
      "collective f(a: T[13, 32] replicated, b: T[32, 40] replicated) -> y: T[13, 40] replicated {\n  y = a @ b\n}\n";
    const result = compiled(text, "bf16", PROOF_MAPPING);
    expect(opsOf(result, "mma").map((op) => op.attributes["columns"])).toEqual([24]);
    expectRight(result, [{}]);
    expectProved(result);
  });

  it("is a multiple of the columns that share a scale, and of those that are added apart", () => {
    const shape = passOptionsFor(DEFAULT_MACHINE).roles!;
    const of = (dtype: DType, per: number): Contraction =>
      ({ a: { dtype }, scales: { b: { per } }, twin: null, column: new Value(INDEX) }) as unknown as Contraction;
    expect(widthsFor([of("bf16", 1)], shape, null, null)).toEqual(WIDTHS);
    expect(widthsFor([of("bf16", 1), of("bf16", 64)], shape, null, null)).toEqual([256, 192, 128]);
    expect(widthsFor([of("f8e4m3", 128)], shape, null, null)).toEqual([256, 128]);
    expect(widthsFor([of("f8e4m3", 0)], shape, null, null)).toEqual(WIDTHS);
  });

  it("is missed by nothing: with fewer columns copied or multiplied, the proof tells", () => {
    const result = compiled(program("a @ b", "m, n"), "bf16", PROOF_MAPPING);
    // Two tiles of it for two blocks: with one, its depth would be cut.
    const CHOSEN_ALONE = { m: 13, n: 40, k: 32 };
    const told = (op: Op, change: (op: Op, build: Builder) => Op): string => {
      const build = new Builder(op.span);
      const kernel = edited(result.kernel!, op, () => {
        const wrong = change(op, build);
        return [...build.ops, wrong];
      });
      const shapes = [CHOSEN_ALONE];
      return prove({ kernel }, { shared: sharedLayout(kernel), shapes }).answer.status;
    };
    const products = opsOf(result, "mma").filter((op) => op.attributes["columns"] === 24);
    expect(products).toHaveLength(1);
    expect(told(products[0]!, (op) => ({ ...op, attributes: { ...op.attributes, columns: 16 } }))).toBe("wrong");
    const [copy] = opsOf(result, "copy_tile").filter((op) => "limit" in op.attributes);
    const fewer = (op: Op, build: Builder): Op => ({
      ...op,
      operands: [...op.operands.slice(0, -1), build.sub(op.operands.at(-1)!, build.constant(1))],
    });
    expect(told(copy!, fewer)).toBe("wrong");
  });
});

describe("a depth that is cut", () => {
  it("is right, and proved, where blocks have two pieces each", () => {
    const mapping = { ...PROOF_MAPPING, tileBlocks: 3, roles: { ...PROOF_MAPPING.roles!, few: null } };
    const result = compiled(program("a @ b", "m, n"), "bf16", mapping);
    // Two tiles, eight steps: three pieces of three steps, of which blocks take two each.
    const dims = { m: 13, n: 37, k: 61 };
    expectRight(result, [dims]);
    expectProved(result, [dims]);
  });

  it("takes part in proofs with narrow tiles and with wide ones, as what is not cut does", () => {
    const kernel = compiled(program("a @ b", "m, n"), "bf16", PROOF_MAPPING).kernel!;
    expect(opsOf({ kernel } as CompileResult, "roles")).toHaveLength(SHAPES);
    const { coverage } = prove({ kernel }, { shared: sharedLayout(kernel) });
    expect(coverage.idle.map(({ what }) => what)).toEqual([]);
  });

  it("is refused where a piece is told of too soon, taken too soon, or left out", () => {
    const { kernel } = compiled(program("a @ b", "m, n"), "bf16", PROOF_MAPPING);
    const changed = (op: Op): [answer: string, ordering: string] => {
      const without = edited(kernel!, op, () => []);
      const { answer, ordering } = prove({ kernel: without }, { shared: sharedLayout(without) });
      return [answer.status, ordering.status];
    };
    const [consumers] = opsOf({ kernel } as CompileResult, "roles")[0]!.regions;
    const found: Op[] = [];
    const last = new Map<string, Op>();
    const visit = (ops: readonly Op[]): void =>
      ops.forEach((op, i) => {
        const inner = op.regions.flatMap((r) => r.ops.map((o) => o.name));
        if (inner.includes("signal")) last.set("met before it is told", ops[i - 1]!).set("told", op);
        if (inner.includes("wait")) last.set("waited for", op);
        if (op.name === "fragment_put" || op.name === "fragment_add") found.push(op);
        op.regions.forEach((r) => visit(r.ops));
      });
    visit(consumers!.ops);
    expect(last.get("met before it is told")!.name).toBe("block_sync");
    expect(changed(last.get("met before it is told")!)[1]).toBe("wrong");
    expect(changed(last.get("told")!)).toContain("wrong");
    expect(changed(last.get("waited for")!)).toContain("wrong");
    expect(found.map((op) => op.name)).toEqual(["fragment_add", "fragment_put"]);
    for (const op of found) expect(changed(op)[0]).toBe("wrong");
  });
});

describe("tiles that leave for a rank that follows from where they lie", () => {
  /** The numbers of the tiles of a rank, in its order. */
  const orderOf = (rank: number, count: number, world: number): number[] =>
    Array.from({ length: count }, (_, i) => {
      const build = new Builder({ start: 0, end: 0 });
      const number = rotatedNumber(build, build.constant(i), build.constant(count), world);
      const known = new Builder({ start: 0, end: 0 });
      const values = new Substitution();
      rewriteOps(build.ops, known, values, (op, b, v) => {
        if (op.name === "rank") v.set(op.results[0]!, b.constant(rank));
        return op.name === "rank";
      });
      return known.constantOf(values.get(number))!;
    });

  it("are taken in an order that begins with the next rank's, and ends with this one's", () => {
    expect(Array.from({ length: 4 }, (_, rank) => orderOf(rank, 8, 4))).toEqual([
      [2, 3, 4, 5, 6, 7, 0, 1],
      [4, 5, 6, 7, 0, 1, 2, 3],
      [6, 7, 0, 1, 2, 3, 4, 5],
      [0, 1, 2, 3, 4, 5, 6, 7],
    ]);
    for (const world of [2, 3, 8])
      for (const count of [1, 2, 5, 7, 64])
        for (let rank = 0; rank < world; rank++)
          expect(
            orderOf(rank, count, world).sort((a, b) => a - b),
            `${count} tiles, rank ${rank} of ${world}`,
          ).toEqual(Array.from({ length: count }, (_, i) => i));
  });

  it.each([
    ["rows", 0],
    ["columns", 1],
  ])("follow the %s where the sum is scattered by them", (_which, dim) => {
    const y = `T[m, n] sharded(${dim})`;
    const text = `collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> y: ${y} { y = reduce_scatter(a @ b, dim: ${dim}) }\n`;
    const { snapshots } = compile(text, { ranks: 4, dtype: "bf16", stopAfter: "derive-sync" });
    const rotated: (number | null)[] = [];
    walkKernel(snapshots.at(-1)!.kernel, (op, parents) => {
      if (op.name !== "contract") return;
      const loop = parents.at(-1)!;
      const variable = rotatedVariable(loop, 4);
      rotated.push(variable === null ? null : loop.regions[0]!.arguments.indexOf(variable));
      expect(rotatedVariable(loop, 1), "on one rank all is its own").toBeNull();
    });
    expect(rotated).toEqual([dim]);
  });

  it("lie anywhere where they stay", () => {
    const { snapshots } = compile(program("a @ b", "m, n"), { ranks: 4, dtype: "bf16", stopAfter: "derive-sync" });
    walkKernel(snapshots.at(-1)!.kernel, (op, parents) => {
      if (op.name === "contract") expect(rotatedVariable(parents.at(-1)!, 4)).toBeNull();
    });
  });
});
