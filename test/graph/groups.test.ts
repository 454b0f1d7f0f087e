/** FX graphs of several process groups: what is the same on all ranks of one may differ among those of another. */
import { describe, expect, test } from "vitest";
import { FxReference } from "../../src/compiler/graph/fx/evaluate.js";
import { atSizes } from "../../src/compiler/graph/fx/fx.js";
import type { FxGraph } from "../../src/compiler/graph/index.js";
import { Dump, expectLowered, fused } from "./fx-support.js";

const LEGAL = { ranks: 2, fuse: "legal" } as const;
const two = (): Dump => new Dump(2, "float32", "region", {}, { dp: 2 });

describe("a result of another group's conversion", () => {
  const FORMS: readonly [string, (d: Dump) => string][] = [
    ["beside a sum", (d) => d.pointwise("mul", d.reduce(d.input("x", [6, 8])), d.reduce(d.input("s", [6, 8]), "sum", "dp"))], // prettier-ignore
    ["beside gathered rows", (d) => d.pointwise("add", d.gather(d.input("x", [3, 8])), d.gather(d.input("s", [3, 8]), "dp"))], // prettier-ignore
    ["multiplied by gathered rows", (d) => d.mm(d.gather(d.input("x", [3, 8])), d.reduce(d.input("w", [8, 6]), "max", "dp"))], // prettier-ignore
  ];
  test.for(FORMS)("is each rank's own: %s", ([, make]) => {
    const d = two();
    const lowered = expectLowered(d.graph(make(d)), LEGAL);
    const programs = lowered.parts.filter((p) => p.kind === "program");
    expect(programs.map((p) => p.group).sort()).toEqual(["dp", "tp"]);
    const both = programs.find((p) => p.nodes.length > 1)!;
    const other = both.inputs.find((b) => !["x", "s", "w"].includes(b.tensor))!;
    expect(both.graph.inputs.find((t) => t.id === other.id)!.layout).toBe("local");
  });

  test("is none that all ranks have: rows that are cut among them cannot be scaled by it", () => {
    const scaled = (group: string): FxGraph => {
      const d = two();
      return d.graph(d.pointwise("mul", d.scatter(d.input("x", [8, 4])), d.reduce(d.input("w", [4]), "sum", group)));
    };
    expect(fused(expectLowered(scaled("dp"), LEGAL))).toEqual(["reduce_scatter_tensor_1", "all_reduce_1 + mul_1"]);
    expect(fused(expectLowered(scaled("tp"), LEGAL))).toEqual(["reduce_scatter_tensor_1 + all_reduce_1 + mul_1"]);
  });
});

test("a weight that every rank has is one in programs of any group", () => {
  const d = two();
  const w = d.input("w", [4], { replicated: true });
  const scaled = (name: string, group: string): string => d.pointwise("mul", d.scatter(d.input(name, [8, 4]), "sum", group), w); // prettier-ignore
  const lowered = expectLowered(d.graph(scaled("x", "tp"), scaled("y", "dp")), LEGAL);
  expect(fused(lowered)).toEqual(["reduce_scatter_tensor_1 + mul_1", "reduce_scatter_tensor_2 + mul_2"]);
});

test("the float64 reference exchanges within each group: by hand", () => {
  const d = two();
  const x = d.input("x", [1]);
  const reference = new FxReference(atSizes(d.graph(d.reduce(x), d.reduce(x, "sum", "dp")), {}));
  const given = [1, 10, 100, 1000].map((n) => [n]);
  const sums = reference.run({ x: given }).map((ranks) => ranks.map((r) => r.data[0]));
  expect(sums).toEqual([
    [11, 11, 1100, 1100],
    [101, 1010, 101, 1010],
  ]);
});
