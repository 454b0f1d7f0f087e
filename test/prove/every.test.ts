/**
 * What is said to be proved for every length: which programs of the library are, that no program is that is wrong at some
 * length, and that programs that are hold at lengths that nobody has looked at.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions, withMapping } from "../../src/compiler/index.js";
import { everyLength, prove, PROOF_MAPPING, programOf, proveAnswer } from "../../src/compiler/prove/index.js";
import { proofShapes } from "../../src/compiler/prove/index.js";
import { isAll, some, turned } from "../scope.js";
import { allows, compileFile, LIBRARY } from "../kernels/library.js";
import { FAR_WRONG } from "./every-programs.js";

describe("the library", () => {
  it("is proved for every length as the table says", async () => {
    const lines = [
      "# Which claims hold for every length of the kernel that is printed, on 2, 4 and 8 ranks; else what stands in the way of the first that does not.",
    ];
    for (const [turn, file] of some([...LIBRARY.entries()], 8))
      for (const ranks of turned(
        (isAll ? [2, 4, 8] : [2, 4]).filter((r) => allows(file, r)),
        turn,
      )) {
        const { variants } = compileFile(file, { ranks, dtype: "bf16" });
        for (const { name, compiled: printed } of variants) {
          const { kernel, snapshots } = withMapping(printed, PROOF_MAPPING);
          const shapes = proofShapes(kernel!, "answer", programOf(snapshots));
          const { answer, ordering } = everyLength(printed.kernel!, shapes, (dims) =>
            proveAnswer(printed.kernel!, { dims }),
          );
          const said = !ordering.holds
            ? `no: ${ordering.reason}`
            : answer.holds
              ? "answer and ordering"
              : `ordering; ${answer.reason}`;
          lines.push(`${file.name}${variants.length > 1 ? ` as ${name}` : ""}, ${ranks} ranks: ${said}`);
        }
      }
    // With all of the tests: `vitest -u` writes it.
    if (isAll) await expect(lines.join("\n") + "\n").toMatchFileSnapshot("every.txt");
    else expect(readFileSync("test/prove/every.txt", "utf8").split("\n")).toEqual(expect.arrayContaining(lines));
  });
});

describe("wrong at some lengths alone", () => {
  const options: CompileOptions = { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING };

  for (const { name, text, at, small, large } of FAR_WRONG) {
    it(`${name}: is wrong`, () => {
      const { kernel, snapshots, diagnostics } = compile(text(small), options);
      expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
      const { answer } = prove({ kernel, snapshots }, { shapes: [at(small)] });
      expect(answer.status).toBe("wrong");
    });

    it(`${name}: is never proved for every length`, () => {
      const { kernel, snapshots } = compile(text(large), options);
      const claims = prove({ kernel, snapshots });
      expect(claims.every?.answer.holds ?? false).toBe(false);
      // Neither is it where a proof at other shapes is all that there is.
      const dims = Object.fromEntries(kernel!.dims.map((d) => [d, 24]));
      if (proveAnswer(kernel!, { dims }).status === "proved")
        expect(everyLength(kernel!, [dims]).answer.holds).toBe(false);
    });
  }

  it("another order of sums on the ranks of one row of a mesh: is wrong, and never proved for every length", () => {
    const sums = ["(x@first[i] + x@(first + 1)[i]) + x@(first + 2)[i]", "x@first[i] + (x@(first + 1)[i] + x@(first + 2)[i])"]; // prettier-ignore
    const text = (
      k: number,
    ): string => `collective f(x: T[n] sharded(0, dp) partial(sum, tp)) -> y: T[n] sharded(0, dp) replicated(tp)
  mesh(dp, tp) ensures y[i] == sum(p in ranks(tp)) x@p[i] {
  let h = n / world.dp
  let m = h / 2
  let first = rank - rank.tp
  if rank.tp == 0 {
    for i in tiles(m) { y[i] = ${sums[0]} }
    for i in tiles(m .. h) { y[i] = ${sums[1]} }
  } else {
    for i in tiles(min(m, ${k})) { y[i] = ${sums[0]} }
    for i in tiles(min(m, ${k}) .. h) { y[i] = ${sums[1]} }
  }
}`;
    const onMesh: CompileOptions = { ...options, ranks: 6, mesh: { dp: 2, tp: 3 } };
    expect(prove(compile(text(50), onMesh), { shapes: [{ n: 240 }] }).answer.status).toBe("wrong");
    const { kernel } = compile(text(5_000_000), onMesh);
    expect(everyLength(kernel!, [{ n: 24 }]).answer.holds).toBe(false);
    // One order on all of them is claimed.
    const same = text(0).replace(/ {2}if rank\.tp.*else \{\n(.*\n)(.*\n) {2}\}\n/su, "$2");
    expect(everyLength(compile(same, onMesh).kernel!, [{ n: 24 }]).answer).toEqual({ holds: true });
  });

  // Iterations, or ranks, that do the same with other numbers: `k` says where the second begins.
  const chain = (k: number, v: string): string => `collective f(x: T[n] partial(sum)) -> y: T[n] replicated {
  for i in tiles(max(n - 2, 0) .. n) { y[i] = sum(p in ranks) x@p[i] }
  for s in 0..2 {
    let v = ${v}
    for i in tiles(max(n - 2 - ${k} * (s + 1), 0) .. max(n - 2 - ${k} * s, 0)) { y[i] = (sum(p in ranks) x@p[i]) + v }
  }
  for i in tiles(max(n - ${2 + 2 * k}, 0)) { y[i] = sum(p in ranks) x@p[i] }
}`;

  it.each(["f32(s)", "f32(s * 3)", "f32(s * n)", "f32(s * rank)", "max(f32(s), 0)", "f32(s) * 2 - f32(s)"])(
    "%s made outside of a loop over elements: is wrong, and never proved for every length",
    (v) => {
      const near = compile(chain(300, v), options);
      expect(near.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
      expect(proveAnswer(near.kernel!, { dims: { n: 350 } }).status).toBe("wrong");
      expect(everyLength(near.kernel!, [{ n: 3 }, { n: 24 }, { n: 70 }]).answer.holds).toBe(false);
      const far = compile(chain(500_000, v), options);
      expect(prove(far).every?.answer.holds ?? false).toBe(false);
    },
  );

  it("numbers made outside of a loop over elements, the same in each iteration, are proved for every length", () => {
    const { kernel } = compile(chain(300, "f32(s - s)"), options);
    expect(everyLength(kernel!, [{ n: 3 }, { n: 24 }, { n: 700 }]).answer).toEqual({ holds: true });
  });

  it.each(["all_reduce(x) / f32(step)", "all_reduce(x / s) + (1 - s)", "relu(all_reduce(x)) * pow(s, f32(step))"])(
    "%s, of numbers of the launch, is proved for every length",
    (value) => {
      const text = `collective f(x: f32[n] partial(sum), s: f32, step: i32) -> y: f32[n] replicated { y = ${value} }`;
      const { kernel } = compile(text, options);
      expect(everyLength(kernel!, [{ n: 3 }, { n: 24 }, { n: 70 }]).answer).toEqual({ holds: true });
    },
  );

  it.each([2, 3])(
    "%i loops over one length, each with vectors of its own, are proved for every length",
    (loopCount) => {
      const names = ["a", "b", "c"].slice(0, loopCount);
      const inputs = names.map((v) => `${v}: T[n] partial(sum)`).join(", ");
      const outputs = names.map((v) => `${v}2: T[n] replicated`).join(", ");
      const body = names.map((v) => `for i in tiles(n) { ${v}2[i] = sum(p in ranks) ${v}@p[i] }`).join("\n  ");
      const claims = names.map((v) => `ensures ${v}2[i] == sum(p in ranks) ${v}@p[i]`).join(" ");
      const { kernel } = compile(`collective f(${inputs}) -> (${outputs}) ${claims} {\n  ${body}\n}`, options);
      const every = everyLength(kernel!, [{ n: 3 }, { n: 24 }, { n: 70 }]);
      expect(every.ordering).toEqual({ holds: true });
      expect(every.answer).toEqual({ holds: true });
    },
  );

  it("an element that another iteration has stored: is a race, and never ordered for every length", () => {
    const text = (k: number): string => `collective f(z: T[m] local) -> v: T[m] local ensures v[i] == z[i] {
  scratch s: T[m]
  for i in tiles(3 * (m / ${k})) { s[i] = 0 }
  for k in tiles(2 * (m / ${k})) { s[k] = s[k + m / ${k}] + z@(k / (m / ${k}))[k % (m / ${k})] }
  for i in tiles(m) { v[i] = z[i] }
}`;
    expect(prove(compile(text(50), options), { shapes: [{ m: 215 }] }).ordering.status).toBe("wrong");
    const { kernel, snapshots } = compile(text(500_000), options);
    expect(prove({ kernel, snapshots }).every?.ordering.holds ?? false).toBe(false);
    expect(everyLength(kernel!, [{ m: 24 }]).ordering.holds).toBe(false);
  });
});
