/**
 * One layer of a Llama, tensor-parallel with its tokens cut among the ranks between the products (sequence parallel), as FX has it
 * on one rank. Attention is the caller's own kernel.
 */
import type { FxGraph } from "collc";
import { Region } from "./fx-region.js";

export interface LayerSizes {
  readonly ranks: number;
  readonly tokens: number;
  readonly hidden: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly inner: number;
}

/** Sizes of Llama 3 8B. */
export const LLAMA_8B = { hidden: 4096, heads: 32, keyHeads: 8, inner: 14336 } as const;

export function llamaLayer({ ranks, tokens, hidden, heads, keyHeads, inner }: LayerSizes): FxGraph {
  const g = new Region("llama_layer", ranks);
  const width = hidden / heads;
  const [h, kv, f] = [heads / ranks, keyHeads / ranks, inner / ranks];
  const x = g.input("x", [tokens / ranks, hidden]);
  const norms = [g.input("attention_norm", [hidden], true), g.input("mlp_norm", [hidden], true)] as const;

  const all = g.allGather("gather_tokens", g.rmsNorm("normed", x, norms[0]));
  const projected = (name: string, count: number): string => {
    const product = g.mm(name, all, g.input(`w_${name}`, [hidden, count * width]));
    return g.transpose(`${name}_heads`, g.view(`${name}_view`, product, [tokens, count, width]), 0, 1);
  };
  const [q, key, value] = [projected("q", h), projected("k", kv), projected("v", kv)];
  const heads3 = g.call("attention", "llama.attention.default", [{ node: q }, { node: key }, { node: value }], [h, tokens, width]); // prettier-ignore
  const flat = g.view("attended", g.transpose("attention_rows", heads3, 0, 1), [tokens, h * width]);
  const out = g.mm("out", flat, g.input("w_out", [h * width, hidden]));
  const stream = g.add("stream", g.reduceScatter("scatter_out", out), x);

  const again = g.allGather("gather_normed", g.rmsNorm("normed_again", stream, norms[1]));
  const gate = g.unary("gate_silu", "silu", g.mm("gate", again, g.input("w_gate", [hidden, f])));
  const up = g.mm("up", again, g.input("w_up", [hidden, f]));
  const down = g.mm("down", g.mul("gated", gate, up), g.input("w_down", [f, hidden]));
  return g.graph(g.add("y", g.reduceScatter("scatter_down", down), stream));
}
