/** Loops whose lengths are not what they look like: ranges that begin below 0, or end there, and lengths that differ from rank to rank. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import type { PassOptions } from "../../src/compiler/passes/options.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";

const FEW: Partial<PassOptions> = { elementThreads: 4, elementBlocks: 2, loadBlocks: 2, busyBlocks: 2 };
const MAPPINGS: readonly Partial<PassOptions>[] = [
  {},
  { transfers: "staged", protocol: "barrier" },
  { transfers: "staged", protocol: "packet" },
  { ...FEW, transfers: "staged", protocol: "packet" },
  { ranksPerDomain: 1 },
];

function expectCorrect(text: string, mapping: Partial<PassOptions>, dims: Readonly<Record<string, number>>): void {
  const { kernel, manifest, source, diagnostics } = compile(text, { ranks: 2, dtype: "f32", mapping });
  const errors = diagnostics.filter((d) => d.severity === "error");
  // That no message can stand for an access is an answer.
  if (mapping.ranksPerDomain !== undefined && errors.some(({ code }) => code === "out-of-reach")) return;
  expect(errors).toEqual([]);
  const group = new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true });
  const data = makeInputs(manifest!, dims, 1);
  group.run(data, dims);
  const of = `${JSON.stringify(mapping)} ${JSON.stringify(dims)}`;
  expect(checkOutputs(manifest!, dims, data, data), of).toMatchObject({ correct: true });
}

const shift = (length: string, condition: string, index: string): string =>
  `collective f(x: T[2 * n] local) -> y: T[2 * n] local ensures y[j] == x@((rank + 1) % world)[j] {
    for i in tiles(${length}) { if ${condition} { y[${index}] = x@((rank + 1) % world)[${index}] } }
  }`;

describe("lengths of loops", () => {
  it.each([
    ["a range that begins below 0", shift("0 - n..n", "i < n", "i + n")],
    ["a length that differs from rank to rank", shift("10 * n + rank", "i % 5 == 0 and i / 5 < 2 * n", "i / 5")],
    ["a begin that differs from rank to rank", shift("0 - 200 * rank..2 * n", "i >= 0", "i")],
    [
      "a range that ends below 0",
      `collective f(x: T[n] local) -> y: T[n] local ensures y[i] == where(i + 400 < n, x@((rank + 1) % world)[i], 0) {
        for i in tiles(n) { y[i] = 0 }
        for i in tiles(n - 400) { y[i] = x@((rank + 1) % world)[i] }
      }`,
    ],
  ])("%s", (_, text) => {
    for (const mapping of MAPPINGS) for (const n of [5, 130]) expectCorrect(text, mapping, { n });
  });

  it("rows that are folded from below 0 on have room in shared memory", () => {
    const text = `collective f(x: T[m, n + 40] local) -> y: T[m, n] local ensures y[i, j] == x[i, j] + max(k in 0..n + 40) x[i, k] {
      for i, j in tiles(m, n) { y[i, j] = x[i, j] + max(k in 0 - 40..n) x[i, k + 40] }
    }`;
    for (const [m, n] of [[50, 8], [400, 5], [7, 600]] as const) expectCorrect(text, {}, { m, n }); // prettier-ignore
  });
});
