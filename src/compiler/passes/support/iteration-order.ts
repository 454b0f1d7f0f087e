/**
 * Whether two accesses of a nest may touch the same element, and in which order: iterations of the loops around both are gone through as all
 * ranks come to them.
 */
import type { Kernel, Op } from "../../ir/module.js";
import { type Access, AccessCollector, mayConflict } from "./accesses.js";
import type { Definitions } from "./analysis.js";
import { isSpread, scopesInside } from "./iterations.js";
import type { Placed, Step } from "./nests.js";
import { RankValues } from "./rank-values.js";

/** Whether the second access is in an earlier iteration of the loops around both, in the same or in a later one. */
export type Order = "earlier" | "same" | "later";

const ORDERS = 3;

/** An access as one rank makes it in one iteration of the loops around. */
interface Made {
  readonly access: Access;
  /** Numbers of the iterations by loop; null where they are not known. */
  readonly iterations: ReadonlyMap<Op, number | null>;
}

export class IterationOrder {
  private readonly collector: AccessCollector;
  private readonly ranks: readonly RankValues[];
  private readonly found = new Map<Op, readonly Made[]>();

  constructor(kernel: Kernel, definitions: Definitions) {
    this.collector = new AccessCollector(kernel);
    this.ranks = Array.from({ length: kernel.world }, (_, r) => RankValues.of(definitions, r));
  }

  /** How iterations lie to each other in which two accesses to one buffer, of which one stores, may touch the same element; none where they never do. */
  between(a: Placed, b: Placed): ReadonlySet<Order> {
    const orders = new Set<Order>();
    const both = a.path.filter(({ op }) => b.path.some((step) => step.op === op)).map(({ op }) => op);
    for (const one of this.madeBy(a))
      for (const other of this.madeBy(b))
        if (orders.size < ORDERS && one.access.owner === other.access.owner && mayConflict(one.access, other.access))
          orderOf(one, other, both).forEach((order) => orders.add(order));
    return orders;
  }

  private madeBy({ access, path }: Placed): readonly Made[] {
    let made = this.found.get(access);
    if (made === undefined)
      this.found.set(access, (made = this.ranks.flatMap((rank) => this.made(access, path, rank))));
    return made;
  }

  private made(access: Op, path: readonly Step[], rank: RankValues): readonly Made[] {
    const loops = path.filter(({ op }) => op.name !== "if" && !isSpread(op)).map(({ op }) => op);
    const inner = path.reduce((scopes, step) => scopes.flatMap((scope) => inside(step, scope)), [rank]);
    return inner.flatMap((scope) => {
      const iterations = new Map(loops.map((op) => [op, scope.number(op.regions[0]!.arguments[0]!)]));
      return this.collector.of(access, scope).map((one) => ({ access: one, iterations }));
    });
  }
}

/** Scopes of a step's region in which a rank comes to it. */
function inside({ op, region }: Step, scope: RankValues): readonly RankValues[] {
  if (op.name !== "if") return scopesInside(op, scope);
  const condition = scope.number(op.operands[0]!);
  return condition !== null && (condition !== 0) !== (region === 0) ? [] : [scope];
}

/** @param loops those around both, outermost first */
function orderOf(a: Made, b: Made, loops: readonly Op[]): readonly Order[] {
  const orders: Order[] = [];
  for (const op of loops) {
    // In one loop over tiles, ranks do not wait for each other, and each iteration has elements of its own.
    if (isSpread(op) && a.access.rank !== b.access.rank) return orders;
    if (!a.iterations.has(op)) continue;
    const [ofA, ofB] = [a.iterations.get(op), b.iterations.get(op)];
    if (ofA == null || ofB == null) orders.push("earlier", "later");
    else if (ofA !== ofB) return op.attributes["map"] === "serial" ? [...orders, ofB < ofA ? "earlier" : "later"] : [...orders, "earlier", "later"]; // prettier-ignore
  }
  return [...orders, "same"];
}
