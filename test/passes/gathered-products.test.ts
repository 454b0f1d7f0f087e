/** Products whose operand is gathered while they go on: what movers send in which order, what producers await, and what is refused. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult } from "../../src/compiler/index.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { foldBinary, foldCompare } from "../../src/compiler/ir/functions.js";
import type { Kernel, Op, Value } from "../../src/compiler/ir/module.js";
import type { BinaryFunction, Comparison } from "../../src/compiler/ir/ops.js";
import { problemsOf } from "../../src/compiler/ir/verify.js";
import { walk } from "../../src/compiler/ir/visit.js";
import { Definitions } from "../../src/compiler/passes/support/analysis.js";
import { DEFAULT_PASS_OPTIONS } from "../../src/compiler/passes/options.js";
import { PIPELINE } from "../../src/compiler/passes/pipeline.js";
import { runPasses } from "../../src/compiler/passes/runner.js";
import { prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { makeInputs } from "../../src/runtime/reference/index.js";
import { edited } from "../prove/mutants.js";
import { compiled, expectProved, expectRight, opsIn, opsOf } from "./compiled-products.js";

describe("a product of gathered rows", () => {
  const layer = (body: string, y: string): string =>
    `collective f(a: T[m, k] sharded(0), b: T[k, n] sharded(1), r: T[m, n] sharded(1)) -> y: ${y} {\n  ${body}\n}\n`;
  const gathers = layer("y = all_gather(a) @ b + r", "T[m, n] sharded(1)");
  const rolesOf = (text: string): Op[] => opsOf(compiled(text, "bf16", PROOF_MAPPING), "roles");
  const named = (roles: Op, region: number, name: string): Op[] => {
    const found: Op[] = [];
    walk(roles.regions[region]!, (op) => void (op.name === name && found.push(op)));
    return found;
  };

  /** Slices are added up when the blocks of a rank have met. */
  const opsBetweenOwnBlocks = 1;

  it("begins while movers send the rows: it reads its own where they come from, and awaits those of others", () => {
    const [roles] = rolesOf(gathers);
    expect(roles!.attributes).toMatchObject({ consumers: 16, producers: 4, movers: 12 });
    expect(new Set(named(roles!, 1, "copy_tile").map((op) => op.attributes["from"]))).toEqual(
      new Set(["a", "gathered", "b"]),
    );
    expect(named(roles!, 1, "wait").length).toBeGreaterThan(0);
    expect(named(roles!, 2, "store").every((op) => op.attributes["buffer"] === "gathered")).toBe(true);
    // That ranks have begun, movers await: the product does not.
    expect(opsOf(compiled(gathers, "bf16", PROOF_MAPPING), "wait")).toHaveLength(
      named(roles!, 1, "wait").length + named(roles!, 2, "wait").length + opsBetweenOwnBlocks,
    );
  });

  it.each([
    ["its own rows come from a computation", "y = all_gather(a * a) @ b + r", ["gathered", "b"]],
    ["its rows come from elsewhere, too", "let g = all_gather(a)\n  y = (g @ b) * max(g, dim: 1)", null],
  ])("where %s", (_which, body, from) => {
    const [roles] = rolesOf(layer(body, "T[m, n] sharded(1)"));
    if (from === null) return expect(roles!.attributes).not.toHaveProperty("movers");
    const loaded = new Set(named(roles!, 1, "copy_tile").map((op) => op.attributes["from"]));
    expect([...loaded].sort()).toEqual([...from].sort());
  });

  it("may be the other operand, whose rows are the product's columns", () => {
    const text = `collective f(x: T[m, k] replicated, w: T[n, k] sharded(0)) -> y: T[m, n] replicated {
  y = x @ transpose(all_gather(w))
}
`;
    const [roles] = rolesOf(text);
    expect(new Set(named(roles!, 1, "copy_tile").map((op) => op.attributes["from"]))).toEqual(
      new Set(["x", "gathered", "w"]),
    );
    const result = compiled(text, "bf16", PROOF_MAPPING);
    expectRight(result, [
      { m: 19, n: 64, k: 19 },
      { m: 40, n: 38, k: 61 },
    ]);
    expectProved(result);
  });

  it("waits for all of it where its tiles leave for others, who might still read what they replace", () => {
    const text = `collective f(a: T[m, k] sharded(0), b: T[k, n] sharded(1)) -> y: T[m, n] replicated {
  y = all_gather(all_gather(a) @ b, dim: 1)
}
`;
    expect(rolesOf(text)[0]!.attributes).not.toHaveProperty("movers");
  });

  it("is right, and proved, where a rank's tiles are its own, and where they are not", () => {
    const result = compiled(gathers, "bf16", PROOF_MAPPING);
    expectRight(result, [
      { m: 32, n: 32, k: 19 },
      { m: 64, n: 8, k: 24 },
      { m: 38, n: 70, k: 61 },
      { m: 2, n: 2, k: 1 },
    ]);
    expectProved(result);
  });

  it("is right where its rows begin inside a rank's, so that tiles hold rows of two ranks", () => {
    const text = `collective f(a: T[m, k] sharded(0), b: T[k, n] replicated) -> y: T[m, n] local
  where m >= 8 {
  let all = all_gather(a)
  for i, j in tiles(8..m, 0..n) { y[i, j] = sum(c in 0..k) all[i, c] * b[c, j] }
  for i, j in tiles(0..8, 0..n) { y[i, j] = 0 }
}
`;
    const { kernel, manifest, source } = compiled(text, "bf16", PROOF_MAPPING);
    expect(opsIn(kernel!, "roles").some((op) => "movers" in op.attributes)).toBe(true);
    const dims = { m: 64, n: 8, k: 16 };
    const [one, sixteen] = [0x3f80, 0x4180];
    const data = makeInputs(manifest!, dims, 5);
    for (const { inputs } of data) for (const values of Object.values(inputs)) (values as Uint16Array).fill(one);
    new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true }).run(data, dims);
    const rows = Array.from({ length: dims.m * dims.n }, (_, e) => (e < 8 * dims.n ? 0 : sixteen));
    for (const { outputs } of data) expect([...outputs["y"]!]).toEqual(rows);
  });

  it("goes to the rank that needs it next, which is told before the next one gets it", () => {
    const three = (mapping: object): CompileResult => compile(gathers, { ranks: 3, dtype: "bf16", mapping });
    const { kernel, snapshots } = three(PROOF_MAPPING);
    const at = PIPELINE.findIndex((p) => p.name === "tile-contractions");
    const tiled = snapshots.find((s) => s.pass === "tile-contractions")!.kernel;
    const steps = opsIn(tiled, "roles")[0]!.regions[2]!.ops.find((op) => op.name === "for")!;
    /** Of what movers do for one part for one rank: what they send, and that they tell. */
    const [region] = steps.regions as readonly [Op["regions"][number]];
    const skips = region.ops.find((op) => op.name === "if" && op.regions[1]!.ops.length > 0)!;
    const [leaves, goes] = skips.regions as [Op["regions"][number], Op["regions"][number]];
    const named = ({ ops }: Op["regions"][number]): string[] =>
      ops.filter((op) => ["for", "if", "shard_sent"].includes(op.name)).map(({ name }) => name);
    // Own rows that nobody reads from the copy are told of when nothing else is left.
    expect([named(leaves), named(goes)]).toEqual([["if"], ["for", "shard_sent"]]);
    const definitions = new Definitions(tiled);
    /** What is told, as peer, first part and end, in order: of rank 1 at these lengths, by 2 blocks. */
    const toldAt = (dims: DimValues): number[][] => {
      const at = new Map<Value, number>();
      const number = (v: Value): number => at.get(v) ?? valueOf(definitions.of(v)!);
      const valueOf = ({ name, attributes, operands }: Op): number => {
        const [a, b, c] = operands.map((v) => () => number(v));
        if (name === "const") return Number(attributes["value"]);
        if (name === "dim") return dims[String(attributes["name"])]!;
        if (name === "rank") return 1;
        if (name === "grid") return 2;
        if (name === "cast") return a!();
        if (name === "select") return a!() === 1 ? b!() : c!();
        if (name === "compare") return Number(foldCompare(attributes["fn"] as Comparison, a!(), b!()));
        return Number(foldBinary(attributes["fn"] as BinaryFunction, a!(), b!()));
      };
      const [counter] = region.arguments;
      return Array.from({ length: number(steps.operands[1]!) }, (_, n) => {
        at.set(counter!, n);
        const branch = number(skips.operands[0]!) === 1 ? leaves : goes;
        const told: Op[] = [];
        walk(branch, (op, parents) => {
          if (op.name === "shard_sent" && parents.every((p) => number(p.operands[0]!) === 1)) told.push(op);
        });
        return told.flatMap(({ operands }) => operands.map(number));
      }).filter((told) => told.length > 0);
    };
    // Tiles are 16×32 and steps 8 deep, so that a depth of 24 comes in parts of two and one. More tiles than blocks: one rank after the other.
    expect(toldAt({ m: 96, n: 96, k: 24 })).toEqual([[0, 0, 1], [0, 1, 2], [2, 0, 1], [2, 1, 2], [1, 0, 2]]); // prettier-ignore
    // A tile has rows of two ranks: a rank's own copy comes first.
    expect(toldAt({ m: 90, n: 96, k: 24 })).toEqual([[1, 0, 1], [1, 1, 2], [0, 0, 1], [0, 1, 2], [2, 0, 1], [2, 1, 2]]); // prettier-ignore
    // As many tiles as blocks: all ranks get their parts in turn.
    expect(toldAt({ m: 30, n: 3, k: 24 })).toEqual([[1, 0, 1], [0, 0, 1], [2, 0, 1], [1, 1, 2], [0, 1, 2], [2, 1, 2]]); // prettier-ignore
    expect(toldAt({ m: 30, n: 3, k: 8 })).toEqual([
      [1, 0, 2],
      [0, 0, 2],
      [2, 0, 2],
    ]);
    const statuses = (whole: Kernel): string[] => {
      const claims = prove({ kernel: whole }, { shared: sharedLayout(whole) });
      return [claims.answer.status, claims.ordering.status];
    };
    expect(statuses(kernel!)).toEqual(["proved", "proved"]);
    // Told before it has its rows.
    const sends = goes.ops.filter((op) => ["for", "shard_sent"].includes(op.name));
    const rest = goes.ops.filter((op) => !sends.includes(op));
    const early = edited(tiled, skips, (op) => [
      { ...op, regions: [leaves, { ...goes, ops: [...rest, sends[1]!, sends[0]!] }] },
    ]);
    expect(problemsOf(early)).toEqual([]);
    const wrong = runPasses(early, PIPELINE.slice(at + 1), { ...DEFAULT_PASS_OPTIONS, ...PROOF_MAPPING });
    expect(statuses(wrong)).toContain("wrong");
  });

  it("is refused where a producer awaits movers who never arrive, or its threads do not meet when they have waited", () => {
    const { snapshots } = compile(gathers, { ranks: 2, dtype: "bf16", mapping: PROOF_MAPPING });
    const kernelAfter = (pass: string): Kernel => snapshots.find((s) => s.pass === pass)!.kernel;
    const tiled = kernelAfter("tile-contractions");
    const meeting = opsIn(tiled, "roles")[0]!.regions[2]!.ops.at(-1)!;
    expect(meeting.name).toBe("barrier");
    expect(problemsOf(edited(tiled, meeting, () => [])).map((p) => p.message)).toEqual([
      "await_movers: the movers beside it do not end with the rest of a barrier",
      "shard_sent: the movers beside it do not end with the rest of a barrier",
      "shard_sent: the movers beside it do not end with the rest of a barrier",
    ]);
    const sent = named(opsIn(tiled, "roles")[0]!, 2, "shard_sent");
    const silent = sent.reduce((kernel, op) => edited(kernel, op, () => []), tiled);
    expect(problemsOf(silent).map((p) => p.message)).toEqual([
      "await_movers: the movers never tell what they have sent",
    ]);
    const expanded = kernelAfter("expand-barriers");
    const [sync] = named(opsIn(expanded, "roles")[0]!, 1, "block_sync");
    expect(problemsOf(edited(expanded, sync!, () => [])).map((p) => p.message)).toEqual([
      "for: the producer's threads do not meet after they have waited",
    ]);
  });
});
