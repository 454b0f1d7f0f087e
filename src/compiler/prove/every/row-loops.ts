/** What rounds do with the elements of their rows, the same on all ways and for all lengths. */
import { type Kernel } from "../../ir/module.js";
import type { Span } from "../../source.js";
import { demand, NotShown } from "./conditions.js";
import type { Expression } from "./expressions.js";
import { NotAffine } from "./expressions.js";
import { equal, type Form, minus, ONE, Undecided } from "./forms.js";
import type { Slab, SlabAt } from "./footprints.js";
import type { Where } from "./row-trees.js";
import { type RowEffects, type RowStore, RowValues } from "./row-values.js";
import type { RoundValues } from "./round-values.js";
import type { RoundWay } from "./round-way.js";
import type { Rounds } from "./rounds.js";

/** Where a buffer's rows lie. */
export interface Lying {
  readonly where: Where;
  readonly base: Expression;
}

/** What rounds come to: all of each element in its place. */
export interface RowLoop {
  readonly rounds: Rounds;
  /** How many rows there are, and how many elements each has. */
  readonly all: Expression;
  readonly row: Expression;
  /** By buffer, all that is touched outside of shared memory. */
  readonly lie: ReadonlyMap<string, Lying>;
  readonly stores: ReadonlyMap<string, RowStore>;
  /** Whether a row is folded up in one order, whatever addresses are. */
  readonly isOfOneOrder: boolean;
}

/** How rounds divide rows among them: round g has the rows from `rows` · g on, `rows` of them, up to `all`. */
export interface Division {
  readonly rows: Expression;
  readonly all: Expression;
}

export class RowLoops {
  private readonly lie = new Map<string, Lying>();
  private readonly row: Expression | null = null;
  private effects: RowEffects | null = null;
  private isOfOneOrder = true;
  private refused: NotShown | null = null;

  /** @param slabs where accesses to each buffer lie; null of shared memory */
  constructor(
    private readonly kernel: Kernel,
    private readonly rounds: Rounds,
    private readonly division: Division,
    slabs: ReadonlyMap<string, Slab | null>,
  ) {
    const isNumber = (e: Expression, n: number): boolean => e.kind === "constant" && e.value === n;
    const rows = new Set([...slabs.values()].flatMap((s) => (s === null || isNumber(s.row, 0) || isNumber(s.row, 1) ? [] : [s.row]))); // prettier-ignore
    const [row] = rows;
    if (rows.size !== 1) {
      this.refuse("rows have several lengths", rounds.span);
      return;
    }
    this.row = row!;
    for (const [buffer, slab] of slabs) {
      if (slab === null) continue;
      const where = slab.row === row ? "place" : isNumber(slab.row, 0) ? "column" : "row";
      this.lie.set(buffer, { where, base: slab.base });
    }
  }

  private refuse(reason: string, span: Span): void {
    this.refused ??= new NotShown(reason, span);
  }

  /** Follows the values of one way. @param orders by fold, in which order it is made on another way at the same lengths */
  look(way: RoundWay, values: RoundValues, own: ReadonlyMap<string, SlabAt | null>, orders: Map<string, string>): void {
    if (this.refused !== null) return;
    try {
      this.follow(way, values, own, orders);
    } catch (x) {
      if (x instanceof NotShown) this.refused = x;
      else if (x instanceof Undecided)
        this.refuse("lengths are compared in a way that is not followed", this.rounds.span); // prettier-ignore
      else if (x instanceof NotAffine) this.refuse(`there is ${x.what}`, this.rounds.span);
      else throw x;
    }
  }

  private follow(
    way: RoundWay,
    values: RoundValues,
    own: ReadonlyMap<string, SlabAt | null>,
    orders: Map<string, string>,
  ): void {
    // prettier-ignore
    const { rounds, division } = this;
    const row = values.of(this.row!);
    // Rows without elements have nothing to make.
    if (!values.isAtLeastZero(minus(row, ONE))) return;
    const all = values.of(division.all);
    if (way.round === null || way.division === null) {
      demand("all rows", !values.isAtLeastZero(minus(all, ONE)), "rows are left out", rounds.span);
      return;
    }
    const isAll = equal(way.division.all, all) && equal(way.division.rows, values.of(division.rows));
    demand("all rows", isAll, "loops over blocks go through rows in several ways", rounds.span);
    const lie = new Map<string, { readonly where: Where; readonly base: Form }>();
    for (const [buffer, { where, base }] of this.lie) lie.set(buffer, { where, base: values.of(base) });
    const effects = new RowValues(this.kernel, rounds, values, { row, lie, own }).of(way);
    for (const [fold, order] of effects.orders) {
      const known = orders.get(fold);
      if (known === undefined) orders.set(fold, order);
      else if (known !== order) this.isOfOneOrder = false;
    }
    if (this.effects !== null && keyOf(this.effects) !== keyOf(effects))
      throw new NotShown("elements are made in several ways", rounds.span);
    this.effects = effects;
  }

  /** @throws NotShown */
  loop(): RowLoop {
    const { rounds, division, lie, row, effects, isOfOneOrder, refused } = this;
    if (refused !== null) throw refused;
    if (effects === null) throw new NotShown("there are no rows", rounds.span);
    return { rounds, all: division.all, row: row!, lie, stores: effects.stores, isOfOneOrder };
  }
}

function keyOf({ stores }: RowEffects): string {
  const texts = [...stores].map(([buffer, { where, tree, owners }]) => `${buffer}@${owners.join()} ${where} ${tree.key}`); // prettier-ignore
  return texts.sort().join("; ");
}
