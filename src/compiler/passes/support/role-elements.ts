/** What is done with the elements of a product's tile, where an accumulator has them. */
import type { Builder } from "../../ir/builder.js";
import type { Op, Value } from "../../ir/module.js";
import { scalar } from "../../ir/types.js";
import { rewriteOps, Substitution } from "../../ir/visit.js";
import { accumulatedIn, type Contraction, contractsOf } from "./contraction.js";
import { emitOwnerSum, type OwnerSums } from "./owner-sums.js";

/** Places of the tile: first values of the loop's variables in it. */
export type TileAt = ReadonlyMap<Value, Value>;

/** The values of the loop's variables for the element in row `i` and column `j` of the tile at `at`. */
export function elementAt(
  { row, column }: Contraction,
  at: TileAt,
  i: Value,
  j: Value,
  build: Builder,
  values: Substitution,
): Substitution {
  const inner = new Substitution(values);
  for (const [variable, first] of at) {
    const offset = variable === row ? i : variable === column ? j : null;
    inner.set(variable, offset === null ? first : build.add(first, offset));
  }
  return inner;
}

/** What is done with the element in row `i` and column `j` of the accumulator, where the loop's variables have values. */
export type ElementBody = (build: Builder, values: Substitution, i: Value, j: Value) => void;

/** The loop's body, each product replaced by its value in an accumulator. @param without an op that is left out */
export function epilogue(
  op: Op,
  match: Contraction,
  accumulators: readonly string[],
  without: Op | null = null,
): ElementBody {
  return (build, values, i, j) =>
    rewriteOps(op.regions[0]!.ops, build, values, (o, b, v) => {
      const own = contractsOf(match).indexOf(o);
      if (own >= 0) v.set(o.results[0]!, b.load(accumulators[own]!, [i, j], scalar(accumulatedIn(match))));
      return own >= 0 || o === without;
    });
}

/** What the loop's body would store of an element, in place of which `then` is done. */
export function unstored(
  op: Op,
  match: Contraction,
  accumulators: readonly string[],
  { store }: { readonly store: Op },
  then: (value: Value, ...of: Parameters<ElementBody>) => void,
): ElementBody {
  const before = epilogue(op, match, accumulators, store);
  return (build, values, i, j) => {
    before(build, values, i, j);
    then(values.get(store.operands[0]!), build, values, i, j);
  };
}

/** The body of the loop that adds up, beginning with the element that the loop's body would have stored. */
export function completion(
  op: Op,
  match: Contraction,
  accumulators: readonly string[],
  sums: OwnerSums,
  world: number,
): ElementBody {
  return unstored(op, match, accumulators, sums, (own, build, values) =>
    emitOwnerSum(sums, op, own, (v) => values.get(v), world, build, values),
  );
}

interface Elements {
  /** One, or two where the loop has two products. */
  readonly accumulators: readonly string[];
  readonly patch: string;
  readonly shape: { readonly m: number; readonly n: number };
  readonly at: TileAt;
  /** Whether an element is one of the tile, by its row and its column there. */
  readonly isInside: (i: Value, j: Value) => Value;
  /** Columns of the tiles of this launch; null where all have those of the shape. */
  readonly columns: Value | null;
}

/** What is done with the elements of the tile, each where the accumulator has it. */
export function eachElement(
  op: Op,
  match: Contraction,
  { accumulators, patch, shape: { m, n }, at, isInside, columns }: Elements,
  build: Builder,
  values: Substitution,
  body: ElementBody,
): void {
  const [fragment, twin] = accumulators;
  const [width, zero] = [build.constant(n), build.constant(0)];
  build.for(
    "fragment",
    [[zero, build.constant(m * n)]],
    ([e]) => {
      const i = build.div(e!, width);
      const j = build.rem(e!, width);
      build.if(isInside(i, j), () => {
        body(build, elementAt(match, at, i, j, build, values), i, j);
        build.span = op.span;
      });
    },
    { fragment: fragment!, ...(twin === undefined ? {} : { twin }), through: patch },
    columns,
  );
}
