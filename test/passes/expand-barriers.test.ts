/** Barriers between some ranks only, and notify with await: what they become orders what it should, and runs. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { verify } from "../../src/compiler/ir/verify.js";
import { expandBarriers } from "../../src/compiler/passes/expand-barriers.js";
import { proveOrdering } from "../../src/compiler/prove/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { makeInputs } from "../../src/runtime/reference/index.js";
import { manifestOf } from "../../src/compiler/emit/manifest.js";

const BLOCKS = 3;

/**
 * Every rank writes its number and one to the box of `peer`, block by block; after `meeting` each block copies what lies
 * in this rank's box, from the block `turned` by so many. Boxes are read once more by nobody: another meeting ends it.
 */
function handOver(world: number, peer: string, meeting: string, last: string, turned = 0): Kernel {
  return parseKernel(`kernel hand level=device world=${world} threads=32 blocks=${BLOCKS} {
    dim n
    dtype T = f32
    in x: f32[n] local local [n]
    out y: f32[n] local local [n]
    specify nothing
    buffer x: input f32[n]
    buffer y: output f32[n]
    buffer box: scratch f32[${BLOCKS}] symmetric
    work n
    body {
      %rank = rank : index
      %block = block : index
      %grid = grid : index
      %zero = const {value=0} : index
      %one = const {value=1} : index
      %world = const {value=${world}} : index
      %turned = const {value=${turned}} : index
      %far = binary %block, %turned {fn="add"} : index
      %from = binary %far, %grid {fn="rem"} : index
      ${peer}
      for %zero, %one {map="threads"} (%t) {
        %v = load %block {buffer="x"} : f32
        store %v, %peer, %block {buffer="box", remote=true}
      }
      ${meeting}
      for %zero, %one {map="threads"} (%u) {
        %w = load %from {buffer="box"} : f32
        store %w, %block {buffer="y"}
      }
      ${last}
    }
  }`);
}

const NEXT = `%sum = binary %rank, %one {fn="add"} : index
      %peer = binary %sum, %world {fn="rem"} : index`;
const PARTNER = `%two = const {value=2} : index
      %peer = binary %rank, %two {fn="xor"} : index`;
const barrier = (scope: string, ranks: string): string => `barrier {scope="${scope}", ranks="${ranks}"}`;

/** Runs it thrice with grids that differ, under several schedules; each box's owner must find its writer's values. */
function expectHandedOver(kernel: Kernel, writer: (rank: number) => number, turned = 0): void {
  const device = expandBarriers(kernel);
  verify(device, "in the test");
  expect(printKernel(parseKernel(printKernel(device)))).toBe(printKernel(device));
  const manifest = manifestOf(device, "sm_90a");
  for (let seed = 0; seed < 3; seed++) {
    const group = new CpuGroup(device, manifest, { seed, detectUnwritten: true });
    for (const n of [2, 3, 1, 3]) {
      const ranks = makeInputs(manifest, { n }, seed + n);
      group.run(ranks, { n });
      ranks.forEach(({ outputs }, r) => {
        const sent = ranks[writer(r)]!.inputs["x"]!;
        const wanted = Array.from({ length: n }, (_, b) => sent[(b + turned) % n]);
        expect([...outputs["y"]!], `rank ${r}, seed ${seed}, n ${n}`).toEqual(wanted);
      });
    }
  }
}

const proved = (kernel: Kernel): string => {
  const answer = proveOrdering(expandBarriers(kernel), { dims: { n: BLOCKS }, launches: 3 });
  return answer.status === "wrong" ? `${answer.kind}: ${answer.message}` : answer.status;
};

describe("barriers between some ranks", () => {
  it("the writer tells the reader, the reader the writer", () => {
    for (const world of [2, 3, 4, 5]) {
      const back = `+${world - 1}`;
      const kernel = handOver(world, NEXT, barrier("block", "+1"), barrier("block", back));
      expectHandedOver(kernel, (r) => (r + world - 1) % world);
      expect(proved(kernel), `world ${world}`).toBe("proved");
    }
  });

  it("across blocks, every block of the writer tells every block of the reader", () => {
    const kernel = (scope: string): Kernel => handOver(4, NEXT, barrier(scope, "+1"), barrier("grid", "+3"), 1);
    expectHandedOver(kernel("grid"), (r) => (r + 3) % 4, 1);
    expect(proved(kernel("grid"))).toBe("proved");
    expect(proved(kernel("block"))).toMatch(/^race/);
  });

  it("partners, several peers, and pairs that fit no rule", () => {
    for (const ranks of ["^2", "+1,+2", "^1,^2", "0>2,1>3,2>0,3>1,3>2"]) {
      const kernel = handOver(4, PARTNER, barrier("grid", ranks), barrier("grid", ranks));
      expectHandedOver(kernel, (r) => r ^ 2);
      expect(proved(kernel), ranks).toBe("proved");
    }
  });

  it("a pair too few is a race", () => {
    expect(proved(handOver(4, PARTNER, barrier("block", "0>2,1>3,2>0"), barrier("block", "^2")))).toMatch(/^race/);
    expect(proved(handOver(4, NEXT, barrier("block", "+1"), barrier("block", "+2")))).toMatch(/^race/);
  });

  it("one rank's own blocks", () => {
    for (const world of [1, 3]) {
      const own = '%peer = binary %rank, %zero {fn="add"} : index';
      const meet = barrier("grid", world === 1 ? "all" : "self");
      const kernel = handOver(world, own, meet, meet, 1);
      expectHandedOver(kernel, (r) => r, 1);
      expect(proved(kernel)).toBe("proved");
    }
  });
});

describe("notify and await", () => {
  const back = `%three = const {value=3} : index
      %others = binary %rank, %three {fn="add"} : index
      %writer = binary %others, %world {fn="rem"} : index`;

  it("orders the writer's blocks before the reader's, in both directions and across launches", () => {
    const kernel = handOver(4, `${NEXT}\n${back}`, "notify %peer\nawait %writer", "notify %writer\nawait %peer", 1);
    expectHandedOver(kernel, (r) => (r + 3) % 4, 1);
    expect(proved(kernel)).toBe("proved");
  });

  it("without the second exchange the next launch races", () => {
    expect(proved(handOver(4, `${NEXT}\n${back}`, "notify %peer\nawait %writer", ""))).toMatch(/^race/);
  });

  it("may stand under a condition on the rank", () => {
    const paired = `%isLow = compare %rank, %one {fn="le"} : bool`;
    const meeting = `if %isLow () {
        notify %peer
        await %peer
      } () {
        await %peer
        notify %peer
      }`;
    const kernel = handOver(4, `${PARTNER}\n${paired}`, meeting, meeting, 1);
    expectHandedOver(kernel, (r) => r ^ 2, 1);
    expect(proved(kernel)).toBe("proved");
  });

  it("two that both wait first are a deadlock", () => {
    expect(proved(handOver(4, PARTNER, "await %peer\nnotify %peer", "barrier {scope=\"block\", ranks=\"all\"}"))).toMatch(/^deadlock/); // prettier-ignore
  });
});

describe("the verifier", () => {
  const problem = (meeting: string): string => {
    try {
      verify(handOver(4, NEXT, meeting, ""), "in the test");
    } catch (e) {
      return (e as Error).message;
    }
    return "";
  };

  it("wants pairs of ranks in their one form", () => {
    expect(problem(barrier("block", "+4"))).toContain("names no pairs of 4 ranks: '+4'");
    expect(problem(barrier("block", "+0,+1,+2,+3"))).toContain("writes the pairs 'all'");
    expect(problem(barrier("grid", "+1"))).toBe("");
  });

  it("wants notify and await where all blocks of a rank come", () => {
    expect(problem(`for %zero, %one {map="threads"} (%i) { notify %peer }`)).toContain("inside a loop over threads");
    expect(problem(`for %zero, %one {map="blocks"} (%i) { await %peer }`)).toContain("different numbers of times");
    const ofBlock = `%isFirst = compare %block, %zero {fn="eq"} : bool\n if %isFirst () { await %peer } () { }`;
    expect(problem(ofBlock)).toContain("where ranks or blocks may differ");
  });
});

it("a tensor of the user's may have the name of a flag", () => {
  const text = `collective c(flags: T[n] partial(sum)) -> epochs: T[n] replicated {
    for i in tiles(n) { epochs[i] = sum(p in ranks) flags@p[i] }
  }`;
  const { kernel, diagnostics } = compile(text, { ranks: 2 });
  expect(diagnostics).toEqual([]);
  expect(kernel!.buffers.map((b) => b.name)).toEqual(["flags", "epochs", "flags_", "epochs_", "epoch"]);
});

describe("barriers of a loop that may have no iteration", () => {
  const looped = (count: string): string => `collective f(x: T[n] local) -> y: T[n] local {
  scratch s: T[n]
  for t in 0..${count} {
    for i in tiles(n) { s[i] = x[i] + x[t] }
    for i in tiles(n) { y[i] = s@((rank + 1) % world)[i] }
  }
}`;
  const kernelOf = (count: string): Kernel => compile(looped(count), { ranks: 2, dtype: "f32", mapping: { elementThreads: 4, elementBlocks: 3, loadBlocks: 3, busyBlocks: 3 } }).kernel!; // prettier-ignore

  it("leave counts that no thread stores before all have read them", () => {
    for (const n of [0, 1, 5]) expect(proveOrdering(kernelOf("n"), { dims: { n } }).status, `n=${n}`).toBe("proved");
  });
});
