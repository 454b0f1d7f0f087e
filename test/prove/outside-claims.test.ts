/** Claims that read outside of an input or of the group: wrong, where they stand, whoever meets them. */
import { expect, test } from "vitest";
import { compile, findings, PROOF_MAPPING, prove } from "../../src/compiler/index.js";
import { CpuGroup, runHostile } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs, OutsideClaim } from "../../src/runtime/reference/index.js";

/** The body does what the claim says, as far as there is anything to do. */
const claimed = (claim: string, stored = claim, where = ""): string => `
collective f(x: T[n] local, at: i32[n] local) -> y: T[n] local
  ${where}
  ensures y[i] == ${claim} {
  for i in tiles(n) {
    y[i] = ${stored}
  }
}`;

/** Where one is enough: what the prover says does not go with the shape. */
const shapes = [{ n: 9 }];

const made = (text: string): ReturnType<typeof compile> => {
  const compiled = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
  expect(compiled.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return compiled;
};

const outside = [
  claimed("x[i + 1]", "x[min(i + 1, n - 1)]"),
  claimed("x@(rank + 1)[i]", "x@((rank + 1) % world)[i]"),
  claimed("sum(k in 0..n - i) x[i + 2 * k]", "sum(k in 0..n - i) x[min(i + 2 * k, n - 1)]"),
  claimed("x[index(at[i])]", "x[max(0, index(at[i])) % n]", "where at in -5..5"),
];

test.each(outside)("the prover names the clause: %s", (text) => {
  const claims = prove(made(text), { shapes });
  expect(claims.answer).toMatchObject({ status: "wrong", kind: "claim" });
  const [found] = findings(claims);
  expect(found).toMatchObject({ code: "proof-claim", severity: "error" });
  expect(text.slice(found!.span.start, found!.span.end)).toMatch(/^ensures y\[i\] == /);
});

test.each(outside)("a schedule does, too: %s", (text) => {
  const { kernel, manifest, source } = made(text);
  const { failure } = runHostile(kernel!, manifest!, { dims: { n: 9 }, schedules: 1, seed: 0, source });
  expect(failure).toMatchObject({ kind: "claim" });
  expect(text.slice(failure!.places[0]!.span.start)).toMatch(/^ensures y\[i\] == /);
});

test.each(outside)("a run says what to do: %s", (text) => {
  const { kernel, manifest } = made(text);
  const ranks = makeInputs(manifest!, { n: 9 }, 1);
  new CpuGroup(kernel!, manifest!).run(ranks, { n: 9 });
  expect(() => checkOutputs(manifest!, { n: 9 }, ranks, ranks)).toThrow(OutsideClaim);
});

test("of a side that is not chosen, nothing is asked", () => {
  const { answer } = prove(made(claimed("where(i == n - 1, x[n - 1], x[i + 1])", "x[min(i + 1, n - 1)]")), { shapes });
  expect(answer.status).toBe("proved");
});

test("of a side that data may choose, nothing is known", () => {
  const text = claimed("where(x[i] > 0, x[i], x[i + 1])", "where(x[i] > 0, x[i], x[min(i + 1, n - 1)])");
  const { answer } = prove(made(text), { shapes });
  if (answer.status !== "unknown") throw new Error(`it is ${answer.status}`);
  expect(text.slice(answer.span.start, answer.span.end)).toMatch(/^ensures /);
});

test("conditions that no lengths meet are named where they stand", () => {
  const text = claimed("x[i]", "x[i]", "where n >= 2 and n <= 1");
  const { answer } = prove(made(text));
  if (answer.status !== "unknown") throw new Error(`it is ${answer.status}`);
  expect(text.slice(answer.span.start, answer.span.end)).toMatch(/^n >= 2/);
});
