/** Which ranks wait for which, for small programs; each proved ordered as it ships, and run on hostile schedules. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import type { Kernel, Op, Region } from "../../src/compiler/ir/module.js";
import { verifySync } from "../../src/compiler/passes/support/verify-sync.js";
import { PROOF_MAPPING, proveOrdering } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { atRank, expectRight, syncOf } from "./sync-helpers.js";

const RING = `collective ring(x: T[n] partial(sum)) -> y: T[n] replicated {
  scratch inbox: f32[n]
  let next = (rank + 1) % world
  for i in tiles(chunk(n, rank)) { inbox@next[i] = x[i] }
  for step in 1..world {
    for i in tiles(chunk(n, (rank + world - step) % world)) {
      let s = inbox[i] + x[i]
      if step < world - 1 { inbox@next[i] = s } else { y[i] = s }
    }
  }
  for step in 1..world {
    for i in tiles(chunk(n, (rank + world + 2 - step) % world)) { y@next[i] = y[i] }
  }
}`;

describe("who waits for whom", () => {
  it("in a ring, each rank for the one before it alone, and for nothing at the start", () => {
    const neighbours = "tiles; serial {block +1; tiles}; serial {if {block self | block +1}; tiles}; block +1";
    for (const ranks of [3, 4, 5]) expect(syncOf(RING, ranks)).toBe(neighbours);
    expect(syncOf(RING, 8, false)).toBe(neighbours);
    expectRight(RING, 4, { n: 1003 });
  });

  const DOUBLING = `collective doubling(x: T[n] partial(sum)) -> y: T[n] replicated {
    scratch inbox: f32[2, n]
    scratch total: f32[n]
    for i in tiles(n) { total[i] = x[i] }
    for step in 0..2 {
      let partner = rank ^ (step + 1)
      for i in tiles(n) { inbox@partner[step, i] = total[i] }
      for i in tiles(n) { total[i] = total[i] + inbox[step, i] }
    }
    for i in tiles(n) { y[i] = total[i] }
  }`;

  it("in recursive doubling, the partner", () => {
    expect(syncOf(DOUBLING, 4)).toBe(
      "tiles; serial {block self; if {tiles | tiles}; if {block ^1 | block +2}; if {tiles | tiles}}; block self; tiles",
    );
    expectRight(DOUBLING, 4, { n: 1003 });
  });

  it("in a halo exchange, both neighbours", () => {
    const halo = `collective halo(x: T[n] local) -> (low: T[n] local, high: T[n] local) {
      for i in tiles(n) {
        low[i] = x@((rank + world - 1) % world)[i]
        high[i] = x@((rank + 1) % world)[i]
      }
    }`;
    expect(syncOf(halo, 5)).toBe("block +1,+4; tiles; block +1,+4");
    expect(syncOf(halo, 3), "nearly all").toBe("block all; tiles; block all");
  });

  it("in a permutation, the one that reads", () => {
    const shift = `collective shift(x: T[n] local) -> y: T[n] local {
      for i in tiles(n) { y[i] = x@((rank + 2) % world)[i] }
    }`;
    expect(syncOf(shift, 6)).toBe("block +4; tiles; block +2");
  });

  it("in a broadcast, the root and the others", () => {
    const flat = `collective flat(x: T[n] on(0)) -> y: T[n] replicated { for i in tiles(n) { y[i] = x@0[i] } }`;
    expect(syncOf(flat, 3)).toBe("block 0>1,0>2; tiles; block 1>0,2>0");
  });

  it("in an exchange of all, all", () => {
    const push = `collective push(x: T[m, n] sharded(0)) -> y: T[m, n] sharded(1) {
      for p in ranks {
        for i, j in tiles(shard(m, rank), shard(n, p)) {
          y@p[i, j - shard(n, p).start] = x[i - shard(m, rank).start, j]
        }
      }
    }`;
    expect(syncOf(push, 4)).toBe("block all; ranks {tiles}; block all");
  });
});

describe("conditions on the rank", () => {
  const RELAY = `collective relay(x: T[n] on(0)) -> y: T[n] replicated {
    scratch box: T[n]
    if rank == 0 { for i in tiles(n) { box[i] = x[i] } }
    for hop in 1..world {
      if rank == hop { for i in tiles(n) { box[i] = box@(hop - 1)[i] } }
    }
    for i in tiles(n) { y[i] = box[i] }
  }`;

  it("a relay waits hop by hop, and for the readers of the launch before", () => {
    const sync = syncOf(RELAY, 4);
    expect(sync).toBe(
      "block 1>0; if {tiles | }; serial {if {block 0>1,2>1 | if {block 1>2,3>2 | block 2>3}}; if {tiles | }}; block self; tiles",
    );
    expectRight(RELAY, 4, { n: 700 });
  });

  it("are taken apart where the parts need order", () => {
    const swap = `collective swap(x: T[n] local) -> y: T[n] local {
      scratch box: T[n]
      if rank == 0 {
        for i in tiles(n) { box@1[i] = x[i] }
        for i in tiles(n) { y[i] = box[i] }
      } else {
        for i in tiles(n) { box@0[i] = x[i] }
        for i in tiles(n) { y[i] = box[n - 1 - i] }
      }
    }`;
    const half = "if {if {tiles | tiles} | if {tiles | tiles}}";
    expect(syncOf(swap, 2)).toBe(`${half}; grid all; ${half}`);
  });

  it("stay together where they do not", () => {
    const choose = `collective choose(x: T[n] local) -> (y: T[n] local, z: T[n] local) {
      if rank == 0 {
        for i in tiles(n) { y[i] = x[i] }
        for i in tiles(n) { z[i] = x[i] }
      } else {
        for i in tiles(n) { z[i] = 2 * x[i] }
        for i in tiles(n) { y[i] = 3 * x[i] }
      }
    }`;
    expect(syncOf(choose, 3)).toBe("if {tiles; tiles | tiles; tiles}");
  });

  it("inside each other do each thing once", () => {
    const text = `collective nested(x: T[n] local) -> y: T[n] local
      ensures y[i] == where(rank == 1, x[n - 1 - i] + x[n - 1 - i], x[i]) {
      scratch box: T[n]
      for i in tiles(n) { box[i] = x[i] y[i] = x[i] }
      if rank > 0 {
        if rank < 2 {
          for i in tiles(n) { y[i] = box[n - 1 - i] }
          for i in tiles(n) { box[n - 1 - i] = y[i] + box[n - 1 - i] }
          for i in tiles(n) { y[i] = box[n - 1 - i] }
        }
      }
    }`;
    expect(syncOf(text, 3).split("tiles | ")).toHaveLength(4);
    expectRight(text, 3, { n: 700 });
  });

  it("around steps of a loop whose chunks are computed in it, too", () => {
    const text = `collective computed(x: T[n] local) -> y: T[n] local {
      scratch box: T[n]
      for i in tiles(n) { y[i] = x[i] box[i] = x[i] }
      if rank > 0 {
        for step in 0..world {
          for i in tiles(chunk(n, (step + rank) % world)) { box[i] = y[i] + box[i] }
          for i in tiles(chunk(n, (step + rank) % world)) { y[n - 1 - i] = box[n - 1 - i] }
        }
        for i in tiles(n) { y[i] = box[i] }
      }
    }`;
    const sync = syncOf(text, 3);
    expect(sync).toMatch(/serial \{(.*; )?if \{tiles \| \}; grid self; if \{tiles \| \}\}/);
  });

  it("a loop under one is shared by all ranks where its turns need order", () => {
    const text = `collective steps(x: T[n] local) -> y: T[n] local {
      scratch box: T[n]
      for i in tiles(n) { box[i] = x[i] }
      if rank == 1 {
        for step in 0..3 {
          for i in tiles(n) { box[i] = box[i] + x[n - 1 - i] }
          for i in tiles(n) { y[i] = box[n - 1 - i] }
        }
      }
    }`;
    expect(syncOf(text, 2)).toMatch(/serial \{(.*; )?if \{tiles \| \}; grid self; if \{tiles \| \}\}/);
  });
});

describe("loops of other turns on each rank", () => {
  it("are shared by all ranks where they need order, inner ones too", () => {
    const text = `collective growing(x: T[n] local) -> y: T[n] local
      ensures y[i] == x[i] * f32(1 << rank) {
      scratch a: f32[n]
      for i in tiles(n) { y[i] = x[i] a[i] = x[i] }
      for step in 0..rank {
        let first = (step + rank) % world
        for i in tiles(n) { a[n - 1 - i] = y[n - 1 - i] }
        for c in 0..world {
          for i in tiles(chunk(n, (first + c) % world)) { y[i] = y[i] + a[i] }
        }
      }
    }`;
    expect(syncOf(text, 3)).toMatch(/^tiles; serial \{.*if \{tiles \| \}; .*serial \{/);
    expectRight(text, 3, { n: 300 });
  });
});

describe("a place that needs order in several turns", () => {
  it("gets what serves all: where rank 1 must wait for rank 2's blocks, and rank 2 for what it heard of rank 0's", () => {
    const text = `collective turns(x: T[n] local) -> y: T[n] local {
      scratch c: f32[world, n]
      scratch a: f32[n]
      for i in tiles(n) { y[i] = x[i] a[i] = x[i] for p in ranks { c[p, i] = x[i] } }
      for i in tiles(chunk(n, rank)) { y[i] = c[(rank - 1) % world, i] }
      for s in 0..n / 100 + 1 {
        for i in tiles(chunk(n, s % world)) { a[i] = y@((rank - 1) % world)[i] }
        for p in ranks { for i in tiles(chunk(n, rank)) { c@p[rank, i] = x[i] } }
        for p, i in tiles(world, n) { c[p, i] = a@((rank + 1) % world)[i] }
      }
    }`;
    expect(syncOf(text, 3)).toContain("serial {grid +1; tiles; grid +2; ranks {tiles}; grid all; tiles}");
  });
});

describe("scratch in two copies", () => {
  const PUSH = `collective push(x: T[n] partial(sum)) -> y: T[n] replicated {
    scratch box: T[world, n]
    for p in ranks { for i in tiles(n) { box@p[rank, i] = x[i] } }
    for i in tiles(n) { y[i] = sum(p in ranks) box[p, i] }
  }`;

  it("saves the barrier against reuse: one is left", () => {
    const inIteration = (part: string): string => `if {${part} | ${part}}`;
    expect(syncOf(PUSH, 4)).toBe(`${inIteration("ranks {tiles}")}; block all; ${inIteration("tiles")}`);
    expectRight(PUSH, 4, { n: 1003 });
  });

  it("is needed then: with one copy the second launch writes over what the first still reads", () => {
    const { kernel } = compile(PUSH, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
    const toOne = (op: Op): Op => ({
      ...op,
      attributes: op.attributes["buffer"] === "box_odd" ? { ...op.attributes, buffer: "box" } : op.attributes,
      regions: op.regions.map((r) => ({ ...r, ops: r.ops.map(toOne) })),
    });
    const one = { ...kernel!, body: { ...kernel!.body, ops: kernel!.body.ops.map(toOne) } };
    const answer = proveOrdering(one, { dims: { n: 1 }, shared: sharedLayout(one) });
    expect(answer).toMatchObject({ status: "wrong", kind: "race" });
  });

  it("stays single where nothing is saved", () => {
    const single = (text: string): string[] => atRank(text, 3).buffers.map((b) => b.name);
    expect(
      single(`collective two(x: T[n] partial(sum)) -> y: T[n] replicated {
        scratch own: T[n]
        for i in tiles(n) { own[i] = sum(p in ranks) x@p[i] }
        for i in tiles(n) { y[i] = own[i] }
      }`),
    ).toEqual(["x", "y", "own"]);
  });

  it("is told apart by launches of other shapes, too", () => {
    const { kernel, manifest, source } = compile(PUSH, { ranks: 3, dtype: "f32" });
    const group = new CpuGroup(kernel!, manifest!, { source, seed: 5, detectUnwritten: true });
    for (const n of [20_000, 1, 700, 20_000, 3, 5000]) {
      const data = makeInputs(manifest!, { n }, n);
      group.run(data, { n });
      expect(checkOutputs(manifest!, { n }, data, data)).toMatchObject({ correct: true });
    }
  });
});

describe("blocks", () => {
  const reversed = (to: string, from: string): string => `collective turn(x: T[n] local) -> y: T[n] local {
    scratch box: T[n]
    for i in tiles(n) { box${to}[i] = x[i] }
    for i in tiles(n) { y[i] = box[${from}] }
  }`;

  it("of one number meet where elements stay with them, all where they do not", () => {
    expect(syncOf(reversed("", "i"), 3)).toBe("tiles; block self; tiles");
    expect(syncOf(reversed("", "n - 1 - i"), 3)).toBe("tiles; grid self; tiles");
    expect(syncOf(reversed("@((rank + 1) % world)", "i"), 4)).toMatch(/tiles; block \+1; tiles/);
    expect(syncOf(reversed("@((rank + 1) % world)", "n - 1 - i"), 4)).toMatch(/tiles; grid \+1; tiles/);
  });
});

describe("verifySync", () => {
  const without = (kernel: Kernel, drop: (op: Op) => boolean): Kernel => {
    const region = (r: Region): Region => ({
      ...r,
      ops: r.ops.filter((o) => !drop(o)).map((o) => ({ ...o, regions: o.regions.map(region) })),
    });
    return { ...kernel, body: region(kernel.body) };
  };

  it("names what is not ordered once a barrier is gone", () => {
    const kernel = atRank(RING, 4);
    const barriers: Op[] = [];
    const collect = (r: Region): void =>
      r.ops.forEach((o) => {
        if (o.name === "barrier") barriers.push(o);
        o.regions.forEach(collect);
      });
    collect(kernel.body);
    expect(barriers).toHaveLength(4);
    for (const b of barriers) {
      const [first] = verifySync(without(kernel, (o) => o === b));
      expect(first?.[0].buffer).toBeDefined();
      expect(first![0].buffer).toBe(first![1].buffer);
    }
  });
});
