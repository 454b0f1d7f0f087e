/** The examples in TypeScript run, and print what they should. */
import { expect, test } from "vitest";
import { main as custom } from "../../examples/typescript/custom-collective.js";
import { main as twoLayers, mlp } from "../../examples/typescript/two-layer-mlp.js";
import type { FxNode } from "../../src/compiler/graph/index.js";
import { isAll } from "../scope.js";
import { expectLowered } from "./fx-support.js";

test("a collective of one's own", async () => {
  const lines: string[] = [];
  await custom((line) => lines.push(line));
  expect(lines).toEqual([
    "the largest of element 5: 6; rank 0 is 1 below it",
    "peers reach x; CUDA text is there, too",
  ]);
});

test.runIf(isAll)("two layers: few tokens and many", () => {
  const lines: string[] = [];
  twoLayers((line) => lines.push(line));
  expect(lines[0]).toBe("16 tokens");
  expect(lines[1]).toMatch(/^mlp: 10 nodes in \d+ steps, 2 of them collc's, for 4 ranks on h200x4\npredicted/);
  // The residual is added where the sum is made; of many tokens, the product is made there, too.
  expect(lines[1]).toContain("program  sum_1 + stream_1");
  expect(lines[3]).toMatch(/program .*down_1 \+ sum_1 \+ stream_1/);
  expect(lines[3]).toMatch(/program .*down_2 \+ sum_2 \+ stream_2/);
});

test("two layers compute what float64 says, in as few programs as can be", () => {
  const small = mlp(8);
  expectLowered({ ...small, nodes: small.nodes.map(narrowed) }, { ranks: 4, fuse: "legal" });
});

/** The same on fewer columns, for emulated ranks. */
function narrowed(node: FxNode): FxNode {
  return node.shape === undefined ? node : { ...node, shape: node.shape.map((n) => (n === 1024 ? 32 : n)) };
}
