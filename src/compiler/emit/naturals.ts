/**
 * Index values that are surely not below zero. Their quotients by numbers are printed as unsigned ones: of eight, a shift, where a signed number is
 * first made to round towards zero (one_shot of 64 KiB on 2×H200, 2026-11: 3.1 µs with signed ones, see bench/results/collectives.md).
 */
import type { Op, Value } from "../ir/module.js";
import { staysNatural } from "../ir/builder.js";
import { scalarOf } from "../ir/types.js";

export class Naturals {
  private readonly known = new Set<Value>();

  /** Looks at an op before what it stands in front of. */
  note(op: Op): void {
    const [result] = op.results;
    const isCounted = op.name === "block" || op.name === "grid" || staysNatural(op, (v) => this.known.has(v));
    if (result !== undefined && isCounted && scalarOf(result.type) === "index") this.known.add(result);
    // Loops count upwards.
    if (op.name === "for" || op.name === "reduce")
      op.regions[0]!.arguments.forEach((v, d) => {
        if (this.known.has(op.operands[2 * d]!)) this.known.add(v);
      });
  }

  has(v: Value): boolean {
    return this.known.has(v);
  }
}
