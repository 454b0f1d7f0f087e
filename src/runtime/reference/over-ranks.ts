/** What of a specification lies over the ranks, and how finely: what each rank computes of it is rounded before ranks meet. */
import { DTYPES, isCut, partsOfSpecification, type Specification } from "../../compiler/index.js";
import { type Context, specificationShape } from "./evaluate.js";

/** Whether a dimension lies over the ranks, as far as the inputs say. */
export function isSharded(s: Specification, dim: number, c: Context): boolean {
  let dims = c.known.sharded.get(s);
  if (dims === undefined) c.known.sharded.set(s, (dims = new Map()));
  let known = dims.get(dim);
  if (known === undefined) dims.set(dim, (known = liesOverRanks(s, dim, c)));
  return known;
}

function liesOverRanks(s: Specification, dim: number, c: Context): boolean {
  switch (s.kind) {
    case "input": {
      const { layout } = c.manifest.inputs.find((t) => t.name === s.name)!;
      return isCut(layout, dim);
    }
    case "matmul": {
      const rank = specificationShape(s, c).length;
      const own = (x: Specification): number => dim - rank + specificationShape(x, c).length;
      return dim === rank - 1 ? isSharded(s.b, own(s.b), c) : isSharded(s.a, own(s.a), c);
    }
    case "permute":
      return isSharded(s.a, s.order[dim]!, c);
    case "reshape": {
      const [from, to] = [specificationShape(s.a, c), specificationShape(s, c)];
      // Dimensions in front that are the same in both are the same; the others are taken together.
      const same = to.findIndex((n, d) => n !== from[d]);
      if (same < 0 || dim < same) return isSharded(s.a, dim, c);
      return from.some((_, d) => d >= same && isSharded(s.a, d, c));
    }
    case "fold":
      return dim !== s.dim && isSharded(s.a, dim, c);
    default: {
      const rank = specificationShape(s, c).length;
      return partsOfSpecification(s).some((p) => {
        const own = dim - rank + specificationShape(p, c).length;
        return own >= 0 && isSharded(p, own, c);
      });
    }
  }
}

/** The epsilon of a value's dtype: that of what it is computed from, but for casts. @param known of what has been asked for */
export function epsilonOf(s: Specification, c: Context, known = new Map<Specification, number>()): number {
  if (s.kind === "input") return DTYPES[c.manifest.inputs.find(({ name }) => name === s.name)!.dtype].epsilon;
  if (s.kind === "cast" || s.kind === "rounded") return DTYPES[s.dtype].epsilon;
  let epsilon = known.get(s);
  if (epsilon === undefined) {
    epsilon = Math.max(0, ...partsOfSpecification(s).map((part) => epsilonOf(part, c, known)));
    known.set(s, epsilon);
  }
  return epsilon;
}
