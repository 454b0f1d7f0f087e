/** Which ops go to ranks that share no addresses with the one that carries them out. */
import { isNear, type Reach } from "../../machine/reach.js";
import { isRemote, type Kernel, memoryOperands, type Op, type Region } from "../../ir/module.js";
import { Definitions } from "./analysis.js";
import { scopesInside } from "./iterations.js";
import { RankValues } from "./rank-values.js";

export interface FarOps {
  /** Ops that go to a rank beyond, on some rank in some iteration; where it is not known which rank is meant, it may be one. */
  readonly far: ReadonlySet<Op>;
  /** Ops that may stay inside the domain. An op may be both. */
  readonly near: ReadonlySet<Op>;
}

/** Looks at loads, stores, `notify` and `await` of a rank-level kernel, as every rank carries them out. */
export function farOps(kernel: Kernel, reach: Reach): FarOps {
  const definitions = new Definitions(kernel);
  const far = new Set<Op>();
  const near = new Set<Op>();
  const region = ({ ops }: Region, values: RankValues): void => ops.forEach((op) => visit(op, values));
  const goes = (op: Op, peer: number | null, rank: number): void => {
    if (peer === null) {
      near.add(op);
      // What send-messages has left stands under a test that it is near.
      if (kernel.ranksPerDomain === undefined) far.add(op);
      return;
    }
    if (peer >= 0 && peer < kernel.world) (isNear(peer, rank, reach) ? near : far).add(op);
  };
  const visit = (op: Op, values: RankValues): void => {
    if (op.name === "message") return; // It is how ranks beyond are reached.
    if (isRemote(op)) return goes(op, values.number(memoryOperands(op).peer!), values.rank);
    if (op.name === "notify" || op.name === "await") return goes(op, values.number(op.operands[0]!), values.rank);
    if (op.name === "if") {
      const condition = values.number(op.operands[0]!);
      op.regions.forEach((r, i) => {
        if (condition === null || (condition !== 0) === (i === 0)) region(r, values);
      });
      return;
    }
    const [body] = op.regions;
    if (body === undefined) return;
    for (const inside of scopesInside(op, values)) region(body, inside);
  };
  for (const op of kernel.body.ops) {
    const valuesOf = RankValues.ofEach(definitions);
    for (let rank = 0; rank < kernel.world; rank++) visit(op, valuesOf(rank));
  }
  return { far, near };
}
