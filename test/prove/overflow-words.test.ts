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

test("f32 is what is computed in: nothing is made narrower there, and only the summary names it", () => {
  const claims = proved("f32", "f32(x[i])", "box@p[i]", "f16");
  expect(findings(claims)).toEqual([]);
  expect(summaryLine(claims)).toContain("overflow in f16");
});

test("only what nothing shows to fit is said", () => {
  const text = `
collective f(x: f32[n] partial(sum), k: f32[n] replicated) -> y: f32[n] replicated
  where k in 0..9 {
  scratch box: f16[n]
  scratch small: f16[n]
  for i in tiles(n) {
    box[i] = x[i]
    small[i] = k[i]
  }
  for i in tiles(n) { y[i] = sum(p in ranks) (f32(box@p[i])) + 0.0 * f32(small@rank[i]) }
}`;
  const compiled = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  const said = findings(prove(compiled, { shapes: [{ n: 9 }] })).filter(({ code }) => code === "proof-overflow");
  expect(said.map(({ span }) => text.slice(span.start, span.end))).toEqual(["box[i] = x[i]"]);
});

test("a quotient that is too large is told of its scale", () => {
  const said = findings(proved("f8e4m3", "x[i] / 3.0", "f32(box@p[i]) * 3.0"));
  expect(said.find(({ code }) => code === "proof-overflow")!.help).toMatch(/^divide by a `max`/);
});

function proved(dtype: string, value = "x[i]", back = "f32(box@p[i])", of = "f32"): Claims {
  const text = `
collective f(x: ${of}[n] partial(sum)) -> y: ${of}[n] replicated {
  scratch box: ${dtype}[n]
  for i in tiles(n) { box[i] = ${value} }
  for i in tiles(n) { y[i] = sum(p in ranks) (${back}) }
}`;
  const compiled = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  return prove(compiled, { shapes: [{ n: 9 }] });
}
