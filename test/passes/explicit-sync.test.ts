/** signal, wait and barrier as the author wrote them: they stay, what they order gets no barrier, and what they lack is added. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { PROOF_MAPPING, proofShapes, proveOrdering } from "../../src/compiler/prove/index.js";
import { atRank, expectRight, outline, syncOf } from "./sync-helpers.js";

/** A ring all-gather; `start` and `end` are around the steps, `step` follows what one step sends on. */
function ring(parts: { start?: string; early?: string; step?: string; end?: string }): string {
  return `collective ring(x: T[n] sharded(0)) -> y: T[n] replicated {
    let next = (rank + 1) % world
    let before = (rank + world - 1) % world
    ${parts.start ?? ""}
    for i in tiles(shard(n, rank)) { y[i] = x[i - shard(n, rank).start] }
    for step in 1..world {
      ${parts.early ?? ""}
      for i in tiles(shard(n, (rank + world + 1 - step) % world)) { y@next[i] = y[i] }
      ${parts.step ?? ""}
    }
    ${parts.end ?? ""}
  }`;
}

function orderingOf(text: string, ranks: number): { kind: string; message: string } {
  const { kernel } = compile(text, { ranks, dtype: "f32", mapping: PROOF_MAPPING });
  const [dims] = proofShapes(kernel!, "ordering");
  const answer = proveOrdering(kernel!, { dims: dims!, shared: sharedLayout(kernel!), launches: 3 });
  return answer.status === "wrong" ? answer : { kind: answer.status, message: "" };
}

describe("a ring with words between neighbours", () => {
  it("that has all it needs gets nothing between ranks", () => {
    const whole = ring({ start: "signal before wait next", step: "signal next wait before" });
    const expected = "notify; await; tiles; serial {block self; tiles; notify; await}";
    for (const ranks of [2, 4]) expect(syncOf(whole, ranks)).toBe(expected);
    expectRight(whole, 4, { n: 400 });
  });

  it("where nobody says that callers are ready, hears that from the rank it writes to", () => {
    const eager = ring({ step: "signal next wait before" });
    for (const ranks of [3, 4]) {
      const sync = syncOf(eager, ranks);
      expect(sync).toContain(`+${ranks - 1}`);
      expect(sync).not.toContain("all");
    }
    expectRight(eager, 3, { n: 300 });
  });

  it("with the last wait dropped, gets what ended there, and the proof names the signals left over", () => {
    const text = ring({ start: "signal before wait next", early: "if step > 1 { wait before }", step: "signal next" });
    expect(syncOf(text, 4, false)).toMatch(/block \+1$/);
    expectRight(text, 4, { n: 400 });
    expect(orderingOf(text, 4)).toMatchObject({
      kind: "unmatched-signal",
      message: "flag 'user_flags'[2] of rank 3 ends at 9, and the last wait is for 6",
    });
  });

  it("with every wait dropped, is synchronised as if there were no words", () => {
    const text = ring({ step: "signal next" });
    expect(syncOf(text, 4, false)).toMatch(/serial \{.*block \+1.*; tiles; notify\}; block \+1$/);
    expectRight(text, 4, { n: 400 });
    expect(orderingOf(text, 4)).toMatchObject({ kind: "unmatched-signal" });
    expect(orderingOf(text, 4).message).toMatch(/nobody waits for it$/);
  });

  it("that waits before anybody signals is a deadlock, which the proof names", () => {
    const text = ring({ early: "wait before", step: "signal next" });
    for (const ranks of [2, 4]) expect(orderingOf(text, ranks)).toMatchObject({ kind: "deadlock" });
    expect(orderingOf(text, 2).message).toContain("2 waits that nobody satisfies");
  });

  it("that waits once more than it signals is a deadlock, too", () => {
    const text = ring({ start: "signal before wait next", step: "signal next wait before", end: "wait before" });
    expect(orderingOf(text, 3)).toMatchObject({ kind: "deadlock" });
  });
});

describe("a chain, in which each rank waits above the line that signals the next", () => {
  const chain = (around: (step: string) => string): string => `collective chain(x: T[n] on(0)) -> y: T[n] replicated {
    ${around(`
      if rank > 0 { wait rank - 1 }
      if rank == 0 { for i in tiles(n) { y[i] = x[i] } }
      if rank < world - 1 {
        for i in tiles(n) { y@(rank + 1)[i] = y[i] }
        signal rank + 1
      }`)}
  }`;

  it("hears of callers before it waits: behind the wait, ranks would wait in a circle", () => {
    const text = chain((step) => step);
    expect(syncOf(text, 2)).toMatch(/^block 1>0; if \{await \| \}; if \{tiles/);
    expect(syncOf(text, 4)).toMatch(/^block 1>0,2>1,3>2; if \{await \| \}; if \{tiles/);
    expectRight(text, 4, { n: 500 });
  });

  it("in pieces does so before the first", () => {
    const text = chain((step) => `for k in 0..3 { ${step.replaceAll("tiles(n)", "tiles(chunk(n, k, 3))")} }`);
    expect(syncOf(text, 3)).toMatch(/^serial \{if \{block 1>0,2>1 \| \}; if \{await/);
    expectRight(text, 3, { n: 500 });
  });

  it("again over the same elements is in order, pass by pass", () => {
    const text = chain((step) => `for k in 0..2 { ${step} }`);
    expectRight(text, 3, { n: 500 });
    expect(syncOf(text, 3)).toMatch(/^serial \{if \{block 1>0,2>1 \| block \S+\}; if \{await/);
  });

  it("whose ranks fetch needs no more than its own words while it goes, and in the end word from those that fetched", () => {
    const text = `collective chain(x: T[n] on(0)) -> y: T[n] replicated {
      if rank > 0 { wait rank - 1 }
      for i in tiles(n) {
        if rank == 0 { y[i] = x[i] } else { y[i] = y@(max(rank - 1, 0))[i] }
      }
      if rank < world - 1 { signal rank + 1 }
    }`;
    expect(syncOf(text, 4)).toMatch(/^if \{await \| \}; tiles; if \{notify \| \}; block 1>0,2>1,3>2$/);
    expectRight(text, 4, { n: 500 });
  });

  it("through a box, step by step, waits for the reader before it fills the box again, and above the wait", () => {
    const text = `collective chain(x: T[n] partial(sum)) -> y: T[n] on(0) {
      scratch box: T[n]
      for step in 0..3 {
        if rank < world - 1 {
          wait rank + 1
          for i in tiles(n) { box[i] = box[i] + x[i] }
        } else {
          for i in tiles(n) { box[i] = x[i] }
        }
        if rank > 0 {
          for i in tiles(n) { box@(rank - 1)[i] = box[i] }
          signal rank - 1
        }
      }
      if rank == 0 { for i in tiles(n) { y[i] = box[i] } }
    }`;
    expect(syncOf(text, 2)).toMatch(/^serial \{if \{ \| tiles\}; block 0>1; if \{await; tiles/);
    expect(syncOf(text, 4)).toMatch(/^serial \{if \{ \| tiles\}; block 0>1,1>2,2>3; if \{await; tiles/);
    expectRight(text, 4, { n: 300 });
  });

  it("of one rank after the other keeps what each reads as the one before it left it", () => {
    const text = `collective turns(x: T[n] local) -> y: T[n] local
      ensures y[i] == sum(r in 0..rank + 1) x@r[i]
    {
      if rank > 0 { wait rank - 1 }
      for i in tiles(n) {
        if rank == 0 { y[i] = x[i] } else { y[i] = y@(rank - 1)[i] + x[i] }
      }
      if rank < world - 1 { signal rank + 1 }
    }`;
    for (const ranks of [2, 3])
      expect(syncOf(text, ranks)).toMatch(/^(block \S+; )?if \{await \| \}; tiles; if \{notify/);
    expectRight(text, 3, { n: 300 });
  });

  it("that signals and waits in one breath is heard word by word", () => {
    const text = `collective chain(x: T[n] on(0)) -> y: T[n] replicated {
      if rank == 0 { for i in tiles(n) { y[i] = x[i] } }
      if rank > 0 {
        wait rank - 1
        for i in tiles(n) { y[i] = y@(rank - 1)[i] }
      }
      if rank < world - 1 {
        signal rank + 1
        wait rank + 1
      }
      if rank > 0 { signal rank - 1 }
    }`;
    expect(syncOf(text, 3)).not.toMatch(/block (all|.*,)/);
    expectRight(text, 3, { n: 300 });
  });

  it("that goes round has no first rank, and is a deadlock still", () => {
    const text = `collective round(x: T[n] local) -> y: T[n] local {
      wait (rank - 1) % world
      for i in tiles(n) { y@((rank + 1) % world)[i] = x[i] }
      signal (rank + 1) % world
    }`;
    expect(orderingOf(text, 3)).toMatchObject({ kind: "deadlock" });
  });
});

describe("a word on a condition that differs from rank to rank", () => {
  const send = `collective send(x: T[n] local) -> y: T[n] local
    ensures y[i] == where(rank == world - 1, x@0[i], x[i]) {
    scratch box: T[n]
    if rank == 0 {
      for i in tiles(n) { box@(world - 1)[i] = x[i] }
      signal world - 1
    }
    if rank == world - 1 {
      wait 0
      for i in tiles(n) { y[i] = box[i] }
    } else {
      for i in tiles(n) { y[i] = x[i] }
    }
  }`;

  it("orders what it is between; the next launch waits for the reader", () => {
    expect(syncOf(send, 3)).toBe("block 2>0; if {tiles; notify | }; if {await; tiles | tiles}");
    expectRight(send, 3, { n: 500 });
  });
});

describe("a barrier", () => {
  it("the author wrote stays, and nothing is added to it", () => {
    const text = `collective b(x: T[n] partial(sum)) -> y: T[n] replicated {
      scratch box: T[world, n]
      barrier
      for i in tiles(n) { for p in ranks { box@p[rank, i] = x[i] } }
      barrier
      for i in tiles(n) { y[i] = sum(p in ranks) box[p, i] }
    }`;
    expect(syncOf(text, 4)).toBe("grid all; tiles; grid all; tiles");
    expectRight(text, 4, { n: 500 });
  });

  it("that is not where order is needed is joined by one that is", () => {
    const text = `collective b(x: T[n] partial(sum)) -> y: T[n] replicated {
      scratch box: T[world, n]
      barrier
      for i in tiles(n) { for p in ranks { box@p[rank, i] = x[i] } }
      for i in tiles(n) { y[i] = sum(p in ranks) box[p, i] }
      barrier
    }`;
    expect(outline(atRank(text, 4).body)).toBe("grid all; tiles; block all; tiles; grid all");
    expectRight(text, 4, { n: 500 });
  });
});
