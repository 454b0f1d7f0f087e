/** What becomes of transfers that are staged: who sends what where, what waits for it, and what stays as it was written. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { verify } from "../../src/compiler/ir/verify.js";
import { walkKernel } from "../../src/compiler/ir/visit.js";
import { transfersOf } from "../../src/compiler/passes/stage-transfers.js";
import { verifySync } from "../../src/compiler/passes/support/verify-sync.js";
import type { PassOptions } from "../../src/compiler/passes/options.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { outline } from "./sync-helpers.js";

const PACKETS: Partial<PassOptions> = { transfers: "staged", protocol: "packet" };
const BARRIERS: Partial<PassOptions> = { transfers: "staged", protocol: "barrier" };

const ONE_SHOT = `collective one_shot(x: T[n] partial(sum)) -> y: T[n] replicated {
  for i in tiles(n) { y[i] = sum(p in ranks) x@p[i] }
}`;
const TWO_SHOT = `collective two_shot(x: T[n] partial(sum)) -> y: T[n] replicated {
  for i in tiles(chunk(n, rank)) {
    let s = sum(p in ranks) x@p[i]
    for p in ranks { y@p[i] = s }
  }
}`;
const SHIFT = `collective shift(x: T[n] local) -> y: T[n] local ensures y[i] == x@((rank + 1) % world)[i] {
  for i in tiles(n) { y[i] = x@((rank + 1) % world)[i] }
}`;
const RING = `collective ring(x: T[n] sharded(0)) -> y: T[n] replicated {
  for i in tiles(shard(n, rank)) { y[i] = x[i - shard(n, rank).start] }
  for step in 0..world - 1 {
    for i in tiles(shard(n, (rank - step) % world)) { y@((rank + 1) % world)[i] = y[i] }
  }
}`;

function at(
  text: string,
  pass: string,
  mapping: Partial<PassOptions>,
  ranks = 4,
  dtype: "bf16" | "i32" = "bf16",
): Kernel {
  const { snapshots, diagnostics } = compile(text, { ranks, dtype, mapping });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return snapshots.find((s) => s.pass === pass)!.kernel;
}

function names(kernel: Kernel): Map<string, number> {
  const found = new Map<string, number>();
  walkKernel(kernel, (op) => void found.set(op.name, (found.get(op.name) ?? 0) + 1));
  return found;
}

const symmetric = (kernel: Kernel): string[] => kernel.buffers.filter((b) => b.symmetric).map((b) => b.name);

describe("by packets", () => {
  it("nothing waits inside a launch, callers need no symmetric memory, and the order is complete", () => {
    for (const [text, boxes] of [
      [ONE_SHOT, ["x_inbox"]],
      [TWO_SHOT, ["x_inbox", "y_box"]],
      [SHIFT, ["x_inbox"]],
      [RING, ["y_box"]],
    ] as const) {
      const kernel = at(text, "derive-sync", PACKETS);
      expect(symmetric(kernel)).toEqual(boxes);
      expect(outline(kernel.body)).not.toMatch(/block (all|\+|\^|\d)|grid (all|\+|\^|\d)/);
      expect(verifySync(kernel)).toEqual([]);
      expect(printKernel(parseKernel(printKernel(kernel)))).toBe(printKernel(kernel));
    }
  });

  it("ranks tell those of launches who write to them, and no others", () => {
    const told = (text: string): string => /^launch (\S+);/.exec(outline(at(text, "derive-sync", PACKETS).body))![1]!;
    expect(told(ONE_SHOT)).toBe("+1,+2,+3");
    // Rank r reads from r + 1, which therefore writes to r: r tells r + 1.
    expect(told(SHIFT)).toBe("+1");
    expect(told(RING)).toBe("+3");
  });

  it("without word of launches, packets are found unordered", () => {
    const kernel = at(TWO_SHOT, "derive-sync", PACKETS);
    const body = { ...kernel.body, ops: kernel.body.ops.filter((op) => op.name !== "barrier") };
    const [conflict] = verifySync({ ...kernel, body });
    expect(conflict!.map((a) => [a.writes, a.isEarlier === true])).toEqual([
      [false, true],
      [true, false],
    ]);
  });

  it("takes one packet a vector, whose format the dtype decides", () => {
    for (const [dtype, format, lanes] of [
      ["bf16", "inverted", 8],
      ["i32", "epoch", 2],
    ] as const) {
      const kernel = at(ONE_SHOT, "vectorize", PACKETS, 4, dtype);
      const text = printKernel(kernel, { spans: false });
      expect(text).toContain(`format="${format}"`);
      expect(text).toMatch(new RegExp(`packet_load .*: vec<${lanes} x ${dtype}>`));
      expect(names(kernel).get("packet_store")).toBeGreaterThan(0);
      expect(printKernel(parseKernel(text), { spans: false })).toBe(text);
      for (const b of kernel.buffers) if (b.role === "packet") expect(b).toMatchObject({ dtype, symmetric: true });
    }
  });

  it("loads of what all others sent are waited for together", () => {
    const { cuda } = compile(ONE_SHOT, { ranks: 4, dtype: "bf16", mapping: PACKETS });
    expect(cuda).toMatch(/load_packets<InvertedPacket>\(\w+_data, /);
    expect(cuda).toMatch(/Vec<u16, 8> \w+_data\[3\];/);
  });
});

describe("few elements, of a wider dtype than what else a kernel moves", () => {
  const text = `collective f(x: i32[1] partial(max), v: T[k, n] local) -> (y: i32[1] replicated, t: T[n, k] local) where n >= 12 and k >= 12 {
  y = all_reduce(x)
  t = transpose(v + v)
}`;

  it("go in packets that hold them", () => {
    const { snapshots, kernel, diagnostics } = compile(text, { ranks: 2, dtype: "i8", mapping: PACKETS });
    expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
    expect(names(kernel!).get("packet_store")).toBeGreaterThan(0);
    const device = printKernel(snapshots.at(-1)!.kernel, { spans: false });
    // Two numbers of four bytes are what an epoch leaves room for.
    expect(device).toMatch(/packet_load .*: vec<2 x i32>/);
    const wider = device.replaceAll("vec<2 x i32>", "vec<4 x i32>");
    expect(() => verify(parseKernel(wider), "as changed")).toThrow("packet_load: has 16 bytes, and a packet holds 8");
  });
});

describe("elements that fill no last packet", () => {
  it.each(["f8e5m2", "f8e4m3", "u8", "bf16", "f32"] as const)(
    "have slots of their own, however many they are: %s",
    (dtype) => {
      const compiled = compile(TWO_SHOT, { ranks: 2, dtype, mapping: PACKETS });
      expect(compiled.kernel!.buffers.some(({ role }) => role === "packet")).toBe(true);
      for (let n = 1; n < 100; n++) {
        const group = new CpuGroup(compiled.kernel!, compiled.manifest!, {
          source: compiled.source,
          detectUnwritten: true,
        });
        const data = makeInputs(compiled.manifest!, { n }, n);
        // An access outside of memory is an error there.
        group.run(data, { n });
        expect(checkOutputs(compiled.manifest!, { n }, data, data).correct, `${n} elements`).toBe(true);
      }
    },
  );
});

describe("by barriers", () => {
  it("one between sends and loads is enough", () => {
    expect(outline(at(ONE_SHOT, "derive-sync", BARRIERS).body)).toBe(
      "if {ranks {tiles} | ranks {tiles}}; block all; if {tiles | tiles}",
    );
    expect(verifySync(at(TWO_SHOT, "derive-sync", BARRIERS))).toEqual([]);
  });
});

describe("what stays as it was written, and why", () => {
  const refusals = (text: string): (string | null)[] =>
    transfersOf(at(text, "raise-products", {})).map(({ refusal }) => refusal);

  it("where data decides who gets what", () => {
    expect(
      refusals(`collective table(x: T[n] local, to: i32[1] local) -> y: T[n] local where to in 0..world {
        for i in tiles(n) { y@index(to[0])[i] = x[i] }
      }`),
    ).toEqual(["where it goes depends on data that its peer does not have"]);
  });

  it("where what is sent changes in the same loop", () => {
    expect(
      refusals(`collective pairs(x: T[n] local) -> y: T[n] local {
        scratch s: T[2, n]
        for i in tiles(n) { s[0, i] = x[i] }
        for i in tiles(n) { s[1, i] = s@(world - 1 - rank)[0, i] }
        for i in tiles(n) { y[i] = s[1, i] }
      }`),
    ).toEqual(["'s' is stored to in the same loop, so its elements have no one value to send"]);
  });

  it("not where parts of different lengths are counted around the ranks", () => {
    expect(
      refusals(`collective parts(x: T[n] local) -> y: T[n] local {
        for k in 0..world { let c = (rank - k) % world
          for i in tiles(c * n / world..(c + 1) * n / world) { y[i] = x@((rank + 1) % world)[i] }
        }
      }`),
    ).toEqual([null]);
  });

  it("nothing, unless an option asks", () => {
    expect(symmetric(at(ONE_SHOT, "derive-sync", {}))).toEqual(["x"]);
    expect(refusals(TWO_SHOT)).toEqual([null, null]);
  });
});

describe("stores to what the same loop touches again", () => {
  const itself = (stores: string): string => `collective f(x: T[n] local) -> (z: T[n] local, a: T[n] local)
  ensures z[i] == x[i] * 2
  ensures a[i] == x[i] * 2 {
  for i in tiles(n) { ${stores}  z[i] = a[i] }
}`;

  const peers = (stores: string): string => `collective f(x: T[n] local) -> (z: T[n] local, a: T[n] local)
  ensures z[i] == x@((rank - 1) % world)[i] * 2
  ensures a[i] == x@((rank - 1) % world)[i] * 2 {
  let next = (rank + 1) % world
  for i in tiles(n) { ${stores} }
}`;

  it.each([
    ["reads what it has stored to itself", itself("a[i] = x[i]  a@rank[i] = x[i] * 2")],
    ["stores over what it has stored to itself", itself("a@rank[i] = x[i]  a[i] = x[i] * 2")],
    [
      "reads from a peer what it has stored there",
      peers("a@next[i] = x[i]  z@next[i] = a@next[i] * 2  a@next[i] = x[i] * 2"),
    ],
    [
      "reads in the next iteration what it has stored to itself",
      `collective f(x: T[n] local) -> y: T[n] local ensures y[i] == x@0[i] {
        for i in tiles(n) { y[i] = 0 }
        if rank == 0 { for i in tiles(n) { for p in 0..world { let v = y[i]  y@p[i] = v + x[i] * f32(1 - min(p, 1)) } } }
      }`,
    ],
    ["adds up where it stores", peers("a@next[i] = x[i]  z@next[i] = x[i] * 2  a@next[i] = a@next[i] + x[i]")],
    [
      "stores twice in each iteration, the second time where a condition holds",
      peers("for k in 0..3 { a@next[i] = x[i] * f32(k)  if k == 0 { a@next[i] = 7 } }  z@next[i] = x[i] * 2"),
    ],
    [
      "stores over it where data says so",
      peers("a@next[i] = 0  if x[i] != 0 { a@next[i] = x[i] * 2 }  z@next[i] = x[i] * 2"),
    ],
  ])("stay as they were written: a rank %s", (_, text) => {
    for (const mapping of [BARRIERS, PACKETS]) {
      const { kernel, manifest, source } = compile(text, { ranks: 2, dtype: "f32", mapping });
      const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
      const data = makeInputs(manifest!, { n: 100 }, 1);
      group.run(data, { n: 100 });
      expect(checkOutputs(manifest!, { n: 100 }, data, data).correct).toBe(true);
    }
  });
});

describe("a rank that hands on what it waits for", () => {
  const source = "if rank > 0 { wait rank - 1 } else { for i in tiles(n) { y[i] = x[i] } }";
  const send = "for i in tiles(n) { y@(rank + 1)[i] = y[i] }";
  const chain = (body: string): string => `collective chain(x: T[n] on(0)) -> y: T[n] replicated { ${body} }`;
  const CHAIN = chain(`${source} if rank < world - 1 { ${send} signal rank + 1 }`);
  const CONVERTED = `collective both(x: T[n] on(0), z: T[n] partial(sum)) -> (s: T[n] replicated, y: T[n] replicated) {
    s = all_reduce(z)
    ${source}
    if rank < world - 1 { ${send} signal rank + 1 }
  }`.replace(" {", " ensures y[i] == x@0[i] {");

  function expectRight(compiled: ReturnType<typeof compile>): void {
    const { kernel, manifest, source: file } = compiled;
    const group = new CpuGroup(kernel!, manifest!, { source: file, detectUnwritten: true });
    for (const n of [5, 100]) {
      const data = makeInputs(manifest!, { n }, n);
      group.run(data, { n });
      expect(checkOutputs(manifest!, { n }, data, data)).toMatchObject({ correct: true, unspecified: [] });
    }
  }

  it.each([
    ["signals where it sends", CHAIN],
    ["signals below", chain(`${source} if rank < world - 1 { ${send} } if rank < world - 1 { signal rank + 1 }`)],
    [
      "does so piece by piece",
      chain(`for k in 0..3 {
        let a = n * k / 3  let b = n * (k + 1) / 3
        ${source.replace("(n)", "(a..b)")} if rank < world - 1 { ${send.replace("(n)", "(a..b)")} signal rank + 1 }
      }`),
    ],
  ])("and %s sends it as it is written", (_, text) => {
    for (const mapping of [BARRIERS, PACKETS]) expectRight(compile(text, { ranks: 4, dtype: "f32", mapping }));
  });

  it("does so in each kernel of a program", () => {
    const { variants } = compile(CONVERTED, { ranks: 3, dtype: "f32" });
    for (const { compiled } of variants) expectRight(compiled);
  });

  it("sends it to a box where each wait stands below its signal", () => {
    const text = `collective hand(x: T[n] local) -> y: T[n] local ensures y[i] == x@((rank - 2) % world)[i] {
      scratch a: T[2, n]
      let next = (rank + 1) % world
      for i in tiles(n) { a@next[0, i] = x[i] }
      signal next
      wait (rank - 1) % world
      for i in tiles(n) { a@next[1, i] = a[0, i] }
      signal next
      wait (rank - 1) % world
      for i in tiles(n) { y[i] = a[1, i] }
    }`;
    expect(transfersOf(at(text, "raise-products", {})).map(({ refusal }) => refusal)).toEqual([null, null]);
    for (const mapping of [BARRIERS, PACKETS]) expectRight(compile(text, { ranks: 4, dtype: "f32", mapping }));
  });

  it("sends it in no message", () => {
    const { diagnostics } = compile(CHAIN, { ranks: 3, dtype: "f32", mapping: { ranksPerDomain: 1 } });
    expect(diagnostics.map(({ message }) => message).join()).toContain("is for a signal that is not above it");
  });
});
