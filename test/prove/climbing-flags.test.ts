/**
 * Flags that only go up are looked up in by halves, in proofs and in hostile schedules. Held against looking at each signal, and at
 * lengths of which each signal for each wait would be too much.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { compile, type Kernel, type Op, PROOF_MAPPING, walkKernel } from "../../src/compiler/index.js";
import { HappensBefore } from "../../src/compiler/execute/order/happens-before.js";
import type { Flag } from "../../src/compiler/execute/order/flags.js";
import { READ, Trace } from "../../src/compiler/execute/order/trace.js";
import { execute } from "../../src/compiler/prove/execute.js";
import { proveOrdering } from "../../src/compiler/prove/index.js";
import { runHostile } from "../../src/runtime/cpu/index.js";
import { Watch } from "../../src/runtime/cpu/hostile/watch.js";
import { isAll } from "../scope.js";
import { randomKey, randomStream } from "../../src/runtime/numbers/index.js";
import { compileFile, LIBRARY } from "../kernels/library.js";
import { randomProgram } from "../passes/random-program.js";

interface WithClimbs {
  climbs: () => boolean;
}

afterEach(() => void vi.restoreAllMocks());

/** Which pairs of segments are ordered, as text; or what stood in the way. */
function orderIn(traceOf: () => Trace): string {
  try {
    const trace = traceOf();
    const order = new HappensBefore(trace);
    const rows: string[] = [];
    for (let a = 0; a < trace.segmentCount; a += trace.segmentCount > 1000 ? 7 : 1)
      rows.push(Array.from({ length: trace.segmentCount }, (_, b) => (order.isBefore(a, b) ? "1" : "0")).join(""));
    return rows.join("\n");
  } catch (e) {
    return (e as Error).message;
  }
}

const orderOf = (kernel: Kernel): string =>
  orderIn(() => execute(kernel, { dims: Object.fromEntries(kernel.dims.map((d) => [d, 24])), launches: 2 }, null, true).trace!); // prettier-ignore

function halvesAgree(kernel: Kernel): { readonly agree: boolean; readonly climbing: number } {
  const seen = vi.spyOn(HappensBefore.prototype as unknown as WithClimbs, "climbs");
  const quick = orderOf(kernel);
  const climbing = seen.mock.results.filter((r) => r.value === true).length;
  seen.mockReturnValue(false);
  const plain = orderOf(kernel);
  seen.mockRestore();
  return { agree: quick === plain, climbing };
}

describe("the order that proofs find", () => {
  it("is the same with and without, for kernels of the library", () => {
    let climbing = 0;
    for (const name of [
      "all_gather/ring",
      "all_reduce/two_shot",
      "broadcast/tree",
      "fused/all_reduce_rms_norm",
      "all_reduce/quantised",
    ]) {
      const file = LIBRARY.find((f) => f.name === name)!;
      const found = halvesAgree(compileFile(file, { ranks: 3, dtype: "bf16", mapping: PROOF_MAPPING }).kernel!);
      expect(found.agree, name).toBe(true);
      climbing += found.climbing;
    }
    expect(climbing).toBeGreaterThan(100);
  });

  it("is the same with and without, for programs at random, also for those with too few barriers", () => {
    let climbing = 0;
    for (let seed = 1; seed <= (isAll ? 25 : 10); seed++) {
      const text = randomProgram(seed, { readsPlaces: false });
      for (const body of [text, text.replace(/\bbarrier\b/, "")]) {
        const { kernel } = compile(body, { ranks: 3, dtype: "f32", mapping: PROOF_MAPPING });
        if (kernel === null) continue;
        const found = halvesAgree(kernel);
        expect(found.agree, body).toBe(true);
        climbing += found.climbing;
      }
    }
    expect(climbing).toBeGreaterThan(isAll ? 100 : 40);
  });
});

function kernelOps(kernel: Kernel): Op[] {
  const ops: Op[] = [];
  walkKernel(kernel, (op) => void ops.push(op));
  return ops;
}

/** Signals and waits of four blocks on two ranks at random, in an order in which they may have happened; some flags climb. */
function randomTrace(seed: number): Trace {
  const { kernel } = barriers(1);
  const next = randomStream(randomKey(seed, 0));
  const below = (n: number): number => (next() >>> 0) % n;
  const trace = new Trace(
    kernel!,
    2,
    kernel!.buffers.map(() => 4),
  );
  const ops = kernelOps(kernel!);
  const [signalled, waited] = ["signal", "wait"].map((name) => ops.find((op) => op.name === name)!);
  for (const rank of [0, 1]) trace.start(rank);
  const blocks = [0, 1].flatMap((rank) => [0, 1].map((block) => trace.entity(rank, block)));
  const strands = new Map(blocks.map((entity) => [entity, trace.strand(entity, 0)]));
  const reached = new Map<Flag, number>();
  for (let k = 0; k < 120; k++) {
    const entity = blocks[below(4)]!;
    const strand = strands.get(entity)!;
    trace.access(strand, 0, trace.memoryOf(0, 0), 0, 1, READ, 0);
    // Of block b is flag b; one in eight signals goes to another block's, and now and then a value does not go up.
    const flag = (b: number): Flag => trace.flag("flags", 0, b);
    const kind = below(5);
    if (kind < 2) {
      const own = flag(below(8) === 0 ? below(4) : blocks.indexOf(entity));
      const value = (reached.get(own) ?? 0) + (below(30) === 0 ? 0 : 1 + below(2));
      reached.set(own, value);
      trace.signal(strand, own, value, signalled!, {
        add: false,
        sys: true,
        hands: below(40) === 0 ? "nothing" : "everything",
      });
    } else if (kind < 4) {
      const other = flag(below(4));
      const most = reached.get(other) ?? 0;
      if (most > 0) trace.wait(strand, other, 1 + below(most), waited!, { sys: true, acquire: true, isAside: false });
    }
    if (kind === 4 || below(3) === 0) {
      trace.endPhase(entity);
      strands.set(entity, trace.strand(entity, 0));
    }
  }
  return trace;
}

it("signals at random order what looking at each of them says", () => {
  let climbing = 0;
  let [other, settled] = [0, 0];
  for (let seed = 0; seed < (isAll ? 400 : 150); seed++) {
    const seen = vi.spyOn(HappensBefore.prototype as unknown as WithClimbs, "climbs");
    const quick = orderIn(() => randomTrace(seed));
    climbing += seen.mock.results.filter((r) => r.value === true).length;
    other += seen.mock.results.filter((r) => r.value === false).length;
    if (/^[01]/.test(quick)) settled++;
    seen.mockReturnValue(false);
    expect(
      orderIn(() => randomTrace(seed)),
      `seed ${seed}`,
    ).toBe(quick);
    seen.mockRestore();
  }
  expect(Math.min(climbing, other)).toBeGreaterThan(isAll ? 300 : 110);
  expect(settled).toBeGreaterThan(isAll ? 50 : 18);
});

const barriers = (count: number, ranks = 2): ReturnType<typeof compile> =>
  compile(
    `collective f(x: T[n] local) -> y: T[n] local ensures y[i] == x[i] {
  for s in 0..${count} { barrier }
  for i in tiles(n) { y[i] = x[i] }
}`,
    { ranks, dtype: "f32", mapping: PROOF_MAPPING },
  );

it.each([
  [true, "flag 'flags'[0] of rank 0 may be set back to 0 before a wait for 1 sees it"],
  [false, null],
])(
  "a flag that one block raises, lowers and raises again, for an answer to the first (%s), is seen or lost",
  (isForAnswer, said) => {
    const { kernel } = barriers(1);
    const [signal, wait] = ["signal", "wait"].map((name) => kernelOps(kernel!).find((op) => op.name === name)!);
    const lengths = kernel!.buffers.map(() => 4);
    const trace = new Trace(kernel!, 1, lengths);
    const [flag, answer] = [trace.flag("flags", 0, 0), trace.flag("flags", 0, 1)];
    const [one, other] = [trace.entity(0, 0), trace.entity(1, 0)];
    const kind = { add: false, sys: true, hands: "everything" } as const;
    const set = (entity: number, to: Flag, value: number): void => {
      trace.signal(trace.strand(entity, 0), to, value, signal!, kind);
      trace.endPhase(entity);
    };
    const awaited = (entity: number, of: Flag): void => {
      trace.wait(trace.strand(entity, 0), of, 1, wait!, { sys: true, acquire: true, isAside: false });
      trace.endPhase(entity);
    };
    for (const rank of [0, 1]) trace.start(rank);
    set(one, flag, 1);
    awaited(other, flag);
    set(other, answer, 1);
    set(one, flag, 0);
    if (isForAnswer) awaited(one, answer);
    set(one, flag, 1);
    const order = (): unknown => new HappensBefore(trace);
    if (said === null) expect(order).not.toThrow();
    else expect(order).toThrow(said);
  },
);

describe("schedules", () => {
  it("take the same steps and find the same with and without", () => {
    for (const name of ["all_gather/ring", "all_reduce/tree", "halo/ring"]) {
      const { kernel, manifest } = compileFile(
        LIBRARY.find((f) => f.name === name)!,
        { ranks: 3, dtype: "bf16", mapping: PROOF_MAPPING },
      );
      const options = { dims: Object.fromEntries(kernel!.dims.map((d) => [d, 24])), schedules: 6, seed: 5 };
      const quick = runHostile(kernel!, manifest!, options);
      vi.spyOn(Watch.prototype as unknown as WithClimbs, "climbs").mockReturnValue(false);
      expect(runHostile(kernel!, manifest!, options)).toEqual(quick);
      vi.restoreAllMocks();
    }
  });
});

describe("thousands of barriers", () => {
  it("are ordered, and looked at once each", () => {
    const { kernel } = barriers(3000);
    const plain = vi.spyOn(HappensBefore.prototype as unknown as { isCandidate: () => boolean }, "isCandidate");
    expect(proveOrdering(kernel!, { dims: { n: 5 } }).status).toBe("proved");
    const flags = 2 * 2 * 1;
    // One signal for each wait, not each of thousands.
    expect(plain.mock.calls.length).toBeLessThan(20 * flags * 3000 * 2);
  });

  it.runIf(isAll)("are too many at some number, which is said", () => {
    const { kernel, manifest } = barriers(60_000, 3);
    expect(proveOrdering(kernel!, { dims: { n: 1 } })).toMatchObject({ status: "unknown", reason: expect.stringContaining("too many signals") as string }); // prettier-ignore
    expect(runHostile(kernel!, manifest!, { dims: { n: 1 }, schedules: 2, seed: 1 })).toMatchObject({ schedules: 0, failure: null, unfinished: expect.stringContaining("too many signals") as string }); // prettier-ignore
  });
});
