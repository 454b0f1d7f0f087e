/** What is said of scratch that may be too narrow is what the dtype does. */
import { expect, test } from "vitest";
import { compile, findings, PROOF_MAPPING, prove } from "../../src/compiler/index.js";

test.each([
  ["bf16", /becomes infinite/],
  ["f16", /becomes infinite/],
  ["f8e4m3", /is cut off at the largest number/],
])("%s", (dtype, words) => {
  const text = `
collective f(x: f32[n] partial(sum)) -> y: f32[n] replicated {
  scratch box: ${dtype}[n]
  for i in tiles(n) { box[i] = x[i] }
  for i in tiles(n) { y[i] = sum(p in ranks) f32(box@p[i]) }
}`;
  const compiled = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  const said = findings(prove(compiled, { shapes: [{ n: 9 }] })).filter(({ code }) => code === "proof-overflow");
  expect(said.map(({ message }) => message)).toEqual([expect.stringMatching(words)]);
});
