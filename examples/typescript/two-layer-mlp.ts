/**
 * Two layers of a tensor-parallel MLP, as a compiler holds them: which parts of the graph become one program, by the model of the
 * machine, for few tokens and for many.
 */
import { pathToFileURL } from "node:url";
import { type FxGraph, importsFromDisk, libraryFromDisk, lower, type Lowered, partitionReport } from "collc";
import { Region } from "./fx-region.js";

const RANKS = 4;
const [HIDDEN, INNER] = [1024, 4096];

/** Each layer: up, GELU, down, the sum over ranks, and the residual. */
export function mlp(tokens: number): FxGraph {
  const g = new Region("mlp", RANKS);
  let x = g.input("x", [tokens, HIDDEN], true);
  for (const layer of [1, 2]) {
    const up = g.mm(`up_${layer}`, x, g.input(`w_up_${layer}`, [HIDDEN, INNER / RANKS]));
    const down = g.mm(`down_${layer}`, g.unary(`gelu_${layer}`, "gelu", up), g.input(`w_down_${layer}`, [INNER / RANKS, HIDDEN])); // prettier-ignore
    x = g.add(`stream_${layer}`, g.allReduce(`sum_${layer}`, down), x);
  }
  return g.graph(x);
}

export function partition(tokens: number): Lowered {
  return lower(mlp(tokens), { ranks: RANKS, library: libraryFromDisk, resolve: importsFromDisk });
}

export function main(print: (line: string) => void = console.log): void {
  for (const tokens of [16, 8192]) {
    print(`${tokens} tokens`);
    print(partitionReport(partition(tokens)));
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
