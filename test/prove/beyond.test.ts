/** Constants that matter only at lengths that were not proved are named with such a length, if the signature allows one. */
import { expect, test } from "vitest";
import { compile, findings, PROOF_MAPPING, prove } from "../../src/compiler/index.js";

function limits(where: string): { message: string; help: string | null }[] {
  const text = `
collective f(x: f32[n] local) -> y: f32[n] local
  ${where}
  ensures y[i] == x[i] * (f32(i) / 41000001.0) {
  for i in tiles(n) { y[i] = x[i] * (f32(i) / 41000001.0) }
}`;
  const compiled = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  return findings(prove(compiled, {}))
    .filter(({ code }) => code === "proof-limited")
    .map(({ message, help }) => ({ message, help: help ?? null }));
}

test("a length is named from which on it matters", () => {
  const [limit] = limits("");
  expect(limit!.message).toMatch(/41000001 makes a difference here only at larger ones, from n=\d+ on$/);
  expect(limit!.help).toMatch(/--dim n=\d+/);
});

test("lengths that conditions exclude are none: nothing is left to prove", () => {
  expect(limits("where n <= 900")).toEqual([]);
});
