/** What a product's registers would have to be kept beside: computed again where it is used. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import type { Op, Region, Value } from "../../src/compiler/ir/module.js";
import { problemsOf } from "../../src/compiler/ir/verify.js";
import { walk, walkKernel } from "../../src/compiler/ir/visit.js";
import { rematerialize } from "../../src/compiler/passes/rematerialize.js";

const SCATTERED = `collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> y: T[m, n] sharded(0) {
  y = reduce_scatter(a @ b, dim: 0)
}
`;
const LENGTHS = ["dim", "rank"];
const LEAVES = ["const", "block", "grid", ...LENGTHS];
const CHEAP = ["binary", "compare", "select", "cast", "splat", "aligned"];

const kernel = compile(SCATTERED, { ranks: 4, dtype: "bf16", arch: "sm_90a" }).kernel!;

/** The consumers of the product whose tiles are handed to movers, and the loop over its tiles. */
const roles: Op[] = [];
walkKernel(kernel, (op) => void (op.name === "roles" && "outgoing" in op.attributes && roles.push(op)));
const [consumers] = roles[0]!.regions as [Region];
const tiles = consumers.ops.find((op) => op.name === "for")!;

const isLoop = (op: Op | undefined): boolean => op?.name === "for" && op.attributes["map"] === "fragment";
/** A loop over the accumulator, in one of two forms. */
const isForm = ({ ops }: Region): boolean => {
  const [op, ...more] = ops.filter((o) => o.name !== "const");
  return isLoop(op) && more.length === 0;
};

/** Values made in a region, or used there. */
function valuesIn(region: Region): { readonly made: Set<Value>; readonly used: Set<Value> } {
  const [made, used] = [new Set(region.arguments), new Set<Value>()];
  walk(region, (op) => {
    op.results.forEach((v) => made.add(v));
    op.regions.forEach((r) => r.arguments.forEach((v) => made.add(v)));
    op.operands.forEach((v) => used.add(v));
  });
  return { made, used };
}

describe("after a product", () => {
  const makers = new Map<Value, Op>();
  walkKernel(kernel, (op) => op.results.forEach((v) => makers.set(v, op)));
  /** Whether a value follows from the launch by cheap ops. */
  const follows = (v: Value): boolean => {
    const op = makers.get(v);
    if (op === undefined) return false;
    const isDivision = op.attributes["fn"] === "div" || op.attributes["fn"] === "rem";
    const isCheap = CHEAP.includes(op.name) && (!isDivision || makers.get(op.operands[1]!)?.name === "const");
    return (isCheap || LEAVES.includes(op.name)) && op.operands.every(follows);
  };
  /** Whether a register would have to keep it: parameters and literals are in none. */
  const isKept = (v: Value): boolean => follows(v) && !LEAVES.includes(makers.get(v)!.name);

  it("each way to store a tile computes for itself what follows from the launch", () => {
    const ways: Region[] = [];
    walk(tiles.regions[0]!, (op) => {
      if (op.name !== "if") return;
      const stores = (r: Region): boolean => r.ops.some((o) => o.name === "if" && o.regions.every(isForm));
      ways.push(...op.regions.filter(stores));
    });
    // Sums of a tile of its own, of one that movers send, and of one that it sends itself.
    expect(ways).toHaveLength(3);
    for (const region of ways) {
      const { made, used } = valuesIn(region);
      expect([...used].filter((v) => !made.has(v) && isKept(v))).toEqual([]);
    }
  });

  it("lengths and the rank are taken anew for it, where no compiler finds that they are what they were", () => {
    const near = new Set<string>();
    walk(tiles.regions[0]!, (op) => void (op.attributes["near"] === true && near.add(op.name)));
    expect([...near].sort()).toEqual(LENGTHS);
    const { cuda } = compile(SCATTERED, { ranks: 4, dtype: "bf16", arch: "sm_90a" });
    expect(cuda).toMatch(/i64 (v\d+) = d_m;\n\s*asm volatile\("" : "\+l"\(\1\)\);/);
  });

  it("a loop over the accumulator computes in each iteration what there are no registers for, and takes fewer elements of many ranks", () => {
    const text = SCATTERED.replace("sharded(0) {", "replicated {").replace(
      "reduce_scatter(a @ b, dim: 0)",
      "all_reduce(a @ b)",
    );
    const loopsOf = (ranks: number): Op[] => {
      const loops: Op[] = [];
      const { variants } = compile(text, { ranks, dtype: "bf16", arch: "sm_90a" });
      for (const { compiled } of variants)
        walkKernel(
          compiled.kernel!,
          (op) => void (op.attributes["lanes"] !== undefined && isLoop(op) && loops.push(op)),
        );
      return loops;
    };
    const computes = (op: Op): boolean => op.regions[0]!.ops.some((o) => o.name === "rank");
    const [few, many] = [loopsOf(2), loopsOf(8)];
    expect(few.filter(computes)).toEqual([]);
    expect(new Set(many.map((op) => `${computes(op)} ${op.attributes["lanes"]}`))).toEqual(
      new Set(["false 8", "true 4"]),
    );
  });

  it("a second time changes nothing", () => {
    expect(problemsOf(kernel)).toEqual([]);
    const count = (k: typeof kernel): number => {
      let ops = 0;
      walkKernel(k, () => void ops++);
      return ops;
    };
    expect(count(rematerialize(kernel))).toBe(count(kernel));
  });

  it("kernels without a product stay as they are", () => {
    const text = "collective f(x: T[n] sharded(0)) -> y: T[n] sharded(0) {\n  y = x + x\n}\n";
    const { kernel: copied } = compile(text, { ranks: 2, dtype: "f32", arch: "sm_90a" });
    expect(rematerialize(copied!)).toBe(copied);
  });
});
