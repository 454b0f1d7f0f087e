/** What is said of scratch that may be too narrow is what the dtype does. */
import { expect, test } from "vitest";
import { type Claims, compile, findings, PROOF_MAPPING, prove, summaryLine } from "../../src/compiler/index.js";

test.each([
  ["f16", /becomes infinite/],
  ["f8e4m3", /is cut off at the largest number/],
])("%s", (dtype, words) => {
  const said = findings(proved(dtype)).filter(({ code }) => code === "proof-overflow");
  expect(said.map(({ message }) => message)).toEqual([expect.stringMatching(words)]);
  // There is no scale, so none is called too small.
  expect(said[0]!.help).toMatch(/^keep it in a dtype with larger numbers/);
});

test("bf16 has the numbers of f32, but for the last percent: the summary names it, and no warning does", () => {
  const claims = proved("bf16");
  expect(findings(claims)).toEqual([]);
  expect(summaryLine(claims)).toContain("overflow in bf16");
});

test("a quotient that is too large is told of its scale", () => {
  const said = findings(proved("f8e4m3", "x[i] / 3.0", "f32(box@p[i]) * 3.0"));
  expect(said.find(({ code }) => code === "proof-overflow")!.help).toMatch(/^divide by a `max`/);
});

function proved(dtype: string, value = "x[i]", back = "f32(box@p[i])"): Claims {
  const text = `
collective f(x: f32[n] partial(sum)) -> y: f32[n] replicated {
  scratch box: ${dtype}[n]
  for i in tiles(n) { box[i] = ${value} }
  for i in tiles(n) { y[i] = sum(p in ranks) (${back}) }
}`;
  const compiled = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  return prove(compiled, { shapes: [{ n: 9 }] });
}
