/** Constants that matter only at lengths that were not proved are named with such a length, if the signature allows one. */
import { expect, test } from "vitest";
import { compile, findings, PROOF_MAPPING, prove } from "../../src/compiler/index.js";
import { isAll } from "../scope.js";

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

test.runIf(isAll)("lengths whose signals are too many to be held are left out, not unknown", () => {
  const text = `
collective f(x: T[n] local, t: T[m] local) -> y: T[n] local
  ensures y[i] == x@((rank + 1) % world)[i] {
  for k in 0..m {
    signal (rank - 1) % world
    wait (rank + 1) % world
  }
  for i in tiles(n) { y[i] = x@((rank + 1) % world)[i] }
  if m >= 200000 {
    for i in tiles(n) { y[i] = x@((rank + 1) % world)[i] + t[0] - t[0] }
  }
}`;
  const claims = prove(compile(text, { ranks: 2, mapping: PROOF_MAPPING }), {});
  expect(claims.ordering.status).toBe("proved");
  const [limit] = findings(claims).filter(({ code }) => code === "proof-limited");
  expect(limit!.message).toMatch(/200000 makes a difference here only at larger ones, from m=200001 on$/);
});
