/** Values of a nest of loops as another rank has them, which one rank that goes through the nest of another computes anew. */
import type { Builder } from "../../ir/builder.js";
import type { Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { copyOp, type Substitution } from "../../ir/visit.js";
import type { Definitions } from "./analysis.js";

/** Why the other side of an access cannot follow it. */
export class Refused extends Error {
  /** @param help what to write instead, where there is something */
  constructor(
    reason: string,
    readonly help?: string,
  ) {
    super(reason);
  }
}

export class OtherRank {
  /**
   * @param varying values that differ from rank to rank
   * @param outside values from outside the nest as this rank has them
   */
  constructor(
    private readonly build: Builder,
    private readonly definitions: Definitions,
    private readonly varying: ReadonlySet<Value>,
    private readonly outside: Substitution,
  ) {}

  /**
   * A value as `rank` has it; ops that compute it are emitted here.
   * @param values the variables of that rank's loops, and what is known already, which grows
   * @throws Refused if data decides it
   */
  value(v: Value, rank: Value, values: Substitution): Value {
    const known = values.get(v);
    if (known !== v) return known;
    const here = this.outside.get(v);
    if (here !== v && !this.varying.has(v)) return here;
    const op = this.definitions.of(v);
    if (op?.name === "rank") return rank;
    if (op === undefined) throw new Refused("where it goes depends on a loop that its peer does not run");
    if (definitionOf(op.name).effect !== "pure")
      throw new Refused("where it goes depends on data that its peer does not have");
    for (const operand of op.operands) values.set(operand, this.value(operand, rank, values));
    copyOp(op, this.build, values);
    return values.get(v);
  }
}
