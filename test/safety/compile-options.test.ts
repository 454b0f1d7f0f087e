/** `compile()` and `run()` refuse what cannot be, as the command line does. */
import { describe, expect, it } from "vitest";
import { compile, connect, UsageError, type CompileOptions } from "../../src/index.js";
import { DEFAULT_PASS_OPTIONS, withMapping } from "../../src/compiler/index.js";
import { PASS_OPTION_RULES } from "../../src/compiler/passes/options.js";

const program = "collective c(x: T[n] partial(sum)) -> y: T[n] replicated {\n  y = all_reduce(x)\n}\n";
const good = { ranks: 2, dtype: "f32" } as const;

function refusal(action: () => unknown): UsageError {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return error as UsageError;
  }
  throw new Error("it was taken");
}

describe("compile()", () => {
  it.each<[object, RegExp]>([
    [{ ranks: 0 }, /the option 'ranks' is 0; it must be a whole number from 1/],
    [{ ranks: -1 }, /'ranks' is -1/],
    [{ ranks: "4" }, /'ranks' is "4"/],
    [{ ranks: 2.5 }, /'ranks' is 2.5/],
    [{ ranks: Number.NaN }, /'ranks' is NaN/],
    [{ ranks: 1e9 }, /'ranks' is 1000000000/],
    [{ ranks: undefined }, /'ranks' is undefined/],
    [{ dtype: "f33" }, /'dtype' is "f33"; it must be one of f32, /],
    [{ dtype: { T: "f33" } }, /'dtype' is an object; it must be .*an object whose T is one of/],
    [{ dtype: { U: "f32" } }, /c has no dtype variable 'U'/],
    [{ dtype: { T: "f32", U: "f16" } }, /no dtype variable 'U'/],
    [{ dtype: 7 }, /'dtype' is 7/],
    [{ arch: "sm_1" }, /'arch' is "sm_1"; it must be an architecture such as sm_75/],
    [{ arch: "sm_95" }, /'arch' is "sm_95"/],
    [{ arch: "volta" }, /'arch' is "volta"/],
    [{ mapping: { elementThread: 64 } }, /there is no mapping option 'elementThread'/],
    [{ mapping: { elementThreads: "64" } }, /the mapping option 'elementThreads' is "64"/],
    [{ mapping: { elementThreads: 0 } }, /'elementThreads' is 0/],
    [{ mapping: { tile: { m: 128 } } }, /'tile' is an object; it must be an object with n, too/],
    [{ mapping: { tile: { m: 128, n: 64, k: 64, stages: -3 } } }, /whose stages is a whole number from 1 to 16/],
    [{ mapping: { accessBytes: 3 } }, /'accessBytes' is 3; it must be one of/],
    [{ mapping: 5 }, /'mapping' is 5/],
    [{ mesh: { node: 0 } }, /'mesh' is an object; it must be an object whose node is/],
    [{ stopAfter: "nothing" }, /'stopAfter' is "nothing"/],
    [{ passLimit: -1 }, /'passLimit' is -1/],
    [{ file: 3 }, /'file' is 3/],
    [{ resolve: "x" }, /'resolve' is "x"; it must be a function/],
    [{ machine: {} }, /'machine' is an object/],
    [{ rank: 4 }, /there is no option 'rank'/],
  ])("refuses %j", (change, message) => {
    expect(refusal(() => compile(program, { ...good, ...change } as CompileOptions)).message).toMatch(message);
  });

  it("says which name was meant", () => {
    expect(refusal(() => compile(program, { ...good, mapping: { elementThread: 64 } } as never)).help).toBe(
      "did you mean 'elementThreads'?",
    );
    expect(refusal(() => compile(program, { ...good, dtypes: "f32" } as never)).help).toBe("did you mean 'dtype'?");
  });

  it("says which names there are, where none is near", () => {
    expect(refusal(() => compile(program, { ...good, mapping: { zz: 1 } } as never)).help).toMatch(
      /^mapping options: .*\belementThreads\b/,
    );
    expect(refusal(() => compile(program, { ...good, dtype: { Element: "f32" } })).help).toBe("it has T");
    const fixed = "collective c(x: f32[n] local) -> y: f32[n] local { for i in tiles(n) { y[i] = x[i] } }";
    expect(refusal(() => compile(fixed, { ...good, dtype: { T: "f32" } })).help).toBe("it has none: leave dtype out");
  });

  it("refuses what is no text, and no options", () => {
    expect(refusal(() => compile(Buffer.from(program) as never, good)).message).toMatch(/a program is a text/);
    expect(refusal(() => compile(program, undefined as never)).message).toMatch(/options must be an object/);
    expect(refusal(() => compile(program, {} as never)).message).toMatch(/'ranks' is missing/);
  });

  it("takes every default, and what is left undefined", () => {
    expect(compile(program, { ...good, mapping: DEFAULT_PASS_OPTIONS }).diagnostics).toEqual([]);
    const undefinedOnes = {
      mesh: undefined,
      arch: undefined,
      mapping: undefined,
    } as unknown as Partial<CompileOptions>;
    expect(compile(program, { ...good, ...undefinedOnes }).diagnostics).toEqual([]);
    expect(compile(program, { ...good, dtype: { T: "bf16" }, arch: "sm_100a" }).diagnostics).toEqual([]);
  });

  it("has a rule for every option of the mapping", () => {
    expect(Object.keys(PASS_OPTION_RULES).sort()).toEqual(Object.keys(DEFAULT_PASS_OPTIONS).sort());
  });

  it("checks another mapping, too", () => {
    const compiled = compile(program, good);
    expect(refusal(() => withMapping(compiled, { tileThreads: 1e9 })).message).toMatch(/'tileThreads' is 1000000000/);
  });
});

describe("run()", () => {
  it("refuses dimensions that the collective does not have", async () => {
    const group = await connect({ backend: "cpu", ranks: 2 });
    const kernel = await group.load(compile(program, { ...good, ranks: group.world }));
    const x = await group.symmetric("f32", [8]);
    const y = await group.symmetric("f32", [8]);
    await expect(kernel.run({ x, y }, { n: 8, m: 4 })).rejects.toThrow(UsageError);
    await expect(kernel.run({ x, y }, { n: 8, m: 4 })).rejects.toThrow(/c has no dimension 'm'/);
    await expect(kernel.run({ x, y }, { n: "8" } as never)).rejects.toThrow(UsageError);
    await kernel.run({ x, y }, { n: 8 });
    await group.close();
  });
});
