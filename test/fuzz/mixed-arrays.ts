/** What the generators of mixed bodies know of arrays: their layouts, and what each rank's part of them holds. */
import type { Choices } from "./choices.js";

export type Layout =
  | { readonly kind: "replicated" | "local" }
  | { readonly kind: "partial"; readonly op: "sum" | "max" | "min" }
  | { readonly kind: "sharded"; readonly dim: number }
  | { readonly kind: "on"; readonly rank: number };

/** Lengths of the logical tensor, as they are written. */
export type Shape = readonly string[];

/** What the element with these indices, in what rank r holds, is: text of an `ensures` clause. */
export type Part = (r: string, at: readonly string[]) => string;

/** A tensor expression, and what it means. */
export interface Tensor {
  readonly text: string;
  readonly layout: Layout;
  readonly shape: Shape;
  readonly part: Part;
  /** About how many inputs' elements one element is made of. */
  readonly cost: number;
}

/** An array with a name: its text is that name. What outputs and scratch arrays hold changes. */
export interface Named extends Tensor {
  readonly role: "input" | "value" | "target";
  readonly type: string;
  /** What stored to it last, or made the value. */
  readonly by?: "loop" | "expression" | undefined;
}

/** What generators of statements and expressions share. */
export interface Body {
  readonly c: Choices;
  readonly ranks: number;
  readonly isInteger: boolean;
  /** The dtype that values are computed in. */
  readonly wide: string;
  /** Whether a loop has read what an expression made, and an expression what a loop stored. */
  readonly crossed: { intoLoop: boolean; intoExpression: boolean };
  /** What holds something now, by name. */
  readonly held: Map<string, Named>;
  readonly fresh: (prefix: string) => string;
}

export const REPLICATED: Layout = { kind: "replicated" };
export const LOCAL: Layout = { kind: "local" };
export const partial = (op: "sum" | "max" | "min"): Layout => ({ kind: "partial", op });
export const sharded = (dim: number): Layout => ({ kind: "sharded", dim });

export const written = (l: Layout): string =>
  l.kind === "sharded" ? `sharded(${l.dim})` : l.kind === "on" ? `on(${l.rank})` : l.kind === "partial" ? `partial(${l.op})` : l.kind; // prettier-ignore

/** Lengths of what one rank holds. */
export const localShape = ({ layout, shape }: Pick<Tensor, "layout" | "shape">): Shape =>
  shape.map((e, d) => (layout.kind === "sharded" && layout.dim === d ? `${e} / world` : e));

export const fits = (t: Tensor, layout: Layout, shape: Shape): boolean =>
  written(t.layout) === written(layout) && t.shape.join() === shape.join();

const replaced = (at: readonly string[], d: number, by: string): string[] => at.map((i, e) => (e === d ? by : i));

/** The element of the logical tensor. What is `local` has none: it is the rank's own. */
export function logical(t: Tensor, x: Body): Part {
  const { layout, shape, part } = t;
  switch (layout.kind) {
    case "replicated":
    case "local":
      return part;
    case "on":
      return (_r, at) => part(String(layout.rank), at);
    case "sharded": {
      const length = `(${shape[layout.dim]} / world)`;
      return (_r, at) => {
        const i = at[layout.dim]!;
        return part(`((${i}) / ${length})`, replaced(at, layout.dim, `(${i}) % ${length}`));
      };
    }
    case "partial":
      return (_r, at) => {
        const p = x.fresh("p");
        return `(${layout.op}(${p} in ranks) (${part(p, at)}))`;
      };
  }
}

/** What a rank holds of a tensor whose logical elements are these, in a layout that is not partial. */
export function partIn(layout: Layout, shape: Shape, whole: Part): Part {
  if (layout.kind !== "sharded") return whole;
  return (r, at) => whole(r, replaced(at, layout.dim, `(${at[layout.dim]}) + (${r}) * (${shape[layout.dim]} / world)`));
}
