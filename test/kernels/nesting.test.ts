/** Dependent loops inside loops and branches: the order is derived at any depth, and the epochs stay right. */
import { expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { usualSeconds } from "../processor.js";

/** Hands the tensor round and back, once a turn of the innermost loop. */
const HANDING_ROUND = `
  for i in tiles(n) { inbox@((rank + 1) % world)[i] = y[i] }
  for i in tiles(n) { y[i] = inbox[i] }
  for i in tiles(n) { inbox@((rank + world - 1) % world)[i] = y[i] }
  for i in tiles(n) { y[i] = inbox[i] }`;

function nested(depth: number, branch = false): string {
  let body = branch ? `if step1 > 0 {${HANDING_ROUND}\n}` : HANDING_ROUND;
  for (let d = depth; d >= 1; d--) body = `for step${d} in 0..2 {${body}\n}`;
  return `collective nested(x: T[n] replicated) -> y: T[n] replicated {
    scratch inbox: T[n]
    for i in tiles(n) { y[i] = x[i] }
    ${body}
  }`;
}

for (const [name, source] of [
  ["two loops deep", nested(2)],
  ["four loops deep", nested(4)],
  ["in a branch inside a loop", nested(1, true)],
] as const)
  it(`synchronises ${name}`, () => {
    const compiled = compile(source, { ranks: 3, dtype: "f32" });
    expect(compiled.diagnostics).toEqual([]);
    const { kernel, manifest } = compiled;
    const group = new CpuGroup(kernel!, manifest!, { source: compiled.source, detectUnwritten: true, seed: 5 });
    for (const seed of [1, 2, 3]) {
      const ranks = makeInputs(manifest!, { n: 5000 }, seed);
      group.run(ranks, { n: 5000 });
      expect(checkOutputs(manifest!, { n: 5000 }, ranks, ranks)).toMatchObject({ correct: true });
    }
  });

it("takes nine loops deep without taking for ever", () => {
  const deepest = (): string | null => compile(nested(9), { ranks: 2, dtype: "f32" }).cuda;
  expect(usualSeconds(() => expect(deepest()).not.toBeNull())).toBeLessThan(5);
});
