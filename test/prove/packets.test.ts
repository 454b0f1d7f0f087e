/** Kernels whose transfers travel as packets, proved as they ship; and what is wrong without each part of it. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { Kernel, Op, Region } from "../../src/compiler/ir/module.js";
import { PROOF_MAPPING, proveAnswer, proveOrdering } from "../../src/compiler/prove/index.js";
import { compileFile, LIBRARY } from "../kernels/library.js";

const MAPPING = { ...PROOF_MAPPING, transfers: "staged", protocol: "packet" } as const;

const TWO_SHOT = `collective two_shot(x: T[n] partial(sum)) -> y: T[n] replicated {
  for i in tiles(chunk(n, rank)) {
    let s = sum(p in ranks) x@p[i]
    for p in ranks { y@p[i] = s }
  }
}`;

function ordering(kernel: Kernel, n: number, launches?: number): ReturnType<typeof proveOrdering> {
  const more = launches === undefined ? {} : { launches };
  return proveOrdering(kernel, { dims: { n }, shared: sharedLayout(kernel), ...more });
}

/** The kernel with ops changed, or left out where `change` gives null. */
function changed(kernel: Kernel, change: (op: Op) => Op | null): Kernel {
  const within = (region: Region): Region => ({
    arguments: region.arguments,
    ops: region.ops.flatMap((op) => {
      const made = change(op);
      return made === null ? [] : [{ ...made, regions: made.regions.map(within) }];
    }),
  });
  return { ...kernel, body: within(kernel.body) };
}

describe("the library by packets", () => {
  const names = ["all_reduce/one_shot", "all_reduce/two_shot", "all_gather/push", "all_gather/ring", "broadcast/tree", "permute/shift"]; // prettier-ignore
  for (const name of names)
    for (const dtype of ["bf16", "i32"] as const)
      it(`${name} of ${dtype} is proved`, () => {
        const file = LIBRARY.find((f) => f.name === name)!;
        const ranks = 3;
        const kernel = compileFile(file, { ranks, dtype, mapping: MAPPING }).kernel!;
        expect(kernel.buffers.some((b) => b.role === "packet")).toBe(true);
        for (const n of [0, 3, 66]) {
          const order = ordering(kernel, n, 4);
          expect(order.status === "wrong" ? order.message : order.status, `n=${n}`).toBe("proved");
        }
        const answer = proveAnswer(kernel, { dims: { n: 66 } });
        expect(answer.status === "wrong" ? answer.message : answer.status).toBe("proved");
      });
});

describe("what packets need", () => {
  const { kernel } = compile(TWO_SHOT, { ranks: 3, dtype: "bf16", mapping: MAPPING });
  const problem = (k: Kernel): string => {
    const order = ordering(k, 5);
    return order.status === "wrong" ? order.kind : order.status;
  };

  it("is all there", () => {
    expect(problem(kernel!)).toBe("proved");
  });

  it("word of launches: without it, a slot is stored to while an earlier launch still reads it", () => {
    const silent = changed(kernel!, (op) => (op.attributes["buffer"] === "began" ? null : op));
    expect(problem(silent)).toBe("race");
  });

  it("two copies: with one, the next launch stores to what this one reads", () => {
    const single = changed(kernel!, (op) =>
      op.name === "packet_store" || op.name === "packet_load"
        ? { ...op, attributes: { ...op.attributes, odd: op.attributes["even"]! } }
        : op,
    );
    expect(problem(single)).toBe("race");
  });

  it("that every packet is taken: one that is not is found in its slot later", () => {
    const loads: Op[] = [];
    changed(kernel!, (op) => (op.name === "packet_load" && loads.push(op), op));
    const left = changed(kernel!, (op) =>
      op.name === "packet_store" && op.attributes["even"] === "y_box" ? null : op,
    );
    expect(problem(left)).toBe("deadlock");
    expect(loads.length).toBeGreaterThan(1);
  });

  it("epochs that advance: with one number for all launches, a packet of an earlier launch is taken for this one's", () => {
    const whole = compile(TWO_SHOT, { ranks: 3, dtype: "i32", mapping: MAPPING }).kernel!;
    expect(problem(whole)).toBe("proved");
    const stuck = changed(whole, (op) => (op.name === "store" && op.attributes["buffer"] === "launches" ? null : op));
    expect(problem(stuck)).not.toBe("proved");
  });
});
