/**
 * Columns of a value, as a value of their own: elements of a large product are compared with float64 at places that lie all over it, and
 * nothing is computed beside them.
 */
import { evaluateExtent, someSpecification, type Specification } from "../../compiler/index.js";
import { type Context, specificationShape } from "./evaluate.js";
import type { Columns } from "./logical.js";

type Node<K extends Specification["kind"]> = Extract<Specification, { kind: K }>;

/** Those columns of the value's last dimension alone; null where an element of them is made of more of a product's columns than they are. */
export function columnsOf(s: Specification, columns: Columns, c: Context): Specification | null {
  const known = new Map<Specification, Specification | null>();
  const of = (part: Specification): Specification | null => {
    let own = known.get(part);
    if (own === undefined) known.set(part, (own = narrowed(part, columns, c, of)));
    return own;
  };
  return of(s);
}

function narrowed(
  s: Specification,
  columns: Columns,
  c: Context,
  of: (part: Specification) => Specification | null,
): Specification | null {
  const shape = specificationShape(s, c);
  const last = shape.length - 1;
  // One column goes with all of them. What is folded into it may be a whole row.
  if (shape.length === 0 || shape[last] === 1) return hasProduct(s) ? null : s;
  switch (s.kind) {
    case "constant":
    case "scalar":
      return s;
    case "input":
    case "iota":
      return cut(s, shape, last, columns);
    case "matmul":
      return made([s.b], of, ([b]) => ({ ...s, b: b! }));
    case "unary":
    case "cast":
    case "rounded":
      return made([s.a], of, ([a]) => ({ ...s, a: a! }));
    case "binary":
    case "compare":
      return made([s.a, s.b], of, ([a, b]) => ({ ...s, a: a!, b: b! }));
    case "select":
      return made([s.condition, s.a, s.b], of, ([condition, a, b]) => ({ ...s, condition: condition!, a: a!, b: b! }));
    case "fold":
    case "repeat":
      return s.dim === last ? null : made([s.a], of, ([a]) => ({ ...s, a: a! }));
    case "permute":
      return permuted(s, columns, c, of);
    case "reshape": {
      if (specificationShape(s.a, c).at(-1) !== shape[last]) return null;
      return made([s.a], of, ([a]) => ({ ...s, shape: [...s.shape.slice(0, last), columns.count], a: a! }));
    }
    case "slice": {
      const from = columns.from + evaluateExtent(s.from[last]!, c.dims);
      const a = columnsOf(s.a, { from, count: columns.count }, c);
      if (a === null) return null;
      return { ...s, from: [...s.from.slice(0, last), 0], shape: [...s.shape.slice(0, last), columns.count], a };
    }
    case "concat":
      return s.dim === last ? joined(s, columns, c) : made(s.parts, of, (parts) => ({ ...s, parts }));
  }
}

/** What is made of parts that are there. */
function made(
  parts: readonly Specification[],
  of: (part: Specification) => Specification | null,
  make: (parts: readonly Specification[]) => Specification,
): Specification | null {
  const own = parts.map(of);
  return own.includes(null) ? null : make(own as Specification[]);
}

/** The part of a dimension, read as it is. */
function cut(a: Specification, shape: readonly number[], dim: number, { from, count }: Columns): Node<"slice"> {
  return { kind: "slice", from: shape.map((_, d) => (d === dim ? from : 0)), shape: shape.with(dim, count), a };
}

function permuted(
  s: Node<"permute">,
  columns: Columns,
  c: Context,
  of: (part: Specification) => Specification | null,
): Specification | null {
  const own = specificationShape(s.a, c);
  const dim = s.order.at(-1)!;
  if (dim === own.length - 1) return made([s.a], of, ([a]) => ({ ...s, a: a! }));
  return s.a.kind === "input" ? { ...s, a: cut(s.a, own, dim, columns) } : null;
}

/** Of parts side by side, those that the columns lie in. */
function joined(s: Node<"concat">, { from, count }: Columns, c: Context): Specification | null {
  let start = 0;
  const parts: (Specification | null)[] = [];
  for (const part of s.parts) {
    const width = specificationShape(part, c)[s.dim]!;
    const [lo, hi] = [Math.max(from - start, 0), Math.min(from + count - start, width)];
    if (hi > lo) parts.push(hi - lo === width ? part : columnsOf(part, { from: lo, count: hi - lo }, c));
    start += width;
  }
  if (parts.includes(null)) return null;
  return parts.length === 1 ? parts[0]! : { ...s, parts: parts as Specification[] };
}

export const hasProduct = (s: Specification): boolean => someSpecification(s, ({ kind }) => kind === "matmul");
