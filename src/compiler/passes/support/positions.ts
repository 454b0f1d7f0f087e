/** Positions of elements in what messages bring: how one rank goes through the nest of another, or its own, and counts what a peer gets. */
import type { Builder } from "../../ir/builder.js";
import type { Value } from "../../ir/module.js";
import type { Substitution } from "../../ir/visit.js";
import type { Plan } from "./message-plans.js";
import { boundsOf } from "./nests.js";
import type { OtherRank } from "./other-side.js";

/** How one rank goes through the nest of another, or its own. */
export interface Walk {
  /** The rank whose nest it is, and the one whose memory its access goes to. */
  readonly actor: Value;
  readonly owner: Value;
  /** Values as the actor has them. */
  readonly values: Substitution;
}

/** Where a variable that positions are counted by begins and ends. */
export interface Range {
  readonly lo: Value;
  readonly hi: Value;
  readonly length: Value;
}

export class Positions {
  constructor(
    private readonly build: Builder,
    private readonly there: OtherRank,
  ) {}

  /** A value as the actor has it; `at.values` knows the variables of its loops. @throws Refused if data decides it */
  value(v: Value, at: Walk): Value {
    return this.there.value(v, at.actor, at.values);
  }

  ranges(plan: Plan, at: Walk): Range[] {
    const { build } = this;
    return plan.variables.map(({ loop, d, part }) => {
      let [lo, hi] = boundsOf(loop, d).map((v) => this.value(v, at)) as [Value, Value];
      if (part !== null) {
        const size = part === 1 ? build.constant(1) : this.value(part, at);
        const from = build.mul(at.owner, size);
        const to = build.add(from, size);
        lo = build.binary("max", lo, from);
        hi = build.binary("min", hi, to);
      }
      const isCount = build.constantOf(lo) === 0 && build.isNatural(hi);
      const length = isCount ? hi : build.binary("max", build.sub(hi, lo), build.constant(0));
      return { lo, hi, length };
    });
  }

  /** Of the iteration in which the variables have these values. */
  position(ranges: readonly Range[], variables: readonly Value[]): Value {
    const { build } = this;
    return ranges.reduce((k, { lo, length }, i) => {
      const own = build.sub(variables[i]!, lo);
      return i === 0 ? own : build.add(build.mul(k, length), own);
    }, build.constant(0));
  }
}
