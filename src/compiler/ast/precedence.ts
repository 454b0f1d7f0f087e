/** How tightly the operators of Coll bind. The builder and the printer read it, so that they agree. */

/** Binary operators, the loosest first; all of them group from the left. */
export const PRECEDENCE = {
  or: 1, and: 2,
  "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
  "+": 5, "-": 5, "^": 5,
  "*": 6, "/": 6, "%": 6, "@": 6, "&": 6, "<<": 6, ">>": 6,
} as const; // prettier-ignore

/** `not` takes in a whole comparison: `not i < n`. */
export const NOT_PRECEDENCE = 3;
export const COMPARISON = 4;
/** The body of a reduction is a product: `sum(p in ranks) x@p[i] * s + 1` adds 1 once. */
export const PRODUCT = 6;
/** `-a * b` is `(-a) * b`. */
export const MINUS_PRECEDENCE = 7;
/** An index belongs to what stands right before it: `-x[0..1]` is `-(x[0..1])`. */
export const INDEX_PRECEDENCE = 8;

export function precedenceOf(operator: string): number {
  return PRECEDENCE[operator as keyof typeof PRECEDENCE];
}
