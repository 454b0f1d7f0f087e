/**
 * Ops with the types that their rows of the op table say: attributes by name, as many operands, results and regions as
 * there are. `typed(op)` is the same op under a union that a `switch` over `name` narrows.
 */
import type { Layout } from "../types/layout.js";
import type { Op, Region, Value } from "./module.js";
import type { AttributeKind, OpName, OPS } from "./ops.js";

type AttributeOf<K extends AttributeKind> = K extends "int" | "number"
  ? number
  : K extends "string" | "buffer"
    ? string
    : K extends "bool"
      ? boolean
      : K extends "layout"
        ? Layout
        : K extends readonly (infer Name)[]
          ? Name
          : never;

type Rows = typeof OPS;

/** Of rows without any: nothing to intersect with. */
type NoAttributes = Readonly<Record<never, never>>;

type Needed<N extends OpName> = Rows[N] extends { readonly attributes: infer A extends Record<string, AttributeKind> }
  ? { readonly [K in keyof A]: AttributeOf<A[K]> }
  : NoAttributes;

type Optional<N extends OpName> = Rows[N] extends { readonly optional: infer A extends Record<string, AttributeKind> }
  ? { readonly [K in keyof A]?: AttributeOf<A[K]> }
  : NoAttributes;

type Times<N extends number, X, All extends readonly X[] = readonly []> = All["length"] extends N
  ? All
  : Times<N, X, readonly [...All, X]>;

/** As many values as the row allows: exactly so many, or more than so many. */
type Operands<Range extends readonly [number, number]> = Range[0] extends Range[1]
  ? Times<Range[0], Value>
  : readonly [...Times<Range[0], Value>, ...Value[]];

type Regions<N extends OpName> = Rows[N] extends { readonly regions: { readonly count: infer C extends number } }
  ? Times<C, Region>
  : readonly [];

/** An op of one name. */
export interface OpOf<N extends OpName> extends Omit<Op, "name" | "operands" | "results" | "attributes" | "regions"> {
  readonly name: N;
  readonly operands: Operands<Rows[N]["operands"]>;
  readonly results: Times<Rows[N]["results"], Value>;
  readonly attributes: Needed<N> & Optional<N>;
  readonly regions: Regions<N>;
}

export type TypedOp = { [N in OpName]: OpOf<N> }[OpName];

/** Names of the ops that may stand at a level. */
export type OpNameAt<L extends "tensor" | "rank" | "device"> = {
  [N in OpName]: L extends Rows[N]["levels"][number] ? N : never;
}[OpName];

/** Verified IR has what the table says, so this checks nothing. */
export function typed(op: Op): TypedOp {
  return op as TypedOp;
}
