import { describe, expect, test } from "vitest";
import { SourceFile } from "../../src/compiler/source.js";
import { CpuFault, type CpuOptions } from "../../src/runtime/cpu/index.js";
import { UsageError } from "../../src/runtime/errors.js";
import { blank, load, oneShot, small } from "./kernels.js";

/** The fault of running a kernel; fails if there is none. */
function faultOf(text: string, options: CpuOptions = {}): CpuFault {
  const group = load(text, options);
  try {
    group.run(blank(group, {}), {});
  } catch (error) {
    if (error instanceof CpuFault) return error;
    throw error;
  }
  throw new Error("no fault");
}

const X = "buffer x: input f32[8] symmetric buffer y: output f32[8]";
/** An op with %i = index, which the verifier does not see through (the rank is 0). */
const at = (index: number, op: string): string => `%base = const {value=${index}} : index
  %zero = rank : index
  %i = binary %base, %zero {fn="add"} : index
  ${op}`; // prettier-ignore

describe("accesses", () => {
  test("outside a buffer, with the place in the source", () => {
    const source = new SourceFile("k.coll", "collective k() {\n  y[8] = x[8]\n}\n");
    const fault = faultOf(small(X, at(8, '%v = load %i {buffer="x"} : f32 loc(26:30)')), { source });
    expect(fault.kind).toBe("bounds");
    expect(fault.message).toBe(
      "kernel 'k', rank 0, block 0, load at k.coll:2:10: index 8 of 'x' lies outside its 8 elements",
    );
    expect(fault.places[0]).toMatchObject({
      kernel: "k",
      rank: 0,
      block: 0,
      buffer: "x",
      index: 8,
      span: { start: 26, end: 30 },
    });
    expect(faultOf(small(X, at(-1, '%v = load %i {buffer="x"} : f32'))).message).toContain("index -1 of 'x'");
  });

  test("a vector across the end", () => {
    const fault = faultOf(small(X, at(6, '%v = load %i {buffer="x"} : vec<4 x f32>')));
    expect(fault.message).toContain("elements 6 to 9 of 'x' lies outside its 8 elements");
  });

  test("one dimension of several", () => {
    const fault = faultOf(small("buffer x: input f32[2, 4]", at(4, '%v = load %zero, %i {buffer="x"} : f32')));
    expect(fault.message).toContain("index 4 of dimension 1 lies outside 'x', which has 4");
  });

  test("a rank that does not exist", () => {
    const body = `%z = const {value=0} : index
      %one = const {value=1} : index
      %r = rank : index
      %next = binary %r, %one {fn="add"} : index
      %v = load %next, %z {buffer="x", remote=true} : f32`;
    expect(faultOf(small(X, body, 2)).message).toBe(
      "kernel 'k', rank 1, block 0, load at source 0:0: 'x' of rank 2 is asked for; the ranks are 0 to 1",
    );
  });

  test("a vector that is not aligned, by index or by address", () => {
    const load4 = '%v = load %i {buffer="x"} : vec<4 x f32>';
    expect(faultOf(small(X, at(2, load4))).kind).toBe("misaligned");
    const fault = faultOf(small(X, at(4, load4)), { elementOffset: { x: 2 } });
    expect(fault.message).toContain(
      "4 elements at index 4 of 'x' (which starts 2 elements past an aligned address) are not naturally aligned",
    );
  });

  test("memory nobody wrote, only when asked", () => {
    for (const buffer of ["scratch", "output", "shared"]) {
      const text = small(`buffer s: ${buffer} f32[8]`, at(3, '%v = load %i {buffer="s"} : f32'));
      const fault = faultOf(text, { detectUnwritten: true });
      expect(fault.kind).toBe("unwritten");
      expect(fault.message).toContain("element 3 of 's' is read but was never written");
      const group = load(text);
      expect(() => group.run(blank(group, {}), {})).not.toThrow();
    }
  });

  test("in place, an output that is an input counts as written", () => {
    const group = load(small(X, at(3, '%v = load %i {buffer="y"} : f32')), { detectUnwritten: true });
    const [rank] = blank(group, {});
    const args = { inputs: rank!.inputs, outputs: { y: rank!.inputs["x"]! } };
    expect(() => group.run([args], {})).not.toThrow();
  });

  test("division by zero", () => {
    const body = (kind: string, a: number, b: number): string => `%a = const {value=${a}} : ${kind}
      %b = const {value=${b}} : ${kind}
      %v = binary %a, %b {fn="div"} : ${kind}`;
    expect(faultOf(small("", body("i32", 1, 0))).message).toContain("div of 1 by zero");
    expect(faultOf(small("", body("index", 1, -2))).message).toContain("div of 1 by -2, below zero");
  });
});

describe("deadlocks", () => {
  const FLAGS = "buffer flags: signal u32[4] symmetric";
  const waitFor = (slot: string, peer = ""): string => `for %zero, %one {map="threads"} (%t${slot}) {
      %s${slot} = const {value=${slot}} : index
      wait %v, %s${slot}${peer} {buffer="flags", scope="sys", order="acquire"} loc(5:9)
    }`;
  const start =
    "%zero = const {value=0} : index\n%one = const {value=1} : index\n%v = const {value=3} : u32\n%r = rank : index\n";

  test("says who waits for whom, and what they see", () => {
    const fault = faultOf(small(FLAGS, start + waitFor("2", ", %r"), 2));
    expect(fault.kind).toBe("deadlock");
    expect(fault.message).toBe(
      [
        "deadlock in kernel 'k': 2 of 2 blocks wait for flags that nobody will raise",
        "  2 waits of 2 blocks on 2 ranks: for one, rank 0, block 0 waits from rank 0 for flags[2] to reach 3, sees 0 (wait at source 5:9)",
      ].join("\n"),
    );
    expect(fault.places).toHaveLength(2);
    expect(fault.help).toBeDefined();
  });

  test("waits at many places take six lines", () => {
    const body = (places: number): string =>
      `${start}${Array.from(
        { length: places },
        (_, p) => `%w${p} = const {value=${p}} : index
      %c${p} = compare %r, %w${p} {fn="eq"} : bool
      if %c${p} () {
        ${waitFor("0").replaceAll("t0", `t0_${p}`).replaceAll("s0", `s0_${p}`).replace("5:9", `${p}:9`)}
      } () {
      }`,
      ).join("\n")}`;
    const lines = (places: number): string[] =>
      faultOf(small(FLAGS, body(places), places))
        .message.split("\n")
        .slice(1);
    expect(lines(1)).toEqual(["  rank 0, block 0 waits for flags[0] to reach 3, sees 0 (wait at source 0:9)"]);
    expect(lines(6)).toHaveLength(6);
    expect(lines(8)).toHaveLength(6);
    expect(lines(8).at(-1)).toBe("  … and 3 more at 3 other places");
  });

  test("blocks that could finish do, and only the rest are listed", () => {
    const body = `${start}
      %c = compare %r, %one {fn="eq"} : bool
      if %c () {
        ${waitFor("0")}
      } () {
      }`;
    const fault = faultOf(small(FLAGS, body, 4));
    expect(fault.message).toContain("1 of 4 blocks");
    expect(fault.places.map((p) => p.rank)).toEqual([1]);
  });

  test("a flag below the wanted value does not do, beyond it does", () => {
    const text = (sent: number): string =>
      small(FLAGS, `${start}
      %sent = const {value=${sent}} : u32
      for %zero, %one {map="threads"} (%t) {
        signal %sent, %zero {buffer="flags", mode="set", scope="sys", order="release"}
      }
      ${waitFor("0")}`); // prettier-ignore
    expect(faultOf(text(2)).kind).toBe("deadlock");
    const group = load(text(5));
    expect(() => group.run(blank(group, {}), {})).not.toThrow();
  });

  test("threads of one block wait side by side", () => {
    // Thread t waits for rank + 1 + t before it would signal the next one in order: alone it would hang.
    const body = `${start}
      %n = const {value=3} : index
      for %zero, %n {map="threads"} (%t) {
        %a = binary %r, %one {fn="add"} : index
        %b = binary %a, %t {fn="add"} : index
        %four = const {value=4} : index
        %p = binary %b, %four {fn="rem"} : index
        signal %v, %p, %r {buffer="flags", mode="set", scope="sys", order="release", remote=true}
        wait %v, %p, %p {buffer="flags", scope="sys", order="acquire"}
      }`;
    const group = load(small(FLAGS, body, 4));
    expect(() => group.run(blank(group, {}), {})).not.toThrow();
    // With one thread the iterations are in order, and then it does hang.
    expect(faultOf(small(FLAGS, body, 4, 1)).kind).toBe("deadlock");
  });
});

describe("what does not fit", () => {
  const group = load(oneShot(2));
  const good = (n: number): ReturnType<typeof blank> => blank(group, { n });

  test("arguments", () => {
    expect(() => group.run(good(4).slice(1), { n: 4 })).toThrow("kernel 'one_shot' is compiled for 2 ranks, not 1");
    expect(() => group.run(good(4), {})).toThrow("dimension 'n' needs a whole number of elements, not undefined");
    expect(() => group.run(good(4), { n: 5 })).toThrow("input 'x' of rank 0 has 4 elements, not 5");
    const [a, b] = good(4);
    expect(() => group.run([a!, { ...b!, inputs: {} }], { n: 4 })).toThrow("rank 1 has no input 'x'");
    expect(() => group.run([a!, { ...b!, inputs: { x: new Float32Array(4) } }], { n: 4 })).toThrow(UsageError);
  });

  test("dimensions that do not divide", () => {
    const text = small('dim n require mod(n, 4) eq 0 "x is sharded(0) over 4 ranks" buffer x: input f32[n]', "", 4);
    const sharded = load(text);
    expect(() => sharded.run(blank(sharded, { n: 6 }), { n: 6 })).toThrow(
      "n=6 does not divide by 4: x is sharded(0) over 4 ranks",
    );
  });

  test("ops that an earlier pass expands", () => {
    expect(() => load(small("", 'barrier {scope="grid", ranks="all"}'))).toThrow(
      "'barrier' reached the executor; an earlier pass expands it",
    );
    expect(() => load(small("", "").replace("level=device", "level=rank"))).toThrow(
      "device-level IR is executed, not rank-level",
    );
  });
});
