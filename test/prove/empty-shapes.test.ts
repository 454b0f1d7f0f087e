/** Lengths of 0, which a signature allows unless it says otherwise, and at which a program may be wrong alone. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { programOf, prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { outcomesOf } from "../../src/compiler/prove/outcomes.js";
import { plainShapes, shapesToProve } from "../../src/compiler/prove/shapes.js";

const compiled = (text: string) => {
  const result = compile(text, { ranks: 2, dtype: "f32", mapping: PROOF_MAPPING });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return result;
};

const first = (where: string): string => `
collective f(x: T[n] local) -> y: T[1] local ${where}
  ensures y[i] == x[0] {
  for i in tiles(1) { y[i] = x[0] }
}`;
const summed = (ofNothing: string): string => `
collective f(x: T[n] partial(avg)) -> y: T[1] replicated
  ensures y[i] == sum(k in 0..n) (avg(p in ranks) x@p[k]) {
  for i in tiles(1) {
    if n == 0 { y[i] = ${ofNothing} } else { y[i] = sum(k in 0..n) (avg(p in ranks) x@p[k]) }
  }
}`;

describe("a program that is wrong at a length of 0 alone", () => {
  it("is refuted where it reads an element that is not there", () => {
    const { answer } = prove(compiled(first("")));
    expect(answer).toMatchObject({ status: "wrong", kind: "bounds", claim: { dims: { n: 0 } } });
    expect(prove(compiled(first("where n >= 1"))).answer.status).toBe("proved");
  });

  it("is refuted where it makes another result", () => {
    const { answer } = prove(compiled(summed("5")));
    expect(answer).toMatchObject({ status: "wrong", kind: "answer", claim: { dims: { n: 0 } } });
    const right = prove(compiled(summed("0")));
    expect([right.answer.status, right.ordering.status]).toEqual(["proved", "proved"]);
  });
});

describe("shapes without elements", () => {
  const kernelOf = (shape: string, where = "") =>
    compiled(`collective f(x: T[${shape}] partial(sum)) -> y: T[${shape}] replicated ${where} { y = all_reduce(x) }`)
      .kernel!;
  const empties = (kernel: ReturnType<typeof kernelOf>) =>
    shapesToProve(kernel, "answer", null).flatMap((s) => (Object.values(s.dims).includes(0) ? [s.dims] : []));

  it("have a 0 for one dimension each, where the conditions allow it", () => {
    const [byRows, byColumns] = empties(kernelOf("m, n"));
    expect(byRows).toMatchObject({ m: 0 });
    expect(byRows!["n"]).toBeGreaterThan(0);
    expect(byColumns).toMatchObject({ n: 0 });
    expect(empties(kernelOf("m, n", "where m >= 2"))).toEqual([byColumns]);
    expect(empties(kernelOf("n", "where n != 0"))).toEqual([]);
    expect(plainShapes(kernelOf("m, n"), null).flatMap((dims) => Object.values(dims))).not.toContain(0);
  });

  it("are none where there are no others: nothing is proved by them alone", () => {
    expect(shapesToProve(kernelOf("n, 1000000000"), "answer", null)).toEqual([]);
  });
});

it("decisions that a length of 0 alone makes have it as an example, others the shortest that has elements", () => {
  const program = programOf(compiled(summed("0")).snapshots)!;
  const outcomes = outcomesOf(program);
  const found = outcomes.all.map((outcome) => [outcome.where, outcomes.lengthsFor(outcome)]);
  expect(found).toContainEqual(["where this condition holds", expect.objectContaining({ dims: { n: 0 } })]);
  expect(found).toContainEqual(["where this condition does not hold", expect.objectContaining({ dims: { n: 1 } })]);
});
