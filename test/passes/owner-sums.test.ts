/** Products whose owners add up as they store their own tiles, and products of few rows: right, ordered, and refused where they are not. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult } from "../../src/compiler/index.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { Kernel, Op } from "../../src/compiler/ir/module.js";
import { problemsOf } from "../../src/compiler/ir/verify.js";
import { Builder } from "../../src/compiler/ir/builder.js";
import { rewriteOps, Substitution, walk } from "../../src/compiler/ir/visit.js";
import type { PassOptions } from "../../src/compiler/passes/options.js";
import { PROOF_MAPPING, proveOrdering } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { expectProved, opsIn } from "./compiled-products.js";

const SCATTERED = `collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> y: T[m, n] sharded(0) {
  y = reduce_scatter(a @ b, dim: 0)
}
`;
const BIASED = `collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0), r: T[n] replicated) -> y: T[m, n] sharded(0) {
  y = gelu(reduce_scatter(a @ b, dim: 0) + r)
}
`;
const REDUCED = `collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> y: T[m, n] replicated {
  y = all_reduce(a @ b)
}
`;

function compiled(text: string, ranks: number, mapping: Partial<PassOptions>, variant?: string): CompileResult {
  const chosen = variant === undefined ? {} : { variant };
  const result = compile(text, { ranks, dtype: "bf16", mapping: { ...PROOF_MAPPING, ...mapping }, ...chosen });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
}

/** The roles whose consumers hand tiles to movers, which send them to their owners. */
function ownersRoles(kernel: Kernel): Op | undefined {
  return opsIn(kernel, "roles").find((op) => "outgoing" in op.attributes);
}

function without(kernel: Kernel, left: Op): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op) => op === left);
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}

/** Whether the kernel is right at these sizes on emulated ranks. */
function isRight(
  { kernel, manifest, source }: Pick<CompileResult, "kernel" | "manifest" | "source">,
  dims: Record<string, number>,
): boolean {
  const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
  const data = makeInputs(manifest!, dims, 7);
  for (let launch = 0; launch < 2; launch++) group.run(data, dims);
  return checkOutputs(manifest!, dims, data, data).correct;
}

/** Tiles of the proofs' mapping are of 16 rows and columns; products of its launches have 2 blocks. */
const APART = [
  { m: 96, n: 40, k: 24 },
  { m: 192, n: 24, k: 12 },
];
const NOT_APART = [
  { m: 36, n: 70, k: 24 },
  { m: 4, n: 4, k: 4 },
];

describe("sums that owners complete", () => {
  it.each([
    ["of rows that are scattered", SCATTERED, 2, "two_shot"],
    ["on four ranks", SCATTERED, 4, "two_shot"],
    ["with what follows the sum", BIASED, 2, "two_shot"],
    ["that everybody gets", REDUCED, 4, "two_shot"],
  ] as const)("%s are right, whether tiles are each of one owner or not", (_which, text, ranks, variant) => {
    const result = compiled(text, ranks, {}, variant);
    expect(ownersRoles(result.kernel!)!.attributes).toMatchObject({ outgoing: "outgoing_2", movers: 12 });
    for (const dims of [...APART, ...NOT_APART]) expect([dims, isRight(result, dims)]).toEqual([dims, true]);
  });

  it("are made with what follows them in the same loop, and not where that goes through elements again", () => {
    const rolesOf = (y: string): Op | undefined =>
      ownersRoles(compiled(SCATTERED.replace("y = reduce_scatter(a @ b, dim: 0)", y), 2, {}, "two_shot").kernel!);
    expect(rolesOf("y = reduce_scatter(a @ b, dim: 0) * 2.0")).toBeDefined();
    expect(rolesOf("let s = reduce_scatter(a @ b, dim: 0)\n  y = s * max(s, dim: 1)")).toBeUndefined();
  });

  it.each([
    [SCATTERED, 2],
    [BIASED, 3],
  ])("have another way, in which elements stay until their owners read them, or packets carry them", (text, ranks) => {
    for (const [variant, hasPackets] of [
      ["one_shot", false],
      ["one_shot+packets", true],
    ] as const) {
      const result = compiled(text, ranks, {}, variant);
      expect(ownersRoles(result.kernel!)).toBeUndefined();
      expect(result.kernel!.buffers.some(({ role }) => role === "packet")).toBe(hasPackets);
      for (const dims of [...APART, ...NOT_APART])
        expect([dims, isRight(result, { ...dims, m: dims.m * ranks, k: dims.k * ranks })]).toEqual([dims, true]);
      expectProved(result);
    }
  });

  it.each(["T[4, 8] sharded(1)", "T[96, 8] sharded(1)"])("of lengths that are known are right: %s", (a) => {
    const text = SCATTERED.replace("T[m, k] sharded(1)", a)
      .replace("T[k, n]", "T[8, 40]")
      .replace("T[m, n]", a.replace(/, 8.*/, ", 40]"));
    const result = compiled(text, 2, {}, "two_shot");
    // Of 4 rows no tile is of one owner.
    expect(ownersRoles(result.kernel!) !== undefined).toBe(a.includes("96"));
    expect(isRight(result, {})).toBe(true);
  });

  describe("are ordered", () => {
    const { kernel } = compiled(SCATTERED, 2, {}, "two_shot");
    const [dims] = APART;
    const statusOf = (changed: Kernel): string =>
      proveOrdering(changed, { dims: dims!, shared: sharedLayout(changed), launches: 2 }).status;
    const inRole = (name: string, role: number): Op => {
      const found: Op[] = [];
      walk(ownersRoles(kernel!)!.regions[role]!, (op) => void (op.name === name && found.push(op)));
      const others = found.filter((op) => !String(op.attributes["buffer"]).startsWith("told"));
      return found.find((op) => op.attributes["ring"] === "outgoing_2") ?? others[0]!;
    };

    it("as they are", () => expect(statusOf(kernel!)).toBe("proved"));

    it.each([
      ["consumers do not wait for other ranks' tiles", "wait", 0],
      ["movers do not wait until a tile is stored", "ring_wait", 2],
      ["movers never say that a tile is sent", "ring_release", 2],
      ["consumers store over a tile that is not sent yet", "ring_acquire", 0],
      ["movers tell nobody", "signal", 2],
    ])("and not if %s", (_which, name, role) => {
      expect(statusOf(without(kernel!, inRole(name, role)))).not.toBe("proved");
    });
  });

  it("are refused where nobody tells, or in another role", () => {
    const { snapshots } = compile(SCATTERED, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING, variant: "two_shot" });
    const tiled = snapshots.find((s) => s.pass === "tile-contractions")!.kernel;
    const messages = (changed: Kernel): string[] => problemsOf(changed).map((p) => p.message);
    expect(messages(tiled)).toEqual([]);
    const [sent] = opsIn(tiled, "tile_sent");
    expect(messages(without(tiled, sent!))).toContain("await_tile: the movers never tell what they have sent");
  });
});

/** At most two tiles of 8 columns for 2 blocks and as many rows as a tile has; more tiles, or more rows. */
const FEW = [
  { m: 16, n: 16, k: 24 },
  { m: 6, n: 13, k: 10 },
];
const MANY = [
  { m: 16, n: 40, k: 24 },
  { m: 34, n: 20, k: 14 },
];

describe("products of few rows", () => {
  it("have narrow tiles where each block has one of them", () => {
    const result = compiled(SCATTERED, 2, {}, "two_shot");
    const tiles = result.kernel!.buffers.filter((b) => b.role === "fragment").map((b) => b.shape.join("×"));
    expect(tiles).toEqual(["16×8", "16×32"]);
    for (const dims of [...FEW, ...MANY]) expect([dims, isRight(result, dims)]).toEqual([dims, true]);
  });

  it("have these alone there, and nowhere else", () => {
    const result = compiled(SCATTERED, 2, {}, "two_shot");
    const [narrow, wide] = opsIn(result.kernel!, "roles");
    const { kernel, manifest, source } = result;
    const having = (left: Op): Parameters<typeof isRight>[0] => ({ kernel: without(kernel!, left), manifest, source });
    for (const [among, others] of [
      [FEW, wide!],
      [MANY, narrow!],
    ] as const)
      for (const dims of among) expect([dims, isRight(having(others), dims)]).toEqual([dims, true]);
  });
});
